/* Words are the same everywhere: for their count, for the tokens of the tokenizer `word`, and for links. */
#include "unit/unit.h"

#include "support/lines.h"
#include <utf8proc.h>

#define NO_BREAK    "\xc2\xa0"
#define IDEOGRAPHIC "\xe3\x80\x80"

static void expect_words(const char *text, size_t size, const char *expected)
{
    char found[256] = "";
    attend_span word;
    int count = 0;
    for (size_t at = 0; attend_word_next(text, size, &at, &word); count++) {
        assert_true(word.begin < word.end && (size_t)word.end == at && at <= size);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", count ? "|" : "", word.end - word.begin,
                 text + word.begin);
    }
    assert_string_equal(found, expected);
    assert_int_equal(attend_word_count(text, size), count);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "" },
        { " \t\r\n\v\f", "" },
        { "a", "a" },
        { " the  cat\tsat ", "the|cat|sat" },
        { "10" NO_BREAK "000", "10|000" },
        { NO_BREAK "caf\xc3\xa9" IDEOGRAPHIC, "caf\xc3\xa9" },
        { "a\xe2\x80\x89z", "a|z" },                        /* thin space */
        { "a\xe2\x80\x8bz", "a\xe2\x80\x8bz" },             /* zero width space: not a space separator */
        { "a\xc2", "a\xc2" },                               /* a truncated character */
        { "\xc2 \xa0 \xe3\x80 b", "\xc2|\xa0|\xe3\x80|b" }, /* invalid bytes are part of words */
        { "a\xe2\x80\xa8z\x1d", "a\xe2\x80\xa8z\x1d" },     /* white space only for Python */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_words(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    expect_words("a b", 1, "a");
    expect_words("a" NO_BREAK "b", 2, "a\xc2"); /* the text ends inside a character */
}

/* Every character: white space if Unicode calls it a space separator, or if it is one of the ASCII control characters
 * that C calls white space. */
static void test_white_space(void **state)
{
    (void)state;
    for (int32_t c = 1; c < 0x110000; c++) {
        char text[5] = "";
        if (c >= 0xd800 && c < 0xe000) continue;
        const utf8proc_ssize_t size = utf8proc_encode_char(c, (utf8proc_uint8_t *)text);
        const bool space = (c >= 9 && c <= 13) || utf8proc_category(c) == UTF8PROC_CATEGORY_ZS;
        if (attend_word_count(text, (size_t)size) != !space) fail_msg("U+%04X", (unsigned)c);
    }
}

static void test_words_of_spans(void **state)
{
    (void)state;
    /* a leading space; "ab"; NO_BREAK as its two bytes; "c", whose token includes a space; one that covers two words */
    const char *text = "ab" NO_BREAK " c d e ";
    const attend_span spans[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 }, { 4, 6 }, { 6, 10 }, { 10, 11 } };
    const int expected[] = { -1, 0, 0, -1, -1, 1, 3, -1 };
    int words[8];
    attend_words_of_spans(text, strlen(text), spans, 8, words);
    for (int i = 0; i < 8; i++)
        if (words[i] != expected[i]) fail_msg("token %d belongs to word %d, not %d", i, words[i], expected[i]);
    attend_words_of_spans("", 0, spans, 1, words);
    assert_int_equal(words[0], -1);
}

static void test_tokenizer(void **state)
{
    (void)state;
    static const char text[] = " 10" NO_BREAK "000 a\tb" IDEOGRAPHIC "c ";
    lines l = { 0 };
    attend_tokenizer *t = NULL;
    attend_ids ids = { 0 };
    lines_add(&l, text, sizeof text - 1);
    assert_ok(lines_learn(&t, &l, ATTEND_TOKENS_WORD, 0, 1));
    assert_ok(attend_tokenizer_encode(t, text, sizeof text - 1, &ids, 0, 0, 0));
    assert_int_equal(ids.count, 5);
    assert_int_equal(attend_word_count(text, sizeof text - 1), 5);
    int words[5];
    attend_words_of_spans(text, sizeof text - 1, ids.spans, 5, words);
    for (int i = 0; i < 5; i++) assert_int_equal(words[i], i);
    attend_ids_free(&ids);
    attend_tokenizer_free(t);
    lines_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words), cmocka_unit_test(test_white_space),
                                        cmocka_unit_test(test_words_of_spans), cmocka_unit_test(test_tokenizer) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
