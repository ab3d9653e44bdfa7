/* unit.h: what cmocka wants included, in its order, and the library. */
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

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        if ((call) != ATTEND_OK) fail_msg("%s: %s", #call, attend_message());                                          \
    } while (0)

#endif
