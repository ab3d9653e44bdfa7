/* skipped.h: parts of a test program that need something which is not everywhere.
 *
 * A program that skipped a part exits with 77, if nothing failed, and ctest shows it as skipped (SKIP_RETURN_CODE in test/CMakeLists.txt).
 * cmocka alone would let it pass. */
#ifndef ATTEND_TEST_SKIPPED_H
#define ATTEND_TEST_SKIPPED_H

#include <stdio.h>

static int skipped_parts;

/* Ends the test that calls it. */
#define skip_part(...)                                                                                                 \
    do {                                                                                                               \
        skipped_parts++;                                                                                               \
        printf("skipped: " __VA_ARGS__);                                                                               \
        printf("\n");                                                                                                  \
        skip();                                                                                                        \
    } while (0)

/* The exit status of the program. failed: what cmocka_run_group_tests returned. */
static inline int test_status(int failed)
{
    return failed ? 1 : skipped_parts ? 77 : 0;
}

#endif
