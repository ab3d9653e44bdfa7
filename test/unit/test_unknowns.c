/* What a text has that the training data did not have; lower-casing tokenizers. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/lines.h"
#include "support/tiny_pairs.h"
#include "text/tokenizer.h"
#include "text/unknowns.h"
#include "text/unseen.h"

static attend_tokenizer *learn(attend_token_kind kind, const char *text, bool lowercase)
{
    const attend_tokenizer_options options = { .kind = kind, .min_count = 1, .lowercase = lowercase };
    attend_tokenizer *t = NULL;
    lines l = lines_of(text);
    assert_ok(attend_tokenizer_learn(&t, &options, lines_next, &l));
    lines_free(&l);
    return t;
}

static attend_model *model_for(const attend_tokenizer *t)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, "hidden=1 embedding=1 attention-width=1"));
    config.source_vocab = config.target_vocab = attend_tokenizer_size(t);
    assert_ok(attend_model_new(&m, &config, 1));
    assert_ok(attend_tokenizer_attach(t, m, "source"));
    assert_ok(attend_tokenizer_attach(t, m, "target"));
    return m;
}

/* ---- lower case ---- */

static void texts_are_lower_cased(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "" },
        { "already \xc3\xa4", "already \xc3\xa4" },
        { "The Cat", "the cat" },
        { "\xce\xa3\xce\x91\xce\xa3 \xce\xa3",
          "\xcf\x83\xce\xb1\xcf\x82 \xcf\x83" },         /* a final sigma; one alone is none */
        { "\xc4\xb0", "i\xcc\x87" },                     /* the dotted I */
        { "J\xcc\x8c", "\xc7\xb0" },                     /* only the small letter composes with the mark */
        { "A\xcc\x88\xe1\xba\x9e", "\xc3\xa4\xc3\x9f" }, /* decomposed; the capital sharp s */
    };
    attend_tokenizer *lower = learn(ATTEND_TOKENS_CHAR, "abc", true), *as_is = learn(ATTEND_TOKENS_CHAR, "abc", false);
    attend_string out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(attend_tokenizer_normalize(lower, cases[i][0], strlen(cases[i][0]), &out));
        assert_string_equal(out.size ? out.text : "", cases[i][1]);
    }
    assert_ok(attend_tokenizer_normalize(as_is, "The Cat", 7, &out));
    assert_string_equal(out.text, "The Cat");
    assert_true(attend_tokenizer_is_lowercase(lower) && !attend_tokenizer_is_lowercase(as_is));
    assert_int_equal(attend_tokenizer_normalize(lower, "\xff", 1, &out), ATTEND_BAD_DATA);
    attend_string_free(&out);
    attend_tokenizer_free(lower), attend_tokenizer_free(as_is);
}

/* Learning, encoding and decoding lower-case; a model keeps that. */
static void a_model_keeps_the_case(void **state)
{
    (void)state;
    static const attend_token_kind kinds[] = { ATTEND_TOKENS_WORD, ATTEND_TOKENS_CHAR, ATTEND_TOKENS_BPE };
    for (int k = 0; k < 3; k++) {
        attend_tokenizer *t = learn(kinds[k], "The CAT sat\nthe cat sat", true), *back = NULL;
        attend_model *m = model_for(t);
        assert_ok(attend_tokenizer_from_model(&back, m, "source"));
        assert_true(attend_tokenizer_is_lowercase(back));
        attend_ids ids[2] = { { 0 } };
        attend_string text = { 0 };
        assert_ok(attend_tokenizer_encode(back, "the CAT", 7, &ids[0], 0, 0, 0));
        assert_ok(attend_tokenizer_encode(back, "THE cat", 7, &ids[1], 0, 0, 0));
        assert_int_equal(ids[0].count, ids[1].count);
        assert_memory_equal(ids[0].ids, ids[1].ids, (size_t)ids[0].count * sizeof(int));
        assert_ok(attend_tokenizer_decode(back, ids[0].ids, ids[0].count, &text));
        assert_string_equal(text.text, "the cat");
        attend_string_free(&text);
        attend_ids_free(&ids[0]), attend_ids_free(&ids[1]);
        attend_tokenizer_free(t), attend_tokenizer_free(back);
        attend_model_free(m);
    }
}

