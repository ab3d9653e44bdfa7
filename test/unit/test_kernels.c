/* test_kernels.c: every function of every table (except packed: test_packed.c) against the plain one.
 *
 * A case is a function with its arrays. Each case is run with every size from 0 to 70 and two large odd ones, with rows
 * at any alignment, with guard values after the end, with rows that end at a protected page, and with the arrays that
 * kernel.h allows to be the same. The plain functions are checked in test_plain.c. */
#include "support/kernel_tables.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_ARRAYS = 9, GUARD = 37, MAX_N = 513 };
#define EPS  0x1p-24 /* the maximum relative error of one rounding to float */
#define MARK 0x1.badp-20f

/* ---- random numbers ---- */

static uint64_t random_state;

static float uniform(float low, float high)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (float)(random_state >> 40) * 0x1p-24f;
}

/* ---- rows in guarded memory ---- */

/* Numbers that end `gap` before a protected page; the gap and the memory before the row are filled with MARK. */
typedef struct row {
    float *memory, *fence;
    float *x;
    size_t n, gap;
} row;

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void row_map(row *r, size_t max_size)
{
    size_t bytes = (((max_size + 2 * GUARD) * sizeof(float) + page() - 1) / page() + 1) * page();
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, page(), bytes), 0);
    r->memory = p;
    r->fence = r->memory + (bytes - page()) / sizeof(float);
    assert_int_equal(mprotect(r->fence, page(), PROT_NONE), 0);
}

static void row_unmap(row *r)
{
    assert_int_equal(mprotect(r->fence, page(), PROT_READ | PROT_WRITE), 0);
    free(r->memory);
}

static void row_place(row *r, size_t n, size_t gap)
{
    r->n = n;
    r->gap = gap;
    r->x = r->fence - gap - n;
    for (float *p = r->x - GUARD; p < r->fence; p++) *p = MARK;
}

static void row_check_marks(const row *r, const char *what, const char *table)
{
    for (const float *p = r->x - GUARD; p < r->fence; p++) {
        if (p == r->x) p += r->n;
        if (p < r->fence && *p != MARK)
            fail_msg("%s %s: n %zu, wrote at %td", table, what, r->n, (ptrdiff_t)(p - r->x));
    }
}

/* ---- cases ---- */

typedef struct array {
    size_t times;    /* length, in n (0: one number) */
    float low, high; /* the range of its initial values */
    bool written;
} array;

typedef struct kernel_case {
    const char *name;
    /* s: up to two numbers returned */
    void (*call)(const attend_kernel_table *t, size_t n, attend_activation f, float *const *a, double *s);
    double bound;     /* of |got - want| on arrays, in EPS */
    double sum_bound; /* of the same for a returned sum of n terms up to 1: see check_case */
    bool both_activations;
    int same[2]; /* the second array may be the first one, unless both are 0 */
    array arrays[MAX_ARRAYS];
} kernel_case;

/* clang-format off */
#define CALL(name) \
    static void name##_call(const attend_kernel_table *t, size_t n, attend_activation f, float *const *a, double *s)
#define UNUSED (void)f, (void)s

/* A dropout mask: whether each number is positive. */
static const unsigned char *mask_of(size_t n, const float *x)
{
    static unsigned char keep[MAX_N];
    for (size_t i = 0; i < n; i++) keep[i] = x[i] > 0;
    return keep;
}

