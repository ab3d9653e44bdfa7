/* Words of byte-pair encoding that end where classes of characters and scripts meet. */
#include "unit/unit.h"

#include "support/lines.h"
#include "support/round_trip.h"
#include "text/boundaries.h"
#include "text/tokenizer.h"

#define SP "\xe2\x96\x81"

/* The runs of a text, with '|' after each; valid until the next call. */
static const char *runs_of(const char *text)
{
    static char all[1024];
    size_t n = 0;
    all[0] = '\0';
    for (size_t at = 0, end; at < strlen(text); at = end) {
        end = attend_boundary_next(text, strlen(text), at);
        assert_true(end > at);
        n += (size_t)snprintf(all + n, sizeof all - n, "%.*s|", (int)(end - at), text + at);
    }
    return all;
}

static void classes(void **state)
{
    (void)state;
    assert_string_equal(runs_of("hut,"), "hut|,|");
    assert_string_equal(runs_of("l'homme"), "l|'|homme|");
    assert_string_equal(runs_of("3.14km/h"), "3|.|14|km|/|h|");
    assert_string_equal(runs_of("?!..."), "?!...|");
    assert_string_equal(runs_of("a\t\tb"), "a|\t\t|b|");
    assert_string_equal(runs_of("a\xc2\xa0"
                                "b"),
                        "a|\xc2\xa0|b|");
    assert_string_equal(runs_of("grö"
                                "ßer"),
                        "größer|");
    assert_string_equal(runs_of("€50"), "€|50|");
    assert_string_equal(runs_of("²"), "²|");
}

static void scripts(void **state)
{
    (void)state;
    assert_string_equal(runs_of("USAверсия"), "USA|версия|");
    assert_string_equal(runs_of("αβγabc"), "αβγ|abc|");
    assert_string_equal(runs_of("日本語のテスト"), "日本語のテスト|"); /* kana and Han are one */
    assert_string_equal(runs_of("한국어abc"), "한국어|abc|");
    assert_string_equal(runs_of("हिन्दीবাংলা"), "हिन्दी|বাংলা|");
    assert_string_equal(runs_of("עבריתعربي"), "עברית|عربي|");
}

/* A mark belongs to what it follows, also where the normal form has no single character. */
static void marks_continue(void **state)
{
    (void)state;
    assert_string_equal(runs_of("x\xcc\x83y"), "x\xcc\x83y|");
    assert_string_equal(runs_of("1\xef\xb8\x8f\xe2\x83\xa3"), "1\xef\xb8\x8f\xe2\x83\xa3|"); /* a keycap */
    assert_string_equal(runs_of("\xcc\x83x"), "\xcc\x83x|");
    assert_string_equal(runs_of("می‌خواهم"), "می‌خواهم|"); /* with a joiner */
}

static attend_tokenizer *learn(lines *l, bool split_classes)
{
    const attend_tokenizer_options options = {
        .kind = ATTEND_TOKENS_BPE, .vocab_size = 6000, .min_count = 1, .split_classes = split_classes
    };
    attend_tokenizer *t = NULL;
    l->next = 0;
    assert_ok(attend_tokenizer_learn(&t, &options, lines_next, l));
    return t;
}

static int count_tokens(const attend_tokenizer *t, const char *text)
{
    attend_ids ids = { 0 };
    assert_ok(attend_tokenizer_encode(t, text, strlen(text), &ids, 0, 0, 0));
    const int count = ids.count;
    attend_ids_free(&ids);
    return count;
}

static void punctuation_is_not_merged(void **state)
{
    (void)state;
    lines l = lines_of("a hut, a hut.\nthe hut, the hut.\nhut 12km 12km\nhut, hut,");
    attend_tokenizer *with = learn(&l, true), *without = learn(&l, false);
    assert_true(attend_tokenizer_splits_classes(with));
    assert_false(attend_tokenizer_splits_classes(without));
    assert_int_equal(count_tokens(without, "hut,"), 1);
    assert_int_equal(count_tokens(with, "hut,"), 2);
    assert_int_equal(count_tokens(with, "hut"), 1);
    assert_int_equal(count_tokens(with, "12km"), 2);
    attend_tokenizer_free(with), attend_tokenizer_free(without);
    lines_free(&l);
}

/* Over random texts: a learned token is within one class, whatever spaces are before it; nothing is lost, with dropout or
 * without; and a token of an encoded text never crosses a boundary of the text. */