static void the_file_format_says_so(void **state)
{
    (void)state;
    attend_string vocabulary = { 0 }, rest = { 0 };
    attend_tokenizer *t = learn(ATTEND_TOKENS_WORD, "a b", true), *back = NULL;
    assert_ok(attend_tokenizer_write(t, &vocabulary, &rest));
    assert_string_equal(rest.text, "attend-tokenizer 2\nkind word\ncase lower\n"); /* version 0.1 refuses the model */
    static const char other[] = "attend-tokenizer 2\nkind word\ncase upper\n",
                      none[] = "attend-tokenizer 2\nkind word\n";
    assert_int_equal(attend_tokenizer_read(&back, "source", vocabulary.text, vocabulary.size, other, strlen(other)),
                     ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "line 3 of source.tokenizer names an unknown case"));
    assert_int_equal(attend_tokenizer_read(&back, "source", vocabulary.text, vocabulary.size, none, strlen(none)),
                     ATTEND_BAD_MODEL);
    attend_tokenizer_free(t);
    t = learn(ATTEND_TOKENS_WORD, "a b", false);
    assert_ok(attend_tokenizer_write(t, &vocabulary, &rest));
    assert_string_equal(rest.text, "attend-tokenizer 1\nkind word\n");
    attend_tokenizer_free(t);
    attend_string_free(&vocabulary), attend_string_free(&rest);
}

/* ---- words that training has seen ---- */

static void words_are_runs_of_letters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "" },
        { " 42 , -", "" },
        { "Don't go (home)2x!", "Don|t|go|home|2x" },
        { "d\xc3\xa9j\xc3\xa0-vu", "d\xc3\xa9j\xc3\xa0|vu" },
        { "\xe6\x97\xa5\xe6\x9c\xac ok", "ok" }, /* a script without spaces has no words */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[128] = "";
        attend_span w;
        for (size_t at = 0; attend_seen_word_next(cases[i][0], strlen(cases[i][0]), &at, &w);)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", *found ? "|" : "", w.end - w.begin,
                     cases[i][0] + w.begin);
        assert_string_equal(found, cases[i][1]);
    }
}

static bool has_word(attend_seen_words *s, const char *word)
{
    bool has = false;
    assert_ok(attend_seen_words_has(s, word, (attend_span){ 0, (int)strlen(word) }, &has));
    return has;
}

static void add_line(attend_word_set *s, const char *line)
{
    assert_ok(attend_word_set_add(s, line, strlen(line)));
}

static void a_model_knows_its_words(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    attend_tokenizer *t = learn(ATTEND_TOKENS_BPE, "a b c", false);
    attend_model *m = model_for(t), *other = model_for(t);
    attend_word_set set = { 0 }, more = { 0 };
    attend_seen_words words = { 0 };
    assert_ok(attend_seen_words_from_model(&words, m, "source"));
    assert_true(has_word(&words, "anything")); /* not known: nothing is reported */
    assert_false(attend_seen_words_are_known(m, "source"));
    add_line(&set, "The cat, sat!");
    assert_ok(attend_seen_words_attach(&set, m, "source"));
    assert_true(attend_seen_words_are_known(m, "source"));
    assert_ok(attend_seen_words_from_model(&words, m, "source"));
    assert_true(has_word(&words, "cat") && has_word(&words, "CAT") && has_word(&words, "the"));
    assert_false(has_word(&words, "dog"));
    attend_seen_words_free(&words);
    /* a second training adds its words; the filter grows and keeps the first ones */
    assert_ok(attend_seen_words_copy(other, m, "source"));
    char line[64];
    for (int i = 0; i < MANY; i++) snprintf(line, sizeof line, "word%d und so", i), add_line(&more, line);
    assert_ok(attend_seen_words_attach(&more, other, "source"));
    assert_ok(attend_seen_words_from_model(&words, other, "source"));
    assert_true(has_word(&words, "cat") && has_word(&words, "und"));
    int missed = 0, wrong = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(line, sizeof line, "word%d", i), missed += !has_word(&words, line);
        snprintf(line, sizeof line, "other%d", i), wrong += has_word(&words, line);
    }
    assert_int_equal(missed, 0);
    if (wrong > MANY / 200) fail_msg("%d of %d words are taken for seen ones", wrong, MANY);
    attend_seen_words_free(&words);
    attend_word_set_free(&set), attend_word_set_free(&more);
    attend_model_free(m), attend_model_free(other);
    attend_tokenizer_free(t);
}

