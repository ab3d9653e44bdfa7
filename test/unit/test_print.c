/* attend_print: its formats are those of fprintf; what it prints of its arguments is safe on a terminal. So are messages. */
#include "unit/unit.h"

#include <math.h>

/* What a call prints, and what it returns. */
static char printed[4096];
static int returned;

#define PRINT(...)                                                                                                     \
    do {                                                                                                               \
        FILE *to = tmpfile();                                                                                          \
        assert_non_null(to);                                                                                           \
        returned = attend_print(to, __VA_ARGS__);                                                                      \
        rewind(to);                                                                                                    \
        printed[fread(printed, 1, sizeof printed - 1, to)] = '\0';                                                     \
        fclose(to);                                                                                                    \
        assert_int_equal(returned, strlen(printed));                                                                   \
    } while (0)

#define SAME(...)                                                                                                      \
    do {                                                                                                               \
        char expected[4096];                                                                                           \
        snprintf(expected, sizeof expected, __VA_ARGS__);                                                              \
        PRINT(__VA_ARGS__);                                                                                            \
        assert_string_equal(printed, expected);                                                                        \
    } while (0)

static void formats_are_those_of_printf(void **state)
{
    (void)state;
    SAME("plain, 100 %%\n");
    SAME("%d %i %5d|%-5d|%05d|%+d|% d|%.3d", -7, 7, 7, 7, 7, 7, 7, 7);
    SAME("%u %x %X %o %#x", 4000000000u, 255u, 255u, 8u, 255u);
    SAME("%ld %lu %lld %llu %zu", -5L, 5UL, -5000000000000LL, 18446744073709551615ULL, (size_t)-1);
    SAME("%jd %td %hd", (intmax_t)-3, (ptrdiff_t)-4, (short)5);
    SAME("%f %.2f %8.3f|%-8.1f|%g %.4g %e %.*f", 1.5, 2.25, 3.125, 4.5, 1e-7, 123456.0, 1e9, 3, 0.125);
    SAME("%f %g", (double)INFINITY, (double)NAN);
    SAME("%s|%10s|%-10s|%.2s|%*s|%-*s|%.*s", "text", "right", "left", "cut", 6, "six", 6, "six", 2, "two");
    SAME("%*s|%c|%3c|%-3c|", -6, "six", 'a', 'b', 'c');
    SAME("%s",
         "caf\xc3\xa9 \xe4\xb8\xad\xe2\x80\x8d\xd7\x90\xe2\x80\x8f \\ 'quotes' |"); /* marks and joiners are text */
}

static void arguments_are_escaped_and_the_format_is_not(void **state)
{
    (void)state;
    PRINT("\r\033[K%s\n", "a\x1b[31mb\n\r\tc\x7f");
    assert_string_equal(printed, "\r\033[Ka\\u{1b}[31mb\\n\\r\\tc\\u{7f}\n");
    PRINT("%s", "\xc2\x9b\xc2\x85 \xe2\x80\xae\xe2\x81\xa7 \xe2\x80\xa8"); /* C1, direction, line separator */
    assert_string_equal(printed, "\\u{9b}\\u{85} \\u{202e}\\u{2067} \\u{2028}");
    PRINT("%s", "x\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"); /* not UTF-8 */
    assert_string_equal(printed, "x\\xff\\xc3(\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82");
    PRINT("[%8s|%-8s|%.3s|%c|%c]", "\x1b", "\x1b",
          "ab\x1b"
          "c",
          '\x1b', '\xe9');
    assert_string_equal(printed, "[  \\u{1b}|\\u{1b}  |ab\\u{1b}|\\u{1b}|\\xe9]");
    PRINT("%s", "\\u{1b}\\xff"); /* escaped before: unchanged */
    assert_string_equal(printed, "\\u{1b}\\xff");
}

static void texts_of_any_length_are_printed(void **state)
{
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int size = 500; size < 3000; size += 13) {
        PRINT("<%.*s>", size, text);
        assert_int_equal(strlen(printed), size + 2);
        assert_true(printed[0] == '<' && printed[size + 1] == '>');
    }
    FILE *full = fopen("/dev/full", "wb");
    if (!full) skip();
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(attend_print(full, "%s", text), -1);
    fclose(full);
}

static void messages_are_safe(void **state)
{
    (void)state;
    assert_int_equal(attend_fail(ATTEND_IO, "cannot read %s: %d", "a\x1b]0;b\x07\n\xff\xc2\x9b\xe2\x80\xae", 5),
                     ATTEND_IO);
    assert_string_equal(attend_message(), "cannot read a\\u{1b}]0;b\\u{7}\\n\\xff\\u{9b}\\u{202e}: 5");
    attend_fail(ATTEND_FAILED, "again: %s", attend_message());
    assert_string_equal(attend_message(), "again: cannot read a\\u{1b}]0;b\\u{7}\\n\\xff\\u{9b}\\u{202e}: 5");
    char text[1200]; /* a message is cut, but neither a character nor an escape is */
    for (size_t shift = 0; shift < 8; shift++) {
        for (size_t i = 0; i < sizeof text - 1; i++) text[i] = "\xc3\xa9"[i % 2];
        text[sizeof text - 1] = '\0';
        memset(text, 'a', shift + shift % 2);
        attend_fail(ATTEND_FAILED, "%.*s%s", (int)(shift % 2), "b", text);
        assert_in_range(strlen(attend_message()), 508, 511);
        assert_int_equal(attend_utf8_valid(attend_message(), strlen(attend_message())), strlen(attend_message()));
        memset(text, '\x1b', sizeof text - 1);
        attend_fail(ATTEND_FAILED, "%.*s%s", (int)shift, "bbbbbbbb", text);
        assert_true(attend_message()[strlen(attend_message()) - 1] == '}');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_those_of_printf),
        cmocka_unit_test(arguments_are_escaped_and_the_format_is_not),
        cmocka_unit_test(texts_of_any_length_are_printed),
        cmocka_unit_test(messages_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
