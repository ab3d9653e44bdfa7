/* Alignment error rate: cases computed by hand. */
#include "core/memory.h"
#include "unit/unit.h"

#include <math.h>

/* sure 0-0 and 1-1, possible 1-2; 2-1 occurs twice, once as sure */
static const attend_word_link gold[] = {
    { 0, 0, true }, { 1, 1, true }, { 1, 2, false }, { 2, 1, false }, { 2, 1, true }
};

static void check(const attend_word_link *predicted, int count, double expected)
{
    attend_aer_sums sums = { 0 };
    assert_ok(attend_aer_add(&sums, predicted, count, gold, 5));
    assert_true(sums.sure == 3);
    if (!(fabs(attend_aer(&sums) - expected) < 1e-12)) fail_msg("%g is not %g", attend_aer(&sums), expected);
}

static void test_by_hand(void **state)
{
    (void)state;
    check((const attend_word_link[]){ { 0, 0, 0 }, { 1, 1, 0 }, { 2, 1, 0 } }, 3, 0);
    check((const attend_word_link[]){ { 0, 0, 0 }, { 1, 1, 0 }, { 2, 1, 0 }, { 1, 2, 0 } }, 4,
          0); /* a possible link is not an error */
    check((const attend_word_link[]){ { 0, 0, 0 }, { 5, 5, 0 } }, 2, 1 - 2.0 / 5);
    check((const attend_word_link[]){ { 0, 0, 0 }, { 0, 0, 0 }, { 5, 5, 0 } }, 3,
          1 - 2.0 / 5); /* a duplicate counts once */
    check((const attend_word_link[]){ { 1, 2, 0 } }, 1, 1 - 1.0 / 4);
    check((const attend_word_link[]){ { 1, 0, 0 } }, 1, 1); /* source and target are not interchangeable */
    check(NULL, 0, 1);
}

static void test_corpus(void **state)
{
    (void)state;
    attend_aer_sums sums = { 0 };
    assert_true(attend_aer(&sums) == 0);
    assert_ok(attend_aer_add(&sums, NULL, 0, NULL, 0));
    assert_true(attend_aer(&sums) == 0);
    const attend_word_link predicted[] = { { 0, 0, false }, { 3, 3, false } };
    assert_ok(attend_aer_add(&sums, predicted, 2, gold, 5));
    assert_ok(attend_aer_add(&sums, gold, 2, gold, 5)); /* 0-0 and 1-1 */
    assert_true(sums.matched_sure == 3 && sums.matched_possible == 3 && sums.predicted == 4 && sums.sure == 6);
    assert_true(fabs(attend_aer(&sums) - 0.4) < 1e-12);
}

static void test_refusals(void **state)
{
    (void)state;
    attend_aer_sums sums = { 0 };
    const attend_aer_sums zero = { 0 };
    const attend_word_link wrong[] = { { 0, 0, true }, { 0, -1, true } };
    assert_int_equal(attend_aer_add(&sums, wrong, 2, gold, 5), ATTEND_BAD_DATA);
    assert_int_equal(attend_aer_add(&sums, gold, 5, wrong, 2), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "0--1"));
    assert_int_equal(attend_aer_add(NULL, gold, 5, gold, 5), ATTEND_BAD_USAGE);
    assert_int_equal(attend_aer_add(&sums, NULL, 1, gold, 5), ATTEND_BAD_USAGE);
    assert_int_equal(attend_aer_add(&sums, gold, -1, gold, 5), ATTEND_BAD_USAGE);
    for (long n = 1; n <= 2; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_aer_add(&sums, gold, 5, gold, 5), ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
    assert_memory_equal(&sums, &zero, sizeof sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
