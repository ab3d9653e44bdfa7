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

/* Characters are what a reader sees as one; white space does not count. */
static void test_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        { "", "" },
        { " a b ", "a|b" },
        { "t\xcd\xa1\xc9\x95"
          "a",
          "t\xcd\xa1|\xc9\x95|a" }, /* t and ɕ with a tie */
        { "e\xcc\x81"
          "\xcc\xa3t",
          "e\xcc\x81\xcc\xa3|t" },                                                          /* two accents */
        { "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab" }, /* a Hangul syllable */
        { "a" NO_BREAK "\xcc\x81"
          "b",
          "a|\xcc\x81|b" }, /* an accent after a space */
        { "a\xc2"
          "b\xff",
          "a|\xc2|b|\xff" }, /* bytes that are not UTF-8 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[64] = "";
        attend_span span;
        const char *text = cases[i].text;
        int count = 0;
        for (size_t at = 0; attend_unit_next(ATTEND_UNIT_CHARACTER, text, strlen(text), &at, &span); count++)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", count ? "|" : "",
                     span.end - span.begin, text + span.begin);
        assert_string_equal(found, cases[i].expected);
        assert_int_equal(attend_unit_count(ATTEND_UNIT_CHARACTER, text, strlen(text)), count);
    }
}

/* A letter of two tokens, a blank, and a token that begins with a blank. */
static void test_units_of_spans(void **state)
{
    (void)state;
    const char *text = "e\xcc\x81t z";
    const attend_span spans[] = { { 0, 1 }, { 1, 3 }, { 3, 4 }, { 4, 5 }, { 4, 6 }, { 6, 6 } };
    static const int expected[3][6] = { { 0, 0, 0, -1, 1, -1 }, { 0, 1, 2, -1, 3, -1 }, { 0, 0, 1, -1, 2, -1 } };
    for (attend_unit unit = ATTEND_UNIT_WORD; unit <= ATTEND_UNIT_CHARACTER; unit++) {
        int units[6];
        attend_units_of_spans(unit, text, strlen(text), spans, 6, units);
        assert_memory_equal(units, expected[unit - ATTEND_UNIT_WORD], sizeof units);
    }
}

/* What fits the lines that a tokenizer has learned from, also after it was stored in a model. */
static void test_fitting_unit(void **state)
{
    (void)state;
    static const struct {
        const char *lines[6];
        attend_token_kind kind;
        attend_unit unit;
    } cases[] = {
        { { "agosto", "amico" }, ATTEND_TOKENS_CHAR, ATTEND_UNIT_CHARACTER },
        { { "agosto", "amico", "casa", "al", "no", "New York" }, ATTEND_TOKENS_CHAR, ATTEND_UNIT_CHARACTER },
        { { "the cat", "a dog sat" }, ATTEND_TOKENS_CHAR, ATTEND_UNIT_WORD },
        { { "agosto", "amico" }, ATTEND_TOKENS_BPE, ATTEND_UNIT_WORD },
        { { "agosto", "amico" }, ATTEND_TOKENS_WORD, ATTEND_UNIT_WORD },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lines l = { 0 };
        attend_tokenizer *t = NULL, *stored = NULL;
        attend_model *m = NULL;
        for (int k = 0; k < 6 && cases[i].lines[k]; k++) lines_add(&l, cases[i].lines[k], strlen(cases[i].lines[k]));
        assert_ok(lines_learn(&t, &l, cases[i].kind, 0, 1));
        assert_int_equal(attend_tokenizer_unit(t), cases[i].unit);
        attend_config config = ATTEND_CONFIG_INIT;
        config.source_vocab = config.target_vocab = attend_tokenizer_size(t);
        config.hidden = config.embedding = 4;
        assert_ok(attend_model_new(&m, &config, 1));
        assert_ok(attend_tokenizer_attach(t, m, "source"));
        assert_ok(attend_tokenizer_from_model(&stored, m, "source"));
        assert_int_equal(attend_tokenizer_unit(stored), cases[i].unit);
        attend_tokenizer_free(stored);
        assert_ok(attend_model_attach(m, "source.unit", "letter\n", 7));
        assert_int_equal(attend_tokenizer_from_model(&stored, m, "source"), ATTEND_BAD_MODEL);
        attend_tokenizer_free(t);
        attend_model_free(m);
        lines_free(&l);
    }
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words),          cmocka_unit_test(test_white_space),
                                        cmocka_unit_test(test_words_of_spans), cmocka_unit_test(test_tokenizer),
                                        cmocka_unit_test(test_characters),     cmocka_unit_test(test_units_of_spans),
                                        cmocka_unit_test(test_fitting_unit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
