/* ceiling.c: the peak of the instruction set in use: independent multiply-adds on registers, without memory. */
#include "bench.h"

#include <string.h>

enum { ROUNDS = 100000 };

#if defined(__x86_64__)
#define FMA(vector, a, b, to) "vfmadd231ps %%" vector a ", %%" vector b ", %%" vector to "\n"
#define FMAS(vector, a, b)                                                                                             \
    FMA(vector, a, b, "0")                                                                                             \
    FMA(vector, a, b, "1")                                                                                             \
    FMA(vector, a, b, "2")                                                                                             \
    FMA(vector, a, b, "3")                                                                                             \
    FMA(vector, a, b, "4")                                                                                             \
    FMA(vector, a, b, "5")                                                                                             \
    FMA(vector, a, b, "6")                                                                                             \
    FMA(vector, a, b, "7") FMA(vector, a, b, "8") FMA(vector, a, b, "9") FMA(vector, a, b, "10") FMA(vector, a, b, "11")
enum { INDEPENDENT = 12 }; /* sums: more than latency times throughput on every processor so far */
/* Assembly, because a compiler may fold or spill such a loop. */
#define LOOP(vector)                                                                                                   \
    __asm__ volatile("1:\n" FMAS(vector, "14", "15") "dec %0\njnz 1b\n"                                                \
                     : "+r"(n)                                                                                         \
                     :                                                                                                 \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
                       "xmm11", "xmm14", "xmm15")

/* Runs the loop; returns the floating-point operations of a round, or 0 if the table has no such instructions. */
static double run(const char *table, long n)
{
    if (strncmp(table, "avx512", 6) == 0) {
        LOOP("zmm");
        return INDEPENDENT * 16 * 2;
    }
    if (strcmp(table, "avx2") == 0) {
        LOOP("ymm");
        return INDEPENDENT * 8 * 2;
    }
    return 0;
}
#elif defined(__aarch64__)
#define FMA(to)          "fmla v" to ".4s, v30.4s, v31.4s\n"
#define FMAS(a, b, c, d) FMA(a) FMA(b) FMA(c) FMA(d)
enum { INDEPENDENT = 24 };

static double run(const char *table, long n)
{
    if (strncmp(table, "neon", 4) != 0) return 0;
    __asm__ volatile("1:\n" FMAS("0", "1", "2", "3") FMAS("4", "5", "6", "7") FMAS("8", "9", "10", "11")
                         FMAS("12", "13", "14", "15") FMAS("16", "17", "18", "19")
                             FMAS("20", "21", "22", "23") "subs %0, %0, #1\nb.ne 1b\n"
                     : "+r"(n)
                     :
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                       "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30", "v31");
    return INDEPENDENT * 4 * 2;
}
#else
static double run(const char *table, long n)
{
    (void)table, (void)n;
    return 0;
}
#endif

/* Other tables: sums of scalars, which the compiler may vectorise. */
static double run_scalars(long n)
{
    enum { SUMS = 64 };
    static volatile float factor = 1;
    float sum[SUMS] = { 0 };
    const float a = factor;
    for (long i = 0; i < n; i++)
        for (int j = 0; j < SUMS; j++) sum[j] = sum[j] * a + a;
    for (int j = 0; j < SUMS; j++) factor = sum[j] > 0 ? 1 : a;
    return SUMS * 2;
}

double bench_peak(void)
{
    static double best;
    for (int i = 0; i < 5; i++) {
        const double begin = bench_now();
        double operations = run(attend_kernel_name(), ROUNDS);
        if (operations == 0) operations = run_scalars(ROUNDS);
        const double speed = 1e-9 * ROUNDS * operations / (bench_now() - begin);
        if (speed > best) best = speed;
    }
    return best;
}
