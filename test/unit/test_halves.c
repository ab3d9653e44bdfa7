/* Products in bf16 and bf16x3 on every table: against sums in double within the bounds of halves.h, on all small and some
 * large odd shapes, with strides, bias and accumulation; bit-identical however a product is divided; on AVX-512 and on tiles,
 * to the bit as the instructions are defined. */
#include "core/precision.h"
#include "kernel/halves.h"
#include "support/kernel_tables.h"
#include "unit/unit.h"
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local unsigned seed = 1;
static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static void *memory(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static float *numbers(size_t n)
{
    float *p = memory(n * sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = next();
    return p;
}

static float rounded(float x)
{
    uint16_t bits;
    attend_bf16_quantize(1, &x, &bits);
    attend_bf16_expand(1, &bits, &x);
    return x;
}

enum { GUARD = 12345 }; /* between the rows of C; must not change */

typedef struct shape {
    attend_compute_precision compute;
    bool ta, tb;
    packed_start start;
    size_t m, n, k;
} shape;

/* The factors in plain layout, and the result to compare with. */
typedef struct factors {
    float *a, *b, *bias, *c, *old;
    float *rows[2], *columns[2]; /* op(A) (m, k) and op(B)' (n, k): as they are, and rounded */
    size_t lda, ldb, ldc;
} factors;

/* Rows of op(X) (m, k), X given with a leading dimension. */
static void copy_rows(bool transposed, size_t m, size_t k, const float *x, size_t ld, float *rows[2])
{
    for (int i = 0; i < 2; i++) rows[i] = memory((m * k + 1) * sizeof **rows);
    for (size_t i = 0; i < m * k; i++) {
        rows[0][i] = x[transposed ? i % k * ld + i / k : i / k * ld + i % k];
        rows[1][i] = rounded(rows[0][i]);
    }
}

static factors factors_new(const shape *s)
{
    factors f = { .lda = (s->ta ? s->m : s->k) + 3, .ldb = (s->tb ? s->k : s->n) + 2, .ldc = s->n + 5 };
    f.a = numbers((s->ta ? s->k : s->m) * f.lda + 1), f.b = numbers((s->tb ? s->n : s->k) * f.ldb + 1);
    f.bias = numbers(s->n + 1), f.c = numbers(s->m * f.ldc + 1), f.old = numbers(s->m * f.ldc + 1);
    copy_rows(s->ta, s->m, s->k, f.a, f.lda, f.rows);
    copy_rows(!s->tb, s->n, s->k, f.b, f.ldb, f.columns);
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = s->n; j < f.ldc; j++) f.c[i * f.ldc + j] = GUARD;
    memcpy(f.old, f.c, (s->m * f.ldc + 1) * sizeof *f.old);
    return f;
}

static void factors_free(factors *f)
{
    free(f->a), free(f->b), free(f->bias), free(f->c), free(f->old);
    for (int i = 0; i < 2; i++) free(f->rows[i]), free(f->columns[i]);
}

/* The bounds of halves.h. */
static void check_result(const shape *s, const factors *f)
{
    const bool both = s->compute == ATTEND_COMPUTE_BF16X3;
    for (size_t i = 0; i < s->m; i++) {
        for (size_t j = 0; j < s->n; j++) {
            double sum = s->start == PACKED_BIAS  ? (double)f->bias[j]
                         : s->start == PACKED_ADD ? (double)f->old[i * f->ldc + j]
                                                  : 0;
            double size = fabs(sum), exact = sum;
            for (size_t l = 0; l < s->k; l++) {
                const size_t a = i * s->k + l, b = j * s->k + l;
                const double term = (double)f->rows[0][a] * (double)f->columns[0][b];
                sum += both ? term : (double)f->rows[1][a] * (double)f->columns[1][b];
                exact += term;
                size += fabs(term) * (both ? 1 : 1.01);
            }
            const double c = (double)f->c[i * f->ldc + j], k = (double)(both ? 3 * s->k : s->k) + 2;
            const double bound = size * (k * 0x1p-24 + (both ? 3 * 0x1p-16 : 0)) + 1e-30;
            if (!(fabs(c - sum) <= bound) || !(fabs(c - exact) <= bound + (both ? 0 : size * 0x1p-7)))
                fail_msg("%s, %s: %zu x %zu x %zu, start %d, transposed %d %d: element (%zu, %zu) is %.9g, not %.9g",
                         attend_kernel_name(), attend_compute_names[s->compute], s->m, s->n, s->k, (int)s->start, s->ta,
                         s->tb, i, j, c, sum);
        }
        for (size_t j = s->n; j < f->ldc; j++) assert_true(f->c[i * f->ldc + j] == GUARD);
    }
    assert_true(f->c[s->m * f->ldc] == f->old[s->m * f->ldc]);
}

/* Weights, packed once; all columns, and in two parts; all rows, and in parts. */
static void check_packed(const shape *s)
{
    factors f = factors_new(s);
    const size_t bytes = attend_halves_bytes(s->compute, s->k, s->n), row = attend_halves_row_bytes(s->compute, s->k);
    char *packed = memory(bytes + 1), *rows = memory(s->m * row + 1);
    packed[bytes] = rows[s->m * row] = 77;
    attend_halves_pack(ATTEND_FP32, s->compute, s->tb, s->k, s->n, f.b, f.ldb, packed);
    attend_halves_split(s->compute, s->m, s->k, f.a, f.lda, rows);
    assert_true(packed[bytes] == 77 && rows[s->m * row] == 77);
    const packed_matrix w = { .compute = s->compute, .k = s->k, .n = s->n, .data = packed };
    attend_halves_multiply(s->start, f.bias, s->m, rows, &w, 0, s->n, f.c, f.ldc);
    check_result(s, &f);
    const size_t panel = (size_t)attend_kernel()->panel, cut = s->n / 2 / panel * panel;
    const activations all = { .m = s->m, .row = f.lda, .values = f.a, .halves = rows };
    for (size_t height = 1; height < s->m; height += 1 + height) {
        float *same = numbers(s->m * f.ldc + 1);
        memcpy(same, f.old, (s->m * f.ldc + 1) * sizeof *same);
        for (size_t i = 0; i < s->m; i += height) {
            const activations part = attend_activation_rows(&all, i, s->m - i < height ? s->m - i : height, &w);
            attend_gemm_matrix(s->start, f.bias, &part, &w, 0, cut, same + i * f.ldc, f.ldc);
            attend_gemm_matrix(s->start, f.bias + cut, &part, &w, cut, s->n - cut, same + i * f.ldc + cut, f.ldc);
        }
        assert_memory_equal(f.c, same, (s->m * f.ldc + 1) * sizeof *same);
        free(same);
    }
    factors_free(&f);
    free(packed), free(rows);
}

/* Two arbitrary matrices: the same bits as with packed weights, and in two parts. */
static void check_gemm(const shape *s)
{
    factors f = factors_new(s);
    const size_t size = attend_halves_gemm_scratch(s->compute, s->m, s->n, s->k);
    float *scratch = numbers(size + 1), *same = numbers(s->m * f.ldc + 1);
    scratch[size] = GUARD;
    attend_halves_gemm(s->compute, s->ta, s->tb, s->start, s->m, s->n, s->k, f.a, f.lda, f.b, f.ldb, f.c, f.ldc,
                       scratch);
    assert_true(scratch[size] == GUARD);
    check_result(s, &f);

    char *packed = memory(attend_halves_bytes(s->compute, s->k, s->n));
    char *rows = memory(s->m * attend_halves_row_bytes(s->compute, s->k));
    attend_halves_pack(ATTEND_FP32, s->compute, s->tb, s->k, s->n, f.b, f.ldb, packed);
    attend_halves_split(s->compute, s->m, s->k, f.rows[0], s->k, rows);
    const packed_matrix w = { .compute = s->compute, .k = s->k, .n = s->n, .data = packed };
    memcpy(same, f.old, (s->m * f.ldc + 1) * sizeof *same);
    attend_halves_multiply(s->start, NULL, s->m, rows, &w, 0, s->n, same, f.ldc);
    assert_memory_equal(f.c, same, (s->m * f.ldc + 1) * sizeof *same);

    const size_t cut = s->m / 3;
    memcpy(same, f.old, (s->m * f.ldc + 1) * sizeof *same);
    attend_halves_gemm(s->compute, s->ta, s->tb, s->start, cut, s->n, s->k, f.a, f.lda, f.b, f.ldb, same, f.ldc,
                       scratch);
    attend_halves_gemm(s->compute, s->ta, s->tb, s->start, s->m - cut, s->n, s->k, f.a + (s->ta ? cut : cut * f.lda),
                       f.lda, f.b, f.ldb, same + cut * f.ldc, f.ldc, scratch);
    assert_memory_equal(f.c, same, (s->m * f.ldc + 1) * sizeof *same);
    factors_free(&f);
    free(scratch), free(same), free(packed), free(rows);
}

static void check_shapes(attend_compute_precision compute)
{
    for (size_t m = 1; m <= 34; m += 1 + m / 2)
        for (size_t n = 1; n <= 100; n += 2 + n)
            for (size_t k = 0; k <= 70; k += 1 + k / 2) {
                const size_t form = m + n + k;
                check_packed(&(shape){ compute, false, form & 1, (packed_start)(form % 3), m, n, k });
                check_gemm(&(shape){ compute, form & 1, form & 2, form & 4 ? PACKED_ADD : PACKED_ZERO, m, n, k });
            }
    /* the last two: several blocks of k, and several groups of panels, before the last few rows */
    static const size_t large[][3] = { { 1, 513, 50 }, { 3, 37, 1025 },  { 70, 33, 70 },
                                       { 130, 5, 90 }, { 53, 37, 1100 }, { 45, 690, 66 } };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int form = 0; form < 8; form++) {
            const size_t m = large[i][0], n = large[i][1], k = large[i][2];
            check_gemm(&(shape){ compute, form & 1, form & 2, form & 4 ? PACKED_ADD : PACKED_ZERO, m, n, k });
            if (form < 6) check_packed(&(shape){ compute, false, form & 1, (packed_start)(form % 3), m, n, k });
        }
    for (size_t n = 0; n < 2; n++) check_gemm(&(shape){ compute, false, false, PACKED_ZERO, 1 - n, n, 3 });
}

