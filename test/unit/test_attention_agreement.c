/* Different ways to run the same attention give the same result: repeated, on more threads, on the tape, query by
 * query, without weights. Gradients are added, skipped if NULL, and computed at most once. */
#include "support/attention_problem.h"

/* The results of a run, for comparison with another run. */
typedef struct results {
    attend_real *context, *weights, *grad[PLAIN_SLOTS];
} results;

static attend_real *copied(const attend_real *x, size_t size)
{
    attend_real *y = problem_array(size);
    memcpy(y, x, size * sizeof *y);
    return y;
}

static results results_of(const problem *p)
{
    results r = { .context = copied(p->context, p->context_size), .weights = copied(p->weights, p->area) };
    for (int slot = 0; slot < PLAIN_SLOTS; slot++)
        if (p->grad[slot]) r.grad[slot] = copied(p->grad[slot], p->size[slot]);
    return r;
}

static void results_free(results *r)
{
    free(r->context);
    free(r->weights);
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) free(r->grad[slot]);
}

/* bound 0: bit-identical */
static void assert_same(const problem *p, const char *what, const attend_real *a, const attend_real *b, size_t n,
                        double bound)
{
    char text[200];
    for (size_t i = 0; i < n; i++) {
        const bool same = bound > 0 ? fabs((double)(a[i] - b[i])) <= bound : memcmp(&a[i], &b[i], sizeof *a) == 0;
        if (!same) fail_msg("%s: %s %zu: %.9g, %.9g", problem_text(p, text), what, i, (double)a[i], (double)b[i]);
    }
}

static void assert_results(const problem *p, const results *r, double bound)
{
    assert_same(p, "context", p->context, r->context, p->context_size, bound);
    assert_same(p, "weights", p->weights, r->weights, p->area, bound);
    for (int slot = 0; slot < PLAIN_SLOTS; slot++)
        if (p->grad[slot]) assert_same(p, problem_slots[slot], p->grad[slot], r->grad[slot], p->size[slot], bound);
}

/* Variants that take different code paths, for every score. */
enum { WAYS = 8 };

static problem problem_variant(const attend_score *score, int way)
{
    problem p = problem_of(score);
    if (way == 1) p.extras = PROBLEM_RAGGED, p.o.causal = true;
    if (way == 2) p.extras = PROBLEM_RAGGED | PROBLEM_ALLOWED | PROBLEM_BIAS, p.o.soft_cap = 3;
    if (way == 3) p.o.window = ATTEND_WINDOW_LOCAL_P, p.o.window_size = 4, p.o.key_heads = p.o.heads;
    if (way == 4)
        p.o.selection = ATTEND_SELECT_ENTMAX15, p.extras = PROBLEM_BIAS, p.a.bias_shape[0] = p.a.bias_shape[1] = 1;
    if (way == 5) p.o.selection = ATTEND_SELECT_HARD, p.a.training = true, p.o.temperature = 0.7;
    if (way == 6)
        p.o.dropout = 0.4, p.a.training = true, p.extras = PROBLEM_RAGGED | PROBLEM_ONE_ARRAY, p.a.seed = 5,
        p.a.stream = 9;
    if (way == 7)
        p.a.queries = 130, p.a.keys = 12, p.o.window = ATTEND_WINDOW_LOCAL_M, p.o.window_size = 70, p.a.batch = 2;
    problem_new(&p, (uint64_t)way);
    return p;
}

static void test_again_and_on_threads(void **state)
{
    (void)state;
    attend_runner *runners[] = { problem_runner(1), problem_runner(2), problem_runner(3) };
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < WAYS; way++) {
            problem p = problem_variant(*s, way);
            assert_ok(problem_run(runners[0], &p));
            results first = results_of(&p);
            for (int i = 0; i < 9; i++) {
                assert_ok(problem_run(runners[i % 3], &p));
                assert_results(&p, &first, 0);
            }
            results_free(&first);
            problem_free(&p);
        }
    for (int i = 0; i < 3; i++) attend_runner_free(runners[i]);
}

/* Without weights, the context and its gradients are the same. */
static void test_without_weights(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < WAYS; way++) {
            problem p = problem_variant(*s, way);
            memset(p.dweights, 0, p.area * sizeof *p.dweights);
            assert_ok(problem_run(r, &p));
            results with = results_of(&p);
            p.extras |= PROBLEM_NO_WEIGHTS;
            assert_ok(problem_run(r, &p));
            assert_results(&p, &with, 2e-5);
            results_free(&with);
            problem_free(&p);
        }
    attend_runner_free(r);
}

/* ---- the tape ---- */

