/* The packed products of every table against a plain sum in double, on all small and some large odd shapes; a row's
 * result must not depend on the other rows. */
#include "kernel/gemm.h"
#include "support/kernel_tables.h"
#include "unit/unit.h"
#include <math.h>

static unsigned seed = 1;
static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static float *numbers(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 64) / 64 * 64);
    for (size_t i = 0; i < n; i++) p[i] = next();
    return p;
}

enum { GUARD = 12345 }; /* between the rows of C; must not change */

static void check_shape(size_t m, size_t n, size_t k, packed_start start, bool transpose)
{
    size_t lda = k + 3, ldc = n + 5, ldb = (transpose ? k : n) + 2;
    float *a = numbers(m * lda + 1), *b = numbers((transpose ? n : k) * ldb + 1), *bias = numbers(n + 1);
    float *c = numbers(m * ldc + 1), *old = malloc((m * ldc + 1) * sizeof *old);
    float *packed = aligned_alloc(64, (attend_packed_size(k, n) * sizeof *packed + 64) / 64 * 64);
    for (size_t i = 0; i < m; i++)
        for (size_t j = n; j < ldc; j++) c[i * ldc + j] = GUARD;
    memcpy(old, c, (m * ldc + 1) * sizeof *old);

    attend_pack(transpose, k, n, b, ldb, packed);
    attend_gemm_packed(start, bias, m, n, k, a, lda, packed, c, ldc);

    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = start == PACKED_BIAS ? (double)bias[j] : start == PACKED_ADD ? (double)old[i * ldc + j] : 0;
            double size = fabs(sum);
            for (size_t l = 0; l < k; l++) {
                double term = (double)a[i * lda + l] * (double)(transpose ? b[j * ldb + l] : b[l * ldb + j]);
                sum += term;
                size += fabs(term);
            }
            /* k roundings of at most half an ulp of partial sums no larger than `size` */
            if (!(fabs((double)c[i * ldc + j] - sum) <= size * ((double)k + 1) * 6e-8))
                fail_msg("%s: %zu x %zu x %zu, start %d, transpose %d: element (%zu, %zu) is %.9g, not %.9g",
                         attend_kernel_name(), m, n, k, (int)start, transpose, i, j, (double)c[i * ldc + j], sum);
        }
        for (size_t j = n; j < ldc; j++) assert_true(c[i * ldc + j] == GUARD);
    }
    assert_true(c[m * ldc] == old[m * ldc]);
    free(a), free(b), free(bias), free(c), free(old), free(packed);
}

static void check_table(void)
{
    for (size_t m = 1; m <= 26; m++)
        for (size_t n = 1; n <= 70; n += n < 34 ? 3 : 9)
            for (size_t k = 0; k <= 5; k += 1 + k / 2)
                check_shape(m, n, k, (packed_start)((m + n + k) % 3), (m ^ n) & 1);
    static const size_t large[][3] = { { 1, 513, 300 }, { 2, 100, 700 },  { 3, 77, 513 },  { 5, 1000, 64 },
                                       { 7, 33, 600 },  { 200, 20, 300 }, { 33, 65, 257 }, { 8, 96, 512 },
                                       { 400, 3, 520 }, { 1, 200, 1 } };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int start = PACKED_ZERO; start <= PACKED_ADD; start++)
            check_shape(large[i][0], large[i][1], large[i][2], (packed_start)start, i & 1);
}

/* Rows computed alone, two at a time, ... and all at once are bit-identical. */
static void check_rows_alone(size_t k)
{
    enum { M = 31, N = 117 };
    float *a = numbers(M * k), *b = numbers(k * N), *together = numbers(M * N), *apart = numbers(M * N);
    float *packed = aligned_alloc(64, (attend_packed_size(k, N) * sizeof *packed + 64) / 64 * 64);
    attend_pack(false, k, N, b, N, packed);
    attend_gemm_packed(PACKED_ZERO, NULL, M, N, k, a, k, packed, together, N);
    for (size_t rows = 1; rows < M; rows++) {
        for (size_t i = 0; i < M; i += rows) {
            size_t now = M - i < rows ? M - i : rows;
            attend_gemm_packed(PACKED_ZERO, NULL, now, N, k, a + i * k, k, packed, apart + i * N, N);
        }
        assert_memory_equal(together, apart, M * N * sizeof *apart);
    }
    free(a), free(b), free(together), free(apart), free(packed);
}

