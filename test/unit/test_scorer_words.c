/* Attention between tokens becomes attention between words: weights computed by hand. */
#include "unit/unit.h"

#include <attend/scorer.h>
#include <math.h>

enum { SOURCES = 6, TARGETS = 4 };

/* "ab c d" as the tokens ab|blank|c| d|(the end), and "xy  z" as x|y|blanks|z. */
static const attend_span source_spans[SOURCES] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 }, { 4, 6 }, { 6, 6 } };
static const attend_span target_spans[TARGETS] = { { 0, 1 }, { 1, 2 }, { 2, 4 }, { 4, 5 } };
static const attend_real weights[(TARGETS + 1) * SOURCES] = {
    (attend_real)0.25,
    (attend_real)0.25,
    (attend_real)0.5,
    0,
    0,
    0, /* x: ab half, the blank half */
    0,
    0,
    0,
    (attend_real)0.75,
    0,
    (attend_real)0.25, /* y: c, and the end */
    0,
    0,
    0,
    0,
    1,
    0, /* blanks */
    (attend_real)0.125,
    (attend_real)0.125,
    0,
    0,
    (attend_real)0.25,
    (attend_real)0.5, /* z: ab and d equally */
    0,
    0,
    0,
    0,
    0,
    1, /* the end */
};

static attend_scored_pair scored(void)
{
    return (attend_scored_pair){ .rows = TARGETS + 1,
                                 .weights = weights,
                                 .source_count = SOURCES,
                                 .target_count = TARGETS,
                                 .source_spans = source_spans,
                                 .target_spans = target_spans,
                                 .source_text = "ab c d",
                                 .target_text = "xy  z" };
}

static void test_weights(void **state)
{
    (void)state;
    static const double wanted[2 * 3] = { 0.25, 0.375, 0, 0.25, 0, 0.25 };
    const attend_scored_pair r = scored();
    int sources, targets;
    double found[2 * 3] = { 9, 9, 9, 9, 9, 9 };
    attend_scorer_word_counts(&r, &sources, &targets);
    assert_int_equal(sources, 3);
    assert_int_equal(targets, 2);
    attend_scorer_word_weights(&r, found);
    for (int i = 0; i < 6; i++)
        if (!(fabs(found[i] - wanted[i]) < 1e-6)) fail_msg("weight %d is %g and not %g", i, found[i], wanted[i]);
}

static void test_links(void **state)
{
    (void)state;
    attend_scored_pair r = scored();
    attend_word_link links[4];
    assert_int_equal(attend_scorer_links(&r, links, 4), 2);
    assert_true(links[0].source == 1 && links[0].target == 0); /* c */
    assert_true(links[1].source == 0 && links[1].target == 1); /* the first of equal ones */
    assert_int_equal(attend_scorer_links(&r, links, 1), 1);
    double untouched = 7;
    int sources, targets;
    r.weights = NULL;
    assert_int_equal(attend_scorer_links(&r, links, 4), 0);
    attend_scorer_word_weights(&r, &untouched);
    r.fault = "a side is empty";
    attend_scorer_word_counts(&r, &sources, &targets);
    attend_scorer_word_weights(&r, &untouched);
    assert_true(sources == 0 && targets == 0 && untouched == 7);
}

/* By tokens and by characters, x and y are not averaged, and a and b are not added up. */
static void test_units(void **state)
{
    (void)state;
    attend_scored_pair r = scored();
    attend_word_link links[4];
    int sources, targets;
    r.source_unit = r.target_unit = ATTEND_UNIT_CHARACTER;
    attend_scorer_word_counts(&r, &sources, &targets);
    assert_true(sources == 4 && targets == 3);
    assert_int_equal(attend_scorer_links(&r, links, 4), 3);
    assert_true(links[0].source == 0 && links[1].source == 2 && links[2].source == 3 && links[2].target == 2);
    r.source_unit = r.target_unit = ATTEND_UNIT_PIECE; /* the blanks of a side are none of its pieces */
    attend_scorer_word_counts(&r, &sources, &targets);
    assert_true(sources == 4 && targets == 3);
    r.source_unit = ATTEND_UNIT_WORD;
    assert_int_equal(attend_scorer_links(&r, links, 4), 3);
    assert_true(links[0].source == 0 && links[1].source == 1 && links[2].source == 0);
}

/* A no-break space separates words as a space does. */
static void test_no_break_space(void **state)
{
    (void)state;
    static const attend_span source[] = { { 0, 1 }, { 1, 3 }, { 3, 4 }, { 4, 4 } }, target[] = { { 0, 1 } };
    static const attend_real row[] = { 0, (attend_real)0.5, (attend_real)0.25, 0, 0, 0, 0, 1 };
    const attend_scored_pair r = { .rows = 2,
                                   .weights = row,
                                   .source_count = 4,
                                   .target_count = 1,
                                   .source_spans = source,
                                   .target_spans = target,
                                   .source_text = "a\xc2\xa0"
                                                  "b",
                                   .target_text = "z" };
    int sources, targets;
    attend_word_link link;
    attend_scorer_word_counts(&r, &sources, &targets);
    assert_true(sources == 2 && targets == 1);
    assert_int_equal(attend_scorer_links(&r, &link, 1), 1);
    assert_int_equal(link.source, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_weights), cmocka_unit_test(test_links),
                                        cmocka_unit_test(test_no_break_space), cmocka_unit_test(test_units) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
