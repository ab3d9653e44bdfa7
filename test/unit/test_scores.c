/* scores.c: the list of score functions. */
#include "unit/unit.h"

#include <attend/score.h>
#include <string.h>

static void every_score_is_found_by_its_name(void **state)
{
    (void)state;
    for (const attend_score *const *s = attend_scores; *s; s++) assert_ptr_equal(attend_score_find((*s)->name), *s);
    assert_null(attend_score_find("no such score"));
}

static void names_are_written_as_one_list(void **state)
{
    (void)state;
    static const char expected[] = "dot|scaled-dot|bilinear|additive|projected|location|location-sensitive";
    char names[256], shortened[] = "xxxxxxxx";
    assert_int_equal(attend_score_names(names, sizeof names), strlen(expected));
    assert_string_equal(names, expected);
    assert_int_equal(attend_score_names(NULL, 0), strlen(expected));
    assert_int_equal(attend_score_names(shortened, 7), strlen(expected));
    assert_memory_equal(shortened, "dot|sc\0x", 9);
    assert_int_equal(attend_score_names(names, sizeof expected), strlen(expected));
    assert_string_equal(names, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_score_is_found_by_its_name),
                                        cmocka_unit_test(names_are_written_as_one_list) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
