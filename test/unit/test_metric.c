/* All metrics: names, directions, perfect scores, sums of parts, errors with a message. */
#include "unit/unit.h"

#include <math.h>

enum { KINDS = ATTEND_LINE_ERROR + 1, LINES = 6 };

static const char *const hypotheses[LINES] = {
    "The cat sat on the mat.", "It costs 1,000.5 euros - or 3.",
    "a b c d e f g",           "",
    "Das ist gut , oder ?",    "zwei Worte",
};
static const char *const references[LINES] = {
    "A cat sat on the mat.",   "It cost 1,000.5 euros, or 3!",
    "d e f g a b c",           "not empty",
    "das ist schlecht, oder?", "zwei Worte",
};

static double score_of(attend_metric_kind kind, bool lowercase, const char *hypothesis, const char *reference)
{
    const attend_metric_options o = { .kind = kind, .lowercase = lowercase };
    attend_metric_sums sums = { 0 };
    assert_ok(attend_metric_add(&o, &sums, hypothesis, &reference, 1));
    return attend_metric_score(&o, &sums);
}

static void near(double actual, double expected)
{
    if (!(fabs(actual - expected) < 1e-9)) fail_msg("%.15g is not %.15g", actual, expected);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[KINDS] = { "bleu", "chrf",  "chrf++",         "ter",       "wer",
                                              "cer",  "exact", "token-accuracy", "line-error" };
    for (int k = 0; k < KINDS; k++) {
        attend_metric_kind found = ATTEND_BLEU;
        assert_string_equal(attend_metric_name((attend_metric_kind)k), names[k]);
        assert_true(attend_metric_find(names[k], &found));
        assert_int_equal(found, k);
        assert_int_equal(attend_metric_higher_is_better((attend_metric_kind)k),
                         k < ATTEND_TER || (k > ATTEND_CER && k != ATTEND_LINE_ERROR));
    }
    attend_metric_kind kind = ATTEND_CER;
    assert_null(attend_metric_name((attend_metric_kind)KINDS));
    assert_false(attend_metric_find("blue", &kind));
    assert_false(attend_metric_find("", &kind));
    assert_int_equal(kind, ATTEND_CER);
}

static void test_signatures(void **state)
{
    (void)state;
    char text[128], expected[128];
    attend_metric_options o = { .kind = ATTEND_BLEU };
    attend_metric_signature(&o, 1, text, sizeof text);
    snprintf(expected, sizeof expected, "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:attend-%s",
             attend_version());
    assert_string_equal(text, expected);
    o = (attend_metric_options){ .kind = ATTEND_CHRFPP, .lowercase = true, .tokens = ATTEND_BLEU_CHAR };
    attend_metric_signature(&o, 0, text, sizeof text);
    snprintf(expected, sizeof expected, "chrF2++|nrefs:var|case:lc|eff:yes|nc:6|nw:2|space:no|version:attend-%s",
             attend_version());
    assert_string_equal(text, expected);
    o.kind = ATTEND_WER;
    attend_metric_signature(&o, 12, text, 21);
    assert_string_equal(text, "WER|nrefs:12|case:lc");
    attend_metric_signature(&o, 12, NULL, 0);
}

static void test_perfect(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < LINES; i++) {
            if (!*hypotheses[i] || (k == ATTEND_BLEU && i == 5)) continue; /* no words; no four words */
            near(score_of((attend_metric_kind)k, false, hypotheses[i], hypotheses[i]),
                 attend_metric_higher_is_better((attend_metric_kind)k) ? 100 : 0);
        }
    near(score_of(ATTEND_EXACT, false, "", ""), 100);
    near(score_of(ATTEND_EXACT, false, "right\r", " right"), 100); /* white space at the ends of a line is ignored */
    near(score_of(ATTEND_CER, false, "right\r", " right"), 0);
    for (int k = 0; k < KINDS; k++)
        near(score_of((attend_metric_kind)k, true, "ÄHNLICH WIE ΣΊΣΥΦΟΣ IST KEINER", "ähnlich wie σίσυφος ist keiner"),
             attend_metric_higher_is_better((attend_metric_kind)k) ? 100 : 0);
}

static void test_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const attend_metric_options o = { .kind = (attend_metric_kind)k };
        const attend_metric_sums none = { 0 };
        near(attend_metric_score(&o, &none), 0);
    }
}