CALL(exp) { UNUSED; t->exp(n, a[0], a[1]); }
CALL(tanh) { UNUSED; t->tanh(n, a[0], a[1]); }
CALL(sigmoid) { UNUSED; t->sigmoid(n, a[0], a[1]); }
CALL(max) { (void)f; s[0] = t->max(n, a[0]); }
CALL(exp_sum) { (void)f; s[0] = t->exp_sum(n, a[0], 0.7f, a[1]); }
CALL(sum) { (void)f; s[0] = t->sum(n, a[0]); }
CALL(dot) { (void)f; s[0] = t->dot(n, a[0], a[1]); }
CALL(sum_squares) { (void)f; s[0] = t->sum_squares(n, a[0]); }
CALL(add) { UNUSED; t->add(n, a[0], a[1]); }
CALL(axpy) { UNUSED; t->axpy(n, -1.7f, a[0], a[1]); }
CALL(scale) { UNUSED; t->scale(n, 0.3f, a[0]); }
CALL(mul) { UNUSED; t->mul(n, a[0], a[1], a[2]); }
CALL(mul_add) { UNUSED; t->mul_add(n, a[0], a[1], a[2]); }
CALL(scale_shift) { UNUSED; t->scale_shift(n, 0.4f, -1.3f, a[0], a[1]); }
CALL(layer_norm) { UNUSED; t->layer_norm(n, a[0], a[1], a[2], 1e-3f, a[3], a[4], a[5]); }
CALL(layer_norm_backward) { UNUSED; t->layer_norm_backward(n, a[0], a[1], a[2], 0.1f, 1.3f, a[3], a[4], a[5]); }
CALL(layer_norm_dx) { UNUSED; t->layer_norm_backward(n, a[0], a[1], a[2], 0.1f, 1.3f, a[3], NULL, NULL); }
CALL(layer_norm_dgain) { UNUSED; t->layer_norm_backward(n, a[0], a[1], a[2], 0.1f, 1.3f, NULL, a[3], NULL); }
CALL(layer_norm_dbias) { UNUSED; t->layer_norm_backward(n, a[0], a[1], a[2], 0.1f, 1.3f, NULL, NULL, a[3]); }
CALL(relu) { UNUSED; t->relu(n, a[0], a[1]); }
CALL(relu_backward) { UNUSED; t->relu_backward(n, a[0], a[1], a[2]); }
CALL(gelu) { UNUSED; t->gelu(n, a[0], a[1]); }
CALL(gelu_backward) { UNUSED; t->gelu_backward(n, a[0], a[1], a[2]); }
CALL(swiglu) { UNUSED; t->swiglu(n, a[0], a[1], a[2]); }
CALL(swiglu_backward) { UNUSED; t->swiglu_backward(n, a[0], a[1], a[2], a[3], a[4]); }
CALL(rotate_pairs) { UNUSED; t->rotate_pairs(2 * n, a[0], a[1], a[2], a[3]); }
CALL(rotate_pairs_backward) { UNUSED; t->rotate_pairs_backward(2 * n, a[0], a[1], a[2], a[3]); }
CALL(apply_dropout) { UNUSED; t->apply_dropout(n, mask_of(n, a[0]), 1.25f, a[1], a[2]); }
CALL(apply_dropout_add) { UNUSED; t->apply_dropout_add(n, mask_of(n, a[0]), 1.25f, a[1], a[2]); }
CALL(simple) { (void)s; t->simple(n, f, a[0], a[1], a[2]); }
CALL(simple_backward) { (void)s; t->simple_backward(n, f, a[0], a[1], a[2]); }
CALL(gru) { (void)s; t->gru(n, f, a[0], a[1], a[2], a[3], a[4]); }
CALL(gru_backward) { (void)s; t->gru_backward(n, f, a[0], a[1], a[2], a[3], a[4], a[5]); }
CALL(lstm) { (void)s; t->lstm(n, f, a[0], a[1], a[2], a[3], a[4], a[5]); }
CALL(lstm_backward) { (void)s; t->lstm_backward(n, f, a[0], a[1], a[2], a[3], a[4], a[5]); }
CALL(lstm_fused) { UNUSED; t->lstm_fused(n, a[0], a[1], a[2], a[3], a[4], a[5], a[6]); }
CALL(lstm_fused_in_place) { UNUSED; t->lstm_fused(n, a[0], a[1], a[2], a[3], a[4], a[5], a[0]); }
CALL(lstm_fused_backward) { UNUSED; t->lstm_fused_backward(n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]); }
CALL(adam)
{
    UNUSED;
    const adam_settings k = { 0.5f, 0.01f, 0.9f, 0.1f, 0.98f, 0.02f, 2.0f, 3.0f, 1e-6f, 0.1f };
    t->adam(n, &k, a[0], a[1], a[2], a[3]);
}

/* Arrays of n numbers (of 3 n, 4 n, 5 n; of one) that are read, written, or both. */
#define IN(low, high)    { 1, low, high, false }
#define IN2(low, high)   { 2, low, high, false }
#define IN3(low, high)   { 3, low, high, false }
#define IN4(low, high)   { 4, low, high, false }
#define IN5(low, high)   { 5, low, high, false }
#define INOUT(low, high) { 1, low, high, true }
#define INOUT5(low, high) { 5, low, high, true }
#define OUT              { 1, 0, 1, true }
#define INOUT2(low, high) { 2, low, high, true }
#define OUT1             { 0, 0, 1, true }
#define OUT2             { 2, 0, 1, true }
#define OUT3             { 3, 0, 1, true }
#define OUT4             { 4, 0, 1, true }
#define OUT5             { 5, 0, 1, true }

