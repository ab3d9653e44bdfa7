/* training_choice.c: options that were given are kept, those that were not are chosen from the data. */
#include "unit/unit.h"

#include <attend/training_choice.h>
#include <stdio.h>

typedef struct record {
    const char *given; /* the only option that is given; NULL: none */
    char text[600];
    int status; /* of `choose` */
} record;

static bool is_given(void *user, const char *name)
{
    const record *r = user;
    return r->given && strcmp(r->given, name) == 0;
}

static int take(void *user, const char *name, const char *value)
{
    record *r = user;
    const size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof r->text - n, "%s=%s ", name, value);
    return r->status;
}

static attend_training_request request_of(record *r)
{
    return (attend_training_request){ .tokens = { -1, -1 }, .user = r, .given = is_given, .choose = take };
}

static const attend_data_size sentences = { 10000, { 100000, 100000 }, { 590000, 590000 }, { 0, 0 } };

static void test_pairs(void **state)
{
    (void)state;
    record r = { .given = NULL };
    attend_training_request q = request_of(&r);
    attend_training_choice z;
    assert_ok(attend_training_choose(&q, &sentences, &z));
    assert_string_equal(z.basis, "10000 pairs, 590000 and 590000 characters");
    assert_true(!z.is_word_level && z.tokens[0] == ATTEND_TOKENS_BPE);
    static const char *const chosen[] = { "source-tokens=bpe target-tokens=bpe vocab-size=",
                                          "hidden=",
                                          "embedding=",
                                          "dropout=",
                                          "batch-tokens=",
                                          "epochs=" };
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) assert_non_null(strstr(r.text, chosen[i]));
    q.has_validation = true; /* which ends the training */
    r.text[0] = '\0';
    assert_ok(attend_training_choose(&q, &sentences, &z));
    assert_null(strstr(r.text, "epochs="));
}

static void test_given(void **state)
{
    (void)state;
    static const char *const names[] = { "hidden", "dropout", "batch-tokens", "epochs", "vocab-size", "source-tokens" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        record r = { .given = names[i] };
        const attend_training_request q = request_of(&r);
        attend_training_choice z;
        char text[40];
        assert_ok(attend_training_choose(&q, &sentences, &z));
        snprintf(text, sizeof text, "%s=", names[i]);
        assert_null(strstr(r.text, text));
    }
    record r = { .given = NULL };
    attend_training_request q = request_of(&r);
    attend_training_choice z;
    q.tokens[0] = ATTEND_TOKENS_CHAR, q.has_config = q.has_vocabularies = true;
    assert_ok(attend_training_choose(&q, &sentences, &z));
    assert_true(z.tokens[0] == ATTEND_TOKENS_CHAR);
    assert_null(strstr(r.text, "source-tokens="));
    assert_null(strstr(r.text, "hidden="));
    assert_null(strstr(r.text, "vocab-size="));
}

/* Few pairs of words: a cosine schedule, which ends by itself unless another one is given. */
static void test_words(void **state)
{
    (void)state;
    const attend_data_size words = { 1000, { 1000, 1000 }, { 8000, 8000 }, { 0, 0 } };
    for (int given = 0; given < 2; given++) {
        record r = { .given = given ? "schedule" : NULL };
        attend_training_request q = request_of(&r);
        attend_training_choice z;
        q.has_validation = true;
        assert_ok(attend_training_choose(&q, &words, &z));
        assert_true(z.is_word_level);
        static const char *const own[] = { "schedule=cosine", "learning-rate=", "patience=0", "epochs=" };
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) assert_int_equal(strstr(r.text, own[i]) == NULL, given);
    }
}

static void test_lines(void **state)
{
    (void)state;
    const attend_data_size lines = { 1000, { 0, 10000 }, { 0, 59000 }, { 0, 0 } };
    record r = { .given = NULL };
    attend_training_request q = request_of(&r);
    attend_training_choice z;
    q.task = ATTEND_TASK_LANGUAGE_MODEL;
    assert_ok(attend_training_choose(&q, &lines, &z));
    assert_string_equal(z.basis, "1000 lines, 59000 characters");
    assert_memory_equal(r.text, "tokens=", 7);
    assert_int_equal(z.tokens[0], z.tokens[1]);
}

static void test_failures(void **state)
{
    (void)state;
    record r = { .status = ATTEND_BAD_DATA };
    attend_training_request q = request_of(&r);
    attend_training_choice z;
    assert_int_equal(attend_training_choose(&q, &sentences, &z), ATTEND_BAD_DATA);
    assert_string_equal(r.text, "source-tokens=bpe "); /* the first choice was the last */
    q.tokens[1] = 9;
    assert_int_equal(attend_training_choose(&q, &sentences, &z), ATTEND_BAD_USAGE);
    q = request_of(&r);
    q.given = NULL;
    assert_int_equal(attend_training_choose(&q, &sentences, &z), ATTEND_BAD_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs), cmocka_unit_test(test_given),
                                        cmocka_unit_test(test_words), cmocka_unit_test(test_lines),
                                        cmocka_unit_test(test_failures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
