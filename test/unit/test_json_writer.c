/* The JSON writer: structure, escapes, numbers and failures. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/comma_locale.h"
#include <attend/json.h>
#include <math.h>
#include <stdlib.h>

static void put_values(attend_json_writer *w)
{
    attend_json_begin_object(w);
    attend_json_put_key(w, "a"), attend_json_begin_array(w), attend_json_end_array(w);
    attend_json_put_key(w, "b"), attend_json_begin_array(w);
    attend_json_put_integer(w, -3), attend_json_put_unsigned(w, UINT64_MAX), attend_json_put_bool(w, true);
    attend_json_begin_object(w), attend_json_end_object(w), attend_json_put_null(w);
    attend_json_end_array(w);
    attend_json_put_key(w, "c"), attend_json_put_number(w, 2, 0.125), attend_json_put_key(w, "d");
    attend_json_put_value(w, "  1.5");
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
}

static void commas_and_colons_are_placed(void **state)
{
    (void)state;
    attend_string s = { 0 };
    attend_json_writer w = attend_json_to_string(&s);
    put_values(&w);
    assert_int_equal(w.status, ATTEND_OK);
    assert_string_equal(s.text,
                        "{\"a\": [], \"b\": [-3, 18446744073709551615, true, {}, null], \"c\": 0.12, \"d\":   1.5}\n");
    assert_int_equal(w.bytes, s.size);
    s.size = 0;
    w = attend_json_to_string(&s), w.compact = true;
    put_values(&w);
    assert_string_equal(s.text, "{\"a\":[],\"b\":[-3,18446744073709551615,true,{},null],\"c\":0.12,\"d\":  1.5}\n");
    s.size = 0;
    w = attend_json_to_string(&s);
    attend_json_begin_array(&w);
    for (int i = 0; i < 2; i++) attend_json_begin_line(&w), attend_json_put_integer(&w, i);
    attend_json_end_array(&w);
    assert_string_equal(s.text, "[\n0,\n1]");
    attend_string_free(&s);
}

static void text_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain, *in_html;
    } cases[] = {
        { "", "\"\"", "\"\"" },
        { "a\"b\\c'", "\"a\\\"b\\\\c'\"", "\"a\\u0022b\\u005cc\\u0027\"" },
        { "</script>&", "\"</script>&\"", "\"\\u003c/script\\u003e\\u0026\"" },
        { "\n\x01\x7f", "\"\\u000a\\u0001\\u007f\"", "\"\\u000a\\u0001\\u007f\"" },
        { "\xc2\x9b\xe2\x80\xae\xe2\x81\xa6", "\"\\u009b\\u202e\\u2066\"", "\"\\u009b\\u202e\\u2066\"" },
        { "\xc3\xa9\xe2\x80\xa8\xe2\x80\x8f", "\"\xc3\xa9\\u2028\xe2\x80\x8f\"", "\"\xc3\xa9\\u2028\xe2\x80\x8f\"" },
        { "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80\"" },
        { "x\xffy\xe2\x82", "\"x\\ufffdy\\ufffd\\ufffd\"", "\"x\\ufffdy\\ufffd\\ufffd\"" },
    };
    attend_string s = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int html = 0; html < 2; html++) {
            s.size = 0;
            attend_json_writer w = attend_json_to_string(&s);
            w.in_html = html;
            attend_json_put_text(&w, cases[i].text);
            assert_string_equal(s.text, html ? cases[i].in_html : cases[i].plain);
        }
    s.size = 0;
    attend_json_writer w = attend_json_to_string(&s);
    attend_json_put_bytes(&w, "a\0b", 3);
    assert_string_equal(s.text, "\"a\\u0000b\"");
    attend_string_free(&s);
}

static void check_numbers(void)
{
    attend_string s = { 0 };
    attend_json_writer w = attend_json_to_string(&s);
    attend_json_begin_array(&w);
    attend_json_put_number(&w, 4, NAN), attend_json_put_number(&w, 4, -INFINITY),
        attend_json_put_short(&w, 6, INFINITY);
    attend_json_put_number(&w, 1, 1e14), attend_json_put_number(&w, 1, -1e300), attend_json_put_short(&w, 6, 0.00025);
    attend_json_put_number(&w, 0, 12);
    attend_json_end_array(&w);
    assert_string_equal(s.text, "[null, null, null, 100000000000000.0, -1.0e+300, 0.00025, 12]");
    attend_string_free(&s);
}

static void numbers_are_json(void **state)
{
    (void)state;
    check_numbers();
    if (!comma_locale_begin()) skip_part(COMMA_LOCALE_MISSING);
    check_numbers();
    comma_locale_end();
}

static void the_first_failure_is_kept(void **state)
{
    (void)state;
    attend_memory_refuse(-1);
    attend_string s = { 0 };
    attend_json_writer w = attend_json_to_string(&s);
    put_values(&w);
    attend_string_free(&s);
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        w = attend_json_to_string(&s);
        put_values(&w);
        attend_memory_refuse(0);
        assert_int_equal(w.status, ATTEND_NO_MEMORY);
        assert_int_equal(w.bytes, s.size);
        attend_string_free(&s);
    }
    FILE *full = fopen("/dev/full", "w");
    if (!full) return;
    setvbuf(full, NULL, _IONBF, 0);
    w = attend_json_to_file(full);
    put_values(&w);
    assert_int_equal(w.status, ATTEND_IO);
    assert_int_equal(w.bytes, 0);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_colons_are_placed),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(numbers_are_json),
        cmocka_unit_test(the_first_failure_is_kept),
    };
    return test_status(cmocka_run_group_tests(tests, NULL, NULL));
}
