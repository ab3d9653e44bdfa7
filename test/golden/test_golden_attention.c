/* test_golden_attention.c: compares attention with PyTorch: on the tape, and on plain arrays in both layouts on one
 * and two threads, which must be bit-identical. tools/make_attention_goldens.py documents the tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include <attend/attention.h>
#include <stdlib.h>
#include <string.h>

typedef struct spec {
    const char *golden;               /* attention_NAME */
    attend_attention_options options; /* heads come from the golden */
    int first_position;
    bool tape_only; /* positions are computed on the tape; plain arrays only accept given positions */
} spec;

#define LOCAL(score_, window_) .options = { .score = &(score_), .window = (window_), .window_size = 2 }

static const spec specs[] = {
    { .golden = "plain" },
    { .golden = "causal", .options = { .causal = true } },
    { .golden = "tail", .options = { .causal = true } },
    { .golden = "mask" },
    { .golden = "mask_shared" },
    { .golden = "bias" },
    { .golden = "bias_shared" },
    { .golden = "grouped" },
    { .golden = "scale", .options = { .scale = 0.75 } },
    { .golden = "wide" },
    { .golden = "cap", .options = { .soft_cap = 1.5 } },
    { .golden = "sparsemax", .options = { .selection = ATTEND_SELECT_SPARSEMAX } },
    { .golden = "entmax15", .options = { .selection = ATTEND_SELECT_ENTMAX15 } },
    { .golden = "bahdanau", .options = { .score = &attend_score_additive } },
    { .golden = "luong_dot", .options = { .score = &attend_score_dot } },
    { .golden = "luong_general", .options = { .score = &attend_score_bilinear } },
    { .golden = "luong_concat", .options = { .score = &attend_score_additive } },
    { .golden = "luong_location", .options = { .score = &attend_score_location } },
    { .golden = "local_m", LOCAL(attend_score_dot, ATTEND_WINDOW_LOCAL_M), .first_position = 38 },
    { .golden = "local_p", LOCAL(attend_score_dot, ATTEND_WINDOW_LOCAL_P) },
    { .golden = "local_p_general", LOCAL(attend_score_bilinear, ATTEND_WINDOW_LOCAL_P) },
    { .golden = "local_p_learned", LOCAL(attend_score_bilinear, ATTEND_WINDOW_LOCAL_P), .tape_only = true },
    { .golden = "location_sensitive", .options = { .score = &attend_score_location_sensitive } },
    { .golden = "multihead", .options = { .score = &attend_score_projected } },
};

/* ---- an open golden ---- */

typedef struct problem {
    rig r;
    attend_attention_options options;
    int first_position;
    int batch, queries, keys;
    attend_widths widths;
    const char *names[ATTEND_SCORE_PARAMETERS]; /* names of the score's parameters */
    int parameters;
    int *query_lengths, *key_lengths; /* NULL: no padding */
    unsigned char *allowed;           /* or NULL */
    int allowed_shape[4];
} problem;

/* The length of an axis, or 0 if there is no such tensor. */
static int dim(problem *p, const char *name, int axis)
{
    if (!golden_has(&p->r.g, name)) return 0;
    const golden_tensor *t = golden_find(&p->r.g, name);
    assert_true(axis < t->rank);
    return t->shape[axis];
}

static int *lengths_if_any(problem *p, const char *name)
{
    int count = 0;
    int *lengths = golden_has(&p->r.g, name) ? rig_integers(&p->r, name, &count) : NULL;
    assert_true(lengths == NULL || count == p->batch);
    return lengths;
}

static void take_allowed(problem *p)
{
    if (!golden_has(&p->r.g, "allowed")) return;
    const golden_tensor *t = golden_find(&p->r.g, "allowed");
    p->allowed = malloc(t->size);
    assert_non_null(p->allowed);
    memcpy(p->allowed_shape, t->shape, sizeof p->allowed_shape);
    for (size_t i = 0; i < t->size; i++) p->allowed[i] = t->data[i] != 0;
}

/* Finds the score's parameters and checks their shapes. */
static void take_parameters(problem *p)
{
    const attend_score *score = p->options.score;
    for (int i = 0; score != NULL && score->parameter != NULL && i < ATTEND_SCORE_PARAMETERS; i++) {
        attend_score_parameter at = score->parameter(&p->widths, i);
        if (at.name == NULL) break;
        rig_require(&p->r, golden_shaped(&p->r.g, at.name, at.rank, at.shape) != NULL);
        p->names[p->parameters++] = at.name;
    }
}

