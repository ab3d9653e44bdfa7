/* Teams: the same shards give the same bits on any number of threads; failures of shards; norms; sparse gradients. */
#include "support/language_model.h"
#include "unit/unit.h"

enum { STEPS = 20 };

/* Everything that a training computes, to be compared bit by bit. */
typedef struct trace {
    double losses[STEPS], norms[STEPS];
    size_t size;
    attend_real *gradient, *parameters;
} trace;

static const language_model small = { .vocabulary = 97,
                                      .embedding = 19,
                                      .hidden = 23,
                                      .count = 21,
                                      .max_length = 9,
                                      .shard = 4,
                                      .ragged = true,
                                      .dropout = 0.2 };

static void copy_all(trace *t, const language_model *m, const attend_team *team)
{
    t->size = attend_params_size(m->params);
    t->gradient = malloc(t->size * sizeof *t->gradient);
    t->parameters = malloc(t->size * sizeof *t->parameters);
    size_t at = 0;
    for (int i = 0; i < attend_params_count(m->params); i++) {
        const attend_param *p = attend_params_at(m->params, i);
        memcpy(t->gradient + at, attend_grads_of(attend_team_grads(team), p),
               attend_param_size(p) * sizeof *t->gradient);
        memcpy(t->parameters + at, attend_param_value(p), attend_param_size(p) * sizeof *t->parameters);
        at += attend_param_size(p);
    }
}

static trace train(int threads, attend_optimizer_kind kind)
{
    trace result;
    language_model m = small;
    attend_team *team = NULL;
    attend_optimizer *optimizer = NULL;
    attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    options.kind = kind;
    options.momentum = 0.9;
    assert_ok(language_model_new(&m));
    assert_ok(attend_team_new(&team, m.params, threads));
    assert_ok(attend_optimizer_new(&optimizer, team, &options));
    for (int i = 0; i < STEPS; i++) {
        assert_ok(attend_team_gradient(team, language_model_shards(&m), language_model_loss, &m, 42, (uint64_t)i,
                                       &result.losses[i]));
        assert_ok(attend_optimizer_step(optimizer, 0.01, 0.5, &result.norms[i]));
    }
    copy_all(&result, &m, team);
    attend_optimizer_free(optimizer);
    attend_team_free(team);
    language_model_free(&m);
    return result;
}

static void assert_same(const trace *a, const trace *b)
{
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_memory_equal(a->norms, b->norms, sizeof a->norms);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->gradient, b->gradient, a->size * sizeof *a->gradient);
    assert_memory_equal(a->parameters, b->parameters, a->size * sizeof *a->parameters);
}

static void trace_free(trace *t)
{
    free(t->gradient);
    free(t->parameters);
}

static void test_threads_give_the_same_bits(void **state)
{
    (void)state;
    for (int kind = ATTEND_SGD; kind <= ATTEND_ADAM; kind++) {
        trace one = train(1, (attend_optimizer_kind)kind);
        static const int counts[] = { 1, 2, 3, 7, 16 };
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            const int threads = counts[i];
            trace other = train(threads, (attend_optimizer_kind)kind);
            assert_same(&one, &other);
            trace_free(&other);
        }
        printf("loss %.9g -> %.9g\n", one.losses[0], one.losses[STEPS - 1]);
        assert_true(one.losses[STEPS - 1] < one.losses[0]);
        trace_free(&one);
    }
}

/* ---- the order of the sum ---- */

/* Numbers whose sum depends on the order. */
static double factor(int shard)
{
    static const double factors[] = { 1e8, 1, -1e8, 3, 0.1, 7e7, -2, 1e-3 };
    return factors[shard % 8] + shard * 0.37;
}

static attend_var *one_number(attend_ctx *c, int shard, void *user)
{
    return attend_scale(c, attend_sum(c, attend_parameter(c, ((attend_param **)user)[0])), factor(shard));
}

/* The value of a node: shards [first, end) split after the larger half. */
static attend_real node_sum(int first, int end)
{
    if (end - first == 1) return (attend_real)factor(first);
    const int middle = first + (end - first + 1) / 2;
    const attend_real left = node_sum(first, middle), right = node_sum(middle, end);
    return left + right;
}