/* The rows of an array (B, T, width) without padding, as a variable. */
static attend_var *packed(attend_ctx *c, const attend_real *all, int batch, int rows, size_t width, const int *lengths)
{
    attend_real *x = problem_array((size_t)batch * (size_t)rows * width);
    int n = 0;
    for (int b = 0; b < batch; b++)
        for (int t = 0; t < (lengths ? lengths[b] : rows); t++, n++)
            memcpy(x + (size_t)n * width, all + ((size_t)b * (size_t)rows + (size_t)t) * width, width * sizeof *x);
    attend_var *v = attend_input(c, 2, (const int[]){ n, (int)width }, x);
    free(x);
    return v;
}

/* The inverse: copies packed rows to their positions in the array. */
static void unpacked(const attend_real *x, attend_real *all, int batch, int rows, size_t width, const int *lengths)
{
    memset(all, 0, (size_t)batch * (size_t)rows * width * sizeof *all);
    for (int b = 0, n = 0; b < batch; b++)
        for (int t = 0; t < (lengths ? lengths[b] : rows); t++, n++)
            memcpy(all + ((size_t)b * (size_t)rows + (size_t)t) * width, x + (size_t)n * width, width * sizeof *x);
}

static const attend_ragged *ragged(attend_ctx *c, const problem *p, const int *lengths, int max_length)
{
    int all[8];
    for (int b = 0; b < p->a.batch; b++) all[b] = lengths ? lengths[b] : max_length;
    return attend_ragged_new(c, p->a.batch, all);
}

static size_t width_of(const problem *p, int slot)
{
    return p->size[slot] /
           (size_t)(p->a.batch * (slot == PLAIN_QUERY || slot == PLAIN_POSITION ? p->a.queries : p->a.keys));
}

typedef struct taped {
    attend_var *query, *key, *value, *parameters[ATTEND_SCORE_PARAMETERS];
    attend_source *source;
    attend_attention_inputs in;
} taped;

static taped taped_source(attend_ctx *c, const problem *p)
{
    const attend_arrays *a = &p->a;
    taped t = { .in = { .allowed = a->allowed, .first_position = a->first_position } };
    memcpy(t.in.allowed_shape, a->allowed_shape, sizeof a->allowed_shape);
    t.key = packed(c, a->key, a->batch, a->keys, width_of(p, PLAIN_KEY), a->key_lengths);
    if (a->value) t.value = packed(c, a->value, a->batch, a->keys, width_of(p, PLAIN_VALUE), a->key_lengths);
    if (a->bias) t.in.bias = attend_input(c, 4, a->bias_shape, a->bias);
    if (a->position) t.in.position = packed(c, a->position, a->batch, a->queries, 1, a->query_lengths);
    if (a->previous) t.in.previous = attend_input(c, 4, (const int[]){ a->batch, 1, a->queries, a->keys }, a->previous);
    const attend_widths w = { .query = p->o.heads * a->query_width,
                              .key = p->o.key_heads * a->key_width,
                              .value = p->o.key_heads * a->value_width,
                              .heads = p->o.heads,
                              .key_heads = p->o.key_heads,
                              .attention = a->attention,
                              .max_keys = a->max_keys,
                              .filters = a->filters,
                              .filter_size = a->filter_size };
    for (int i = 0; p->parameters[i]; i++) {
        const attend_score_parameter spec = p->o.score->parameter(&w, i);
        t.parameters[i] = attend_input(c, spec.rank, spec.shape, p->parameters[i]);
        if (i == ATTEND_SCORE_PARAMETERS - 1) break;
    }
    t.source = attend_source_new(c, &p->o, t.parameters, t.key, t.value, ragged(c, p, a->key_lengths, a->keys));
    return t;
}

/* Copies the gradients of variables into arrays. */
static void taped_gradients(const taped *t, const attend_attention_inputs *in, problem *p)
{
    const attend_arrays *a = &p->a;
    unpacked(attend_gradient(t->query), p->grad[PLAIN_QUERY], a->batch, a->queries, width_of(p, PLAIN_QUERY),
             a->query_lengths);
    unpacked(attend_gradient(t->key), p->grad[PLAIN_KEY], a->batch, a->keys, width_of(p, PLAIN_KEY), a->key_lengths);
    if (t->value)
        unpacked(attend_gradient(t->value), p->grad[PLAIN_VALUE], a->batch, a->keys, width_of(p, PLAIN_VALUE),
                 a->key_lengths);
    if (a->position)
        unpacked(attend_gradient(in->position), p->grad[PLAIN_POSITION], a->batch, a->queries, 1, a->query_lengths);
    const struct {
        const attend_var *v;
        int slot;
    } whole[] = { { in->bias, PLAIN_BIAS }, { in->previous, PLAIN_PREVIOUS } };
    for (int i = 0; i < 2; i++)
        if (whole[i].v)
            memcpy(p->grad[whole[i].slot], attend_gradient(whole[i].v), p->size[whole[i].slot] * sizeof(attend_real));
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS && p->parameters[i]; i++)
        memcpy(p->gradients[i], attend_gradient(t->parameters[i]), attend_size(t->parameters[i]) * sizeof(attend_real));
}

