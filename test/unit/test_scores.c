/* scores.c: the list of score functions. */
#include "unit/unit.h"

#include <attend/config.h>
#include <attend/score.h>
#include <stdio.h>
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

/* ---- scores of the user ---- */

static attend_score_parameter named(const attend_widths *w, int i)
{
    return (attend_score_parameter){ i == 0 ? "w" : NULL, 2, { w->query, w->key } };
}

static attend_score_parameter unnamed(const attend_widths *w, int i)
{
    return (attend_score_parameter){ i == 0 ? "w/w" : NULL, 2, { w->query, w->key } };
}

static void a_registered_score_is_known_by_its_name(void **state)
{
    (void)state;
    static attend_score mine;
    attend_config config = ATTEND_CONFIG_INIT;
    char text[512];
    mine = attend_score_bilinear, mine.name = "a-score-of-mine";
    assert_int_equal(attend_config_set(&config, "attention", "a-score-of-mine"), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), ATTEND_SCORE_IS_MISSING));
    assert_int_equal(attend_score_register(&mine), ATTEND_OK);
    assert_int_equal(attend_score_register(&mine), ATTEND_OK); /* again */
    assert_ptr_equal(attend_score_find("a-score-of-mine"), &mine);
    assert_int_equal(attend_config_set(&config, "attention", "a-score-of-mine"), ATTEND_OK);
    assert_ptr_equal(config.attention, &mine);
    assert_int_equal(attend_config_get(&config, "attention", text, sizeof text), ATTEND_OK);
    assert_string_equal(text, "a-score-of-mine");
    attend_score_names(text, sizeof text);
    assert_string_equal(text, "dot|scaled-dot|bilinear|additive|projected|location|location-sensitive|a-score-of-mine");
    assert_int_equal(attend_config_set(&config, "attention", "none"), ATTEND_OK);
    assert_null(config.attention);
}

static void scores_that_cannot_work_are_not_registered(void **state)
{
    (void)state;
    static attend_score wrong[13], many[ATTEND_MAX_OWN_SCORES + 1];
    static char names[ATTEND_MAX_OWN_SCORES + 1][8];
    for (int i = 0; i < 13; i++) wrong[i] = attend_score_bilinear, wrong[i].name = "wrong";
    wrong[0].name = NULL, wrong[1].name = "", wrong[2].name = "none", wrong[3].name = "a b", wrong[4].name = "dot";
    wrong[5].name = "a-name-that-is-longer-than-forty-characters";
    wrong[6].formula = NULL, wrong[7].tile = NULL, wrong[8].tile_backward = NULL;
    wrong[9].cache_size = attend_score_additive.cache_size, wrong[9].cache_keys = NULL;
    wrong[10].parameter = unnamed;
    wrong[11].parameter = named, wrong[11].tile_parameters = 1u << 1; /* there is no second parameter */
    wrong[12].parameter = NULL, wrong[12].linear_parameters = 1;
    for (int i = 0; i < 13; i++) {
        assert_int_equal(attend_score_register(&wrong[i]), ATTEND_BAD_USAGE);
        assert_true(i == 4 || !wrong[i].name || !attend_score_find(wrong[i].name));
    }
    int count = 0;
    for (int i = 0; i <= ATTEND_MAX_OWN_SCORES; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        many[i] = attend_score_dot, many[i].name = names[i];
        count += attend_score_register(&many[i]) == ATTEND_OK;
    }
    assert_in_range(count, 1, ATTEND_MAX_OWN_SCORES); /* others may have been registered before */
    assert_null(attend_score_find(names[ATTEND_MAX_OWN_SCORES]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_score_is_found_by_its_name),
                                        cmocka_unit_test(names_are_written_as_one_list),
                                        cmocka_unit_test(properties_agree_with_parameters),
                                        cmocka_unit_test(a_registered_score_is_known_by_its_name),
                                        cmocka_unit_test(scores_that_cannot_work_are_not_registered) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