/* Bounds: each rounding that may differ, times the largest value; elementary functions may differ by 4 ulp in plain and
 * by 2 in the others, times the factors that follow. 0 where both use the same operations. */
static const kernel_case cases[] = {
    { "exp", exp_call, 12, 0, false, { 0, 1 }, { IN(-3, 0.69f), OUT } },
    { "tanh", tanh_call, 12, 0, false, { 0, 1 }, { IN(-3, 3), OUT } },
    { "sigmoid", sigmoid_call, 12, 0, false, { 0, 1 }, { IN(-3, 3), OUT } },
    { "max", max_call, 0, 0, false, { 0, 0 }, { IN(-3, 3) } },
    { "max of negative", max_call, 0, 0, false, { 0, 0 }, { IN(-3, -2) } },
    { "exp_sum", exp_sum_call, 12, 2.5, false, { 0, 1 }, { IN(-3, 0.7f), OUT } },
    { "sum", sum_call, 0, 1, false, { 0, 0 }, { IN(-1, 1) } },
    { "dot", dot_call, 0, 1, false, { 0, 0 }, { IN(-1, 1), IN(-1, 1) } },
    { "sum_squares", sum_squares_call, 0, 0x1p-25, false, { 0, 0 }, { IN(-1, 1) } },
    { "add", add_call, 0, 0, false, { 0, 0 }, { IN(-1, 1), INOUT(-1, 1) } },
    { "axpy", axpy_call, 6, 0, false, { 0, 0 }, { IN(-1, 1), INOUT(-1, 1) } },
    { "scale", scale_call, 0, 0, false, { 0, 0 }, { INOUT(-1, 1) } },
    { "mul", mul_call, 0, 0, false, { 0, 0 }, { IN(-1, 1), IN(-1, 1), OUT } },
    { "mul_add", mul_add_call, 4, 0, false, { 0, 0 }, { IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "scale_shift", scale_shift_call, 5, 0, false, { 0, 1 }, { IN(-1, 1), OUT } },
    { "layer_norm", layer_norm_call, 60, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), OUT, OUT1, OUT1 } },
    { "layer_norm_backward", layer_norm_backward_call, 60, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), INOUT(-1, 1), INOUT(-1, 1), INOUT(-1, 1) } },
    { "layer_norm_backward, dx", layer_norm_dx_call, 60, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "layer_norm_backward, dgain", layer_norm_dgain_call, 8, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "layer_norm_backward, dbias", layer_norm_dbias_call, 0, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "relu", relu_call, 0, 0, false, { 0, 1 }, { IN(-1, 1), OUT } },
    { "relu_backward", relu_backward_call, 0, 0, false, { 0, 0 }, { IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "gelu", gelu_call, 16, 0, false, { 0, 1 }, { IN(-4, 4), OUT } },
    { "gelu_backward", gelu_backward_call, 16, 0, false, { 0, 0 }, { IN(-1, 1), IN(-4, 4), INOUT(-1, 1) } },
    { "swiglu", swiglu_call, 24, 0, false, { 0, 2 }, { IN(-4, 4), IN(-1, 1), OUT } },
    { "swiglu_backward", swiglu_backward_call, 40, 0, false, { 0, 0 },
      { IN(-1, 1), IN(-4, 4), IN(-1, 1), INOUT(-1, 1), INOUT(-1, 1) } },
    { "rotate_pairs", rotate_pairs_call, 4, 0, false, { 0, 0 }, { IN2(-1, 1), IN2(-1, 1), IN2(-1, 1), OUT2 } },
    { "rotate_pairs_backward", rotate_pairs_backward_call, 6, 0, false, { 0, 0 }, { IN2(-1, 1), IN2(-1, 1), IN2(-1, 1), INOUT2(-1, 1) } },
    { "apply_dropout", apply_dropout_call, 0, 0, false, { 1, 2 }, { IN(-1, 1), IN(-1, 1), OUT } },
    { "apply_dropout_add", apply_dropout_add_call, 0, 0, false, { 0, 0 }, { IN(-1, 1), IN(-1, 1), INOUT(-1, 1) } },
    { "simple", simple_call, 12, 0, true, { 0, 0 }, { IN(-3, 3), IN(-3, 3), OUT } },
    { "simple_backward", simple_backward_call, 4, 0, true, { 0, 0 }, { IN(-1, 1), IN(-1, 1), OUT } },
    { "gru", gru_call, 60, 0, true, { 2, 3 }, { IN3(-2, 2), IN3(-2, 2), IN(-1, 1), OUT, OUT4 } },
    { "gru_backward", gru_backward_call, 24, 0, true, { 2, 3 },
      { IN(-1, 1), IN(-1, 1), IN4(-1, 1), OUT3, OUT3, INOUT(-1, 1) } },
    { "lstm", lstm_call, 80, 0, true, { 2, 3 }, { IN4(-2, 2), IN4(-2, 2), IN(-1, 1), OUT, OUT, OUT4 } },
    { "lstm_backward", lstm_backward_call, 32, 0, true, { 3, 4 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), IN4(-1, 1), OUT4, INOUT(-1, 1) } },
    { "lstm_fused", lstm_fused_call, 80, 0, false, { 2, 4 },
      { IN5(-2, 2), IN5(-2, 2), IN(-1, 1), IN(-1, 1), OUT, OUT, OUT5 } },
    { "lstm_fused, in place", lstm_fused_in_place_call, 80, 0, false, { 0, 0 },
      { INOUT5(-2, 2), IN5(-2, 2), IN(-1, 1), IN(-1, 1), OUT, OUT } },
    { "lstm_fused_backward", lstm_fused_backward_call, 32, 0, false, { 4, 5 },
      { IN(-1, 1), IN(-1, 1), IN(-1, 1), IN(-1, 1), IN5(-1, 1), OUT5, INOUT(-1, 1), OUT } },
    { "adam", adam_call, 24, 0, false, { 0, 0 }, { IN(-1, 1), INOUT(-1, 1), INOUT(0.01f, 1), INOUT(-1, 1) } },
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof *cases };

