/* kernel_tables.h: the tables a test of kernels goes through. */
#ifndef ATTEND_TEST_KERNEL_TABLES_H
#define ATTEND_TEST_KERNEL_TABLES_H

#include "kernel/kernel.h"
#include <string.h>

#ifdef ATTEND_TEST_SIMDE
extern const attend_kernel_table attend_simde512_table;
#endif

enum { MOST_TABLES = 8 };

/* Every table this machine can run, plain first, and the AVX-512 one emulated (with AVX2); NULL ends it. */
static inline const attend_kernel_table *const *tables_to_test(void)
{
    static const attend_kernel_table *tables[MOST_TABLES + 1];
    size_t n = 0;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) tables[n++] = *t;
#ifdef ATTEND_TEST_SIMDE
    if (n > 1 && strcmp(tables[1]->name, "avx2") == 0) tables[n++] = &attend_simde512_table;
#endif
    tables[n] = NULL;
    return tables;
}

#endif