/* dcontext . context + dweights . weights */
static attend_var *loss_of(attend_ctx *c, const problem *p, attend_var *context, attend_var *weights)
{
    const size_t width = p->context_size / (size_t)(p->a.batch * p->a.queries);
    attend_var *d = packed(c, p->dcontext, p->a.batch, p->a.queries, width, p->a.query_lengths);
    attend_var *loss = attend_sum(c, attend_mul(c, context, d));
    if (!weights) return loss;
    const int shape[4] = { p->a.batch, p->o.heads, p->a.queries, p->a.keys };
    return attend_add(c, loss, attend_sum(c, attend_mul(c, weights, attend_constant(c, 4, shape, p->dweights))));
}

static void test_tape_and_runner(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 0; way < WAYS; way++) {
            if (way == 5 || way == 6) continue; /* these are random, and the random numbers of shards differ */
            problem p = problem_variant(*s, way);
            const attend_arrays *a = &p.a;
            assert_ok(problem_run(r, &p));
            results runner = results_of(&p);
            attend_ctx_reset(c);
            taped t = taped_source(c, &p);
            t.query = packed(c, a->query, a->batch, a->queries, width_of(&p, PLAIN_QUERY), a->query_lengths);
            attend_var *weights = NULL;
            attend_var *context =
                attend_attention(c, t.source, t.query, ragged(c, &p, a->query_lengths, a->queries), &t.in, &weights);
            attend_var *loss = loss_of(c, &p, context, weights);
            assert_ok(attend_backward(c, loss));
            unpacked(attend_value(context), p.context, a->batch, a->queries,
                     p.context_size / (size_t)(a->batch * a->queries), a->query_lengths);
            memcpy(p.weights, attend_value(weights), p.area * sizeof *p.weights);
            taped_gradients(&t, &t.in, &p);
            assert_results(&p, &runner, 2e-5);
            results_free(&runner);
            problem_free(&p);
        }
    attend_ctx_free(c);
    attend_runner_free(r);
}

/* One source serves all steps: processing query t of every sequence in step t gives the same contexts, and the same
 * sums of gradients, as all queries at once. */
static void test_source_shared_by_steps(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(1);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (const attend_score *const *s = attend_scores; *s; s++) {
        problem p = problem_of(*s);
        attend_arrays *a = &p.a;
        p.o.window = ATTEND_WINDOW_LOCAL_M, p.o.window_size = 3;
        problem_new(&p, 21);
        if (p.data[PLAIN_PREVIOUS]) memset(p.data[PLAIN_PREVIOUS], 0, p.size[PLAIN_PREVIOUS] * sizeof(attend_real));
        memset(p.dweights, 0, p.area * sizeof *p.dweights);
        assert_ok(problem_run(r, &p));
        results whole = results_of(&p);
        attend_ctx_reset(c);
        taped t = taped_source(c, &p);
        t.in.previous = NULL; /* zeros in every step */
        const size_t width = p.context_size / (size_t)(a->batch * a->queries);
        attend_var *contexts[8], *back[8];
        int lengths[8] = { 1, 1, 1, 1, 1 }, rows[64], n = 0;
        t.query = packed(c, a->query, a->batch, a->queries, width_of(&p, PLAIN_QUERY), NULL);
        for (int step = 0; step < a->queries; step++) {
            for (int b = 0; b < a->batch; b++) rows[b] = b * a->queries + step;
            t.in.first_position = step;
            contexts[step] = attend_attention(c, t.source, attend_gather(c, t.query, rows, a->batch),
                                              attend_ragged_new(c, a->batch, lengths), &t.in, NULL);
        }
        for (int b = 0; b < a->batch; b++)
            for (int step = 0; step < a->queries; step++) rows[n++] = step * a->batch + b;
        back[0] = attend_gather(c, attend_stack(c, contexts, a->queries), rows, n);
        assert_ok(attend_backward(c, loss_of(c, &p, back[0], NULL)));
        memcpy(p.context, attend_value(back[0]), (size_t)n * width * sizeof(attend_real));
        attend_real *previous = p.grad[PLAIN_PREVIOUS];
        if (previous) memcpy(previous, whole.grad[PLAIN_PREVIOUS], p.size[PLAIN_PREVIOUS] * sizeof *previous);
        taped_gradients(&t, &t.in, &p);
        assert_results(&p, &whole, 2e-5);
        results_free(&whole);
        problem_free(&p);
    }
    attend_ctx_free(c);
    attend_runner_free(r);
}

