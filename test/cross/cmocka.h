/* cmocka.h: the part of cmocka's interface that the tests use, for builds where cmocka itself is not installed (cross builds).
 *
 * A failed assertion prints its file, line and values and jumps back to the runner, as cmocka's does. */
#ifndef ATTEND_TEST_CROSS_CMOCKA_H
#define ATTEND_TEST_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f)                                                                                            \
    {                                                                                                                  \
#f, f, NULL, NULL, NULL                                                                                        \
    }
#define cmocka_unit_test_setup(f, setup)                                                                               \
    {                                                                                                                  \
#f, f, setup, NULL, NULL                                                                                       \
    }
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                                            \
    {                                                                                                                  \
#f, f, setup, teardown, NULL                                                                                   \
    }

enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED = 2 };
static jmp_buf cmocka_return;

__attribute__((format(printf, 3, 4), noreturn, unused)) static void cmocka_fail(const char *file, int line,
                                                                                const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    longjmp(cmocka_return, CMOCKA_FAILED);
}

#define fail_msg(...)                  cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()                         cmocka_fail(__FILE__, __LINE__, "failed")
#define skip()                         longjmp(cmocka_return, CMOCKA_SKIPPED)
#define print_message(...)             printf(__VA_ARGS__)
#define cmocka_require(condition, ...) ((condition) ? (void)0 : cmocka_fail(__FILE__, __LINE__, __VA_ARGS__))
#define assert_true(x)                 cmocka_require(x, "%s is false", #x)
#define assert_false(x)                cmocka_require(!(x), "%s is true", #x)
#define assert_null(x)                 cmocka_require((x) == NULL, "%s is not NULL", #x)
#define assert_non_null(x)             cmocka_require((x) != NULL, "%s is NULL", #x)
#define assert_ptr_equal(a, b)         cmocka_require((const void *)(a) == (const void *)(b), "%s is not %s", #a, #b)
#define assert_int_equal(a, b)         cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 1, #a, #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)     cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 0, #a, #b, __FILE__, __LINE__)
#define assert_in_range(x, first, last)                                                                                \
    cmocka_require((uintmax_t)(x) >= (uintmax_t)(first) && (uintmax_t)(x) <= (uintmax_t)(last),                        \
                   "%s is outside [%s, %s]", #x, #first, #last)
#define assert_string_equal(a, b)       cmocka_strings(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b)   cmocka_strings(a, b, 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) cmocka_require(memcmp(a, b, size) == 0, "the bytes of %s and %s differ", #a, #b)
#define assert_memory_not_equal(a, b, size)                                                                            \
    cmocka_require(memcmp(a, b, size) != 0, "the bytes of %s and %s are equal", #a, #b)

__attribute__((unused)) static void cmocka_integers(uintmax_t a, uintmax_t b, int equal, const char *left,
                                                    const char *right, const char *file, int line)
{
    if ((a == b) != equal)
        cmocka_fail(file, line, "%s (%jd) %s %s (%jd)", left, (intmax_t)a, equal ? "is not" : "is", right, (intmax_t)b);
}

__attribute__((unused)) static void cmocka_strings(const char *a, const char *b, int equal, const char *file, int line)
{
    if ((strcmp(a, b) == 0) != equal) cmocka_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "is not" : "is", b);
}

/* One test with its fixture: 0, CMOCKA_FAILED or CMOCKA_SKIPPED. Memory of a failed test is not freed. */
__attribute__((unused)) static int cmocka_run_test(const struct CMUnitTest *t, void **state)
{
    const int jumped = setjmp(cmocka_return);
    if (jumped) return jumped;
    if (t->setup_func && t->setup_func(state) != 0) return CMOCKA_FAILED;
    t->test_func(state);
    return t->teardown_func && t->teardown_func(state) != 0 ? CMOCKA_FAILED : 0;
}

/* The fixture of a group. */
__attribute__((unused)) static int cmocka_run_fixture(CMFixtureFunction f, void **state)
{
    if (setjmp(cmocka_return)) return CMOCKA_FAILED;
    return f && f(state) != 0 ? CMOCKA_FAILED : 0;
}

__attribute__((unused)) static int cmocka_run_tests(const struct CMUnitTest *tests, size_t count,
                                                    CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int failed = 0, skipped = 0;
    void *group = NULL;
    if (cmocka_run_fixture(setup, &group)) failed++;
    for (size_t i = 0; i < count && !(i == 0 && failed); i++) {
        void *state = tests[i].initial_state ? tests[i].initial_state : group;
        const int result = cmocka_run_test(&tests[i], &state);
        failed += result == CMOCKA_FAILED, skipped += result == CMOCKA_SKIPPED;
        if (result) printf("%s %s\n", result == CMOCKA_FAILED ? "FAILED" : "skipped", tests[i].name);
    }
    if (cmocka_run_fixture(teardown, &group)) failed++;
    printf("%zu tests, %d failed, %d skipped\n", count, failed, skipped);
    return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                                                 \
    cmocka_run_tests(tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