/* ---- running the cases ---- */

static bool is_array(const array *a)
{
    return a->low != 0 || a->high != 0;
}

static size_t length(const array *a, size_t n)
{
    return a->times ? a->times * n : 1;
}

static float before[MAX_ARRAYS][5 * MAX_N], want[MAX_ARRAYS][5 * MAX_N];
static row rows[MAX_ARRAYS];

/* The results of plain on random arrays: before -> want. */
static void make_want(const kernel_case *c, size_t n, attend_activation f, double *s)
{
    float *a[MAX_ARRAYS];
    for (size_t i = 0; i < MAX_ARRAYS; i++) {
        a[i] = want[i];
        if (!is_array(&c->arrays[i])) continue;
        for (size_t j = 0; j < length(&c->arrays[i], n); j++)
            want[i][j] = before[i][j] = uniform(c->arrays[i].low, c->arrays[i].high);
    }
    c->call(tables_to_test()[0], n, f, a, s);
}

/* The same with table t, and with one array for two arguments if `shared`. */
static void check_case(const kernel_case *c, const attend_kernel_table *t, size_t n, attend_activation f, size_t gap,
                       bool shared, const double *want_s)
{
    float *a[MAX_ARRAYS];
    double s[2] = { 0, 0 };
    for (size_t i = 0; i < MAX_ARRAYS; i++) {
        if (!is_array(&c->arrays[i])) continue;
        row_place(&rows[i], length(&c->arrays[i], n), gap);
        memcpy(rows[i].x, before[i], rows[i].n * sizeof(float));
        a[i] = rows[i].x;
    }
    if (shared) a[c->same[1]] = a[c->same[0]];
    c->call(t, n, f, a, s);
    for (size_t k = 0; k < 2; k++) {
        const double tolerance =
            c->sum_bound * EPS * (double)n * ((double)n / 16 + 8); /* the number of roundings of each sum */
        if (!(fabs(s[k] - want_s[k]) <= tolerance) && s[k] != want_s[k])
            fail_msg("%s %s: n %zu, %.9g, not %.9g (more than %g)", t->name, c->name, n, s[k], want_s[k], tolerance);
    }
    for (size_t i = 0; i < MAX_ARRAYS; i++) {
        if (!is_array(&c->arrays[i])) continue;
        row_check_marks(&rows[i], c->name, t->name);
        if (shared && (int)i == c->same[0]) continue; /* overwritten: checked as the other array */
        const double tolerance = c->arrays[i].written ? c->bound * EPS : 0;
        for (size_t j = 0; j < rows[i].n; j++)
            if (!(fabs((double)a[i][j] - want[i][j]) <= tolerance))
                fail_msg("%s %s: n %zu, array %zu[%zu] is %.9g, not %.9g (more than %g)%s", t->name, c->name, n, i, j,
                         (double)a[i][j], (double)want[i][j], tolerance, shared ? ", shared" : "");
    }
}