static void single_words_are_not_stored(void **state)
{
    (void)state;
    attend_tokenizer *t = learn(ATTEND_TOKENS_CHAR, "cat\ndog", false);
    attend_model *m = model_for(t);
    attend_word_set set = { 0 };
    add_line(&set, "cat"), add_line(&set, "dog");
    assert_ok(attend_seen_words_attach(&set, m, "source"));
    assert_false(attend_seen_words_are_known(m, "source"));
    attend_word_set_free(&set);
    attend_model_free(m);
    attend_tokenizer_free(t);
}

static void damaged_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *begin;
        size_t size;
    } cases[] = { { "attend-words 1\n", 15 },
                  { "attend-words 1\n", 15 + 63 },
                  { "attend-words 1\n", 15 + 96 },
                  { "attend-words 2\n", 15 + 64 },
                  { "", 3 } };
    attend_tokenizer *t = learn(ATTEND_TOKENS_BPE, "a b", false);
    attend_model *m = model_for(t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[256] = "";
        attend_seen_words words;
        memcpy(bytes, cases[i].begin, strlen(cases[i].begin));
        assert_ok(attend_model_attach(m, "source.words", bytes, cases[i].size));
        assert_int_equal(attend_seen_words_from_model(&words, m, "source"), ATTEND_BAD_MODEL);
        assert_null(words.bits);
    }
    attend_model_free(m);
    attend_tokenizer_free(t);
}

/* ---- what is unknown in a text ---- */

/* The unknown parts of a text: characters as they are, words in brackets. */
static void expect_unknown(attend_model *m, const char *text, const char *expected)
{
    char found[128] = "";
    attend_pipeline sides[2] = { { 0 } };
    attend_encoded_text at;
    attend_unknown_list list = { 0 };
    assert_ok(attend_pipelines_from_model(sides, m));
    assert_ok(attend_pipeline_add(&sides[0], "before", 6, &at)); /* spans are those of each text */
    assert_ok(attend_pipeline_add(&sides[0], text, strlen(text), &at));
    assert_ok(attend_pipeline_unknowns(&sides[0], &at, &list));
    for (int i = 0; i < list.count; i++) {
        const attend_span s = list.items[i].span;
        snprintf(found + strlen(found), sizeof found - strlen(found), list.items[i].is_word ? "[%.*s]" : "%.*s",
                 s.end - s.begin, attend_pipeline_text(&sides[0], &at) + s.begin);
    }
    assert_string_equal(found, expected);
    attend_unknown_list_free(&list);
    attend_pipeline_free(&sides[0]), attend_pipeline_free(&sides[1]);
}

static void unknown_parts_are_found(void **state)
{
    (void)state;
    static const char lines_seen[] = "the cat sat\nthe mat sat";
    attend_tokenizer *characters = learn(ATTEND_TOKENS_CHAR, "cat\nmat", false),
                     *words = learn(ATTEND_TOKENS_WORD, lines_seen, false),
                     *subwords = learn(ATTEND_TOKENS_BPE, lines_seen, true);
    attend_model *m = model_for(characters);
    expect_unknown(m, "tac", "");
    expect_unknown(m, "ca\xc3\xb1 \xe2\x98\x83t\xc3\xb1", "\xc3\xb1 \xe2\x98\x83\xc3\xb1"); /* a space, too */
    attend_model_free(m);
    m = model_for(words);
    expect_unknown(m, "the Cat sat", "[Cat]");
    attend_model_free(m);
    m = model_for(subwords);
    expect_unknown(m, "the smat", ""); /* the words are not known */
    attend_word_set set = { 0 };
    add_line(&set, "the cat sat"), add_line(&set, "the mat sat");
    assert_ok(attend_seen_words_attach(&set, m, "source"));
    expect_unknown(m, "The smat, THE cat.", ",.[smat]");
    attend_word_set_free(&set);
    attend_model_free(m);
    attend_tokenizer_free(characters), attend_tokenizer_free(words), attend_tokenizer_free(subwords);
}

