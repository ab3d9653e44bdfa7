/* test_lstmn.c: the LSTMN as an operation: a sequence alone, in a batch, step by step and on any number of threads is
 * bit-identical; invalid arguments are rejected; every allocation may fail. Values are checked by goldens, derivatives
 * by gradient_test_lstmn. */
#include "core/memory.h"
#include "core/rng.h"
#include "support/kernel_tables.h"
#include "unit/unit.h"
#include <limits.h>
#include <math.h>

enum { IN = 19, HIDDEN = 37, INNER = 41, GAMMA = 23, COUNT = 5, SOURCES = 3, MAX_WEIGHTS = COUNT * 8 * 8 };
static const int lengths[COUNT] = { 3, 8, 0, 1, 5 }, offsets[COUNT + 1] = { 0, 3, 11, 11, 12, 17 };
static const int source_lengths[SOURCES] = { 4, 0, 6 }, source_of[COUNT] = { 2, 0, 0, 1, 2 };
enum { ROWS = 17, SOURCE_ROWS = 10, MAX_LENGTH = 8 };

/* Numbers in [-bound, bound], the same at every call with the same stream. */
static attend_var *numbers(attend_ctx *c, int rank, int rows, int columns, uint64_t stream, double bound)
{
    static float values[4 * HIDDEN * HIDDEN];
    const size_t n = (size_t)rows * (size_t)(rank == 2 ? columns : 1);
    assert_true(n <= sizeof values / sizeof *values);
    const attend_rng rng = { .seed = 5, .stream = stream };
    for (size_t i = 0; i < n; i++) values[i] = (float)((2 * attend_rng_uniform(&rng, i) - 1) * bound);
    return attend_input(c, rank, (const int[]){ rows, columns }, values);
}

static attend_var *matrix(attend_ctx *c, int rows, int columns, uint64_t stream)
{
    return numbers(c, 2, rows, columns, stream, 0.4);
}

static attend_lstmn_attention attention_new(attend_ctx *c, int width, uint64_t stream)
{
    return (attend_lstmn_attention){ .wk = matrix(c, INNER, width, stream),
                                     .wx = matrix(c, INNER, IN, stream + 1),
                                     .wt = matrix(c, INNER, width, stream + 2),
                                     .b = numbers(c, 1, INNER, 0, stream + 3, 0.3),
                                     .v = numbers(c, 1, INNER, 0, stream + 4, 1) };
}

typedef struct world {
    attend_ctx *c;
    attend_lstmn_cell cell;
    attend_lstmn_fusion fusion;
    attend_var *gamma, *alpha;
    const attend_lstmn_source *source;
} world;

static void world_fill(world *w, int span, bool fused)
{
    attend_ctx *c = w->c;
    w->cell = (attend_lstmn_cell){ .attention = attention_new(c, HIDDEN, 10),
                                   .w = matrix(c, 4 * HIDDEN, IN, 20),
                                   .u = matrix(c, 4 * HIDDEN, HIDDEN, 21),
                                   .b = numbers(c, 1, 4 * HIDDEN, 0, 22, 0.3),
                                   .span = span };
    if (!fused) return;
    w->fusion = (attend_lstmn_fusion){ .attention = attention_new(c, GAMMA, 30),
                                       .w = matrix(c, HIDDEN, IN, 40),
                                       .u = matrix(c, HIDDEN, GAMMA, 41),
                                       .b = numbers(c, 1, HIDDEN, 0, 42, 0.3) };
    w->gamma = matrix(c, SOURCE_ROWS, GAMMA, 50), w->alpha = matrix(c, SOURCE_ROWS, HIDDEN, 51);
    w->source =
        attend_lstmn_source_new(c, &w->fusion, w->gamma, w->alpha, attend_ragged_new(c, SOURCES, source_lengths));
}

static world world_new(int span, bool fused)
{
    world w = { 0 };
    assert_ok(attend_ctx_new(&w.c));
    world_fill(&w, span, fused);
    return w;
}