/* Selected columns are those of packed weights of these columns; weights in bf16 are the same as in fp32. */
static void check_columns(attend_compute_precision compute)
{
    enum { N = 70, K = 37, SOME = 41 };
    float *w = numbers(N * K), *part = numbers(SOME * K);
    uint16_t bits[SOME * K];
    const size_t bytes = attend_halves_bytes(compute, K, SOME);
    void *packed = memory(attend_halves_bytes(compute, K, N)), *gathered = memory(bytes), *right = memory(bytes);
    int columns[SOME];
    for (int i = 0; i < SOME; i++) {
        columns[i] = i * 53 % N;
        memcpy(part + i * K, w + columns[i] * K, K * sizeof *w);
    }
    attend_halves_pack(ATTEND_FP32, compute, true, K, N, w, K, packed);
    attend_halves_pack(ATTEND_FP32, compute, true, K, SOME, part, K, right);
    attend_pack_columns(&(packed_matrix){ .compute = compute, .k = K, .n = N, .data = packed }, SOME, columns,
                        gathered);
    assert_memory_equal(gathered, right, bytes);
    if (compute == ATTEND_COMPUTE_BF16) {
        attend_bf16_quantize((size_t)SOME * K, part, bits);
        attend_halves_pack(ATTEND_BFLOAT16, compute, true, K, SOME, bits, K, gathered);
        assert_memory_equal(gathered, right, bytes);
    }
    free(w), free(part), free(packed), free(gathered), free(right);
}