static void unseen_parts_of_data(void **state)
{
    (void)state;
    attend_unseen u = { 0 };
    attend_unseen_parts x;
    assert_ok(attend_unseen_find(&u, 0, "abc", 3, &x)); /* nothing was learned: nothing can be said */
    assert_true(x.characters == 0 && x.words == 0);
    assert_ok(attend_unseen_learn(&u, 0, "the cat", 7));
    assert_ok(attend_unseen_learn(&u, 1, "chat", 4));
    assert_ok(attend_unseen_find(&u, 0, "The hat eats", 12, &x));
    assert_true(x.characters == 2 && x.words == 2); /* T, s; hat, eats */
    assert_int_equal(x.first_character.begin, 0);
    assert_int_equal(x.first_word.begin, 4);
    assert_ok(attend_unseen_find(&u, 1, "tach", 4, &x)); /* lines are single words */
    assert_true(x.characters == 0 && x.words == 0);
    attend_unseen_free(&u);
}

/* ---- no memory ---- */

static int use_all(attend_tokenizer *t, attend_model *m)
{
    attend_word_set set = { 0 };
    attend_pipeline sides[2] = { { 0 } };
    attend_encoded_text at;
    attend_unknown_list list = { 0 };
    attend_unseen unseen = { 0 };
    attend_unseen_parts x;
    attend_string text = { 0 };
    int status = attend_word_set_add(&set, "The CAT e\xcc\x81", 10);
    if (status == ATTEND_OK) status = attend_seen_words_attach(&set, m, "source");
    if (status == ATTEND_OK) status = attend_pipelines_from_model(sides, m);
    if (status == ATTEND_OK) status = attend_pipeline_add(&sides[0], "A Dog \xe2\x98\x83", 9, &at);
    if (status == ATTEND_OK) status = attend_pipeline_unknowns(&sides[0], &at, &list);
    if (status == ATTEND_OK) status = attend_tokenizer_normalize(t, "LOUD", 4, &text);
    if (status == ATTEND_OK) status = attend_unseen_learn(&unseen, 0, "A Cat", 5);
    if (status == ATTEND_OK) status = attend_unseen_find(&unseen, 0, "A Dog", 5, &x);
    attend_string_free(&text);
    attend_unseen_free(&unseen);
    attend_unknown_list_free(&list);
    for (int i = 0; i < 2; i++) attend_pipeline_free(&sides[i]);
    attend_word_set_free(&set);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    attend_tokenizer *t = learn(ATTEND_TOKENS_BPE, "a cat\na dog", true);
    attend_model *m = model_for(t);
    for (long n = 1;; n++) {
        attend_memory_refuse(n);
        const int status = use_all(t, m);
        const long asked = attend_memory_requests();
        attend_memory_refuse(0);
        if (asked < n) {
            assert_int_equal(status, ATTEND_OK);
            break;
        }
        assert_int_equal(status, ATTEND_NO_MEMORY);
    }
    attend_model_free(m);
    attend_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_lower_cased),     cmocka_unit_test(a_model_keeps_the_case),
        cmocka_unit_test(the_file_format_says_so),   cmocka_unit_test(words_are_runs_of_letters),
        cmocka_unit_test(a_model_knows_its_words),   cmocka_unit_test(single_words_are_not_stored),
        cmocka_unit_test(damaged_words_are_refused), cmocka_unit_test(unknown_parts_are_found),
        cmocka_unit_test(unseen_parts_of_data),      cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
