/* The parts of the JSON reader that a training log needs; test_tensor_file_hostile has the others. */
#include "unit/unit.h"

#include <attend/json_reader.h>
#include <math.h>

static char pool[256];

static attend_json_reader reader_of(const char *text)
{
    return (attend_json_reader){ .start = text, .at = text, .end = text + strlen(text), .pool = pool };
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double x;
    } valid[] = { { "0", 0 },
                  { "-0.5", -0.5 },
                  { " 12 ", 12 },
                  { "1e3", 1000 },
                  { "2.5E-1,", 0.25 },
                  { "7}", 7 },
                  { "3.2325e+258", 3.2325e258 } };
    static const char *const invalid[] = { "",     "-",   ".5",    "5.",  "05",   "+1",  "1e",    "inf", "nan",
                                           "-inf", "1-2", "1e999", "--1", "0x10", "tru", "\"1\"", "[1]" };
    double x;
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        attend_json_reader j = reader_of(valid[i].text);
        assert_true(attend_json_read_number(&j, &x) && x == valid[i].x);
    }
    attend_json_reader null = reader_of(" null,");
    assert_true(attend_json_read_number(&null, &x) && isnan(x) && attend_json_accept(&null, ','));
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        attend_json_reader j = reader_of(invalid[i]);
        const bool ok = attend_json_read_number(&j, &x) && attend_json_expect_end(&j);
        if (ok || !j.error) fail_msg("%s is read as %g", invalid[i], x);
    }
}

static void test_other_scalars(void **state)
{
    (void)state;
    bool value;
    attend_json_reader j = reader_of("true false yes");
    assert_true(attend_json_read_bool(&j, &value) && value);
    assert_true(attend_json_read_bool(&j, &value) && !value);
    assert_false(attend_json_read_bool(&j, &value));
    assert_string_equal(j.error, "true or false is missing");
    j = reader_of("\"a \\\"quoted\\\" word\" -1.5 null true false]");
    for (int i = 0; i < 5; i++) assert_true(attend_json_skip_scalar(&j));
    assert_true(attend_json_accept(&j, ']'));
    static const char *const invalid[] = { "", "{", "[1]", "nul", "\"open", "t" };
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        j = reader_of(invalid[i]);
        assert_false(attend_json_skip_scalar(&j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers), cmocka_unit_test(test_other_scalars) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
