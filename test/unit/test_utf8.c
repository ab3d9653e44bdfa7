/* UTF-8 and normal form C: cases that decoders often get wrong (Markus Kuhn's list), and those of Unicode annex 15. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/lines.h"
#include "text/normalize.h"
#include "core/utf8.h"
#include <utf8proc.h>

static void valid_prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size, valid;
    } cases[] = {
        { "", 0, 0 },
        { "\0a", 2, 2 },
        { "plain text, and some more of it", 31, 31 },
        { "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", 11, 11 }, /* kosme */
        { "\xc2\x80", 2, 2 },                                       /* the first of each length */
        { "\xe0\xa0\x80", 3, 3 },
        { "\xf0\x90\x80\x80", 4, 4 },
        { "\x7f", 1, 1 }, /* the last of each length */
        { "\xdf\xbf", 2, 2 },
        { "\xef\xbf\xbf", 3, 3 },
        { "\xf4\x8f\xbf\xbf", 4, 4 },
        { "\xed\x9f\xbf", 3, 3 }, /* around the surrogates */
        { "\xee\x80\x80", 3, 3 },
        { "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
        { "\xf7\xbf\xbf\xbf", 4, 0 },
        { "\xf8\x88\x80\x80\x80", 5, 0 }, /* five and six bytes */
        { "\xfc\x84\x80\x80\x80\x80", 6, 0 },
        { "\x80", 1, 0 }, /* continuation alone */
        { "a\xbf", 2, 1 },
        { "\xc0 ", 2, 0 }, /* lead bytes alone */
        { "\xdf ", 2, 0 },
        { "\xe0 ", 2, 0 },
        { "\xf0 ", 2, 0 },
        { "ab\xc3", 3, 2 }, /* truncated */
        { "ab\xe2\x82", 4, 2 },
        { "ab\xf0\x9f\x98", 5, 2 },
        { "ab\xe2\x82z", 5, 2 },
        { "\xfe", 1, 0 }, /* never in UTF-8 */
        { "\xff", 1, 0 },
        { "\xfe\xfe\xff\xff", 4, 0 },
        { "\xc0\xaf", 2, 0 }, /* overlong: '/' */
        { "\xe0\x80\xaf", 3, 0 },
        { "\xf0\x80\x80\xaf", 4, 0 },
        { "\xf8\x80\x80\x80\xaf", 5, 0 },
        { "\xc1\xbf", 2, 0 }, /* the largest overlong of each length */
        { "\xe0\x9f\xbf", 3, 0 },
        { "\xf0\x8f\xbf\xbf", 4, 0 },
        { "\xc0\x80", 2, 0 }, /* overlong 0 */
        { "\xe0\x80\x80", 3, 0 },
        { "\xed\xa0\x80", 3, 0 }, /* surrogates, alone and paired */
        { "\xed\xbf\xbf", 3, 0 },
        { "\xed\xa0\x80\xed\xb0\x80", 6, 0 },
        { "0123456789abcde\xff", 16, 15 }, /* at the end of an eight-byte block */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (attend_utf8_valid(cases[i].text, cases[i].size) != cases[i].valid)
            fail_msg("case %zu: %zu bytes valid, not %zu", i, attend_utf8_valid(cases[i].text, cases[i].size),
                     cases[i].valid);
}

static void every_code_point_round_trips(void **state)
{
    (void)state;
    for (int32_t c = 0; c < 0x110000; c++) {
        char text[4];
        int32_t back = -1;
        if (c >= 0xd800 && c < 0xe000) continue;
        const size_t n = attend_utf8_put(text, c);
        assert_true(attend_utf8_next(text, n, &back) == n && back == c && attend_utf8_length(text[0]) == n);
        assert_true(attend_utf8_valid(text, n) == n && attend_utf8_valid(text, n - 1) == 0);
    }
}

static void characters_are_counted_and_not_cut(void **state)
{
    (void)state;
    const char text[] = "a\xc3\xa9\xe2\x80\xa6\xf0\x9f\x98\x80z"; /* characters of 1, 2, 3, 4 and 1 bytes */
    const size_t size = sizeof text - 1, ends[] = { 0, 1, 3, 6, 10, 11 };
    assert_int_equal(attend_utf8_count(text, size), 5);
    assert_int_equal(attend_utf8_count(text, 0), 0);
    for (size_t max = 0, k = 0; max <= size + 1; max++) {
        while (k < 5 && ends[k + 1] <= max) k++;
        assert_int_equal(attend_utf8_cut(text, size, max), ends[k]);
        if (max <= size) assert_int_equal(attend_utf8_count(text, ends[k]), k);
    }
    assert_int_equal(attend_utf8_cut("\xa9\xa9", 2, 1), 0); /* not UTF-8: cut to nothing */
}

