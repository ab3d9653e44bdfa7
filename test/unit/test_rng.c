#include "core/rng.h"
#include "unit/unit.h"
#include <math.h>

/* Test vectors of Philox4x32-10 published with the Random123 library (Salmon et al. 2011). */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } answers[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        uint32_t out[4];
        attend_philox(answers[i].counter, answers[i].key, out);
        assert_memory_equal(out, answers[i].out, sizeof out);
    }
}

static void test_numbers_depend_on_the_index_only(void **state)
{
    (void)state;
    const attend_rng a = { .seed = 5, .stream = 9, .use = 2 }, other = { .seed = 5, .stream = 9, .use = 3 };
    unsigned char whole[1000], part[1000];
    attend_rng_dropout_mask(&a, 0, 1000, 0.3, whole);
    for (size_t first = 0, n; first < 1000; first += n) { /* in pieces of odd sizes */
        n = 1000 - first < 37 ? 1000 - first : 37;
        attend_rng_dropout_mask(&a, first, n, 0.3, part + first);
    }
    assert_memory_equal(whole, part, 1000);
    int equal = 0;
    for (uint64_t i = 0; i < 1000; i++) equal += attend_rng_uniform(&a, i) == attend_rng_uniform(&other, i);
    assert_true(equal < 2);
}

static void test_distribution(void **state)
{
    (void)state;
    const attend_rng a = { .seed = 1 };
    enum { N = 200000 };
    static unsigned char keep[N];
    double mean = 0, square = 0, kept = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = attend_rng_uniform(&a, i);
        assert_true(u >= 0 && u < 1);
        mean += u / N, square += u * u / N;
    }
    assert_true(fabs(mean - 0.5) < 4 * 0.2887 / sqrt(N));
    assert_true(fabs(square - 1.0 / 3) < 4 * 0.2981 / sqrt(N));
    attend_rng_dropout_mask(&a, 0, N, 0.3, keep);
    for (int i = 0; i < N; i++) kept += keep[i];
    assert_true(fabs(kept / N - 0.7) < 4 * 0.4583 / sqrt(N));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_numbers_depend_on_the_index_only),
        cmocka_unit_test(test_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
