/* attention_problem.h: an attention call on plain arrays, with random inputs from a seed and memory for all results.
 *
 * Set `o`, the sizes in `a` and the optional inputs in `extras`; problem_new fills the rest. */
#ifndef ATTEND_TEST_ATTENTION_PROBLEM_H
#define ATTEND_TEST_ATTENTION_PROBLEM_H

#include "core/rng.h"
#include "support/plain_attention.h"
#include "unit/unit.h"

enum {
    PROBLEM_RAGGED = 1,     /* random lengths from 0 to the maximum */
    PROBLEM_ALLOWED = 2,    /* a mask of shape a.allowed_shape (zeros: full shape); some rows hide all keys */
    PROBLEM_BIAS = 4,       /* a bias of shape a.bias_shape (zeros: full shape), some elements -inf */
    PROBLEM_ONE_ARRAY = 8,  /* the keys serve as values */
    PROBLEM_INTEGERS = 16,  /* queries and keys are integers up to `reach`, so that dot products are exact */
    PROBLEM_NO_WEIGHTS = 32 /* weights are not requested */
};

/* A sequence of random numbers. */
typedef struct test_random {
    attend_rng rng;
    uint64_t used;
} test_random;

static inline double test_random_uniform(test_random *d)
{
    return attend_rng_uniform(&d->rng, d->used++);
}

static inline int test_random_below(test_random *d, int n)
{
    return (int)(test_random_uniform(d) * n);
}

typedef struct problem {
    attend_attention_options o;
    attend_arrays a;
    int extras;
    double reach; /* range of queries and keys; 0: 1 */

    attend_real *data[PLAIN_SLOTS], *grad[PLAIN_SLOTS]; /* NULL: no such array */
    size_t size[PLAIN_SLOTS];
    const attend_real *parameters[ATTEND_SCORE_PARAMETERS];
    attend_real *gradients[ATTEND_SCORE_PARAMETERS];
    int *lengths; /* of queries, then of keys */
    unsigned char *allowed;
    attend_real *context, *weights, *scores, *dcontext, *dweights; /* scores: NULL where the score maps rows */
    size_t context_size, area;                                     /* area: B H Tq Tk */
} problem;

static const char *const problem_slots[PLAIN_SLOTS] = { "query",       "key",         "value",       "bias",
                                                        "position",    "previous",    "parameter 0", "parameter 1",
                                                        "parameter 2", "parameter 3", "parameter 4", "parameter 5" };

