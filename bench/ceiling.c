/* ceiling.c: the peaks of the instruction sets of this processor: independent multiply-adds on registers, without
 * memory, on one thread. */
#define _DEFAULT_SOURCE /* syscall */
#include "bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { ROUNDS = 100000 };

/* An instruction set: the feature that it needs, and operations of a round of its loop. run is NULL at the end. */
typedef struct instruction_set {
    const char *name, *feature;
    double operations;
    bool (*run)(long rounds); /* false: the system does not permit it */
} instruction_set;

#if defined(__x86_64__)
/* Assembly, because a compiler may fold or spill such loops. There are more sums than latency times throughput on every
 * processor so far. All registers begin with zeros: denormal numbers are slow. */
enum { SUMS = 12 };
#define SUM_OF(f, x)                                                                                                   \
    f(x, "0") f(x, "1") f(x, "2") f(x, "3") f(x, "4") f(x, "5") f(x, "6") f(x, "7") f(x, "8") f(x, "9") f(x, "10")     \
        f(x, "11")
#define ZERO(x, to) "vpxor %%xmm" to ", %%xmm" to ", %%xmm" to "\n"
#define INTO(x, to) x to "\n"
#define LOOP(instruction, vector)                                                                                      \
    __asm__ volatile(SUM_OF(ZERO, "") ZERO("", "14")                                                                   \
                         ZERO("", "15") "1:\n" SUM_OF(INTO, instruction " %%" vector "14, %%" vector                   \
                                                                        "15, %%" vector) "dec %0\njnz 1b\n"            \
                     : "+r"(n)                                                                                         \
                     :                                                                                                 \
                     : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",  \
                       "xmm11", "xmm14", "xmm15")

static bool run_avx2(long n)
{
    LOOP("vfmadd231ps", "ymm");
    return true;
}

static bool run_avx512(long n)
{
    LOOP("vfmadd231ps", "zmm");
    return true;
}

static bool run_avx512_bf16(long n)
{
    LOOP("vdpbf16ps", "zmm");
    return true;
}

static bool run_avx512_vnni(long n)
{
    LOOP("vpdpbusd", "zmm");
    return true;
}

/* Tiles of 16 rows of 64 bytes. The kernel permits a process to use them on request; false: it refuses. */
static bool begin_tiles(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, ROWS = 16, BYTES = 64, TILES = 8 };
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } settings = { .palette = 1,
                   .bytes = { BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES },
                   .rows = { ROWS, ROWS, ROWS, ROWS, ROWS, ROWS, ROWS, ROWS } };
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0) return false;
    __asm__ volatile("ldtilecfg %0\n"
                     "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\ntilezero %%tmm3\n"
                     "tilezero %%tmm4\ntilezero %%tmm5\ntilezero %%tmm6\ntilezero %%tmm7\n"
                     :
                     : "m"(settings));
    return true;
}

#define TILE_LOOP(instruction)                                                                                         \
    __asm__ volatile("1:\n" instruction " %%tmm6, %%tmm4, %%tmm0\n" instruction                                        \
                     " %%tmm7, %%tmm4, %%tmm1\n" instruction " %%tmm6, %%tmm5, %%tmm2\n" instruction                   \
                     " %%tmm7, %%tmm5, %%tmm3\n"                                                                       \
                     "dec %0\njnz 1b\ntilerelease\n"                                                                   \
                     : "+r"(n)                                                                                         \
                     :                                                                                                 \
                     : "cc")

static bool run_amx_bf16(long n)
{
    if (!begin_tiles()) return false;
    TILE_LOOP("tdpbf16ps");
    return true;
}

static bool run_amx_int8(long n)
{
    if (!begin_tiles()) return false;
    TILE_LOOP("tdpbssd");
    return true;
}

static const instruction_set sets[] = { { "avx2 fp32", "fma", SUMS * 8 * 2, run_avx2 },
                                        { "avx512 fp32", "avx512f", SUMS * 16 * 2, run_avx512 },
                                        { "avx512 bf16", "avx512_bf16", SUMS * 32 * 2, run_avx512_bf16 },
                                        { "avx512 int8", "avx512_vnni", SUMS * 64 * 2, run_avx512_vnni },
                                        { "amx bf16", "amx_bf16", 4 * 16 * 16 * 32 * 2, run_amx_bf16 },
                                        { "amx int8", "amx_int8", 4 * 16 * 16 * 64 * 2, run_amx_int8 },
                                        { NULL, NULL, 0, NULL } };
