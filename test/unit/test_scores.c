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

/* Whether a parameter of the score has another shape with other widths. */
static bool shapes_differ(const attend_score *s, const attend_widths *a, const attend_widths *b)
{
    for (int i = 0; s->parameter && s->parameter(a, i).name; i++) {
        const attend_score_parameter x = s->parameter(a, i), y = s->parameter(b, i);
        if (memcmp(x.shape, y.shape, sizeof x.shape) != 0) return true;
    }
    return false;
}

/* The properties by which configurations are checked are those of the parameters. */
static void properties_agree_with_parameters(void **state)
{
    (void)state;
    const attend_widths widths = { .query = 8,
                                   .key = 8,
                                   .value = 8,
                                   .heads = 2,
                                   .key_heads = 2,
                                   .attention = 4,
                                   .max_keys = 5,
                                   .filters = 2,
                                   .filter_size = 3 };
    attend_widths wider = widths, longer = widths;
    wider.attention = 12, longer.max_keys = 9;
    for (const attend_score *const *s = attend_scores; *s; s++) {
        assert_int_equal((*s)->has_inner_width, shapes_differ(*s, &widths, &wider));
        assert_int_equal((*s)->has_max_keys, shapes_differ(*s, &widths, &longer));
        assert_true((*s)->usual_heads >= 0 && (*s)->formula && (*s)->formula[0]);
        assert_true((*s)->usual_heads <= 1 || !(*s)->needs_previous_weights); /* which have one head */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_score_is_found_by_its_name),
                                        cmocka_unit_test(names_are_written_as_one_list),
                                        cmocka_unit_test(properties_agree_with_parameters) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
