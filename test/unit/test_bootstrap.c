/* Bootstrap: the result is a function of the seed, the interval contains the score, and the paired test distinguishes
 * systems. */
#include "core/memory.h"
#include "core/rng.h"
#include "unit/unit.h"

enum { LINES = 120, SAMPLES = 400 };

static attend_metric_sums good[LINES], bad[LINES];

/* Lines of twelve words, in which a good system has one error on average and a bad one three, at random positions. */
static void make_systems(const attend_metric_options *o)
{
    char reference[64], lines[2][64];
    for (int i = 0; i < LINES; i++) {
        const attend_rng rng = { .seed = 3, .stream = (uint64_t)i };
        for (int w = 0; w < 12; w++) {
            reference[2 * w] = (char)('a' + (int)(attend_rng_uniform(&rng, (uint64_t)w) * 26));
            reference[2 * w + 1] = w == 11 ? '\0' : ' ';
        }
        for (int s = 0; s < 2; s++) {
            memcpy(lines[s], reference, sizeof reference);
            for (int e = 0; e < 1 + 2 * s; e++)
                lines[s][2 * (int)(attend_rng_uniform(&rng, (uint64_t)(20 + 10 * s + e)) * 12)] = 'X';
        }
        const char *const references[] = { reference };
        good[i] = bad[i] = (attend_metric_sums){ 0 };
        assert_ok(attend_metric_add(o, &good[i], lines[0], references, 1));
        assert_ok(attend_metric_add(o, &bad[i], lines[1], references, 1));
    }
}

static const attend_metric_kind some[] = { ATTEND_BLEU, ATTEND_CHRF, ATTEND_TER, ATTEND_WER };

static void test_interval(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const attend_metric_options o = { .kind = some[k] };
        attend_interval a, b, c;
        make_systems(&o);
        assert_ok(attend_metric_bootstrap(&o, bad, NULL, LINES, SAMPLES, 7, &a));
        assert_ok(attend_metric_bootstrap(&o, bad, NULL, LINES, SAMPLES, 7, &b));
        assert_ok(attend_metric_bootstrap(&o, bad, NULL, LINES, SAMPLES, 8, &c));
        assert_memory_equal(&a, &b, sizeof a);
        assert_true((a.low != c.low || a.high != c.high) && a.score == c.score);
        assert_true(a.low < a.score && a.score < a.high);
        assert_true(a.p == 1);
    }
}

static void test_pair(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        const attend_metric_options o = { .kind = some[k] };
        attend_interval there, back, same;
        make_systems(&o);
        assert_ok(attend_metric_bootstrap(&o, good, bad, LINES, SAMPLES, 7, &there));
        assert_ok(attend_metric_bootstrap(&o, bad, good, LINES, SAMPLES, 7, &back));
        assert_ok(attend_metric_bootstrap(&o, good, good, LINES, SAMPLES, 7, &same));
        assert_true(there.p == 1.0 / (SAMPLES + 1) && back.p == there.p && same.p == 1);
        assert_true(attend_metric_higher_is_better(o.kind) ? there.low > back.high : there.high < back.low);
    }
}

/* Two equally good systems are not distinguished. */
static void test_pair_of_equals(void **state)
{
    (void)state;
    const attend_metric_options o = { .kind = ATTEND_BLEU };
    attend_interval pair;
    make_systems(&o);
    for (int i = 0; i < LINES; i++)
        if (i % 2) {
            const attend_metric_sums other = good[i];
            good[i] = bad[i], bad[i] = other;
        }
    assert_ok(attend_metric_bootstrap(&o, good, bad, LINES, SAMPLES, 7, &pair));
    assert_true(pair.p > 0.05);
}

static void test_small_and_wrong(void **state)
{
    (void)state;
    const attend_metric_options o = { .kind = ATTEND_CHRF }, wrong = { .kind = (attend_metric_kind)99 };
    attend_interval i;
    make_systems(&o);
    assert_ok(attend_metric_bootstrap(&o, good, bad, 1, 1, 0, &i)); /* one sentence: every sample is the corpus */
    assert_true(i.low == i.score && i.high == i.score);
    assert_int_equal(attend_metric_bootstrap(&o, good, NULL, 0, 10, 0, &i), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_bootstrap(&o, good, NULL, 10, 0, 0, &i), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_bootstrap(&o, NULL, NULL, 10, 10, 0, &i), ATTEND_BAD_USAGE);
    assert_int_equal(attend_metric_bootstrap(&wrong, good, NULL, 10, 10, 0, &i), ATTEND_BAD_USAGE);
    for (long n = 1; n <= 2; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_metric_bootstrap(&o, good, bad, LINES, 10, 0, &i), ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_pair),
        cmocka_unit_test(test_pair_of_equals),
        cmocka_unit_test(test_small_and_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
