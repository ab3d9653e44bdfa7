/* Search finds what it should: with a wide beam the best target there is; with a beam of one what greedy decoding says; the same in any batch. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/tiny_pairs.h"
#include <math.h>

enum { SOURCES = 3, LIMIT = 3 };
static const int sources[] = { 3, 4, 2, 5, 2, 6, 3, 3, 2 }, lengths[SOURCES] = { 3, 2, 4 };

static attend_model *model_of(const char *words, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, words) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", words, attend_message());
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), seed, 1.0);
    return m;
}

static attend_found *search(const attend_model *m, attend_search_options o, int count, const int *source,
                            const int *length)
{
    attend_found *f = NULL;
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_search(&f, c, m, &o, count, source, length));
    attend_ctx_free(c);
    return f;
}

static double penalty(double alpha, int rows)
{
    return pow((5.0 + rows) / 6, alpha);
}

/* The best score of any target of at most LIMIT words of the tiny vocabulary, by scoring them all. */
static double best_of_all(const attend_model *m, const int *source, int length, double alpha, int *best,
                          int *best_count)
{
    attend_ctx *c = NULL;
    double most = -INFINITY;
    assert_ok(attend_ctx_new(&c));
    const int known[] = { ATTEND_UNKNOWN, 3, 4, 5 }, kinds = 4;
    for (int n = 0, all = 1; n <= LIMIT; n++, all *= kinds)
        for (int code = 0; code < all; code++) {
            int words[LIMIT + 1];
            for (int i = 0, rest = code; i < n; i++, rest /= kinds) words[i] = known[rest % kinds];
            const attend_pairs pair = {
                .count = 1, .source = source, .source_lengths = &length, .target = words, .target_lengths = &n
            };
            double p;
            assert_ok(attend_model_score(c, m, &pair, &p, NULL, NULL));
            p /= penalty(alpha, n + 1);
            if (p <= most) continue;
            most = p, *best_count = n;
            memcpy(best, words, (size_t)n * sizeof *best);
        }
    attend_ctx_free(c);
    return most;
}

static void a_wide_beam_finds_the_best(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        attend_model *m = model_of(seed % 2 ? "" : "attention=dot context=after readout=plain input-feeding=yes", seed);
        for (int alpha = 0; alpha < 2; alpha++) {
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.beam = 64, o.length_penalty = alpha, o.length_ratio = 0, o.length_extra = LIMIT;
            attend_found *f = search(m, o, SOURCES, sources, lengths);
            for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
                int words[LIMIT + 1], count = 0;
                const double most = best_of_all(m, sources + first, lengths[i], alpha, words, &count);
                const attend_translation *t = attend_found_at(f, i, 0);
                assert_true(fabs(t->score - most) < 1e-5);
                assert_int_equal(t->count, count);
                assert_memory_equal(t->words, words, (size_t)count * sizeof *words);
            }
            attend_found_free(f);
        }
        attend_model_free(m);
    }
}

static void a_beam_of_one_is_greedy(void **state)
{
    (void)state;
    attend_model *m = model_of("layers=2", 3);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.beam = 1;
    attend_found *f = search(m, o, SOURCES, sources, lengths);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        attend_decoding *d = NULL;
        const int one = 1, zero = 0;
        int word = ATTEND_BEGIN, n = 0;
        assert_ok(attend_decoding_new(&d, c, m, 1, sources + first, &lengths[i]));
        const attend_translation *t = attend_found_at(f, i, 0);
        for (; n <= t->count; n++) {
            assert_ok(attend_decoding_step(d, &one, &zero, &word));
            const attend_real *p = attend_decoding_log_probabilities(d);
            word = 0;
            for (int v = 2; v < TINY_TARGET; v++)
                if (p[v] > p[word]) word = v;
            if (n < t->count) assert_int_equal(word, t->words[n]);
        }
        if (t->ended) assert_int_equal(word, ATTEND_END);
        attend_decoding_free(d);
    }
    attend_ctx_free(c);
    attend_found_free(f);
    attend_model_free(m);
}