/* Rounding: ties, the largest numbers, NaN and infinity; every length. */
static void check_split(void)
{
    const bf16_kernels *k = attend_kernel()->bf16;
    if (!k) return;
    static const float special[] = {
        1, 0x1.01p0f, 0x1.03p0f, 0x1.0101p0f, -0x1.ffp3f, 0x1.fffffep3f, 0, 3e38f, 1e-30f
    };
    for (size_t n = 0; n < 70; n++) {
        float *x = numbers(n + 1), *y = numbers(n + 1), copy[71];
        uint16_t high[71], low[71], right[71], pairs[142], low_pairs[142];
        for (size_t i = 0; i < n && i < sizeof special / sizeof *special; i++) x[i] = special[i];
        high[n] = low[n] = pairs[2 * n] = low_pairs[2 * n] = 77;
        k->split(n, x, high, low);
        attend_bf16_quantize(n, x, right);
        assert_memory_equal(high, right, n * sizeof *high);
        for (size_t i = 0; i < n; i++) copy[i] = x[i] - rounded(x[i]);
        attend_bf16_quantize(n, copy, right);
        assert_memory_equal(low, right, n * sizeof *low);
        k->split_pairs(n, x, y, pairs, low_pairs);
        assert_true(high[n] == 77 && low[n] == 77 && pairs[2 * n] == 77 && low_pairs[2 * n] == 77);
        for (size_t i = 0; i < n; i++) assert_true(pairs[2 * i] == high[i] && low_pairs[2 * i] == low[i]);
        k->split(n, y, high, NULL);
        for (size_t i = 0; i < n; i++) assert_int_equal(pairs[2 * i + 1], high[i]);
        free(x), free(y);
    }
    const float odd[3] = { NAN, INFINITY, -INFINITY };
    uint16_t bits[3];
    float back[3];
    k->split(3, odd, bits, NULL);
    attend_bf16_expand(3, bits, back);
    assert_true(isnan(back[0]) && back[1] == INFINITY && back[2] == -INFINITY);
}

