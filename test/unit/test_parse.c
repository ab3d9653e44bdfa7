/* Numbers as text: which texts are accepted, in which locale, and that writing and reading give the same number. */
#include "unit/unit.h"

#include "support/comma_locale.h"
#include <attend/parse.h>
#include <float.h>
#include <math.h>

static void reals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool whole; /* accepted as a whole text */
        double x;
    } cases[] = { { "1.5", true, 1.5 },       { " 2", true, 2 },     { "-1e3", true, -1000 },
                  { "1.5x", false, 1.5 },     { "", false, 0 },      { "x", false, 0 },
                  { "1e999", false, 0 },      { "1 ", false, 1 },    { "inf", true, HUGE_VAL },
                  { "1e-310", true, 1e-310 }, { "1e-999", false, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x = 0;
        assert_int_equal(attend_parse_real(cases[i].text, NULL, &x), cases[i].whole);
        if (cases[i].whole) assert_true(x == cases[i].x);
    }
    const char *end;
    double x;
    assert_true(attend_parse_real("2.5M", &end, &x) && x == 2.5);
    assert_string_equal(end, "M");
    assert_false(attend_parse_real("null", &end, &x));
    assert_true(attend_parse_real("nan", NULL, &x) && isnan(x));
}

static void integers(void **state)
{
    (void)state;
    const char *end;
    long long x;
    uint64_t u;
    assert_true(attend_parse_integer("-12", NULL, &x) && x == -12);
    assert_true(attend_parse_integer("9223372036854775807", NULL, &x) && x == INT64_MAX);
    assert_false(attend_parse_integer("9223372036854775808", NULL, &x));
    assert_false(attend_parse_integer("1.5", NULL, &x));
    assert_false(attend_parse_integer("", NULL, &x));
    assert_true(attend_parse_integer("10,20", &end, &x) && x == 10);
    assert_string_equal(end, ",20");
    assert_true(attend_parse_unsigned("18446744073709551615", NULL, &u) && u == UINT64_MAX);
    assert_false(attend_parse_unsigned("18446744073709551616", NULL, &u));
    assert_false(attend_parse_unsigned("-1", NULL, &u));
    assert_false(attend_parse_unsigned(" -0", &end, &u));
    assert_true(attend_parse_unsigned("3-4", &end, &u) && u == 3);
    assert_string_equal(end, "-4");
}

static void written_numbers_read_back(void **state)
{
    (void)state;
    static const double numbers[] = { 0,       0.1,     1.0 / 3,     -2e-5,        1e300,
                                      DBL_MAX, DBL_MIN, DBL_MIN / 8, DBL_TRUE_MIN, 123456789 };
    char text[40];
    double x;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int digits = 6; digits <= 17; digits++) {
            attend_format_real(text, sizeof text, numbers[i], digits);
            assert_true(attend_parse_real(text, NULL, &x) && x == numbers[i]);
        }
    attend_format_real(text, sizeof text, 0.1, 6);
    assert_string_equal(text, "0.1");
}

static void the_locale_does_not_matter(void **state)
{
    (void)state;
    if (!comma_locale_begin()) skip_part(COMMA_LOCALE_MISSING);
    char text[40];
    double x;
    assert_true(attend_parse_real("1.5", NULL, &x) && x == 1.5);
    assert_false(attend_parse_real("1,5", NULL, &x));
    attend_format_real(text, sizeof text, 1.5, 6);
    assert_string_equal(text, "1.5");
    comma_locale_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reals), cmocka_unit_test(integers),
                                        cmocka_unit_test(written_numbers_read_back),
                                        cmocka_unit_test(the_locale_does_not_matter) };
    return test_status(cmocka_run_group_tests(tests, NULL, NULL));
}