static void open_problem(problem *p, const spec *s, rig_weights weights, const char *way)
{
    char name[GOLDEN_NAME];
    (void)snprintf(name, sizeof name, "attention_%s", s->golden);
    *p = (problem){ .options = s->options, .first_position = s->first_position };
    rig_open(&p->r, name, weights, way);
    p->batch = dim(p, "query", 0), p->queries = dim(p, "query", 1), p->keys = dim(p, "key", 1);
    p->options.heads = dim(p, "query", 2), p->options.key_heads = dim(p, "key", 2);
    p->widths = (attend_widths){ .query = p->options.heads * dim(p, "query", 3),
                                 .key = p->options.key_heads * dim(p, "key", 3),
                                 .value = p->options.key_heads * dim(p, "value", 3),
                                 .heads = p->options.heads,
                                 .key_heads = p->options.key_heads,
                                 .attention = dim(p, "wq", 0),
                                 .max_keys = dim(p, "wa", 0),
                                 .filters = dim(p, "f", 0),
                                 .filter_size = dim(p, "f", 1) };
    p->query_lengths = lengths_if_any(p, "query_lengths");
    p->key_lengths = lengths_if_any(p, "key_lengths");
    take_allowed(p);
    take_parameters(p);
}

static void close_problem(problem *p)
{
    free(p->query_lengths);
    free(p->key_lengths);
    free(p->allowed);
    rig_close(&p->r);
}

/* ---- on plain arrays ---- */

enum { SLAB = 1 << 13 };
typedef struct slab {
    attend_real numbers[SLAB];
    size_t used;
} slab;

/* Zeros of the size of the tensor, or NULL if there is no such tensor. */
static attend_real *zeros_like(problem *p, const char *name, slab *s)
{
    if (!golden_has(&p->r.g, name)) return NULL;
    const size_t size = golden_find(&p->r.g, name)->size;
    assert_true(s->used + size <= SLAB);
    attend_real *out = s->numbers + s->used;
    memset(out, 0, size * sizeof *out);
    s->used += size;
    return out;
}

/* The index in (B, H, T, D) of element i of (B, T, H, D). */
static size_t heads_first_index(const golden_tensor *t, size_t i)
{
    const size_t rows = (size_t)t->shape[1], heads = (size_t)t->shape[2], width = (size_t)t->shape[3];
    const size_t d = i % width, h = i / width % heads, row = i / width / heads % rows, b = i / width / heads / rows;
    return ((b * heads + h) * rows + row) * width + d;
}

/* The elements of the tensor, as (B, H, T, D) if `heads_first`; NULL if there is no such tensor. */
static attend_real *load(problem *p, const char *name, bool heads_first, slab *s)
{
    attend_real *out = zeros_like(p, name, s);
    const golden_tensor *t = out != NULL ? golden_find(&p->r.g, name) : NULL;
    for (size_t i = 0; t != NULL && i < t->size; i++)
        out[heads_first ? heads_first_index(t, i) : i] = (attend_real)t->data[i];
    return out;
}

/* Compares with the tensor PREFIXNAME, if there is one. `heads_first`: the layout of `got` is (B, H, T, D). */
static void compare(problem *p, const char *prefix, const char *name, const attend_real *got, bool heads_first)
{
    char full[GOLDEN_NAME];
    slab *straight = malloc(sizeof *straight);
    assert_non_null(straight);
    straight->used = 0;
    (void)snprintf(full, sizeof full, "%s%s", prefix, name);
    attend_real *numbers = zeros_like(p, full, straight);
    if (numbers != NULL) {
        const golden_tensor *t = golden_find(&p->r.g, full);
        for (size_t i = 0; i < t->size; i++) numbers[i] = got[heads_first ? heads_first_index(t, i) : i];
        rig_compare(&p->r, full, t->rank, t->shape, numbers);
    }
    free(straight);
}