static void check_size(const kernel_case *c, size_t n, attend_activation f)
{
    double s[2] = { 0, 0 };
    make_want(c, n, f, s);
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t gap = 0; gap <= GUARD; gap += n % 2 ? GUARD : GUARD - 1)
            for (int shared = 0; shared <= (c->same[0] != c->same[1]); shared++)
                check_case(c, *t, n, f, gap, shared, s);
}

static void against_plain(void **state)
{
    (void)state;
    for (size_t i = 0; i < MAX_ARRAYS; i++) row_map(&rows[i], 5 * MAX_N);
    for (size_t k = 0; k < CASES; k++)
        for (int f = 0; f <= cases[k].both_activations; f++) {
            random_state = 1 + k;
            for (size_t n = 0; n <= 70; n++) check_size(&cases[k], n, f ? ATTEND_RELU : ATTEND_TANH);
            check_size(&cases[k], 511, f ? ATTEND_RELU : ATTEND_TANH);
            check_size(&cases[k], 513, f ? ATTEND_RELU : ATTEND_TANH);
        }
    for (size_t i = 0; i < MAX_ARRAYS; i++) row_unmap(&rows[i]);
}

/* The result of an element is bit-identical at any position of a row. */
static void position_does_not_matter(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        void (*const functions[])(size_t, const float *, float *) = { (*t)->exp, (*t)->tanh, (*t)->sigmoid, (*t)->relu,
                                                                      (*t)->gelu };
        for (size_t k = 0; k < 5; k++) {
            float x[70], y[70], one;
            for (size_t n = 1; n <= 70; n++) {
                for (size_t i = 0; i < n; i++) x[i] = uniform(-20, 20);
                functions[k](n, x, y);
                for (size_t i = 0; i < n; i++) {
                    functions[k](1, x + i, &one);
                    assert_memory_equal(&one, y + i, sizeof one);
                }
            }
        }
    }
}

/* ---- NaN, infinity, empty rows ---- */

static void not_a_number(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t n = 1; n <= 70; n++)
            for (size_t at = 0; at < n; at++) {
                float x[70], y[70], ones[70];
                for (size_t i = 0; i < n; i++) x[i] = i == at ? NAN : 1, ones[i] = 1;
                assert_true(isnan((*t)->max(n, x)));
                assert_true(isnan((*t)->sum(n, x)));
                assert_true(isnan((*t)->dot(n, x, ones)));
                assert_true(isnan((*t)->sum_squares(n, x)));
                assert_true(isnan((*t)->exp_sum(n, x, 1, y)));
                for (size_t i = 0; i < n; i++) assert_int_equal(isnan(y[i]) != 0, i == at);
                (*t)->relu(n, x, y);
                for (size_t i = 0; i < n; i++) assert_int_equal(isnan(y[i]) != 0, i == at);
                (*t)->gelu(n, x, y);
                for (size_t i = 0; i < n; i++) assert_int_equal(isnan(y[i]) != 0, i == at);
                for (int f = 0; f < 2; f++) {
                    (*t)->simple(n, f ? ATTEND_RELU : ATTEND_TANH, x, ones, y);
                    for (size_t i = 0; i < n; i++) assert_int_equal(isnan(y[i]) != 0, i == at);
                }
            }
}

static void infinities_and_empty_rows(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        float x[70], y[70], mean, rstd;
        assert_true((*t)->max(0, x) == -INFINITY);
        assert_true((*t)->sum(0, x) == 0);
        assert_true((*t)->dot(0, x, x) == 0);
        assert_true((*t)->sum_squares(0, x) == 0);
        assert_true((*t)->exp_sum(0, x, 1, y) == 0);
        (*t)->layer_norm(0, x, x, x, 0.25f, y, &mean, &rstd);
        assert_true(mean == 0 && rstd == 2);
        for (size_t n = 1; n <= 70; n++) {
            for (size_t i = 0; i < n; i++) x[i] = -INFINITY;
            assert_true((*t)->max(n, x) == -INFINITY);
            assert_true((*t)->exp_sum(n, x, -3, y) == 0);
            x[n / 2] = 5; /* one that is not masked */
            assert_true((*t)->max(n, x) == 5);
            assert_true((*t)->exp_sum(n, x, 5, y) == 1);
            for (size_t i = 0; i < n; i++) assert_true(y[i] == (i == n / 2));
        }
    }
}

