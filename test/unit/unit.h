/* unit.h: the headers that cmocka requires, in its order, and the library. */
#ifndef ATTEND_TEST_UNIT_H
#define ATTEND_TEST_UNIT_H

#include <attend/attend.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Prints how many cases of all a test covers, so that a sampled test is not mistaken for an exhaustive one. total 0: the number of cases is unbounded. */
static inline void print_sampled(const char *what, unsigned long long tested, unsigned long long total)
{
    if (total)
        printf("    sampled: %llu of %llu %s\n", tested, total, what);
    else
        printf("    sampled: %llu %s\n", tested, what);
}

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        if ((call) != ATTEND_OK) fail_msg("%s: %s", #call, attend_message());                                          \
    } while (0)

#endif
