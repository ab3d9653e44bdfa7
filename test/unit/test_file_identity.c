/* Identities of files: the same file by any name, now or in the future. */
#include "unit/unit.h"

#include "support/folder.h"
#include <attend/file.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* Whether two names in the folder are the same file. */
static bool same(const char *a, const char *b)
{
    const attend_file_identity x = attend_file_identify(in_folder(a)), y = attend_file_identify(in_folder(b));
    assert_int_equal(attend_file_is_same(&x, &y), attend_file_is_same(&y, &x));
    return attend_file_is_same(&x, &y);
}

static void link_to(const char *target, const char *name)
{
    assert_int_equal(symlink(target, in_folder(name)), 0);
}

static void existing_files(void **state)
{
    (void)state;
    put_file(in_folder("a"), "x", 1);
    put_file(in_folder("b"), "x", 1);
    assert_int_equal(link(in_folder("a"), in_folder("hard")), 0);
    link_to("a", "soft");
    link_to("soft", "softer");
    assert_true(same("a", "a"));
    assert_true(same("a", "./a"));
    assert_true(same("a", "hard"));
    assert_true(same("soft", "hard"));
    assert_true(same("softer", "a"));
    assert_false(same("a", "b"));
    assert_false(same("a", "missing"));
    const int file = open(in_folder("hard"), O_RDONLY);
    const attend_file_identity by_descriptor = attend_file_identify_descriptor(file),
                               by_name = attend_file_identify(in_folder("soft"));
    assert_true(attend_file_is_same(&by_descriptor, &by_name));
    close(file);
}

static void files_that_do_not_exist(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("d"), 0777), 0);
    link_to("d", "e");
    link_to("d/new", "dangling");
    link_to("loop", "loop");
    assert_true(same("new", "./new"));
    assert_true(same("d/new", "e/new"));
    assert_true(same("d/../d/new", "dangling"));
    assert_false(same("new", "d/new"));
    assert_false(same("new", "newer"));
    assert_false(same("loop", "loop"));
    assert_false(same("none/new", "none/new")); /* there is no directory to create it in */
}

static void other_kinds_of_files(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(in_folder("pipe"), 0666), 0);
    assert_false(same("pipe", "pipe"));
    assert_false(same("d", "d"));
    const attend_file_identity null = attend_file_identify("/dev/null"), closed = attend_file_identify_descriptor(-1),
                               none = attend_file_identify(NULL), empty = attend_file_identify("");
    assert_false(attend_file_is_same(&null, &null));
    assert_false(attend_file_is_same(&closed, &closed));
    assert_false(attend_file_is_same(&none, &none));
    assert_false(attend_file_is_same(&empty, &empty));
    char name[PATH_MAX + 8];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    const attend_file_identity over_long = attend_file_identify(name);
    assert_false(attend_file_is_same(&over_long, &over_long));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(existing_files),
        cmocka_unit_test(files_that_do_not_exist),
        cmocka_unit_test(other_kinds_of_files),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