/* All inputs of the forward pass. */
static attend_arrays arrays_of(problem *p, bool heads_first, const attend_real **parameters, slab *in)
{
    attend_arrays a = { .batch = p->batch, .queries = p->queries, .keys = p->keys, .heads_first = heads_first };
    a.query_width = dim(p, "query", 3), a.key_width = dim(p, "key", 3), a.value_width = dim(p, "value", 3);
    a.query_lengths = p->query_lengths, a.key_lengths = p->key_lengths;
    a.attention = p->widths.attention, a.max_keys = p->widths.max_keys;
    a.filters = p->widths.filters, a.filter_size = p->widths.filter_size;
    a.allowed = p->allowed, a.first_position = p->first_position;
    a.query = load(p, "query", heads_first, in);
    a.key = load(p, "key", heads_first, in);
    a.value = load(p, "value", heads_first, in);
    a.bias = load(p, "bias", false, in);
    a.position = load(p, "position", false, in);
    a.previous = load(p, "previous", false, in);
    for (int i = 0; i < p->parameters; i++) parameters[i] = load(p, p->names[i], false, in);
    a.parameters = parameters;
    memcpy(a.allowed_shape, p->allowed_shape, sizeof a.allowed_shape);
    for (int i = 0; i < 4; i++) a.bias_shape[i] = dim(p, "bias", i);
    return a;
}

/* Forward and backward; all results are stored in `out`, in the same order for every runner. */
static void check_arrays(problem *p, attend_runner *runner, bool heads_first, slab *in, slab *out)
{
    const attend_real *parameters[ATTEND_SCORE_PARAMETERS] = { NULL };
    attend_real *dparameters[ATTEND_SCORE_PARAMETERS] = { NULL };
    in->used = out->used = 0;
    const attend_arrays a = arrays_of(p, heads_first, parameters, in);
    for (int i = 0; i < p->parameters; i++) dparameters[i] = zeros_like(p, p->names[i], out);
    attend_array_gradients g = { .parameters = dparameters };
    g.query = zeros_like(p, "query", out), g.key = zeros_like(p, "key", out), g.value = zeros_like(p, "value", out);
    g.bias = zeros_like(p, "bias", out);
    g.position = zeros_like(p, "position", out);
    g.previous = zeros_like(p, "previous", out);
    attend_real *context = zeros_like(p, "context", out), *weights = zeros_like(p, "weights", out);
    attend_real *scores = zeros_like(p, "scores", out);
    rig_status(&p->r, attend_runner_forward(runner, &p->options, &a, context, weights, scores));
    const attend_real *dcontext = load(p, "bar.context", heads_first, in);
    const attend_real *dweights = load(p, "bar.weights", false, in);
    rig_status(&p->r, attend_runner_backward(runner, dcontext, dweights, &g));

    compare(p, "", "context", context, heads_first);
    compare(p, "", "weights", weights, false);
    compare(p, "", "scores", scores, false);
    compare(p, "grad.", "query", g.query, heads_first);
    compare(p, "grad.", "key", g.key, heads_first);
    compare(p, "grad.", "value", g.value, heads_first);
    compare(p, "grad.", "bias", g.bias, false);
    compare(p, "grad.", "position", g.position, false);
    compare(p, "grad.", "previous", g.previous, false);
    for (int i = 0; i < p->parameters; i++) compare(p, "grad.", p->names[i], dparameters[i], false);
}

/* A score that maps rows needs all heads of a row together. */
static bool heads_may_come_first(const problem *p)
{
    return p->options.heads == 1 || p->options.score == NULL || p->options.score->prepare_keys == NULL;
}

static void check_runners(const spec *s)
{
    static const char *const ways[2][2] = { { "one thread", "one thread, heads first" },
                                            { "two threads", "two threads, heads first" } };
    static slab in, out[2][2]; /* by layout and threads */
    for (int layout = 0; layout < 2; layout++) out[layout][0].used = out[layout][1].used = 0;
    for (int threads = 1; threads <= 2; threads++) {
        attend_runner *runner = NULL;
        problem p;
        open_problem(&p, s, RIG_INPUTS, ways[threads - 1][0]);
        rig_status(&p.r, attend_runner_new(&runner, threads));
        for (int heads_first = 0; heads_first <= heads_may_come_first(&p); heads_first++) {
            p.r.way = ways[threads - 1][heads_first];
            check_arrays(&p, runner, heads_first, &in, &out[heads_first][threads - 1]);
        }
        attend_runner_free(runner);
        close_problem(&p);
    }
    for (int layout = 0; layout < 2; layout++)
        if (memcmp(out[layout][0].numbers, out[layout][1].numbers, out[layout][0].used * sizeof *in.numbers) != 0)
            fail_msg("%s: one thread and two differ [%s]", s->golden, ways[1][layout]);
}

/* ---- on the tape ---- */

/* The relation of padded rows (B, T) and packed rows without padding. */
typedef struct packing {
    const attend_ragged *sequences;
    int *rows;    /* (count): index of a packed row among the padded rows */
    int *indices; /* (B T): index of a padded row among the packed rows; `count` for padding */
    int count;
} packing;