static attend_var *all_rows(attend_ctx *c)
{
    return numbers(c, 2, ROWS, IN, 60, 1.5);
}

/* The results of a batch. */
typedef struct outcome {
    float y[ROWS * HIDDEN], c[ROWS * HIDDEN], weights[MAX_WEIGHTS], source_weights[MAX_WEIGHTS];
} outcome;

static void copy(float *to, const attend_var *v)
{
    memcpy(to, attend_value(v), attend_size(v) * sizeof *to);
}

static void must(const world *w, const void *made)
{
    if (!made) fail_msg("%s", attend_ctx_message(w->c));
}

static void run_batch(const world *w, outcome *o)
{
    attend_lstmn_io io = { .source = w->source, .source_of = source_of, .want_weights = true };
    io.want_source_weights = w->source != NULL;
    attend_var *y = attend_lstmn_sequence(w->c, &w->cell, all_rows(w->c), attend_ragged_new(w->c, COUNT, lengths), &io);
    must(w, y);
    copy(o->y, y), copy(o->c, io.c), copy(o->weights, io.weights);
    if (w->source) copy(o->source_weights, io.source_weights);
}

static void same(const char *what, size_t n, const float *a, const float *b)
{
    if (memcmp(a, b, n * sizeof *a) == 0) return;
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0)
            fail_msg("%s: number %zu is %.9g and not %.9g", what, i, (double)a[i], (double)b[i]);
}

/* Every setting with every kernel table. */
static void each(void (*run)(int span, bool fused))
{
    const attend_kernel_table *before = attend_kernel();
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        for (int span = 0; span <= 4; span++)
            for (int fused = 0; fused < 2; fused++) run(span, fused);
    }
    attend_kernel_select(before);
}

/* ---- alone and in a batch ---- */

static void alone(int span, bool fused)
{
    static outcome batch;
    world w = world_new(span, fused);
    run_batch(&w, &batch);
    for (int b = 0; b < COUNT; b++) {
        int rows[MAX_LENGTH];
        for (int t = 0; t < lengths[b]; t++) rows[t] = offsets[b] + t;
        attend_lstmn_io io = { .source = w.source, .source_of = source_of + b };
        attend_var *x = attend_gather(w.c, all_rows(w.c), rows, lengths[b]);
        attend_var *y = attend_lstmn_sequence(w.c, &w.cell, x, attend_ragged_new(w.c, 1, lengths + b), &io);
        must(&w, y);
        const size_t from = (size_t)offsets[b] * HIDDEN, n = (size_t)lengths[b] * HIDDEN;
        same("h of a sentence alone", n, attend_value(y), batch.y + from);
        same("c of a sentence alone", n, attend_value(io.c), batch.c + from);
    }
    attend_ctx_free(w.c);
}

static void test_alone(void **state)
{
    (void)state;
    each(alone);
}

/* ---- step by step ---- */

/* The past of every sequence: pointers to rows of the tapes of earlier steps. */
typedef struct walk {
    const float *past_rows[COUNT][MAX_LENGTH];
    int known[COUNT];
} walk;