/* From terms that underflow to sums that barely fit, in whole vectors and tails, with a shift as large as the
 * scores. */
static void exp_sum_over_its_range(void **state)
{
    (void)state;
    float x[77], y[77];
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (float shift = -1e4f; shift <= 1e4f; shift += 5e3f)
            for (float first = -120; first < 85; first += 0.37f) {
                const size_t n = 1 + (size_t)(first + 120) % 77;
                for (size_t i = 0; i < n; i++) x[i] = shift + first - (float)i / 7;
                double sum = 0;
                const double found = (double)(*t)->exp_sum(n, x, shift, y);
                for (size_t i = 0; i < n; i++) {
                    const double right = exp((double)(x[i] - shift));
                    sum += right;
                    assert_true(fabs((double)y[i] - right) <= 5e-7 * right + 1.2e-38);
                }
                assert_true(fabs(found - sum) <= 1e-5 * sum + 1e-36);
            }
}

/* y is accurate although the mean is a thousand times the deviation and more. */
static void layer_norm_far_from_zero(void **state)
{
    (void)state;
    static const float means[] = { 1e3f, -1e4f, 1e5f };
    float x[MAX_N], gain[MAX_N], bias[MAX_N], y[MAX_N], right[MAX_N], mean, rstd, right_mean, right_rstd;
    for (size_t i = 0; i < MAX_N; i++) gain[i] = 1, bias[i] = 0;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t k = 0; k < 3; k++)
            for (size_t n = 2; n <= MAX_N; n += 73) {
                for (size_t i = 0; i < n; i++) x[i] = means[k] + uniform(-1, 1);
                tables_to_test()[0]->layer_norm(n, x, gain, bias, 1e-5f, right, &right_mean, &right_rstd);
                (*t)->layer_norm(n, x, gain, bias, 1e-5f, y, &mean, &rstd);
                assert_true(fabsf(mean - right_mean) <= 2 * (float)EPS * fabsf(means[k]));
                assert_true(fabsf(rstd - right_rstd) <= 1e-5f * right_rstd);
                for (size_t i = 0; i < n; i++) assert_true(fabsf(y[i] - right[i]) <= 1e-5f);
            }
}

/* weighted_sum is bit-identical to a sequence of axpy; a row with weight 0 may contain anything. */
static void weighted_sum_is_axpy(void **state)
{
    (void)state;
    enum { MAX_SIZE = 300, ROWS = 7, STRIDE = MAX_SIZE + 3 };
    static float x[ROWS * STRIDE], right[MAX_SIZE + 1], y[MAX_SIZE + 1];
    const float w[ROWS] = { 0.5f, 0, -1.25f, 3, 0, 0.1f, 7 };
    unsigned seed = 9;
    for (size_t i = 0; i < ROWS * STRIDE; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = i / STRIDE == 1 || i / STRIDE == 4 ? NAN : (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t n = 0; n <= MAX_SIZE; n += n < 70 ? 1 : 23)
            for (size_t count = 0; count <= ROWS; count++) {
                memset(right, 0, sizeof right);
                memset(y, 0x7f, sizeof y);
                for (size_t j = 0; j < count; j++)
                    if (w[j] != 0) (*t)->axpy(n, w[j], x + j * STRIDE, right);
                const float after = y[n];
                (*t)->weighted_sum(n, count, w, x, STRIDE, y);
                assert_memory_equal(y, right, n * sizeof *y);
                assert_memory_equal(&y[n], &after, sizeof after);
            }
}

/* dot_rows and weighted_sum_rows, whose rows are given by pointers, are bit-identical to dot and axpy. */
static void rows_by_address(void **state)
{
    (void)state;
    enum { MAX_SIZE = 150, ROWS = 7, FIRST = 5, STRIDE = MAX_SIZE + FIRST };
    static float x[ROWS * STRIDE], q[MAX_SIZE], right[MAX_SIZE + 1], y[MAX_SIZE + 1], e[ROWS];
    const float w[ROWS] = { 0.5f, 0, -1.25f, 3, 0, 0.1f, 7 };
    const float *at[ROWS];
    for (size_t i = 0; i < ROWS * STRIDE; i++) x[i] = uniform(-1, 1);
    for (size_t i = 0; i < MAX_SIZE; i++) q[i] = uniform(-1, 1);
    for (size_t j = 0; j < ROWS; j++) at[j] = x + (j * 3 % ROWS) * STRIDE;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t n = 0; n <= MAX_SIZE; n += n < 70 ? 1 : 23)
            for (size_t count = 0; count <= ROWS; count++) {
                memset(right, 0, sizeof right);
                memset(y, 0x7f, sizeof y);
                for (size_t j = 0; j < count; j++) (*t)->axpy(n, w[j], at[j] + FIRST, right);
                const float after = y[n];
                (*t)->weighted_sum_rows(n, count, w, at, FIRST, y);
                assert_memory_equal(y, right, n * sizeof *y);
                assert_memory_equal(&y[n], &after, sizeof after);
                (*t)->dot_rows(n, count, q, at, FIRST, e);
                for (size_t j = 0; j < count; j++) assert_true(e[j] == (*t)->dot(n, q, at[j] + FIRST));
            }
}

