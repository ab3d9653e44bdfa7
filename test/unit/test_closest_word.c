/* The closest word: one typing error, two swapped letters, and words that are too different. */
#include "unit/unit.h"

#include <attend/parse.h>

static void typing_errors_are_recognised(void **state)
{
    (void)state;
    static const char *const words[] = { "hidden", "layers", "info", "no" };
    static const struct {
        const char *given, *expected;
    } cases[] = { { "hiden", "hidden" }, { "hiddne", "hidden" }, { "hiddenn", "hidden" }, { "ifno", "info" },
                  { "layer", "layers" }, { "n", "no" },          { "zzz", NULL },         { "", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *closest = attend_closest_word(cases[i].given, words, 4);
        if (!closest != !cases[i].expected || (closest && strcmp(closest, cases[i].expected) != 0))
            fail_msg("%s: %s", cases[i].given, closest ? closest : "nothing");
    }
    char long_word[1000];
    memset(long_word, 'x', sizeof long_word);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(attend_closest_word(long_word, words, 4));
    assert_null(attend_closest_word("word", words, 0));
    assert_int_equal(attend_word_distance("ab", "ba"), 1);
    assert_int_equal(attend_word_distance("", "abc"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(typing_errors_are_recognised) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
