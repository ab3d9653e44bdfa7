/* kernel.c: selecting the kernel table. */
#include "kernel/kernel.h"

#include "kernel/tables.h"
#include <attend/version.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *attend_version(void)
{
    return TEXT(ATTEND_VERSION_MAJOR) "." TEXT(ATTEND_VERSION_MINOR) "." TEXT(ATTEND_VERSION_PATCH);
}

/* Slowest first: the last before NULL is the best. */
const attend_kernel_table *const *attend_kernels(void)
{
#if defined(ATTEND_X86) && !defined(ATTEND_DOUBLE)
    static const attend_kernel_table *const to_avx512[] = { &attend_plain_table, &attend_avx2_table,
                                                            &attend_avx512_table, NULL };
    static const attend_kernel_table *const to_avx2[] = { &attend_plain_table, &attend_avx2_table, NULL };
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? to_avx512 : to_avx2;
#endif
    static const attend_kernel_table *const only_plain[] = { &attend_plain_table, NULL };
    return only_plain;
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
