/* kernel_tables.h: the kernel tables that tests compare. */
#ifndef ATTEND_TEST_KERNEL_TABLES_H
#define ATTEND_TEST_KERNEL_TABLES_H

#include "kernel/kernel.h"
#include <string.h>

#ifdef ATTEND_TEST_SIMDE
extern const attend_kernel_table attend_simde512_table, attend_simde512vnni_table, attend_simde512bf16_table,
    attend_plaintiles_table;
#endif

enum { MAX_TABLES = 12 };

/* Every table that this machine supports, plain C first, and AVX-512 and AMX emulated with AVX2; ended
 * by NULL. */
static inline const attend_kernel_table *const *tables_to_test(void)
{
    static const attend_kernel_table *tables[MAX_TABLES + 1];
    size_t n = 0;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) tables[n++] = *t;
#ifdef ATTEND_TEST_SIMDE
    if (n > 1 && strcmp(tables[1]->name, "avx2") == 0)
        tables[n++] = &attend_simde512_table, tables[n++] = &attend_simde512vnni_table,
        tables[n++] = &attend_simde512bf16_table, tables[n++] = &attend_plaintiles_table;
#endif
    tables[n] = NULL;
    return tables;
}

#endif