static void every_token_is_of_one_class(void **state)
{
    (void)state;
    lines l = { 0 };
    for (int i = 0; i < 400; i++) {
        char text[4 * 30 + 32];
        size_t size = any_text(text, 30);
        size += (size_t)sprintf(text + size, " ab%d,c;x%d.", i % 7, i % 5);
        lines_add(&l, text, size);
    }
    attend_tokenizer *t = learn(&l, true);
    assert_true(t->merge_count > 5);
    for (int id = t->first_merge; id < attend_tokenizer_size(t); id++) {
        const char *token = attend_tokenizer_token(t, id);
        while (strncmp(token, SP, 3) == 0) token += 3;
        if (*token) assert_int_equal(attend_boundary_next(token, strlen(token), 0), strlen(token));
    }
    attend_ids ids = { 0 };
    attend_string normal = { 0 };
    for (size_t i = 0; i < l.count; i++) {
        assert_null(round_trip(t, l.lines[i], l.sizes[i], 0, i));
        assert_null(round_trip(t, l.lines[i], l.sizes[i], 0.3, i));
        ids.count = 0;
        assert_ok(attend_tokenizer_normalize(t, l.lines[i], l.sizes[i], &normal));
        assert_ok(attend_tokenizer_encode(t, l.lines[i], l.sizes[i], &ids, 0, 0, 0));
        for (int k = 0; k < ids.count; k++) {
            size_t begin = (size_t)ids.spans[k].begin, end = (size_t)ids.spans[k].end;
            while (begin < end && normal.text[begin] == ' ') begin++;
            if (begin < end && ids.ids[k] >= ATTEND_FIRST_LEARNED) /* otherwise a byte of a character */
                assert_true(attend_boundary_next(normal.text, normal.size, begin) >= end);
        }
    }
    attend_string_free(&normal);
    attend_ids_free(&ids);
    attend_tokenizer_free(t);
    lines_free(&l);
}

/* Files of earlier versions keep their way to split; the new one has a format that those versions refuse. */
static void the_file_says_how_words_are_split(void **state)
{
    (void)state;
    static const char *const first[2] = { "attend-tokenizer 1\nkind bpe\nmerges ",
                                          "attend-tokenizer 3\nkind bpe\ncase kept\nsplit classes\nmerges " };
    lines l = lines_of("a hut, a hut.\nthe hut, the hut.");
    for (int split = 0; split < 2; split++) {
        attend_string vocabulary = { 0 }, rest = { 0 };
        attend_tokenizer *t = learn(&l, split), *back = NULL;
        assert_ok(attend_tokenizer_write(t, &vocabulary, &rest));
        assert_memory_equal(rest.text, first[split], strlen(first[split]));
        assert_ok(attend_tokenizer_read(&back, "source", vocabulary.text, vocabulary.size, rest.text, rest.size));
        assert_int_equal(attend_tokenizer_splits_classes(back), split);
        assert_int_equal(count_tokens(back, "hut, the"), count_tokens(t, "hut, the"));
        attend_tokenizer_free(t), attend_tokenizer_free(back);
        char *changed = strstr(rest.text, split ? "classes" : "1");
        *changed = 'x';
        assert_int_equal(attend_tokenizer_read(&back, "source", vocabulary.text, vocabulary.size, rest.text, rest.size),
                         ATTEND_BAD_MODEL);
        attend_string_free(&vocabulary), attend_string_free(&rest);
    }
    lines_free(&l);
}

/* In C as well, new tokenizers and trainings split words at classes unless asked otherwise. */
static void classes_are_the_default(void **state)
{
    (void)state;
    static const attend_tokenizer_options defaults = ATTEND_TOKENIZER_OPTIONS_INIT;
    const attend_train_options training = attend_train_defaults();
    assert_true(defaults.kind == ATTEND_TOKENS_BPE && defaults.split_classes);
    for (int side = 0; side < 2; side++)
        assert_true(training.tokens[side].kind == ATTEND_TOKENS_BPE && training.tokens[side].split_classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(scripts),
        cmocka_unit_test(marks_continue),
        cmocka_unit_test(punctuation_is_not_merged),
        cmocka_unit_test(every_token_is_of_one_class),
        cmocka_unit_test(the_file_says_how_words_are_split),
        cmocka_unit_test(classes_are_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