/* C += A' B is bit-identical to the product with A' stored by rows. */
static void check_transposed(void)
{
    static const size_t sizes[][3] = { { 1, 1, 1 },    { 5, 17, 3 },    { 48, 64, 96 }, { 49, 33, 7 },
                                       { 131, 70, 2 }, { 300, 64, 48 }, { 7, 9, 300 },  { 3, 5, 0 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], lda = m + 3, ldc = n + 5;
        float *a = numbers(k * lda + 1), *rows = numbers(m * k + 1), *b = numbers(k * n + 1), *c = numbers(m * ldc);
        float *right = numbers(m * ldc), *packed = numbers(attend_packed_size(k, n) + 1);
        memcpy(right, c, m * ldc * sizeof *c);
        for (size_t i = 0; i < m; i++)
            for (size_t l = 0; l < k; l++) rows[i * k + l] = a[l * lda + i];
        attend_pack(false, k, n, b, n, packed);
        attend_gemm_packed(PACKED_ADD, NULL, m, n, k, rows, k, packed, right, ldc);
        attend_gemm_packed_transposed(m, n, k, a, lda, packed, c, ldc);
        assert_memory_equal(c, right, m * ldc * sizeof *c);
        free(a), free(rows), free(b), free(c), free(right), free(packed);
    }
}

/* Number i of an array that `quantize` wrote. */
static int quantized_at(const attend_kernel_table *t, const void *q, size_t i)
{
    return t->int8_bytes == 1 ? ((const int8_t *)q)[i] : ((const int16_t *)q)[i];
}

/* Quantised weights against a plain sum of the dequantised ones; int8 with quantised activations. */
static void check_quantized(attend_precision precision, size_t m, size_t n, size_t k, packed_start start)
{
    const attend_kernel_table *t = attend_kernel();
    const size_t ldc = n + 5, depth = attend_int8_depth(k), bytes_each = (size_t)t->int8_bytes;
    float *a = numbers(m * k + 1), *bias = numbers(n + 1), *scales = numbers(n + 1), *c = numbers(m * ldc + 1);
    float *old = malloc((m * ldc + 1) * sizeof *old), *a_scales = numbers(m);
    uint16_t *halves = malloc((n * k + 1) * sizeof *halves);
    int8_t *bytes = malloc(n * k + 1);
    char *whole = calloc(m * depth + 1, bytes_each);
    int32_t *sums = calloc(m, sizeof *sums);
    void *packed = aligned_alloc(64, (attend_packed_bytes(precision, k, n) + 64) / 64 * 64);
    for (size_t i = 0; i < n * k; i++) {
        const float w = next();
        uint32_t bits;
        memcpy(&bits, &w, sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
        bytes[i] = (int8_t)(int)(127 * next());
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = n; j < ldc; j++) c[i * ldc + j] = GUARD;
    memcpy(old, c, (m * ldc + 1) * sizeof *old);

    attend_pack_as(precision, k, n, precision == ATTEND_INT8 ? (void *)bytes : halves, packed);
    for (size_t i = 0; i < m; i++)
        a_scales[i] = t->quantize(k, a + i * k, attend_int8_limit(k), whole + i * depth * bytes_each, &sums[i]);
    const packed_matrix w = { .precision = precision, .k = k, .n = n, .data = packed, .scales = scales };
    const activations x = { .m = m, .row = k, .values = a, .quantized = whole, .scales = a_scales, .sums = sums };
    const size_t cut =
        n / 2 / (size_t)attend_kernel()->panel * (size_t)attend_kernel()->panel; /* the product can be divided */
    attend_gemm_matrix(start, bias, &x, &w, 0, cut, c, ldc);
    attend_gemm_matrix(start, bias + cut, &x, &w, cut, n - cut, c + cut, ldc);

    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = start == PACKED_BIAS ? (double)bias[j] : start == PACKED_ADD ? (double)old[i * ldc + j] : 0;
            double size = fabs(sum);
            for (size_t l = 0; l < k; l++) {
                const uint32_t bits = (uint32_t)halves[j * k + l] << 16;
                float half;
                memcpy(&half, &bits, sizeof half);
                const double term = precision == ATTEND_INT8
                                        ? (double)a_scales[i] * quantized_at(t, whole, i * depth + l) *
                                              (double)scales[j] * bytes[j * k + l]
                                        : (double)a[i * k + l] * (double)half;
                sum += term;
                size += fabs(term);
            }
            if (!(fabs((double)c[i * ldc + j] - sum) <= size * ((double)k + 3) * 6e-8))
                fail_msg("%s, %d bits: %zu x %zu x %zu, start %d: element (%zu, %zu) is %.9g, not %.9g",
                         attend_kernel_name(), precision == ATTEND_INT8 ? 8 : 16, m, n, k, (int)start, i, j,
                         (double)c[i * ldc + j], sum);
        }
        for (size_t j = n; j < ldc; j++) assert_true(c[i * ldc + j] == GUARD);
    }
    assert_true(c[m * ldc] == old[m * ldc]);
    free(a), free(bias), free(scales), free(c), free(old), free(a_scales), free(halves), free(bytes), free(whole),
        free(packed), free(sums);
}