static void lists_are_sorted_distinct_and_true(void **state)
{
    (void)state;
    attend_model *m = model_of("heads=2 attention-width=6 attention=projected", 5);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.beam = o.n_best = 8, o.weights = true, o.coverage_penalty = 0.2;
    attend_found *f = search(m, o, SOURCES, sources, lengths);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        assert_int_equal(attend_found_count(f, i), 8);
        for (int j = 0; j < 8; j++) {
            const attend_translation *t = attend_found_at(f, i, j);
            double p, sum = 0, coverage = 0;
            const attend_pairs pair = { .count = 1,
                                        .source = sources + first,
                                        .source_lengths = &lengths[i],
                                        .target = t->words,
                                        .target_lengths = &t->count };
            assert_ok(attend_model_score(c, m, &pair, &p, NULL, NULL));
            assert_true(fabs(p - t->log_probability) < 1e-4);
            for (int n = 0; n <= t->count; n++) {
                double row = 0;
                for (int k = 0; k < lengths[i]; k++) row += (double)t->weights[n * lengths[i] + k];
                assert_true(fabs(row - 1) < 1e-5);
                sum += (double)t->word_log_probability[n];
            }
            for (int k = 0; k < lengths[i]; k++) {
                double looked = 0;
                for (int n = 0; n <= t->count; n++) looked += (double)t->weights[n * lengths[i] + k];
                coverage += log(fmin(looked, 1));
            }
            assert_true(fabs(sum - p) < 1e-4);
            assert_true(fabs(t->score - (p / penalty(1, t->count + 1) + 0.2 * coverage)) < 1e-4);
            if (j > 0) assert_true(attend_found_at(f, i, j - 1)->score >= t->score);
            for (int k = 0; k < j; k++) {
                const attend_translation *u = attend_found_at(f, i, k);
                assert_false(u->count == t->count &&
                             memcmp(u->words, t->words, (size_t)t->count * sizeof *t->words) == 0);
            }
        }
    }
    attend_ctx_free(c);
    attend_found_free(f);
    attend_model_free(m);
}

static void alone_as_in_a_batch(void **state)
{
    (void)state;
    attend_model *m = model_of("window=local-m", 6);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.n_best = 3;
    attend_found *all = search(m, o, SOURCES, sources, lengths);
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        attend_found *one = search(m, o, 1, sources + first, &lengths[i]);
        assert_int_equal(attend_found_count(one, 0), attend_found_count(all, i));
        for (int j = 0; j < attend_found_count(one, 0); j++) {
            const attend_translation *a = attend_found_at(one, 0, j), *b = attend_found_at(all, i, j);
            assert_int_equal(a->count, b->count);
            assert_memory_equal(a->words, b->words, (size_t)a->count * sizeof *a->words);
        }
        attend_found_free(one);
    }
    attend_found_free(all);
    attend_model_free(m);
}

static void limits_and_refusals(void **state)
{
    (void)state;
    attend_model *m = model_of("", 2), *bare = model_of("attention=none", 2);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.length_ratio = 0, o.length_extra = 0;
    attend_found *f = search(m, o, 1, sources, lengths);
    assert_int_equal(attend_found_at(f, 0, 0)->count, 0);
    assert_null(attend_found_at(f, 0, 1));
    assert_null(attend_found_at(f, 1, 0));
    attend_found_free(f);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    const attend_search_options wrong[] = { { 0, 1, 0, 0, 1, 1, false },  { 2, 3, 0, 0, 1, 1, false },
                                            { 2, 0, 0, 0, 1, 1, false },  { 2, 1, -1, 0, 1, 1, false },
                                            { 2, 1, 0, 0, -1, 1, false }, { 2, 1, 0, 0, 1, -1, false },
                                            { 2, 1, NAN, 0, 1, 1, false } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(attend_search(&f, c, m, &wrong[i], 1, sources, lengths), ATTEND_BAD_USAGE);
        assert_null(f);
    }
    const attend_search_options coverage = { 2, 1, 0, 1, 1, 1, true };
    assert_int_equal(attend_search(&f, c, bare, &coverage, 1, sources, lengths), ATTEND_BAD_USAGE);
    /* weights that are numbers and yet make none: in the first step, and where the limit ends it */
    attend_model *huge = model_of("", 2);
    for (int i = 0; i < attend_params_count(attend_model_params(huge)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(huge), i), 3, 3e38);
    for (o.length_extra = 0; o.length_extra < 2; o.length_extra++) {
        assert_int_equal(attend_search(&f, c, huge, &o, SOURCES, sources, lengths), ATTEND_FAILED);
        assert_null(f);
    }
    attend_model_free(huge);
    /* every request for memory refused */
    o.length_extra = 2, o.weights = true;
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        const int status = attend_search(&f, c, m, &o, SOURCES, sources, lengths);
        done = status == ATTEND_OK;
        if (!done) assert_int_equal(status, ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
    attend_found_free(f);
    attend_ctx_free(c);
    attend_model_free(m), attend_model_free(bare);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_wide_beam_finds_the_best),
                                        cmocka_unit_test(a_beam_of_one_is_greedy),
                                        cmocka_unit_test(lists_are_sorted_distinct_and_true),
                                        cmocka_unit_test(alone_as_in_a_batch), cmocka_unit_test(limits_and_refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
