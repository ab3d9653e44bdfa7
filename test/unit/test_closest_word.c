/* The nearest right word: one slip, two letters that changed places, and words that are simply others. */
#include "unit/unit.h"

#include <attend/parse.h>

static void slips_are_understood(void **state)
{
    (void)state;
    static const char *const words[] = { "hidden", "layers", "info", "no" };
    static const struct {
        const char *given, *meant;
    } cases[] = { { "hiden", "hidden" }, { "hiddne", "hidden" }, { "hiddenn", "hidden" }, { "ifno", "info" },
                  { "layer", "layers" }, { "n", "no" },          { "zzz", NULL },         { "", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = attend_closest_word(cases[i].given, words, 4);
        if (!near != !cases[i].meant || (near && strcmp(near, cases[i].meant) != 0))
            fail_msg("%s: %s", cases[i].given, near ? near : "nothing");
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(slips_are_understood) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
