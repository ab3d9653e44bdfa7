/* test_golden_reader.c: the reader of goldens refuses malformed files and reports the line; the comparison detects
 * differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/golden.h"
#include <math.h>
#include <string.h>

static bool read_text(golden *g, const char *text)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(in);
    bool good = golden_read(g, in, "some.golden");
    assert_int_equal(fclose(in), 0);
    return good;
}

static void reads_tensors(void **state)
{
    (void)state;
    golden g;
    assert_true(read_text(&g, "# comment\n\nx 2 2 3\n1 -2 3e-1\r\n  4 5\n 6\n# between\nb.c 1 1\n-0.5"));
    const golden_tensor *x = golden_shaped(&g, "x", 2, (const int[]){ 2, 3 });
    assert_non_null(x);
    assert_true(x->size == 6 && fabs(x->data[2] - 0.3) < 1e-17 && fabs(x->data[5] - 6.0) < 1e-17);
    assert_string_equal(golden_unseen(&g)->name, "b.c");
    assert_true(fabs(golden_find(&g, "b.c")->data[0] + 0.5) < 1e-17);
    assert_null(golden_unseen(&g));
    golden_free(&g);
}

static void refuses(const char *text, const char *message)
{
    golden g;
    assert_false(read_text(&g, text));
    assert_string_equal(g.error, message);
    golden_free(&g);
}

static void refuses_malformed_text(void **state)
{
    (void)state;
    refuses("# nothing\n", "some.golden:1: holds no tensor");
    refuses("x 1 2\n1 2\n3\n", "some.golden:3: expected `name rank d0 d1 ..`, found '3': too many numbers for x");
    refuses("7\n", "some.golden:1: expected `name rank d0 d1 ..`, found '7'");
    refuses("x 1 2\n1 2 3\n", "some.golden:2: too many numbers for 'x', which has 2");
    refuses("x 1 3\n1 2\n", "some.golden:2: ends after 2 of the 3 numbers of 'x'");
    refuses("x 1 2\n1\ny 1 1\n3\n", "some.golden:3: 'y' is not a finite number (2 of 2 of 'x')");
    refuses("x 1 2\n1 2.5z\n", "some.golden:2: '2.5z' is not a finite number (2 of 2 of 'x')");
    refuses("x 1 1\nnan\n", "some.golden:2: 'nan' is not a finite number (1 of 1 of 'x')");
    refuses("x 1 1\n1e999\n", "some.golden:2: '1e999' is not a finite number (1 of 1 of 'x')");
}

static void refuses_malformed_headers(void **state)
{
    (void)state;
    refuses("x\n", "some.golden:1: the rank of 'x' is '', not 1 to 4");
    refuses("x 5 1 1 1 1 1\n", "some.golden:1: the rank of 'x' is '5', not 1 to 4");
    refuses("x 2 3\n", "some.golden:1: 'x' has rank 2 but only 1 sizes");
    refuses("x 1 0\n", "some.golden:1: a size of 'x' is '0', not a positive number");
    refuses("x 1 2 3\n", "some.golden:1: '3' after the sizes of 'x'");
    refuses("x 2 100000 100000\n", "some.golden:1: 'x' is too large");
    refuses("x 1 1\n1\nx 1 1\n1\n", "some.golden:3: a second 'x'");
}

static void names_what_is_missing(void **state)
{
    (void)state;
    golden g;
    assert_false(golden_open(&g, "no/such.golden"));
    assert_non_null(strstr(g.error, "no/such.golden: "));
    assert_true(read_text(&g, "x 2 2 1\n1 2\n"));
    assert_null(golden_find(&g, "y"));
    assert_string_equal(g.error, "some.golden: has no 'y'");
    assert_null(golden_shaped(&g, "x", 2, (const int[]){ 1, 2 }));
    assert_string_equal(g.error, "some.golden: 'x' is (2, 1) there and (1, 2) here");
    assert_null(golden_shaped(&g, "x", 1, (const int[]){ 2 }));
    golden_free(&g);
}

static void compares_relative_to_the_largest(void **state)
{
    (void)state;
    golden g;
    assert_true(read_text(&g, "x 1 3\n0.25 -8 0\nzero 1 1\n0\n"));
    const golden_tensor *x = golden_find(&g, "x"), *zero = golden_find(&g, "zero");
    const attend_real near[] = { (attend_real)0.3125, (attend_real)-8, (attend_real)-0.0625 };
    const attend_real off[] = { (attend_real)0.25, (attend_real)-8, (attend_real)0.125 };
    const attend_real bad[] = { (attend_real)0.25, (attend_real)NAN, (attend_real)0 };
    assert_true(golden_close(&g, x, near, 0.01));
    assert_false(golden_close(&g, x, off, 0.01));
    assert_non_null(strstr(g.error, "'x'[2] is 0 there and 0.125 here: off by 0.016 of the largest, more than 0.01"));
    assert_false(golden_close(&g, x, bad, 0.01));
    assert_false(golden_close(&g, x, NULL, 0.01));
    assert_true(golden_close(&g, zero, NULL, 0.01));
    assert_false(golden_close(&g, zero, near, 0.01));
    golden_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors),
        cmocka_unit_test(refuses_malformed_text),
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(names_what_is_missing),
        cmocka_unit_test(compares_relative_to_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