static inline attend_real *problem_array(size_t size)
{
    attend_real *x = calloc(size + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Fills a slot with random numbers, uniform in [-reach, reach). */
static inline void problem_slot(problem *p, int slot, size_t size, double reach, test_random *d)
{
    p->size[slot] = size;
    p->data[slot] = problem_array(size);
    p->grad[slot] = problem_array(size);
    for (size_t i = 0; i < size; i++) p->data[slot][i] = (attend_real)(reach * (2 * test_random_uniform(d) - 1));
}

static inline void problem_masks(problem *p, test_random *d)
{
    const int full[4] = { p->a.batch, p->o.heads, p->a.queries, p->a.keys };
    size_t sizes[2] = { 1, 1 };
    for (int i = 0; i < 4; i++) {
        if (p->a.allowed_shape[i] == 0) p->a.allowed_shape[i] = full[i];
        if (p->a.bias_shape[i] == 0) p->a.bias_shape[i] = full[i];
        sizes[0] *= (size_t)p->a.allowed_shape[i];
        sizes[1] *= (size_t)p->a.bias_shape[i];
    }
    if (p->extras & PROBLEM_ALLOWED) {
        p->allowed = calloc(sizes[0] + 1, 1);
        assert_non_null(p->allowed);
        bool blind = false;
        for (size_t i = 0; i < sizes[0]; i++) {
            if (p->a.allowed_shape[3] && i % (size_t)p->a.allowed_shape[3] == 0) blind = test_random_uniform(d) < 0.15;
            p->allowed[i] = !blind && test_random_uniform(d) < 0.7;
        }
        p->a.allowed = p->allowed;
    }
    if (p->extras & PROBLEM_BIAS) {
        problem_slot(p, PLAIN_BIAS, sizes[1], 1, d);
        for (size_t i = 0; i < sizes[1]; i++)
            if (test_random_uniform(d) < 0.15) p->data[PLAIN_BIAS][i] = (attend_real)-INFINITY;
    }
}

static inline void problem_parameters(problem *p, test_random *d)
{
    const attend_score *score = p->o.score;
    const attend_widths w = { .query = p->o.heads * p->a.query_width,
                              .key = p->o.key_heads * p->a.key_width,
                              .value = p->o.key_heads * p->a.value_width,
                              .heads = p->o.heads,
                              .key_heads = p->o.key_heads,
                              .attention = p->a.attention,
                              .max_keys = p->a.max_keys,
                              .filters = p->a.filters,
                              .filter_size = p->a.filter_size };
    for (int i = 0; score->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter spec = score->parameter(&w, i);
        if (!spec.name) break;
        problem_slot(p, PLAIN_PARAMETERS + i, (size_t)spec.shape[0] * (size_t)(spec.rank == 2 ? spec.shape[1] : 1), 0.7,
                     d);
        p->parameters[i] = p->data[PLAIN_PARAMETERS + i];
        p->gradients[i] = p->grad[PLAIN_PARAMETERS + i];
    }
}

static inline plain_problem problem_plain(const problem *p)
{
    return (plain_problem){ .o = &p->o, .a = &p->a };
}

static inline bool problem_in_place(const problem *p)
{
    const attend_score *s = p->o.score;
    return !s->prepare_keys && !s->prepare_queries && !s->prepare_values && !s->finish;
}

static inline void problem_new(problem *p, uint64_t seed)
{
    test_random d = { .rng = { .seed = 2024, .stream = seed } };
    attend_arrays *a = &p->a;
    if (p->extras & PROBLEM_ONE_ARRAY) a->value_width = a->key_width;
    const size_t batch = (size_t)a->batch, queries = batch * (size_t)a->queries, keys = batch * (size_t)a->keys;
    const double reach = p->reach > 0 ? p->reach : 1;
    problem_slot(p, PLAIN_QUERY, queries * (size_t)(p->o.heads * a->query_width), reach, &d);
    problem_slot(p, PLAIN_KEY, keys * (size_t)(p->o.key_heads * a->key_width), reach, &d);
    for (int slot = PLAIN_QUERY; p->extras & PROBLEM_INTEGERS && slot <= PLAIN_KEY; slot++)
        for (size_t i = 0; i < p->size[slot]; i++) p->data[slot][i] = (attend_real)round((double)p->data[slot][i]);
    if (!(p->extras & PROBLEM_ONE_ARRAY))
        problem_slot(p, PLAIN_VALUE, keys * (size_t)(p->o.key_heads * a->value_width), 1, &d);
    problem_parameters(p, &d);
    problem_masks(p, &d);
    if (p->o.window == ATTEND_WINDOW_LOCAL_P) {
        problem_slot(p, PLAIN_POSITION, queries, 1, &d);
        for (size_t i = 0; i < queries; i++)
            p->data[PLAIN_POSITION][i] = (attend_real)(0.01 + 0.98 * test_random_uniform(&d));
    }
    if (p->o.score->needs_previous_weights) problem_slot(p, PLAIN_PREVIOUS, queries * (size_t)a->keys, 1, &d);
    p->lengths = calloc(2 * batch + 1, sizeof *p->lengths);
    assert_non_null(p->lengths);
    for (int b = 0; b < a->batch; b++) { /* the first has the maximum length; some are empty */
        p->lengths[b] = b == 0 ? a->queries : test_random_below(&d, a->queries + 1);
        p->lengths[a->batch + b] = b == 0                          ? a->keys
                                   : test_random_below(&d, 8) == 0 ? 0
                                                                   : test_random_below(&d, a->keys + 1);
    }
    if (p->extras & PROBLEM_RAGGED) a->query_lengths = p->lengths, a->key_lengths = p->lengths + a->batch;
    a->query = p->data[PLAIN_QUERY], a->key = p->data[PLAIN_KEY], a->value = p->data[PLAIN_VALUE];
    a->bias = p->data[PLAIN_BIAS], a->position = p->data[PLAIN_POSITION], a->previous = p->data[PLAIN_PREVIOUS];

    plain_problem plain = problem_plain(p);
    const double some = 0;
    if (p->data[PLAIN_VALUE]) plain.data[PLAIN_VALUE] = &some; /* its presence determines the width */
    p->context_size = queries * (size_t)plain_context_width(&plain);
    p->area = queries * (size_t)p->o.heads * (size_t)a->keys;
    p->context = problem_array(p->context_size), p->dcontext = problem_array(p->context_size);
    p->weights = problem_array(p->area), p->dweights = problem_array(p->area);
    p->scores = problem_in_place(p) ? problem_array(p->area) : NULL;
    for (size_t i = 0; i < p->context_size; i++) p->dcontext[i] = (attend_real)(2 * test_random_uniform(&d) - 1);
    for (size_t i = 0; i < p->area; i++) p->dweights[i] = (attend_real)(2 * test_random_uniform(&d) - 1);
}

static inline void problem_free(problem *p)
{
    for (int slot = 0; slot < PLAIN_SLOTS; slot++) {
        free(p->data[slot]);
        free(p->grad[slot]);
    }
    free(p->lengths);
    free(p->allowed);
    free(p->context);
    free(p->weights);
    free(p->scores);
    free(p->dcontext);
    free(p->dweights);
}

static inline attend_array_gradients problem_gradients(problem *p)
{
    return (attend_array_gradients){ .query = p->grad[PLAIN_QUERY],
                                     .key = p->grad[PLAIN_KEY],
                                     .value = p->grad[PLAIN_VALUE],
                                     .bias = p->grad[PLAIN_BIAS],
                                     .position = p->grad[PLAIN_POSITION],
                                     .previous = p->grad[PLAIN_PREVIOUS],
                                     .parameters = p->gradients };
}

static inline int problem_forward(attend_runner *r, problem *p)
{
    p->a.parameters = p->parameters; /* set here, since a problem may have been copied */
    return attend_runner_forward(r, &p->o, &p->a, p->context, p->extras & PROBLEM_NO_WEIGHTS ? NULL : p->weights,
                                 p->scores);
}

/* Adds to `grad`. */
static inline int problem_backward(attend_runner *r, problem *p)
{
    const attend_array_gradients g = problem_gradients(p);
    return attend_runner_backward(r, p->dcontext, p->extras & PROBLEM_NO_WEIGHTS ? NULL : p->dweights, &g);
}

/* Forward and backward, with gradients that start at zero. */
static inline int problem_run(attend_runner *r, problem *p)
{
    for (int slot = 0; slot < PLAIN_SLOTS; slot++)
        if (p->grad[slot]) memset(p->grad[slot], 0, p->size[slot] * sizeof(attend_real));
    int status = problem_forward(r, p);
    return status == ATTEND_OK ? problem_backward(r, p) : status;
}

static inline attend_runner *problem_runner(int threads)
{
    attend_runner *r = NULL;
    assert_ok(attend_runner_new(&r, threads));
    return r;
}

/* A problem with several heads if the score allows them, and sizes that are no multiples of the kernel sizes. */
static inline problem problem_of(const attend_score *score)
{
    problem p = { .o = ATTEND_ATTENTION_OPTIONS_INIT };
    p.o.score = score;
    p.o.heads = score->needs_previous_weights ? 1 : 4;
    p.o.key_heads = score->needs_previous_weights ? 1 : 2;
    p.a = (attend_arrays){ .batch = 5,
                           .queries = 7,
                           .keys = 13,
                           .query_width = 5,
                           .key_width = 5,
                           .value_width = 3,
                           .attention = 4 * p.o.heads,
                           .max_keys = 14,
                           .filters = 2,
                           .filter_size = 3 };
    return p;
}

/* A description of the problem for messages. */
static inline const char *problem_text(const problem *p, char text[200])
{
    static const char *const windows[] = { "", ", local-m", ", local-p" };
    static const char *const selections[] = { "", ", sparsemax", ", entmax", ", hard" };
    snprintf(text, 200,
             "%s%s%s%s%s, (%d, %d, %d), widths %d %d %d, %d heads, %d key heads%s, cap %g, reach %g, extras %d",
             p->o.score->name, windows[p->o.window], selections[p->o.selection], p->o.causal ? ", causal" : "",
             p->a.heads_first ? ", heads first" : "", p->a.batch, p->a.queries, p->a.keys, p->a.query_width,
             p->a.key_width, p->a.value_width, p->o.heads, p->o.key_heads, p->a.training ? ", training" : "",
             p->o.soft_cap, p->reach, p->extras);
    return text;
}

#endif