/* Step t of the sequences that have one, in reverse order; positions outside the span are omitted. */
static void step(const world *w, walk *k, int t, const outcome *batch)
{
    const float *past_rows[COUNT * MAX_LENGTH];
    int rows[COUNT], which[COUNT], sources[COUNT], past_lengths[COUNT], ones[COUNT], n = 0, known = 0;
    for (int b = COUNT - 1; b >= 0; b--) {
        if (t >= lengths[b]) continue;
        const int seen = w->cell.span && w->cell.span < k->known[b] ? w->cell.span : k->known[b];
        for (int j = 0; j < seen; j++) past_rows[known++] = k->past_rows[b][k->known[b] - seen + j];
        which[n] = b, rows[n] = offsets[b] + t, sources[n] = source_of[b], past_lengths[n] = seen, ones[n++] = 1;
    }
    const attend_lstmn_past past = { .rows = past_rows, .lengths = past_lengths };
    attend_lstmn_io io = { .source = w->source, .source_of = sources, .past = &past, .want_tape = true };
    io.want_weights = true, io.want_source_weights = w->source != NULL;
    attend_var *x = attend_gather(w->c, all_rows(w->c), rows, n);
    attend_var *y = attend_lstmn_sequence(w->c, &w->cell, x, attend_ragged_new(w->c, n, ones), &io);
    must(w, y);
    const size_t width = (size_t)attend_lstmn_tape_width(&w->cell, w->source);
    const size_t columns = (size_t)attend_dim(io.weights, 3);
    for (int i = 0; i < n; i++) {
        const int b = which[i], seen = past_lengths[i];
        const size_t row = (size_t)rows[i] * HIDDEN, at = (size_t)i * HIDDEN;
        same("h of a step", HIDDEN, attend_value(y) + at, batch->y + row);
        same("c of a step", HIDDEN, attend_value(io.c) + at, batch->c + row);
        const size_t first = ((size_t)b * MAX_LENGTH + (size_t)t) * MAX_LENGTH + (size_t)(t - seen);
        same("weights of a step", (size_t)seen, attend_value(io.weights) + (size_t)i * columns, batch->weights + first);
        if (w->source) {
            const size_t from = (size_t)i * (size_t)attend_dim(io.source_weights, 3);
            same("source weights of a step", (size_t)source_lengths[sources[i]], attend_value(io.source_weights) + from,
                 batch->source_weights + ((size_t)b * MAX_LENGTH + (size_t)t) * 6);
        }
        k->past_rows[b][k->known[b]++] = attend_value(io.tape) + (size_t)i * width;
    }
}

static void steps(int span, bool fused)
{
    static outcome batch;
    world w = world_new(span, fused);
    run_batch(&w, &batch);
    walk k = { 0 };
    for (int t = 0; t < MAX_LENGTH; t++) step(&w, &k, t, &batch);
    attend_ctx_free(w.c);
}

static void test_steps(void **state)
{
    (void)state;
    each(steps);
}

/* A sequence in two parts: the rows of the first are the past of the second. */
static void parts(int span, bool fused)
{
    static outcome batch;
    world w = world_new(span, fused);
    run_batch(&w, &batch);
    for (int cut = 0; cut <= 8; cut++) {
        int rows[MAX_LENGTH];
        const int both[2] = { cut, 8 - cut };
        for (int t = 0; t < 8; t++) rows[t] = offsets[1] + t;
        attend_var *x = all_rows(w.c);
        attend_lstmn_io io = { .source = w.source, .source_of = source_of + 1, .want_tape = true };
        must(&w, attend_lstmn_sequence(w.c, &w.cell, attend_gather(w.c, x, rows, cut), attend_ragged_new(w.c, 1, both),
                                       &io));
        const float *past_rows[MAX_LENGTH];
        for (int t = 0; t < cut; t++) past_rows[t] = attend_value(io.tape) + (size_t)t * (size_t)attend_dim(io.tape, 1);
        const attend_lstmn_past past = { .rows = past_rows, .lengths = &cut };
        io.past = &past;
        attend_var *y = attend_lstmn_sequence(w.c, &w.cell, attend_gather(w.c, x, rows + cut, 8 - cut),
                                              attend_ragged_new(w.c, 1, both + 1), &io);
        must(&w, y);
        same("h of a second part", (size_t)(8 - cut) * HIDDEN, attend_value(y), batch.y + (offsets[1] + cut) * HIDDEN);
    }
    attend_ctx_free(w.c);
}

static void test_parts(void **state)
{
    (void)state;
    each(parts);
}

/* ---- threads and NaN ---- */