static void check_all_quantized(void)
{
    for (int p = ATTEND_BFLOAT16; p <= ATTEND_INT8; p++) {
        for (size_t m = 1; m <= 26; m++)
            for (size_t n = 1; n <= 140; n += n < 34 ? 5 : 19)
                check_quantized((attend_precision)p, m, n, 1 + (m * 7 + n) % 37, (packed_start)((m + n) % 3));
        check_quantized((attend_precision)p, 1, 1000, 511, PACKED_BIAS);
        check_quantized((attend_precision)p, 300, 97, 600, PACKED_ADD);
    }
}

/* Selecting columns of packed weights is the same as packing these columns. */
static void check_columns(void)
{
    enum { N = 70, K = 13, SOME = 37 };
    float *w = numbers(N * K), *part = numbers(SOME * K);
    void *packed = numbers(attend_packed_size(K + 64, N)), *gathered = numbers(attend_packed_size(K + 64, SOME));
    void *right = numbers(attend_packed_size(K + 64, SOME)); /* int8 pads k, to 64 at most */
    int columns[SOME];
    for (int p = ATTEND_FP32; p <= ATTEND_INT8; p++) {
        const size_t size = p == ATTEND_INT8 ? 1 : p == ATTEND_BFLOAT16 ? 2 : 4;
        for (int i = 0; i < SOME; i++) {
            columns[i] = i * 53 % N;
            memcpy((char *)part + (size_t)i * K * size, (char *)w + (size_t)columns[i] * K * size, K * size);
        }
        attend_pack_as((attend_precision)p, K, N, w, packed);
        attend_pack_as((attend_precision)p, K, SOME, part, right);
        const packed_matrix m = { .precision = (attend_precision)p, .k = K, .n = N, .data = packed };
        attend_pack_columns(&m, SOME, columns, gathered);
        assert_memory_equal(gathered, right, attend_packed_bytes((attend_precision)p, K, SOME));
    }
    free(w), free(part), free(packed), free(gathered), free(right);
}

/* Activations of any size are rounded to multiples of the scale. Every table gives the same integers. */
static void check_quantize(void)
{
    const attend_kernel_table *t = attend_kernel();
    for (size_t n = 1; n < 70; n++) {
        float *x = numbers(n);
        int16_t q[71];
        int8_t plain[71];
        int32_t sum, plain_sum, total = 0;
        char *end = (char *)q + n * (size_t)t->int8_bytes;
        *end = 77;
        const float step = t->quantize(n, x, 127, q, &sum);
        assert_true(attend_kernels()[0]->quantize(n, x, 127, plain, &plain_sum) == step);
        int largest = 0;
        for (size_t i = 0; i < n; i++) {
            const int whole = quantized_at(t, q, i);
            assert_int_equal(whole, plain[i]);
            assert_true(fabs((double)x[i] - (double)step * whole) <= 0.5001 * (double)step);
            largest = abs(whole) > largest ? abs(whole) : largest;
            total += whole;
        }
        assert_int_equal(largest, 127);
        assert_int_equal(sum, total);
        assert_int_equal(plain_sum, total);
        assert_int_equal(*end, 77);
        for (size_t i = 0; i < n; i += 9) {
            const float before = x[i];
            x[i] = i % 2 ? NAN : -INFINITY;
            assert_true(isnan(t->quantize(n, x, 127, q, &sum)) && sum == 0);
            x[i] = before;
        }
        memset(x, 0, n * sizeof *x);
        x[n - 1] = 1e-45f;
        assert_true(t->quantize(n, x, 127, q, &sum) == 0 && sum == 0 && quantized_at(t, q, 0) == 0 &&
                    quantized_at(t, q, n - 1) == 0);
        free(x);
    }
    assert_int_equal(attend_int8_limit(10), 127);
    assert_true((double)attend_int8_limit(1000000) * 127 * 1000000 <= 2147483647.0);
}