static void normal_forms(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "plain", "plain" },
        { "e\xcc\x81", "\xc3\xa9" },                                /* e and acute */
        { "\xc3\xa9", "\xc3\xa9" },                                 /* composed already */
        { "q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87" },               /* marks in canonical order */
        { "\xe1\xb8\x8b\xcc\xa3", "\xe1\xb8\x8d\xcc\x87" },         /* d with dot above and below */
        { "\xe2\x84\xab", "\xc3\x85" },                             /* Angstrom, a singleton */
        { "\xe2\x84\xa6", "\xce\xa9" },                             /* Ohm */
        { "\xe1\x84\x80\xe1\x85\xa1", "\xea\xb0\x80" },             /* Hangul: LV */
        { "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81" }, /* LVT */
        { "\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81" },             /* LV and T */
        { "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc" },             /* excluded from composition */
        { "\xe0\xa7\x87\xe0\xa6\xbe", "\xe0\xa7\x8b" },             /* two marks of class 0 */
        { "\xef\xac\x81", "\xef\xac\x81" },                         /* compatibility characters are kept */
        { "a\xe1\xb7\xba\xcc\x95\xcc\x80\xd6\xae"
          "b",
          "\xc3\xa0\xe1\xb7\xba\xd6\xae\xcc\x95"
          "b" },                                                    /* from the annex */
        { "\xf0\x9d\x85\x9e", "\xf0\x9d\x85\x97\xf0\x9d\x85\xa5" }, /* musical half note */
    };
    attend_string out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(attend_normalize(&out, cases[i][0], strlen(cases[i][0])));
        if (strcmp(out.text, cases[i][1]) != 0 || out.size != strlen(cases[i][1]))
            fail_msg("case %zu: '%s'", i, out.text);
    }
    assert_ok(attend_normalize(&out, "", 0));
    assert_true(out.size == 0 && out.text[0] == '\0');
    attend_string_free(&out);
}

/* The result of utf8proc_map, which allocates memory. */
static void compare_to_utf8proc(attend_string *out, const char *text, size_t size)
{
    utf8proc_uint8_t *theirs = NULL;
    const utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, &theirs,
                                            UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    assert_ok(attend_normalize(out, text, size));
    assert_true(n >= 0 && (size_t)n == out->size && memcmp(theirs, out->text, out->size) == 0);
    free(theirs);
}

static void agrees_with_utf8proc(void **state)
{
    (void)state;
    attend_string out = { 0 };
    char text[4 * 200];
    for (int32_t c = 0; c < 0x110000; c++)
        if (c < 0xd800 || c >= 0xe000) compare_to_utf8proc(&out, text, attend_utf8_put(text, c));
    for (int i = 0; i < 30000; i++) compare_to_utf8proc(&out, text, any_text(text, 40));
    for (int i = 0; i < 2000; i++) { /* long runs of marks, which are sorted by counting */
        size_t size = attend_utf8_put(text, 'e');
        for (size_t k = lines_below(190); k > 0; k--)
            size += attend_utf8_put(text + size, (int32_t)(0x300 + lines_below(0x70)));
        compare_to_utf8proc(&out, text, size);
    }
    attend_string_free(&out);
}

/* A quadratic algorithm would need minutes. */
static void long_run_of_marks(void **state)
{
    (void)state;
    enum { MARKS = 1 << 20 };
    char *text = malloc(2 * MARKS);
    attend_string out = { 0 };
    assert_non_null(text);
    for (int i = 0; i < MARKS; i++) attend_utf8_put(text + 2 * i, i % 2 ? 0x323 : 0x307);
    assert_ok(attend_normalize(&out, text, 2 * MARKS));
    assert_true(out.size == 2 * MARKS && memcmp(out.text, "\xcc\xa3\xcc\xa3", 4) == 0);
    attend_string_free(&out);
    free(text);
}

static void invalid_input_is_refused(void **state)
{
    (void)state;
    attend_string out = { 0 };
    assert_int_equal(attend_normalize(&out, "abc\xff", 4), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "byte 4"));
    assert_non_null(strstr(attend_message(), "iconv"));
    /* the size is checked before any byte is read */
    assert_int_equal(attend_normalize(&out, "abc", (size_t)ATTEND_MAX_TEXT_BYTES + 1), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "268435456"));
    attend_string_free(&out);
}

static void memory_runs_out(void **state)
{
    (void)state;
    char text[2 * 50];
    for (int i = 0; i < 50; i++) attend_utf8_put(text + 2 * i, i % 2 ? 0x323 : 0x307);
    for (long n = 1;; n++) {
        attend_string out = { 0 };
        attend_memory_refuse(n);
        const int status = attend_normalize(&out, text, sizeof text);
        const long allocations = attend_memory_requests();
        attend_memory_refuse(0);
        attend_string_free(&out);
        if (allocations < n) break;
        assert_int_equal(status, ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_prefixes),
        cmocka_unit_test(characters_are_counted_and_not_cut),
        cmocka_unit_test(every_code_point_round_trips),
        cmocka_unit_test(normal_forms),
        cmocka_unit_test(agrees_with_utf8proc),
        cmocka_unit_test(long_run_of_marks),
        cmocka_unit_test(invalid_input_is_refused),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