/* Enough sequences that products use threads. */
static attend_var *run_many(const world *w)
{
    enum { TIMES = 30 };
    static int many[TIMES * COUNT], sources[TIMES * COUNT], rows[TIMES * ROWS];
    for (int i = 0; i < TIMES * COUNT; i++) many[i] = lengths[i % COUNT], sources[i] = source_of[i % COUNT];
    for (int i = 0; i < TIMES * ROWS; i++) rows[i] = i % ROWS;
    attend_lstmn_io io = { .source = w->source, .source_of = sources };
    attend_var *x = attend_gather(w->c, all_rows(w->c), rows, TIMES * ROWS);
    attend_var *y = attend_lstmn_sequence(w->c, &w->cell, x, attend_ragged_new(w->c, TIMES * COUNT, many), &io);
    must(w, y);
    return y;
}

static void test_threads(void **state)
{
    (void)state;
    world w = world_new(3, true);
    attend_var *one = run_many(&w);
    for (int threads = 2; threads <= 3; threads++) {
        assert_ok(attend_ctx_set_threads(w.c, threads));
        same("h on several threads", attend_size(one), attend_value(run_many(&w)), attend_value(one));
    }
    attend_ctx_free(w.c);
}

static void test_nan_stays(void **state)
{
    (void)state;
    static outcome well, bad;
    world w = world_new(2, true);
    run_batch(&w, &well);
    float x[ROWS * IN];
    copy(x, all_rows(w.c));
    x[4 * IN] = NAN; /* the second row of the second sequence, which does not share its source */
    attend_lstmn_io io = { .source = w.source, .source_of = source_of };
    attend_var *y = attend_lstmn_sequence(w.c, &w.cell, attend_input(w.c, 2, (const int[]){ ROWS, IN }, x),
                                          attend_ragged_new(w.c, COUNT, lengths), &io);
    must(&w, y);
    copy(bad.y, y);
    same("sentences before it", 4 * HIDDEN, bad.y, well.y);
    same("sequences after it", (ROWS - 11) * HIDDEN, bad.y + 11 * HIDDEN, well.y + 11 * HIDDEN);
    assert_true(isnan(bad.y[4 * HIDDEN]) && isnan(bad.y[10 * HIDDEN]));
    attend_ctx_free(w.c);
}

/* ---- rejected arguments ---- */

static void refused(world *w, const attend_lstmn_cell *cell, attend_lstmn_io *io, const char *why)
{
    attend_var *x = all_rows(w->c);
    const attend_ragged *r = attend_ragged_new(w->c, COUNT, lengths);
    assert_null(attend_lstmn_sequence(w->c, cell, x, r, io));
    assert_int_equal(attend_ctx_status(w->c), ATTEND_BAD_USAGE);
    if (!strstr(attend_ctx_message(w->c), why))
        fail_msg("the message '%s' does not contain '%s'", attend_ctx_message(w->c), why);
    attend_ctx_reset(w->c);
    *w = (world){ .c = w->c };
    world_fill(w, 2, true);
}

