/* test_kernel_choice.c: the kernel table in use, by default and by ATTEND_KERNEL; the version. */
#include "kernel/kernel.h"
#include <attend/version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *best(void)
{
    const attend_kernel_table *const *t = attend_kernels();
    while (t[1]) t++;
    return (*t)->name;
}

/* The table is selected once per process, so each case runs in a process of its own. */
/* The name itself if this machine supports the table, else that of the best. */
static const char *named(const char *name)
{
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++)
        if (strcmp((*t)->name, name) == 0) return name;
    return best();
}

static void assert_chosen(const char *wanted, const char *name)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (wanted) setenv("ATTEND_KERNEL", wanted, 1);
        _exit(strcmp(attend_kernel_name(), name) != 0 || attend_kernel() != attend_kernel());
    }
    int status = 1;
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

static void environment_selects(void **state)
{
    (void)state;
    unsetenv("ATTEND_KERNEL");
    assert_string_equal(attend_kernels()[0]->name, "plain");
    assert_chosen(NULL, best());
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) assert_chosen((*t)->name, (*t)->name);
    assert_chosen("neither", best());
    assert_chosen("", best());
    assert_chosen("AVX2", best());
    static const char *const names[] = { "avx2", "avx512", "avx512vnni", "avx512bf16", "amx", "neon", "neondot" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_chosen(names[i], named(names[i]));
}

static void tests_select(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        attend_kernel_select(*t);
        assert_ptr_equal(attend_kernel(), *t);
        assert_string_equal(attend_kernel_name(), (*t)->name);
    }
}

static void tables_are_complete(void **state)
{
    (void)state;
    for (const attend_kernel_table *const *t = attend_kernels(); *t; t++) {
        void *members[sizeof **t / sizeof(void *)]; /* all members are pointers, or padded to the size of one */
        memcpy(members, *t, sizeof members);
        for (size_t i = 0; i < offsetof(attend_kernel_table, bf16) / sizeof *members; i++) assert_non_null(members[i]);
        assert_true((*t)->panel > 0);
    }
}

static void version(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", ATTEND_VERSION_MAJOR, ATTEND_VERSION_MINOR, ATTEND_VERSION_PATCH);
    assert_string_equal(attend_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_selects),
        cmocka_unit_test(tests_select),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
