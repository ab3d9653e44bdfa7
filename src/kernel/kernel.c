/* kernel.c: selecting the kernel table. */
#include "core/status.h"
#include "kernel/kernel.h"

#include "kernel/processor_features.h"
#include "kernel/tables.h"
#include <attend/processors.h>
#include <attend/version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef ATTEND_NEON
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *attend_version(void)
{
    return TEXT(ATTEND_VERSION_MAJOR) "." TEXT(ATTEND_VERSION_MINOR) "." TEXT(ATTEND_VERSION_PATCH);
}

#if defined(ATTEND_X86) && !defined(ATTEND_DOUBLE)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

static bool has_avx512vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_avx512bf16(void)
{
    return has_avx512vnni() && __builtin_cpu_supports("avx512bf16");
}

static bool has_amx(void)
{
    return has_avx512bf16() && attend_request_amx();
}
#elif defined(ATTEND_NEON) && !defined(ATTEND_DOUBLE)
static bool has_neondot(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
#endif

static bool always(void)
{
    return true;
}

/* Slowest first. A table is chosen by what the processor can do, never by its model. */
static const struct {
    const attend_kernel_table *table;
    bool (*supported)(void);
    const char *needs;
} all_tables[] = {
    { &attend_plain_table, always, "nothing" },
#if defined(ATTEND_X86) && !defined(ATTEND_DOUBLE)
    { &attend_avx2_table, has_avx2, "AVX2 and FMA" },
    { &attend_avx512_table, has_avx512, "AVX-512 F and BW" },
    { &attend_avx512vnni_table, has_avx512vnni, "AVX-512 F, BW and VNNI" },
    { &attend_avx512bf16_table, has_avx512bf16, "AVX-512 F, BW, VNNI and BF16" },
    { &attend_amx_table, has_amx, "AVX-512 with BF16, AMX with BF16 and INT8" },
#elif defined(ATTEND_NEON) && !defined(ATTEND_DOUBLE)
    { &attend_neon_table, always, "NEON" },
    { &attend_neondot_table, has_neondot, "NEON with the dot product extension" },
#endif
};
enum { TABLES = sizeof all_tables / sizeof *all_tables };

static const attend_kernel_table *supported_tables[TABLES + 1];

static void find_tables(void)
{
#if defined(ATTEND_X86)
    __builtin_cpu_init();
#endif
    for (int i = 0, n = 0; i < TABLES; i++)
        if (all_tables[i].supported()) supported_tables[n++] = all_tables[i].table;
}

const attend_kernel_table *const *attend_kernels(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_tables);
    return supported_tables;
}

/* The table that ATTEND_KERNEL names, if the machine supports it, else the best. */
static const attend_kernel_table *choose(void)
{
    const char *name = getenv("ATTEND_KERNEL");
    const attend_kernel_table *best = NULL;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        best = *t;
        if (name && strcmp(name, best->name) == 0) break;
    }
    return best;
}

static _Atomic(const attend_kernel_table *) in_use;

const attend_kernel_table *attend_kernel(void)
{
    const attend_kernel_table *table = atomic_load_explicit(&in_use, memory_order_acquire);
    if (!table) { /* concurrent threads select the same table */
        const attend_kernel_table *none = NULL;
        table = choose();
        if (!atomic_compare_exchange_strong(&in_use, &none, table)) table = none;
    }
    return table;
}

void attend_kernel_select(const attend_kernel_table *table)
{
    atomic_store(&in_use, table);
}

const char *attend_kernel_name(void)
{
    return attend_kernel()->name;
}

bool attend_kernel_at(int i, attend_kernel_info *info)
{
    ATTEND_REQUIRE(false, info);
    if (i < 0 || i >= TABLES) return false;
    *info = (attend_kernel_info){ .name = all_tables[i].table->name,
                                  .needs = all_tables[i].needs,
                                  .supported = false,
                                  .in_use = all_tables[i].table == attend_kernel() };
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) info->supported |= *t == all_tables[i].table;
    info->refused = !info->supported && strcmp(info->name, "amx") == 0 && attend_has_amx();
    return true;
}

bool attend_kernels_are_fast(attend_compute_precision precision)
{
    const bf16_kernels *k = attend_kernel()->bf16;
    return precision == ATTEND_COMPUTE_FP32 || (k && (precision == ATTEND_COMPUTE_BF16 || k->fast_halves));
}