/* A number that is not finite makes its row, and no other, not finite. */
static void check_not_finite(attend_compute_precision compute)
{
    enum { M = 20, N = 40, K = 50 };
    float *a = numbers(M * K), *b = numbers(K * N), *c = numbers(M * N);
    float *scratch = numbers(attend_halves_gemm_scratch(compute, M, N, K));
    a[3 * K + 7] = NAN, a[5 * K] = INFINITY;
    attend_halves_gemm(compute, false, false, PACKED_ZERO, M, N, K, a, K, b, N, c, N, scratch);
    for (size_t i = 0; i < (size_t)M * N; i++) assert_int_equal(isfinite(c[i]) != 0, i / N != 3 && i / N != 5);
    free(a), free(b), free(c), free(scratch);
}

static void test_tables(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        check_split();
        for (int p = ATTEND_COMPUTE_BF16X3; p <= ATTEND_COMPUTE_BF16; p++) {
            check_shapes((attend_compute_precision)p);
            check_columns((attend_compute_precision)p);
            check_not_finite((attend_compute_precision)p);
        }
    }
}

/* ---- the ends of arrays ---- */

enum { PAGE = 1 << 16 };

/* n numbers, after which memory is inaccessible. */
static float *numbers_at_end(size_t n)
{
    const int zeros = open("/dev/zero", O_RDWR);
    char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    assert_true(p != MAP_FAILED && mprotect(p + PAGE, PAGE, PROT_NONE) == 0);
    close(zeros);
    float *first = (float *)(void *)(p + PAGE) - n;
    for (size_t i = 0; i < n; i++) first[i] = next();
    return first;
}

static void give_back(float *x, size_t n)
{
    munmap((char *)(x + n) - PAGE, 2 * PAGE);
}

/* Nothing is read or written after the last number of A, B, the bias and C. */
static void test_ends(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        for (size_t n = 1; n <= 40; n += 13)
            for (int form = 0; form < 12; form++) {
                const size_t m = 17, k = 35;
                const packed_start start = (packed_start)(form / 4);
                const attend_compute_precision compute = form & 1 ? ATTEND_COMPUTE_BF16 : ATTEND_COMPUTE_BF16X3;
                float *a = numbers_at_end(m * k), *b = numbers_at_end(n * k), *bias = numbers_at_end(n),
                      *c = numbers_at_end(m * n), *scratch = numbers(attend_halves_gemm_scratch(compute, m, n, k));
                const bool transpose = form & 2;
                attend_halves_gemm(compute, transpose, transpose, start == PACKED_ADD ? PACKED_ADD : PACKED_ZERO, m, n,
                                   k, a, transpose ? m : k, b, transpose ? k : n, c, n, scratch);
                void *packed = memory(attend_halves_bytes(compute, k, n));
                void *rows = memory(m * attend_halves_row_bytes(compute, k));
                attend_halves_pack(ATTEND_FP32, compute, transpose, k, n, b, transpose ? k : n, packed);
                attend_halves_split(compute, m, k, a, k, rows);
                const packed_matrix w = { .compute = compute, .k = k, .n = n, .data = packed };
                attend_halves_multiply(start, bias, m, rows, &w, 0, n, c, n);
                give_back(a, m * k), give_back(b, n * k), give_back(bias, n), give_back(c, m * n);
                free(scratch), free(packed), free(rows);
            }
    }
}

/* ---- the order of additions ---- */

static float flushed(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? 0 : x;
}

/* vdpbf16ps: pairs in ascending order, the odd number of a pair first. */
static float dot_of_pairs(size_t k, const float *a, const float *b)
{
    float sum = 0;
    for (size_t l = 0; l < k; l += 2) {
        if (l + 1 < k) sum = fmaf(rounded(a[l + 1]), rounded(b[l + 1]), sum);
        sum = flushed(fmaf(rounded(a[l]), rounded(b[l]), sum));
    }
    return sum;
}

