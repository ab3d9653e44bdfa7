/* The packed product of every table against a plain sum in double, on all small and some large odd shapes; and its
 * promise that a row's result does not depend on its neighbours. */
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

enum { GUARD = 12345 }; /* stands between the rows of C and must stay */

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

/* Rows computed alone, in twos, ... and all together agree to the bit. */
static void check_rows_alone(void)
{
    enum { M = 31, N = 117, K = 600 };
    float *a = numbers(M * K), *b = numbers(K * N), *together = numbers(M * N), *apart = numbers(M * N);
    float *packed = aligned_alloc(64, (attend_packed_size(K, N) * sizeof *packed + 64) / 64 * 64);
    attend_pack(false, K, N, b, N, packed);
    attend_gemm_packed(PACKED_ZERO, NULL, M, N, K, a, K, packed, together, N);
    for (size_t rows = 1; rows < M; rows++) {
        for (size_t i = 0; i < M; i += rows) {
            size_t now = M - i < rows ? M - i : rows;
            attend_gemm_packed(PACKED_ZERO, NULL, now, N, K, a + i * K, K, packed, apart + i * N, N);
        }
        assert_memory_equal(together, apart, M * N * sizeof *apart);
    }
    free(a), free(b), free(together), free(apart), free(packed);
}

/* C += A' B is, to the bit, what A' laid out by rows gives. */
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

static void test_tables(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = tables_to_test(); *t; t++) {
        attend_kernel_use(*t);
        check_table();
        check_rows_alone();
        check_transposed();
    }
}

extern int openblas_get_num_threads(void) __attribute__((weak));

/* The other door. */
static void test_cblas(void **state)
{
    (void)state;
    enum { M = 7, N = 9, K = 11 };
    float *a = numbers(M * K), *b = numbers(K * N), *c = numbers(M * N), *old = malloc(M * N * sizeof *old);
    memcpy(old, c, M * N * sizeof *old);
    for (int way = 0; way < 8; way++) {
        bool ta = way & 1, tb = way & 2, add = way & 4;
        memcpy(c, old, M * N * sizeof *old);
        attend_gemm(ta, tb, M, N, K, a, ta ? M : K, b, tb ? K : N, add, c, N);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = add ? (double)old[i * N + j] : 0;
                for (size_t l = 0; l < K; l++)
                    sum += (double)a[ta ? l * M + i : i * K + l] * (double)b[tb ? j * K + l : l * N + j];
                assert_true(fabs((double)c[i * N + j] - sum) < 1e-5);
            }
    }
    if (openblas_get_num_threads) assert_int_equal(openblas_get_num_threads(), 1); /* threads are ours */
    free(a), free(b), free(c), free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tables), cmocka_unit_test(test_cblas) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