static void test_tables(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        check_table();
        check_rows_alone(600);
        check_rows_alone(1024); /* rows that share a set of the first-level cache */
        check_transposed();
        check_all_quantized();
        check_columns();
        check_quantize();
    }
}

/* attend_gemm in all its forms, with strides, against a plain sum in double; and bit-identical to the packed product,
 * however its rows are divided. */
static void check_gemm(bool ta, bool tb, packed_start start, size_t m, size_t n, size_t k)
{
    const size_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 2, ldc = n + 5;
    float *a = numbers((ta ? k : m) * lda + 1), *b = numbers((tb ? n : k) * ldb + 1), *c = numbers(m * ldc + 1);
    float *old = numbers(m * ldc + 1), *rows = numbers(m * k + 1), *same = numbers(m * ldc + 1);
    float *scratch = numbers(attend_gemm_scratch(m, n, k) + 1), *packed = numbers(attend_packed_size(k, n) + 1);
    memcpy(old, c, (m * ldc + 1) * sizeof *old);
    memcpy(same, c, (m * ldc + 1) * sizeof *same);
    scratch[attend_gemm_scratch(m, n, k)] = GUARD;
    attend_gemm(ta, tb, start, m, n, k, a, lda, b, ldb, c, ldc, scratch);
    assert_true(scratch[attend_gemm_scratch(m, n, k)] == GUARD);
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++) rows[i * k + l] = a[ta ? l * lda + i : i * lda + l];
    attend_pack(tb, k, n, b, ldb, packed);
    attend_gemm_packed(start, NULL, m, n, k, rows, k, packed, same, ldc);
    assert_memory_equal(c, same, (m * ldc + 1) * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < ldc; j++) {
            double sum = j >= n || start == PACKED_ADD ? (double)old[i * ldc + j] : 0, size = fabs(sum);
            for (size_t l = 0; j < n && l < k; l++) {
                const double term = (double)rows[i * k + l] * (double)b[tb ? j * ldb + l : l * ldb + j];
                sum += term, size += fabs(term);
            }
            assert_true(fabs((double)c[i * ldc + j] - sum) <= size * ((double)k + 1) * 6e-8);
        }
    const size_t cut = m / 3; /* the product can be divided */
    memcpy(same, old, (m * ldc + 1) * sizeof *same);
    attend_gemm(ta, tb, start, cut, n, k, a, lda, b, ldb, same, ldc, scratch);
    attend_gemm(ta, tb, start, m - cut, n, k, a + (ta ? cut : cut * lda), lda, b, ldb, same + cut * ldc, ldc, scratch);
    assert_memory_equal(c, same, (m * ldc + 1) * sizeof *c);
    free(a), free(b), free(c), free(old), free(rows), free(same), free(scratch), free(packed);
}

static void check_all_gemm(void)
{
    static const size_t large[][3] = { { 200, 40, 900 }, { 97, 800, 30 },   { 13, 1600, 5 },
                                       { 100, 33, 385 }, { 150, 130, 520 }, { 131, 1030, 3 } };
    for (int form = 0; form < 8; form++) {
        const packed_start start = form & 4 ? PACKED_ADD : PACKED_ZERO;
        for (size_t m = 0; m <= 27; m += m < 8 ? 1 : 5)
            for (size_t n = 0; n <= 70; n += n < 5 ? 1 : 13)
                for (size_t k = 0; k <= 9; k += 1 + k / 2) check_gemm(form & 1, form & 2, start, m, n, k);
        for (size_t i = 0; i < sizeof large / sizeof *large; i++)
            check_gemm(form & 1, form & 2, start, large[i][0], large[i][1], large[i][2]);
    }
}

static void test_gemm(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_select(*t);
        check_all_gemm();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tables), cmocka_unit_test(test_gemm) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