/* tdpbf16ps: 32 numbers at a time, even and odd ones summed apart. */
static float dot_of_tiles(size_t k, const float *a, const float *b)
{
    float sum = 0;
    for (size_t l = 0; l < k; l += 32) {
        float parts[2] = { 0, 0 };
        for (size_t i = l; i < k && i < l + 32; i++) parts[i % 2] = fmaf(rounded(a[i]), rounded(b[i]), parts[i % 2]);
        sum += parts[0] + parts[1];
    }
    return sum;
}

static void test_order(void **state)
{
    (void)state;
    enum { M = 37, N = 45, K = 307 };
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        if (!(*t)->bf16) continue;
        attend_kernel_select(*t);
        float *a = numbers(M * K), *b = numbers(N * K), *c = numbers(M * N);
        float *scratch = numbers(attend_halves_gemm_scratch(ATTEND_COMPUTE_BF16, M, N, K));
        attend_halves_gemm(ATTEND_COMPUTE_BF16, false, true, PACKED_ZERO, M, N, K, a, K, b, K, c, N, scratch);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++)
                assert_true(c[i * N + j] ==
                            ((*t)->bf16->fast_halves ? dot_of_tiles : dot_of_pairs)(K, a + i * K, b + j * K));
        free(a), free(b), free(c), free(scratch);
    }
}

/* ---- tiles ---- */

#ifdef ATTEND_TEST_SIMDE
extern _Thread_local bool attend_plain_tiles_configured;

/* 8-bit numbers on tiles: the same bits as by the vector kernel, for any number of rows. */
static void test_int8_tiles(void **state)
{
    (void)state;
    for (size_t m = 1; m <= 70; m += m < 8 ? 2 : 9)
        for (size_t n = 1; n <= 100; n += 33)
            for (size_t k = 1; k <= 200; k += 66) {
                float *x = numbers(m * k), *scales = numbers(n), *bias = numbers(n), *c[2], a_scales[70];
                int32_t sums[70];
                int8_t *w = malloc(n * k);
                for (size_t i = 0; i < n * k; i++) w[i] = (int8_t)(127 * next());
                for (int i = 0; i < 2; i++) {
                    attend_kernel_select(i ? &attend_plaintiles_table : &attend_simde512vnni_table);
                    const size_t depth = attend_int8_depth(k);
                    assert_true(depth % (i ? 64 : 4) == 0);
                    char *q = calloc(m, depth);
                    void *packed = memory(attend_packed_bytes(ATTEND_INT8, k, n));
                    for (size_t r = 0; r < m; r++)
                        a_scales[r] = attend_kernel()->quantize(k, x + r * k, 127, q + r * depth, &sums[r]);
                    attend_pack_as(ATTEND_INT8, k, n, w, packed);
                    c[i] = calloc(m * n, sizeof *c[i]);
                    const activations a = {
                        .m = m, .row = k, .values = x, .quantized = q, .scales = a_scales, .sums = sums
                    };
                    const packed_matrix b = {
                        .precision = ATTEND_INT8, .k = k, .n = n, .data = packed, .scales = scales
                    };
                    attend_gemm_matrix((packed_start)((m + n) % 3), bias, &a, &b, 0, n, c[i], n);
                    free(q), free(packed);
                }
                assert_memory_equal(c[0], c[1], m * n * sizeof **c);
                free(x), free(scales), free(bias), free(w), free(c[0]), free(c[1]);
            }
}

static void *multiply_on_thread(void *user)
{
    attend_kernel_select(&attend_plaintiles_table);
    check_gemm(&(shape){ ATTEND_COMPUTE_BF16X3, false, true, PACKED_ADD, 40, 50, 60 });
    *(bool *)user = attend_plain_tiles_configured;
    return NULL;
}

/* Every thread has tiles of its own, and gives them back after a product. */
static void test_tiles_released(void **state)
{
    (void)state;
    bool left[4] = { true, true, true, true };
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, multiply_on_thread, &left[i]), 0);
    multiply_on_thread(&left[3]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) assert_false(left[i]);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),     cmocka_unit_test(test_ends),           cmocka_unit_test(test_order),
#ifdef ATTEND_TEST_SIMDE
        cmocka_unit_test(test_int8_tiles), cmocka_unit_test(test_tiles_released),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
