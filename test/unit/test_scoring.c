/* Pairs are scored in parts: memory does not grow with their number, and each pair gets the same bits as alone. */
#include "unit/unit.h"

#include "support/tiny_pairs.h"

#ifdef ATTEND_ARENA_MALLOC /* with sanitizers: slow, and memory is freed at once */
enum { PAIRS = 120, FEW = 1, LENGTH = 20 };
#else
enum { PAIRS = 400, FEW = 100, LENGTH = 20 };
#endif

static int tokens[PAIRS * LENGTH], lengths[PAIRS];

static size_t score(const attend_model *m, int first, int count, double *log_probability)
{
    attend_ctx *c = NULL;
    const attend_pairs all = {
        .count = PAIRS, .source = tokens, .source_lengths = lengths, .target = tokens, .target_lengths = lengths
    };
    const attend_pairs part = attend_pairs_slice(&all, first, count);
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_model_score(c, m, &part, log_probability, NULL, ATTEND_ATTENTION_CROSS, NULL));
    const size_t bytes = attend_ctx_bytes(c);
    attend_ctx_free(c);
    return bytes;
}

static void memory_does_not_grow_with_the_pairs(void **state)
{
    (void)state;
    static const char *const models[] = { "architecture=transformer hidden=64 embedding=0 heads=2 layers=2",
                                          "architecture=lstmn hidden=64 layers=2", "hidden=64 layers=2" };
    for (int i = 0; i < PAIRS; i++) lengths[i] = LENGTH;
    for (int i = 0; i < PAIRS * LENGTH; i++) tokens[i] = ATTEND_FIRST_TOKEN + i * i % 3;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double all[PAIRS], single;
        attend_config config;
        attend_model *m = NULL;
        assert_ok(tiny_config(&config, models[i]));
        assert_ok(attend_model_new(&m, &config, 1));
        const size_t few = score(m, 0, FEW, all), many = score(m, 0, PAIRS, all);
#ifdef ATTEND_ARENA_MALLOC
        (void)few, (void)many;
#else
        if (many > 2 * few) fail_msg("%s: %d pairs take %zu bytes, and %d take %zu", models[i], FEW, few, PAIRS, many);
#endif
        for (int pair = 0; pair < PAIRS; pair += 57) {
            score(m, pair, 1, &single);
            assert_true(single == all[pair]);
        }
        attend_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_does_not_grow_with_the_pairs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