static void test_gradients_are_added_by_the_tree(void **state)
{
    (void)state;
    static const int counts[] = { 1, 2, 3, 5, 16 };
    attend_params *set = NULL;
    attend_param *p[1];
    assert_ok(attend_params_new(&set));
    assert_ok(attend_params_add(&p[0], set, "x", 1, (const int[]){ 3 }));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        attend_team *team = NULL;
        assert_ok(attend_team_new(&team, set, counts[i]));
        for (int shards = 40; shards >= 1; shards -= 1 + shards % 3) {
            const attend_real expected = node_sum(0, shards);
            assert_ok(attend_team_gradient(team, shards, one_number, p, 1, 0, NULL));
            for (int j = 0; j < 3; j++)
                assert_memory_equal(&attend_grads_of(attend_team_grads(team), p[0])[j], &expected, sizeof expected);
        }
        attend_team_free(team);
    }
    attend_params_free(set);
}

/* ---- failures ---- */

static attend_var *failing(attend_ctx *c, int shard, void *user)
{
    if (shard == 2 || shard == 4) {
        attend_var *x = attend_input(c, 2, (const int[]){ 2, shard }, NULL);
        return attend_sum(c, attend_matmul(c, x, x, 0)); /* (2, 4) times (2, 4) */
    }
    return language_model_loss(c, shard, user);
}

static void test_a_failed_shard(void **state)
{
    (void)state;
    language_model m = small;
    attend_team *team = NULL;
    double loss;
    assert_ok(language_model_new(&m));
    for (int threads = 1; threads <= 5; threads += 2) {
        assert_ok(attend_team_new(&team, m.params, threads));
        assert_ok(attend_team_gradient(team, 2, failing, &m, 1, 0, &loss));
        double norm = attend_team_norm(team);
        assert_true(norm > 0);
        assert_int_equal(attend_team_gradient(team, 6, failing, &m, 1, 0, &loss), ATTEND_BAD_USAGE);
        assert_non_null(strstr(attend_message(), "shard 4: attend_matmul: (2, 4) times (2, 4)"));
        assert_true(attend_team_norm(team) == 0);
        assert_true(loss == 0);
        /* the failure has no effect on later gradients */
        assert_ok(attend_team_gradient(team, 2, failing, &m, 1, 0, &loss));
        assert_true(attend_team_norm(team) == norm);
        assert_int_equal(attend_team_gradient(team, -1, failing, &m, 1, 0, &loss), ATTEND_BAD_USAGE);
        attend_team_free(team);
    }
    language_model_free(&m);
}

static attend_var *not_finite(attend_ctx *c, int shard, void *user)
{
    language_model *m = user;
    return attend_scale(c, attend_sum(c, attend_parameter(c, m->bias)), shard == 1 ? HUGE_VAL : 1);
}

static void test_a_non_finite_gradient_changes_nothing(void **state)
{
    (void)state;
    language_model m = small;
    attend_team *team = NULL;
    attend_optimizer *optimizer = NULL;
    attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    double norm;
    assert_ok(language_model_new(&m));
    assert_ok(attend_team_new(&team, m.params, 2));
    assert_ok(attend_optimizer_new(&optimizer, team, &options));
    attend_real before = attend_param_value(m.bias)[3];
    assert_ok(attend_team_gradient(team, 2, not_finite, &m, 1, 0, NULL));
    assert_ok(attend_optimizer_step(optimizer, 0.1, 1, &norm));
    assert_true(!isfinite(norm));
    assert_true(attend_param_value(m.bias)[3] == before);
    /* nor does it count as a step: the next one is Adam's first, which moves every element by the learning rate */
    assert_ok(attend_team_gradient(team, 1, not_finite, &m, 1, 0, NULL));
    assert_ok(attend_optimizer_step(optimizer, 0.1, 0, &norm));
    assert_true(fabs((double)(before - attend_param_value(m.bias)[3]) - 0.1) < 1e-6);
    assert_int_equal(attend_optimizer_step(optimizer, -1, 1, &norm), ATTEND_BAD_USAGE);
    options.beta1 = 1.5;
    attend_optimizer *wrong = NULL;
    assert_int_equal(attend_optimizer_new(&wrong, team, &options), ATTEND_BAD_USAGE);
    assert_null(wrong);
    attend_optimizer_free(optimizer);
    attend_team_free(team);
    language_model_free(&m);
}

/* Rows of an embedding that no shard used have a zero gradient, and the gradients of rows do not persist to the next
 * update. */
static attend_var *one_row(attend_ctx *c, int shard, void *user)
{
    language_model *m = user;
    const int id = shard * 3;
    return attend_sum(c, attend_gather(c, attend_parameter(c, m->table), &id, 1));
}