static void test_refusals(void **state)
{
    (void)state;
    world w = world_new(2, true);
    attend_lstmn_cell cell = w.cell;
    attend_lstmn_io io = { 0 };
#define REFUSED(change, why)                                                                                           \
    cell = w.cell, io = (attend_lstmn_io){ .source = w.source, .source_of = source_of }, change,                       \
    refused(&w, &cell, &io, why)
    REFUSED(cell.u = numbers(w.c, 1, HIDDEN, 0, 1, 1), "u has 1 axes");
    REFUSED(cell.u = matrix(w.c, 3 * HIDDEN, HIDDEN, 1), "u has shape (111, 37), expected (148, 37)");
    REFUSED(cell.w = matrix(w.c, 4 * HIDDEN, IN - 1, 1), "w has shape (148, 18), expected (148, 19)");
    REFUSED(cell.b = numbers(w.c, 1, HIDDEN, 0, 1, 1), "b has shape (37), expected (148)");
    REFUSED(cell.span = -1, "the span -1 is negative");
    REFUSED(cell.attention.wk = matrix(w.c, INNER, HIDDEN + 1, 1), "wk has shape (41, 38), expected (41, 37)");
    REFUSED(cell.attention.wx = matrix(w.c, INNER + 1, IN, 1), "wx has shape (42, 19), expected (41, 19)");
    REFUSED(cell.attention.wt = matrix(w.c, INNER, IN, 1), "wt has shape (41, 19), expected (41, 37)");
    REFUSED(cell.attention.b = numbers(w.c, 1, 3, 0, 1, 1), "b of the attention has shape (3), expected (41)");
    REFUSED(cell.attention.v = numbers(w.c, 1, 3, 0, 1, 1), "v has shape (3), expected (41)");
    static const int wrong[COUNT] = { 0, 0, 0, 3, 0 }, few[COUNT] = { 0, 0, -2, 0, 0 };
    REFUSED(io.source_of = wrong, "sequence 3 has source 3, which is not in [0, 3)");
    REFUSED(io.source_of = NULL, "5 sequences and 3 sources");
    const attend_lstmn_past past = { .lengths = few };
    REFUSED(io.past = &past, "the past of sequence 2 has -2 rows");
    static const int many[COUNT] = { 5, INT_MAX - 40, 5, INT_MAX - 40, 5 };
    const attend_lstmn_past long_past = { .lengths = many };
    REFUSED(io.past = &long_past, "the past of sequence 3 has 2147483607 rows");
    REFUSED(cell.u = matrix(w.c, 0, 1 << 30, 1), "too many");
#undef REFUSED
    attend_lstmn_fusion f = w.fusion;
    f.w = matrix(w.c, HIDDEN, 3, 1);
    io = (attend_lstmn_io){ .source_of = source_of };
    io.source = attend_lstmn_source_new(w.c, &f, w.gamma, w.alpha, attend_ragged_new(w.c, SOURCES, source_lengths));
    refused(&w, &w.cell, &io, "w of the fusion has shape (37, 3), expected (37, 19)");
    f = w.fusion;
    const attend_ragged *sequences = attend_ragged_new(w.c, SOURCES, source_lengths);
    assert_null(attend_lstmn_source_new(w.c, &f, w.gamma, matrix(w.c, SOURCE_ROWS, 2, 1), sequences));
    assert_non_null(strstr(attend_ctx_message(w.c), "alpha has shape (10, 2), expected (10, 37)"));
    attend_ctx_free(w.c);
}

/* ---- memory ---- */

static int whole_life(void)
{
    world w = { 0 };
    int status = attend_ctx_new(&w.c);
    if (status != ATTEND_OK) return status;
    world_fill(&w, 3, true);
    attend_lstmn_io io = { .source = w.source, .source_of = source_of, .want_tape = true, .want_weights = true };
    io.want_source_weights = true;
    attend_var *y = attend_lstmn_sequence(w.c, &w.cell, all_rows(w.c), attend_ragged_new(w.c, COUNT, lengths), &io);
    if (!y != (attend_ctx_status(w.c) != ATTEND_OK)) status = ATTEND_FAILED; /* NULL if and only if it failed */
    const float *past_rows[COUNT] = { 0 };
    const int ones[COUNT] = { 1, 1, 1, 1, 1 };
    for (int b = 0; y && b < COUNT; b++) past_rows[b] = attend_value(io.tape);
    const attend_lstmn_past past = { .rows = past_rows, .lengths = ones };
    attend_lstmn_io next = { .source = w.source, .source_of = source_of, .past = &past };
    attend_var *z =
        y ? attend_lstmn_sequence(w.c, &w.cell, all_rows(w.c), attend_ragged_new(w.c, COUNT, lengths), &next) : NULL;
    attend_var *loss = attend_add(w.c, attend_sum(w.c, z), attend_sum(w.c, attend_mul(w.c, y, io.c)));
    if (status == ATTEND_OK) status = attend_backward(w.c, loss);
    attend_ctx_free(w.c);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    attend_memory_refuse(-1);
    assert_ok(whole_life());
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        const int status = whole_life();
        if (status != ATTEND_NO_MEMORY)
            fail_msg("request %ld of %ld failed, and the status is %d", n, requests, status);
    }
    attend_memory_refuse(0);
    printf("%ld requests failed in turn\n", requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),   cmocka_unit_test(test_steps),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_nan_stays), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
