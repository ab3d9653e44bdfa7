/* The k largest numbers against a full sort: ties, any order of offers, fewer numbers than k. */
#include "unit/unit.h"

#include "core/rng.h"
#include "core/top_k.h"

static int by_value(const void *a, const void *b)
{
    const attend_top_k_entry *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void selects_what_a_sort_selects(void **state)
{
    (void)state;
    enum { N = 300, MAX_K = 40 };
    for (int k = 1; k <= MAX_K; k++)
        for (int n = 0; n <= N; n += 1 + n / 3) {
            attend_top_k_entry all[N], upward[MAX_K], downward[MAX_K];
            attend_top_k a = { .k = k, .entries = upward }, b = { .k = k, .entries = downward };
            const attend_rng rng = { .seed = (uint64_t)k, .stream = (uint64_t)n };
            for (int i = 0; i < n; i++) /* 20 different values: many ties */
                all[i] = (attend_top_k_entry){ (int)(20 * attend_rng_uniform(&rng, (uint64_t)i)), i };
            for (int i = 0; i < n; i++)
                if (all[i].value > attend_top_k_threshold(&a)) attend_top_k_offer(&a, all[i].value, i);
            for (int i = n - 1; i >= 0; i--) attend_top_k_offer(&b, all[i].value, i);
            attend_top_k_sort(&a);
            attend_top_k_sort(&b);
            qsort(all, (size_t)n, sizeof *all, by_value);
            assert_int_equal(a.count, k < n ? k : n);
            assert_int_equal(b.count, a.count);
            for (int i = 0; i < a.count; i++) {
                assert_int_equal(upward[i].index, all[i].index);
                assert_int_equal(downward[i].index, all[i].index);
                assert_true(upward[i].value == all[i].value);
            }
        }
}

static void threshold_excludes_minus_infinity_and_nan(void **state)
{
    (void)state;
    attend_top_k_entry entries[2];
    attend_top_k t = { .k = 2, .entries = entries };
    const double excluded[] = { -INFINITY, NAN };
    for (int i = 0; i < 2; i++) assert_true(!(excluded[i] > attend_top_k_threshold(&t)));
    attend_top_k_offer(&t, 1, 0);
    assert_true(attend_top_k_threshold(&t) == -INFINITY);
    attend_top_k_offer(&t, 3, 1);
    assert_true(attend_top_k_threshold(&t) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(selects_what_a_sort_selects),
                                        cmocka_unit_test(threshold_excludes_minus_infinity_and_nan) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