/* GELU over the whole range, with the absolute error that kernel.h guarantees. */
static void gelu_everywhere(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        for (double at = -20; at <= 20; at += 1.0 / 4096) {
            const float x = (float)at, one = 1;
            float y, slope = 0;
            const double share = 0.5 * erfc(-x / sqrt(2)), bell = exp(-0.5 * x * (double)x) / sqrt(2 * acos(-1));
            (*t)->gelu(1, &x, &y);
            (*t)->gelu_backward(1, &one, &x, &slope);
            if (!(fabs((double)y - x * share) <= 3e-7 * fmax(1, fabs(at))))
                fail_msg("%s gelu(%a) %a", (*t)->name, at, (double)y);
            if (!(fabs((double)slope - (share + x * bell)) <= 5e-7))
                fail_msg("%s gelu'(%a) %a", (*t)->name, at, (double)slope);
        }
        const float ends[] = { INFINITY, -INFINITY, 3e38f, -3e38f }, ones[] = { 1, 1, 1, 1 };
        float y[4], slope[4] = { 0 };
        (*t)->gelu(4, ends, y);
        (*t)->gelu_backward(4, ones, ends, slope);
        assert_true(y[0] == INFINITY && y[1] == 0 && y[2] == 3e38f && y[3] == 0);
        assert_true(slope[0] == 1 && slope[1] == 0 && slope[2] == 1 && slope[3] == 0);
    }
}

/* The dropout mask does not depend on the table, on the first index or on the length. */
static void dropout_masks_agree(void **state)
{
    (void)state;
    enum { MAX_SIZE = 700 };
    static unsigned char right[MAX_SIZE], found[MAX_SIZE + 1];
    const attend_rng uses[] = { { 1, 2, 3 },
                                { UINT64_C(0xfedcba9876543210), UINT64_C(0x8123456789abcdef), UINT32_MAX } };
    const uint64_t firsts[] = {
        0, 1, 2, 3, 1001, (UINT64_C(1) << 34) - 133, UINT64_C(1) << 40
    }; /* blocks are counted in 32 bits */
    const double shares[] = { 0, 0.1, 0.5, 0.999 };
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++)
        for (size_t u = 0; u < 2; u++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
                for (size_t p = 0; p < 4; p++)
                    for (size_t n = 0; n <= MAX_SIZE; n += n < 140 ? 1 : 93) {
                        attend_rng_dropout_mask(&uses[u], firsts[f], n, shares[p], right);
                        memset(found, 77, sizeof found);
                        (*t)->dropout_mask(&uses[u], firsts[f], n, shares[p], found);
                        assert_memory_equal(found, right, n);
                        assert_int_equal(found[n], 77);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_plain),          cmocka_unit_test(position_does_not_matter),
        cmocka_unit_test(not_a_number),           cmocka_unit_test(infinities_and_empty_rows),
        cmocka_unit_test(exp_sum_over_its_range), cmocka_unit_test(layer_norm_far_from_zero),
        cmocka_unit_test(weighted_sum_is_axpy),   cmocka_unit_test(rows_by_address),
        cmocka_unit_test(gelu_everywhere),        cmocka_unit_test(dropout_masks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