static packing pack(problem *p, const int *lengths, int longest)
{
    const size_t all = (size_t)p->batch * (size_t)longest;
    packing k = { .rows = calloc(all, sizeof *k.rows), .indices = calloc(all, sizeof *k.indices) };
    int *full = calloc((size_t)p->batch, sizeof *full);
    assert_true(k.rows != NULL && k.indices != NULL && full != NULL);
    for (int b = 0; b < p->batch; b++) {
        full[b] = lengths != NULL ? lengths[b] : longest;
        for (int t = 0; t < full[b]; t++) k.rows[k.count++] = b * longest + t;
    }
    for (size_t i = 0; i < all; i++) k.indices[i] = k.count;
    for (int i = 0; i < k.count; i++) k.indices[k.rows[i]] = i;
    k.sequences = attend_ragged_new(p->r.c, p->batch, full);
    free(full);
    return k;
}

static void packing_free(packing *k)
{
    free(k->rows);
    free(k->indices);
}

/* The rows of (B, T, ...) without padding, as (N, ...); NULL if there is no such tensor. */
static attend_var *rows_of(problem *p, const char *name, const packing *k)
{
    attend_var *v = rig_input_if_any(&p->r, name);
    if (v == NULL) return NULL;
    const int rows = attend_dim(v, 0) * attend_dim(v, 1);
    v = attend_reshape(p->r.c, v, 2, (const int[]){ rows, (int)attend_size(v) / rows });
    return attend_gather(p->r.c, v, k->rows, k->count);
}

/* (N, ...) as (B, T, ...), with zeros as padding. */
static attend_var *padded(problem *p, attend_var *v, const packing *k)
{
    const golden_tensor *t = golden_find(&p->r.g, "context");
    attend_var *zero = attend_constant(p->r.c, 2, (const int[]){ 1, t->shape[2] * t->shape[3] }, NULL);
    attend_var *rows = attend_stack(p->r.c, (attend_var *const[]){ v, zero }, 2);
    return attend_reshape(p->r.c, attend_gather(p->r.c, rows, k->indices, p->batch * p->queries), 4, t->shape);
}

static void check_tape(const spec *s, rig_weights kind, const char *way)
{
    problem p;
    open_problem(&p, s, kind, way);
    packing q = pack(&p, p.query_lengths, p.queries), k = pack(&p, p.key_lengths, p.keys);
    attend_var *w[ATTEND_SCORE_PARAMETERS] = { NULL }, *weights = NULL;
    for (int i = 0; i < p.parameters; i++) w[i] = rig_weight(&p.r, p.names[i]);
    attend_var *query = rows_of(&p, "query", &q), *keys = rows_of(&p, "key", &k), *values = rows_of(&p, "value", &k);
    attend_attention_inputs in = { .allowed = p.allowed,
                                   .bias = rig_weight_if_any(&p.r, "bias"),
                                   .position = rows_of(&p, "position", &q),
                                   .previous = rig_input_if_any(&p.r, "previous"),
                                   .first_position = p.first_position };
    memcpy(in.allowed_shape, p.allowed_shape, sizeof in.allowed_shape);
    if (golden_has(&p.r.g, "vp"))
        in.position = attend_window_position(p.r.c, query, rig_weight(&p.r, "wp"), rig_weight(&p.r, "vp"));
    const attend_source *source = attend_source_new(p.r.c, &p.options, w, keys, values, k.sequences);
    const bool has_weights = golden_has(&p.r.g, "weights");
    attend_var *context = attend_attention(p.r.c, source, query, q.sequences, &in, has_weights ? &weights : NULL);
    rig_output(&p.r, "context", padded(&p, context, &q));
    if (has_weights) rig_output(&p.r, "weights", weights);
    rig_check(&p.r);
    if (golden_has(&p.r.g, "scores")) (void)golden_find(&p.r.g, "scores"); /* only the plain arrays return them */
    packing_free(&q);
    packing_free(&k);
    close_problem(&p);
}

static void check_every_way(const void *user)
{
    const spec *s = user;
    check_tape(s, RIG_PARAMETERS, "tape, parameters");
    check_tape(s, RIG_INPUTS, "tape, variables");
    if (!s->tape_only) check_runners(s);
}

static void test_spec(void **state)
{
    rig_every_table(check_every_way, *state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof specs / sizeof *specs];
    rig_directory(argc, argv);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        tests[i] = (struct CMUnitTest){ .name = specs[i].golden,
                                        .test_func = test_spec,
                                        .initial_state = (void *)(uintptr_t)&specs[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