/* The hypotheses of a beam are several queries of one sequence; each has the same result as a single query. */
static void test_beams(void **state)
{
    (void)state;
    enum { BEAM = 4 };
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    attend_ctx_set_recording(c, false);
    for (const attend_score *const *s = attend_scores; *s; s++) {
        problem p = problem_of(*s);
        p.a.queries = BEAM;
        p.extras = PROBLEM_RAGGED;
        problem_new(&p, 8);
        p.a.query_lengths = NULL;
        taped t = taped_source(c, &p);
        t.in.previous = NULL;
        const attend_ragged *all = ragged(c, &p, NULL, BEAM), *one = ragged(c, &p, NULL, 1);
        attend_var *queries = packed(c, p.a.query, p.a.batch, BEAM, width_of(&p, PLAIN_QUERY), NULL);
        attend_var *together = attend_attention(c, t.source, queries, all, &t.in, NULL);
        assert_non_null(together);
        const size_t width = (size_t)attend_dim(together, 1);
        for (int beam = 0; beam < BEAM; beam++) {
            int rows[8];
            for (int b = 0; b < p.a.batch; b++) rows[b] = b * BEAM + beam;
            attend_var *single =
                attend_attention(c, t.source, attend_gather(c, queries, rows, p.a.batch), one, &t.in, NULL);
            assert_non_null(single);
            for (int b = 0; b < p.a.batch; b++)
                assert_same(&p, "context", attend_value(single) + (size_t)b * width,
                            attend_value(together) + (size_t)rows[b] * width, width, 2e-6);
        }
        attend_ctx_reset(c);
        problem_free(&p);
    }
    attend_ctx_free(c);
}

/* ---- gradients of the runner ---- */

static void test_gradients_are_added_skipped_and_computed_once(void **state)
{
    (void)state;
    attend_runner *r = problem_runner(2);
    for (const attend_score *const *s = attend_scores; *s; s++)
        for (int way = 2; way < 5; way++) {
            problem p = problem_variant(*s, way);
            assert_ok(problem_run(r, &p));
            results once = results_of(&p);
            /* added to the initial value 10 */
            for (int slot = 0; slot < PLAIN_SLOTS; slot++)
                for (size_t i = 0; p.grad[slot] && i < p.size[slot]; i++) p.grad[slot][i] = 10;
            assert_ok(problem_forward(r, &p));
            assert_ok(problem_backward(r, &p));
            for (int slot = 0; slot < PLAIN_SLOTS; slot++)
                for (size_t i = 0; p.grad[slot] && i < p.size[slot]; i++) p.grad[slot][i] -= 10;
            assert_results(&p, &once, 5e-5);
            /* a second backward fails and adds nothing */
            results before = results_of(&p);
            assert_int_equal(problem_backward(r, &p), ATTEND_BAD_USAGE);
            assert_non_null(strstr(attend_message(), "call attend_runner_forward first"));
            assert_results(&p, &before, 0);
            results_free(&before);
            /* each gradient in turn is NULL; the others are bit-identical */
            for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
                if (!p.grad[slot]) continue;
                attend_real *saved = p.grad[slot];
                p.grad[slot] = NULL;
                if (slot >= PLAIN_PARAMETERS) p.gradients[slot - PLAIN_PARAMETERS] = NULL;
                assert_ok(problem_run(r, &p));
                assert_results(&p, &once, 0);
                p.grad[slot] = saved;
                if (slot >= PLAIN_PARAMETERS) p.gradients[slot - PLAIN_PARAMETERS] = saved;
            }
            assert_ok(problem_forward(r, &p));
            assert_ok(attend_runner_backward(r, p.dcontext, NULL, &(attend_array_gradients){ 0 }));
            results_free(&once);
            problem_free(&p);
        }
    attend_runner_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again_and_on_threads),
        cmocka_unit_test(test_without_weights),
        cmocka_unit_test(test_tape_and_runner),
        cmocka_unit_test(test_source_shared_by_steps),
        cmocka_unit_test(test_beams),
        cmocka_unit_test(test_gradients_are_added_skipped_and_computed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