/* Computed by hand. */
static void test_small(void **state)
{
    (void)state;
    near(score_of(ATTEND_WER, false, "a x c", "a b c d"), 50);
    near(score_of(ATTEND_WER, false, "a b c d e f", "x"), 600);
    near(score_of(ATTEND_WER, false, "a", ""), 100);
    near(score_of(ATTEND_CER, false, "kitten", "sitting"), 100 * 3.0 / 7);
    near(score_of(ATTEND_CER, false, "ä", "a"), 100);
    near(score_of(ATTEND_TER, false, "on the mat sat the cat", "the cat sat on the mat"), 100 * 2.0 / 6);
    near(score_of(ATTEND_TER, false, "b c d a", "a b c d"), 25); /* one shift */
    near(score_of(ATTEND_TOKEN_ACCURACY, false, "a b x d e", "a b c d"), 75);
    near(score_of(ATTEND_TOKEN_ACCURACY, false, "b a", "a b"), 0);
    near(score_of(ATTEND_EXACT, false, "A", "a"), 0);
    near(score_of(ATTEND_EXACT, true, "A", "a"), 100);
    near(score_of(ATTEND_LINE_ERROR, false, "A", "a"), 100);
    near(score_of(ATTEND_LINE_ERROR, true, "A ", "a"), 0);
    near(score_of(ATTEND_LINE_ERROR, false, "", ""), 0);
    /* precisions 3/4, 2/3, 1/2, and no 4-gram match, smoothed to 1/2 of 1 */
    near(score_of(ATTEND_BLEU, false, "a b c x", "a b c d"), 100 * pow(3.0 / 4 * 2 / 3 * 1 / 2 * 1 / 2, 0.25));
    near(score_of(ATTEND_BLEU, false, "a b c d", "a b c d e f"), 100 * exp(-0.5));
}

static void test_several_references(void **state)
{
    (void)state;
    const char *const two[] = { "a x y z", "a b c d" };
    for (int k = 0; k < KINDS; k++) {
        const attend_metric_options o = { .kind = (attend_metric_kind)k };
        attend_metric_sums sums = { 0 };
        assert_ok(attend_metric_add(&o, &sums, "a b c d", two, 2));
        near(attend_metric_score(&o, &sums), attend_metric_higher_is_better(o.kind) ? 100 : 0);
    }
}

static void test_parts_add_up(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const attend_metric_options o = { .kind = (attend_metric_kind)k };
        attend_metric_sums whole = { 0 }, parts[2] = { 0 }, backwards = { 0 };
        for (int i = 0; i < LINES; i++) {
            assert_ok(attend_metric_add(&o, &whole, hypotheses[i], &references[i], 1));
            assert_ok(attend_metric_add(&o, &parts[i % 2], hypotheses[i], &references[i], 1));
            assert_ok(attend_metric_add(&o, &backwards, hypotheses[LINES - 1 - i], &references[LINES - 1 - i], 1));
        }
        attend_metric_merge(&parts[0], &parts[1]);
        assert_memory_equal(&whole, &parts[0], sizeof whole); /* whole numbers: exact in any order */
        assert_memory_equal(&whole, &backwards, sizeof whole);
        const double score = attend_metric_score(&o, &whole);
        assert_true(score > 0 && score < 100);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const attend_metric_options o = { 0 };
    attend_metric_options wrong = { .kind = (attend_metric_kind)KINDS };
    attend_metric_sums sums = { 0 };
    const char *const reference = "a", *const none = NULL;
    assert_int_equal(attend_metric_add(&wrong, &sums, "a", &reference, 1), ATTEND_BAD_USAGE);
    wrong = (attend_metric_options){ .tokens = (attend_bleu_tokens)3 };
    assert_int_equal(attend_metric_add(&wrong, &sums, "a", &reference, 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_add(NULL, &sums, "a", &reference, 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_add(&o, NULL, "a", &reference, 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_add(&o, &sums, NULL, &reference, 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_add(&o, &sums, "a", NULL, 1), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_add(&o, &sums, "a", &reference, 0), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "at least one reference"));
    assert_int_equal(attend_metric_add(&o, &sums, "a", &none, 1), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "reference 1 of 1"));
    const attend_metric_sums zero = { 0 };
    assert_memory_equal(&sums, &zero, sizeof sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_perfect),      cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_small),        cmocka_unit_test(test_several_references),
        cmocka_unit_test(test_parts_add_up), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