#elif defined(__aarch64__)
#define FMA(to)          "fmla v" to ".4s, v30.4s, v31.4s\n"
#define FMAS(a, b, c, d) FMA(a) FMA(b) FMA(c) FMA(d)
enum { SUMS = 24 };

static bool run_neon(long n)
{
    __asm__ volatile("movi v30.4s, #0\nmovi v31.4s, #0\n1:\n" FMAS("0", "1", "2", "3") FMAS("4", "5", "6", "7")
                         FMAS("8", "9", "10", "11") FMAS("12", "13", "14", "15") FMAS("16", "17", "18", "19")
                             FMAS("20", "21", "22", "23") "subs %0, %0, #1\nb.ne 1b\n"
                     : "+r"(n)
                     :
                     : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                       "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30", "v31");
    return true;
}

static const instruction_set sets[] = { { "neon fp32", "asimd", SUMS * 4 * 2, run_neon }, { NULL, NULL, 0, NULL } };
#else
static const instruction_set sets[] = { { NULL, NULL, 0, NULL } };
#endif

/* Sums of scalars, which the compiler may vectorise. */
static bool run_scalars(long n)
{
    enum { SCALARS = 64 };
    static volatile float factor = 1;
    float sum[SCALARS] = { 0 };
    const float a = factor;
    for (long i = 0; i < n; i++)
        for (int j = 0; j < SCALARS; j++) sum[j] = sum[j] * a + a;
    for (int j = 0; j < SCALARS; j++) factor = sum[j] > 0 ? 1 : a;
    return true;
}

static const instruction_set scalars = { "scalar fp32", "", 64 * 2, run_scalars };

/* The best speed of a few runs in G operations per second; 0: the system does not permit the instructions. */
static double speed(const instruction_set *s)
{
    double best = 0;
    for (int i = 0; i < 5; i++) {
        const double begin = bench_now();
        if (!s->run(ROUNDS)) return 0;
        const double now = 1e-9 * ROUNDS * s->operations / (bench_now() - begin);
        if (now > best) best = now;
    }
    return best;
}

/* The fp32 instructions of the kernel table in use: the table's name begins with that of the set. The table of AMX has
 * the fp32 products of AVX-512. A table without a set would be compared with too low a peak, so it is an error. */
static const instruction_set *set_in_use(void)
{
    const char *table = attend_kernel_name();
    const instruction_set *found = strcmp(table, "plain") == 0 ? &scalars : NULL;
    if (strcmp(table, "amx") == 0) table = "avx512";
    for (const instruction_set *s = sets; s->run; s++) {
        const size_t length = strcspn(s->name, " ");
        if (strcmp(s->name + length, " fp32") == 0 && strncmp(s->name, table, length) == 0) found = s;
    }
    if (found) return found;
    fprintf(stderr, "bench: ceiling.c has no peak for the kernel table \"%s\"\n", table);
    exit(1);
}

double bench_peak(void)
{
    static double best;
    const double now = speed(set_in_use());
    return best = now > best ? now : best;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

double bench_share_of_peak(const bench *b, work w, double operations, double *speed_of_w, double *peak)
{
    enum { MAX_ROUNDS = 101 };
    static const double SLICE = 5e-3; /* seconds of a round */
    const instruction_set *set = set_in_use();
    double shares[MAX_ROUNDS], speeds[MAX_ROUNDS], peaks[MAX_ROUNDS];
    w.run(w.state); /* page faults, packed copies */
    double begin = bench_now();
    w.run(w.state);
    const int repeats = (int)(SLICE / (bench_now() - begin + 1e-9)) + 1, rounds = bench_quick(b)   ? 5
                                                                                  : bench_brief(b) ? 31
                                                                                                   : MAX_ROUNDS;
    for (int i = 0; i < rounds; i++) {
        const double before = speed(set);
        w.run(w.state); /* the loop of the peak may have lowered the clock, and others used the cache */
        begin = bench_now();
        for (int j = 0; j < repeats; j++) w.run(w.state);
        speeds[i] = 1e-9 * operations * repeats / (bench_now() - begin);
        peaks[i] = (before + speed(set)) / 2;
        shares[i] = speeds[i] / peaks[i];
    }
    *speed_of_w = median(speeds, rounds), *peak = median(peaks, rounds);
    return median(shares, rounds);
}

void bench_print_ceilings(void)
{
    const char *separator = "ceilings, independent multiply-adds on one thread, G operations/s: ";
    for (const instruction_set *s = sets; s->run; s++) {
        if (!bench_has(s->feature)) continue;
        printf("%s%s %.0f", separator, s->name, speed(s));
        separator = ", ";
    }
    printf("\n");
}