static void test_only_used_rows_have_a_gradient(void **state)
{
    (void)state;
    language_model m = small;
    attend_team *team = NULL;
    assert_ok(language_model_new(&m));
    assert_ok(attend_team_new(&team, m.params, 2));
    for (int shards = 5; shards > 0; shards--) {
        assert_ok(attend_team_gradient(team, shards, one_row, &m, 1, 0, NULL));
        const attend_real *g = attend_grads_of(attend_team_grads(team), m.table);
        for (int i = 0; i < m.vocabulary * m.embedding; i++) {
            int row = i / m.embedding;
            assert_true(g[i] == (row % 3 == 0 && row / 3 < shards ? 1 : 0));
        }
    }
    attend_team_free(team);
    language_model_free(&m);
}

/* The norm of a gradient that spans several pieces, dense and by rows, against a plain sum. */
static attend_var *several_pieces(attend_ctx *c, int shard, void *user)
{
    attend_param **p = user;
    int ids[300];
    for (int i = 0; i < 300; i++) ids[i] = (i * 37 + shard) % 300;
    attend_var *rows = attend_gather(c, attend_parameter(c, p[0]), ids, 150);
    attend_var *all = attend_parameter(c, p[1]);
    return attend_add(c, attend_sum(c, attend_mul(c, rows, rows)), attend_sum(c, attend_mul(c, all, all)));
}

static void test_norm_of_a_large_gradient(void **state)
{
    (void)state;
    attend_params *set = NULL;
    attend_param *p[2];
    attend_team *team = NULL;
    assert_ok(attend_params_new(&set));
    assert_ok(attend_params_add(&p[0], set, "table", 2, (const int[]){ 300, 777 }));
    assert_ok(attend_params_add(&p[1], set, "dense", 2, (const int[]){ 150, 1000 }));
    for (int i = 0; i < 2; i++) attend_param_fill_uniform(p[i], 1, 1);
    assert_true(attend_param_value(p[0])[0] != attend_param_value(p[1])[0]); /* by name */
    assert_ok(attend_team_new(&team, set, 2));
    assert_ok(attend_team_gradient(team, 3, several_pieces, p, 1, 0, NULL));
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < attend_param_size(p[i]); j++) {
            double g = (double)attend_grads_of(attend_team_grads(team), p[i])[j];
            sum += g * g;
        }
    assert_true(fabs(attend_team_norm(team) - sqrt(sum)) < 1e-9 * sqrt(sum));
    attend_team_free(team);
    attend_params_free(set);
}

/* Every update has its own dropout mask. */
static void test_random_numbers_differ_from_update_to_update(void **state)
{
    (void)state;
    language_model m = small;
    attend_team *team = NULL;
    double losses[3];
    assert_ok(language_model_new(&m));
    assert_ok(attend_team_new(&team, m.params, 1));
    for (uint64_t i = 0; i < 3; i++)
        assert_ok(attend_team_gradient(team, 2, language_model_loss, &m, 1, i % 2, &losses[i]));
    assert_true(losses[0] != losses[1]);
    assert_true(losses[0] == losses[2]);
    attend_team_free(team);
    language_model_free(&m);
}

/* Parameters added after the team was made are refused by every function. */
static void test_parameters_added_late(void **state)
{
    (void)state;
    language_model m = small;
    attend_team *team = NULL;
    attend_optimizer *optimizer = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    assert_ok(language_model_new(&m));
    assert_ok(attend_team_new(&team, m.params, 2));
    assert_ok(attend_optimizer_new(&optimizer, team, &options));
    assert_ok(attend_team_gradient(team, 2, language_model_loss, &m, 1, 0, NULL));
    assert_ok(attend_params_add(NULL, m.params, "late", 1, (const int[]){ 3 }));
    assert_int_equal(attend_team_gradient(team, 2, language_model_loss, &m, 1, 0, NULL), ATTEND_BAD_USAGE);
    assert_int_equal(attend_optimizer_step(optimizer, 0.1, 0, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "created for 7 parameters, and now there are"));
    attend_team_free(team);
    attend_optimizer_free(optimizer); /* either order is valid */
    language_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_give_the_same_bits),
        cmocka_unit_test(test_gradients_are_added_by_the_tree),
        cmocka_unit_test(test_a_failed_shard),
        cmocka_unit_test(test_a_non_finite_gradient_changes_nothing),
        cmocka_unit_test(test_only_used_rows_have_a_gradient),
        cmocka_unit_test(test_norm_of_a_large_gradient),
        cmocka_unit_test(test_random_numbers_differ_from_update_to_update),
        cmocka_unit_test(test_parameters_added_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
