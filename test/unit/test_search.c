/* Search: a wide beam finds the best target, a beam of 1 is greedy decoding, and results do not depend on the batch. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/tiny_pairs.h"
#include <math.h>

enum { SOURCES = 3, LIMIT = 3 };
static const int sources[] = { 3, 4, 2, 5, 2, 6, 3, 3, 2 }, lengths[SOURCES] = { 3, 2, 4 };

/* Source i with a translation of it. */
static attend_pairs pair_of(int i, const attend_translation *t)
{
    int first = 0;
    for (int k = 0; k < i; k++) first += lengths[k];
    return (attend_pairs){ .count = 1,
                           .source = sources + first,
                           .source_lengths = &lengths[i],
                           .target = t->tokens,
                           .target_lengths = &t->count };
}

/* Replaces attend_decoding_step at link time to count the hypotheses of all steps. */
static long decoded, steps;
int __real_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *words);
int __wrap_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *words);

static int sources_now; /* of the search under test */

int __wrap_attend_decoding_step(attend_decoding *d, const int *counts, const int *parents, const int *words)
{
    for (int i = 0; i < sources_now; i++) decoded += counts[i];
    steps++;
    return __real_attend_decoding_step(d, counts, parents, words);
}

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

static attend_search_result *search(const attend_model *m, attend_search_options o, int count, const int *source,
                                    const int *length)
{
    attend_search_result *f = NULL;
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

/* The best score of all targets of at most LIMIT tokens of the tiny vocabulary, by exhaustive scoring. */
static double best_of_all(const attend_model *m, const int *source, int length, double alpha, int *best,
                          int *best_count)
{
    attend_ctx *c = NULL;
    double highest = -INFINITY;
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
            assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, NULL));
            p /= penalty(alpha, n + 1);
            if (p <= highest) continue;
            highest = p, *best_count = n;
            memcpy(best, words, (size_t)n * sizeof *best);
        }
    attend_ctx_free(c);
    return highest;
}

static void a_wide_beam_finds_the_best(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        attend_model *m = model_of(seed % 2 ? "" : "attention=dot context=after readout=plain input-feeding=yes", seed);
        for (int alpha = 0; alpha < 2; alpha++) {
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.beam = 64, o.length_penalty = alpha, o.length_ratio = 0, o.length_extra = LIMIT;
            attend_search_result *f = search(m, o, SOURCES, sources, lengths);
            for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
                int words[LIMIT + 1], count = 0;
                const double highest = best_of_all(m, sources + first, lengths[i], alpha, words, &count);
                const attend_translation *t = attend_search_result_at(f, i, 0);
                assert_true(fabs(t->score - highest) < 1e-5);
                assert_int_equal(t->count, count);
                assert_memory_equal(t->tokens, words, (size_t)count * sizeof *words);
            }
            attend_search_result_free(f);
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
    attend_search_result *f = search(m, o, SOURCES, sources, lengths);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        attend_decoding *d = NULL;
        const int one = 1, zero = 0;
        int word = ATTEND_BEGIN, n = 0;
        assert_ok(attend_decoding_new(&d, c, m, 1, sources + first, &lengths[i]));
        const attend_translation *t = attend_search_result_at(f, i, 0);
        for (; n <= t->count; n++) {
            assert_ok(attend_decoding_step(d, &one, &zero, &word));
            const attend_real *p = attend_decoding_log_probabilities(d);
            word = 0;
            for (int v = 2; v < TINY_TARGET; v++)
                if (p[v] > p[word]) word = v;
            if (n < t->count) assert_int_equal(word, t->tokens[n]);
        }
        if (t->ended) assert_int_equal(word, ATTEND_END);
        attend_decoding_free(d);
    }
    attend_ctx_free(c);
    attend_search_result_free(f);
    attend_model_free(m);
}

static void n_best_lists_are_sorted_distinct_and_correct(void **state)
{
    (void)state;
    attend_model *m = model_of("heads=2 attention-width=6 attention=projected", 5);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.beam = o.n_best = 8, o.weights = true, o.coverage_penalty = 0.2;
    attend_search_result *f = search(m, o, SOURCES, sources, lengths);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int i = 0; i < SOURCES; i++) {
        assert_int_equal(attend_search_result_count(f, i), 8);
        for (int j = 0; j < 8; j++) {
            const attend_translation *t = attend_search_result_at(f, i, j);
            double p, sum = 0, coverage = 0;
            const attend_pairs pair = pair_of(i, t);
            assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, NULL));
            assert_true(fabs(p - t->log_probability) < 1e-4);
            for (int n = 0; n <= t->count; n++) {
                double row = 0;
                for (int k = 0; k < lengths[i]; k++) row += (double)t->weights[n * lengths[i] + k];
                assert_true(fabs(row - 1) < 1e-5);
                sum += (double)t->token_log_probability[n];
            }
            for (int k = 0; k < lengths[i]; k++) {
                double attended = 0;
                for (int n = 0; n <= t->count; n++) attended += (double)t->weights[n * lengths[i] + k];
                coverage += log(fmin(attended, 1));
            }
            assert_true(fabs(sum - p) < 1e-4);
            assert_true(fabs(t->score - (p / penalty(1, t->count + 1) + 0.2 * coverage)) < 1e-4);
            if (j > 0) assert_true(attend_search_result_at(f, i, j - 1)->score >= t->score);
            for (int k = 0; k < j; k++) {
                const attend_translation *u = attend_search_result_at(f, i, k);
                assert_false(u->count == t->count &&
                             memcmp(u->tokens, t->tokens, (size_t)t->count * sizeof *t->tokens) == 0);
            }
        }
    }
    attend_ctx_free(c);
    attend_search_result_free(f);
    attend_model_free(m);
}

static void results_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    attend_model *m = model_of("window=local-m", 6);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.n_best = 3;
    attend_search_result *all = search(m, o, SOURCES, sources, lengths);
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        attend_search_result *one = search(m, o, 1, sources + first, &lengths[i]);
        assert_int_equal(attend_search_result_count(one, 0), attend_search_result_count(all, i));
        for (int j = 0; j < attend_search_result_count(one, 0); j++) {
            const attend_translation *a = attend_search_result_at(one, 0, j), *b = attend_search_result_at(all, i, j);
            assert_int_equal(a->count, b->count);
            assert_memory_equal(a->tokens, b->tokens, (size_t)a->count * sizeof *a->tokens);
            assert_true(a->log_probability == b->log_probability); /* bit-identical */
        }
        attend_search_result_free(one);
    }
    attend_search_result_free(all);
    attend_model_free(m);
}

static void limits_and_refusals(void **state)
{
    (void)state;
    attend_model *m = model_of("", 2), *bare = model_of("attention=none", 2);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.length_ratio = 0, o.length_extra = 0;
    attend_search_result *f = search(m, o, 1, sources, lengths);
    assert_int_equal(attend_search_result_at(f, 0, 0)->count, 0);
    assert_null(attend_search_result_at(f, 0, 1));
    assert_null(attend_search_result_at(f, 1, 0));
    attend_search_result_free(f);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    const attend_search_options usual = ATTEND_SEARCH_OPTIONS_INIT;
    attend_search_options wrong[16];
    for (int i = 0; i < 16; i++) wrong[i] = usual;
    wrong[0].beam = 0, wrong[1].n_best = 6, wrong[2].n_best = 0, wrong[3].length_penalty = -1;
    wrong[4].length_ratio = -1, wrong[5].length_extra = -1, wrong[6].length_penalty = NAN, wrong[7].max_length = -1;
    wrong[8].no_repeat_ngram = -1;
    for (int i = 9; i < 16; i++) wrong[i].sample = true;
    wrong[9].temperature = 0, wrong[10].temperature = NAN, wrong[11].top_k = -1, wrong[12].top_p = 0;
    wrong[13].top_p = 1.5, wrong[14].n_best = 1025, wrong[15].top_p = NAN;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(attend_search(&f, c, m, &wrong[i], 1, sources, lengths), ATTEND_BAD_USAGE);
        assert_null(f);
    }
    attend_search_options coverage = usual;
    coverage.coverage_penalty = 1;
    assert_int_equal(attend_search(&f, c, bare, &coverage, 1, sources, lengths), ATTEND_BAD_USAGE);
    const int bad[] = { ATTEND_BEGIN, ATTEND_END, -1, TINY_TARGET }, one = 1, minus = -1;
    for (int i = 0; i < 5; i++) { /* invalid tokens, and an invalid length */
        const attend_search_sources x = { .count = 1,
                                          .tokens = sources,
                                          .lengths = lengths,
                                          .prefix = &bad[i % 4],
                                          .prefix_lengths = i < 4 ? &one : &minus };
        assert_int_equal(attend_search_ensemble(&f, &c, (const attend_model *const[]){ m }, 1, &usual, &x),
                         ATTEND_BAD_USAGE);
    }
    const attend_search_sources x = { .count = 1, .tokens = sources, .lengths = lengths };
    assert_int_equal(attend_search_ensemble(&f, NULL, NULL, 0, &usual, &x), ATTEND_BAD_USAGE);
    attend_model *larger = model_of("target-vocab=9", 2);
    assert_int_equal(attend_search_ensemble(&f, (attend_ctx *[]){ c, c }, (const attend_model *const[]){ m, larger }, 2,
                                            &usual, &x),
                     ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "model 2 has 7 source and 9 target tokens"));
    attend_model_free(larger);
    /* finite weights whose products are not: in the first step, and at the length limit */
    attend_model *huge = model_of("", 2);
    for (int i = 0; i < attend_params_count(attend_model_params(huge)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(huge), i), 3, 3e38);
    for (o.length_extra = 0; o.length_extra < 2; o.length_extra++) {
        assert_int_equal(attend_search(&f, c, huge, &o, SOURCES, sources, lengths), ATTEND_FAILED);
        assert_null(f);
    }
    attend_model_free(huge);
    /* every allocation fails once */
    o.length_extra = 2, o.weights = true;
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        const int status = attend_search(&f, c, m, &o, SOURCES, sources, lengths);
        done = attend_memory_requests() < n;
        assert_int_equal(status, done ? ATTEND_OK : ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
    attend_search_result_free(f);
    attend_ctx_free(c);
    attend_model_free(m), attend_model_free(bare);
}

/* ---- ensembles, prefixes, repeated n-grams ---- */

static attend_search_result *together(const attend_model *const *models, int count, const attend_search_options *o,
                                      const attend_search_sources *x)
{
    attend_ctx *contexts[3];
    attend_search_result *f = NULL;
    for (int i = 0; i < count; i++) assert_ok(attend_ctx_new(&contexts[i]));
    assert_ok(attend_search_ensemble(&f, contexts, models, count, o, x));
    for (int i = 0; i < count; i++) attend_ctx_free(contexts[i]);
    return f;
}

static void assert_same(const attend_translation *a, const attend_translation *b, bool to_the_bit)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->tokens, b->tokens, (size_t)a->count * sizeof *a->tokens);
    if (to_the_bit) assert_true(a->log_probability == b->log_probability && a->score == b->score);
}

static const attend_search_sources all_sources = { .count = SOURCES, .tokens = sources, .lengths = lengths };

static void an_ensemble_of_one_model_twice_is_that_model(void **state)
{
    (void)state;
    attend_model *m = model_of("heads=2 attention-width=6 attention=projected", 4);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.n_best = 5, o.weights = true, o.coverage_penalty = 0.1;
    attend_search_result *one = together((const attend_model *const[]){ m }, 1, &o, &all_sources);
    attend_search_result *three = together((const attend_model *const[]){ m, m, m }, 3, &o, &all_sources);
    for (int i = 0; i < SOURCES; i++)
        for (int j = 0; j < 5; j++) {
            const attend_translation *a = attend_search_result_at(one, i, j), *b = attend_search_result_at(three, i, j);
            assert_same(a, b, false);
            assert_true(a->log_probability == b->log_probability);
            for (int k = 0; k < (a->count + 1) * lengths[i]; k++)
                assert_true(fabs((double)(a->weights[k] - b->weights[k])) < 1e-6);
        }
    attend_search_result_free(one), attend_search_result_free(three);
    attend_model_free(m);
}

/* log p of a given target by each model, row by row, averaged here. */
static void an_ensemble_averages_probabilities(void **state)
{
    (void)state;
    attend_model *a = model_of("", 5), *b = model_of("attention=none layers=2", 6);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.n_best = 3, o.weights = true;
    attend_search_result *f = together((const attend_model *const[]){ a, b }, 2, &o, &all_sources);
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    int moved = 0;
    for (int i = 0; i < SOURCES; i++)
        for (int j = 0; j < 3; j++) {
            const attend_translation *t = attend_search_result_at(f, i, j);
            attend_real rows[2][64], weights[64 * 8];
            const attend_pairs pair = pair_of(i, t);
            double p[2], sum = 0;
            assert_true(t->count < 64);
            assert_ok(attend_model_score(c, a, &pair, &p[0], rows[0], ATTEND_ATTENTION_CROSS, weights));
            assert_ok(attend_model_score(c, b, &pair, &p[1], rows[1], ATTEND_ATTENTION_CROSS, NULL));
            for (int k = 0; k <= t->count; k++) {
                const double mean = log((exp((double)rows[0][k]) + exp((double)rows[1][k])) / 2);
                assert_true(fabs(mean - (double)t->token_log_probability[k]) < 1e-5);
                sum += mean;
                for (int w = 0; w < lengths[i]; w++) /* only one model has attention: its weights */
                    assert_true(fabs((double)(t->weights[k * lengths[i] + w] - weights[k * lengths[i] + w])) < 1e-5);
            }
            assert_true(fabs(sum - t->log_probability) < 1e-4);
            moved += fabs(p[0] - p[1]) > 0.1;
        }
    assert_true(moved > 0); /* the models do differ */
    attend_search_result_free(f);
    /* greedy: the first token is the best of the mean */
    o.beam = o.n_best = 1;
    f = together((const attend_model *const[]){ a, b }, 2, &o, &all_sources);
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        const attend_model *models[] = { a, b };
        double mean[TINY_TARGET] = { 0 };
        int best = 0;
        for (int k = 0; k < 2; k++) {
            attend_decoding *d = NULL;
            const int one = 1, zero = 0, begin = ATTEND_BEGIN;
            assert_ok(attend_decoding_new(&d, c, models[k], 1, sources + first, &lengths[i]));
            assert_ok(attend_decoding_step(d, &one, &zero, &begin));
            for (int v = 0; v < TINY_TARGET; v++) mean[v] += exp((double)attend_decoding_log_probabilities(d)[v]) / 2;
            attend_decoding_free(d);
        }
        for (int v = 2; v < TINY_TARGET; v++)
            if (mean[v] > mean[best]) best = v;
        const attend_translation *t = attend_search_result_at(f, i, 0);
        assert_int_equal(t->count > 0 ? t->tokens[0] : ATTEND_END, best);
        assert_true(fabs(exp((double)t->token_log_probability[0]) - mean[best]) < 1e-5);
    }
    attend_search_result_free(f);
    attend_ctx_free(c);
    attend_model_free(a), attend_model_free(b);
}

/* A target begins with its prefix. If the prefix is part of the best target, and the beam is exhaustive, the rest
 * follows. */
static void prefixes_come_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        attend_model *m = model_of(seed % 2 ? "" : "layers=2", seed);
        const attend_model *const models[] = { m };
        for (int wide = 0; wide < 2; wide++) {
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.beam = wide ? 256 : 1, o.length_ratio = 0, o.length_extra = LIMIT;
            attend_search_result *own = together(models, 1, &o, &all_sources);
            for (int length = 0; length <= LIMIT; length++) {
                int prefix[SOURCES * LIMIT], counts[SOURCES], n = 0;
                for (int i = 0; i < SOURCES; i++) {
                    const attend_translation *t = attend_search_result_at(own, i, 0);
                    counts[i] = length < t->count ? length : t->count;
                    memcpy(prefix + n, t->tokens, (size_t)counts[i] * sizeof *prefix);
                    n += counts[i];
                }
                attend_search_sources x = all_sources;
                x.prefix = prefix, x.prefix_lengths = counts;
                attend_search_result *f = together(models, 1, &o, &x);
                for (int i = 0; i < SOURCES; i++)
                    assert_same(attend_search_result_at(own, i, 0), attend_search_result_at(f, i, 0), true);
                attend_search_result_free(f);
            }
            attend_search_result_free(own);
        }
        /* arbitrary prefixes, some longer than the limit; log p covers the whole target */
        const int prefix[] = { 5, 4, 3, 5, 3, 0 }, counts[SOURCES] = { 5, 0, 1 };
        attend_search_sources x = all_sources;
        x.prefix = prefix, x.prefix_lengths = counts;
        attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
        o.max_length = 2, o.n_best = 2;
        attend_search_result *f = together(models, 1, &o, &x);
        attend_ctx *c = NULL;
        assert_ok(attend_ctx_new(&c));
        for (int i = 0, n = 0; i < SOURCES; n += counts[i++])
            for (int j = 0; j < attend_search_result_count(f, i); j++) {
                const attend_translation *t = attend_search_result_at(f, i, j);
                double p;
                const attend_pairs pair = pair_of(i, t);
                assert_true(t->count >= counts[i] && t->count <= (counts[i] > 2 ? counts[i] : 2));
                assert_memory_equal(t->tokens, prefix + n, (size_t)counts[i] * sizeof *prefix);
                assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, NULL));
                assert_true(fabs(p - t->log_probability) < 1e-4);
            }
        attend_ctx_free(c);
        attend_search_result_free(f);
        attend_model_free(m);
    }
}

static bool repeats(const attend_translation *t, int n)
{
    for (int i = 0; i + n <= t->count; i++)
        for (int j = 0; j < i; j++)
            if (memcmp(t->tokens + i, t->tokens + j, (size_t)n * sizeof *t->tokens) == 0) return true;
    return false;
}

static void no_ngram_is_repeated(void **state)
{
    (void)state;
    int would = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        attend_model *m = model_of("", seed);
        for (int n = 1; n <= 4; n++)
            for (int mode = 0; mode < 3; mode++) { /* greedy, beam, sampling */
                attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
                o.beam = mode ? 6 : 1, o.n_best = mode ? 3 : 1, o.sample = mode == 2, o.length_extra = 30;
                attend_search_result *free_one = together((const attend_model *const[]){ m }, 1, &o, &all_sources);
                o.no_repeat_ngram = n;
                attend_search_result *f = together((const attend_model *const[]){ m }, 1, &o, &all_sources);
                for (int i = 0; i < SOURCES; i++)
                    for (int j = 0; j < attend_search_result_count(f, i); j++) {
                        assert_false(repeats(attend_search_result_at(f, i, j), n));
                        const attend_translation *t = attend_search_result_at(free_one, i, j);
                        if (mode == 0 && !repeats(t, n)) assert_same(t, attend_search_result_at(f, i, j), true);
                        would += t && repeats(t, n);
                    }
                attend_search_result_free(free_one), attend_search_result_free(f);
            }
        attend_model_free(m);
    }
    assert_true(would > 50); /* without the option they do repeat */
}

static void ignore_branches(void *user, int source, int step, const attend_search_branch *branches, int count)
{
    (void)user, (void)source, (void)step, (void)branches, (void)count;
}

static void memory_runs_out_in_every_mode(void **state)
{
    (void)state;
    attend_model *a = model_of("", 2), *b = model_of("attention=dot context=after readout=plain", 3);
    const attend_model *const models[] = { a, b };
    const int prefix[] = { 3, 4 }, counts[SOURCES] = { 1, 0, 1 };
    attend_search_sources x = all_sources;
    x.prefix = prefix, x.prefix_lengths = counts;
    x.branches = ignore_branches;
    for (int mode = 0; mode < 2; mode++) {
        attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
        o.n_best = 3, o.length_extra = 3, o.weights = true, o.no_repeat_ngram = 2, o.sample = mode, o.top_k = 4,
        o.top_p = 0.9;
        for (long n = 1, done = 0; !done; n++) {
            attend_ctx *c[2] = { NULL, NULL };
            attend_search_result *f = NULL;
            assert_ok(attend_ctx_new(&c[0]));
            assert_ok(attend_ctx_new(&c[1]));
            attend_memory_refuse(n);
            const int status = attend_search_ensemble(&f, c, models, 2, &o, &x);
            attend_memory_refuse(0);
            done = status == ATTEND_OK;
            if (!done) assert_true(status == ATTEND_NO_MEMORY && !f);
            attend_search_result_free(f);
            attend_ctx_free(c[0]), attend_ctx_free(c[1]);
        }
    }
    attend_model_free(a), attend_model_free(b);
}

/* A batch decodes as many hypotheses as its sources one by one, in as many steps as the longest: finished sources are
 * not decoded further. */
static void finished_sources_leave_the_batch(void **state)
{
    (void)state;
    int different = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        attend_model *m = model_of("", seed);
        for (int mode = 0; mode < 3; mode++) {
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.beam = mode == 0 ? 1 : 5, o.sample = mode == 2, o.n_best = mode == 2 ? 4 : 1;
            const uint64_t streams[SOURCES] = { 0, 1, 2 };
            long alone = 0, longest = 0;
            for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
                const attend_search_sources x = {
                    .count = 1, .tokens = sources + first, .lengths = &lengths[i], .streams = &streams[i]
                };
                sources_now = 1, decoded = steps = 0;
                attend_search_result_free(together((const attend_model *const[]){ m }, 1, &o, &x));
                alone += decoded;
                different += i > 0 && steps != longest;
                if (steps > longest) longest = steps;
            }
            sources_now = SOURCES, decoded = steps = 0;
            attend_search_result_free(together((const attend_model *const[]){ m }, 1, &o, &all_sources));
            assert_int_equal(decoded, alone);
            assert_int_equal(steps, longest);
        }
        attend_model_free(m);
    }
    sources_now = 0;
    assert_true(different > 10);
}

#define TRANSFORMER "architecture=transformer hidden=8 embedding=0 heads=2 layers=2 "

/* Weights are those of the selected alignment map. */
static void weights_are_those_of_the_alignment_map(void **state)
{
    (void)state;
    attend_model *m = model_of(TRANSFORMER, 3);
    attend_ctx *c = NULL;
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.weights = true, o.length_extra = 2, o.length_ratio = 0;
    assert_ok(attend_ctx_new(&c));
    for (int layer = -1; layer < 2; layer++)
        for (int head = -1; head < 2; head++) {
            const attend_alignment a = { .layer = layer, .head = head };
            assert_ok(attend_model_set_alignment(m, a));
            attend_search_result *f = search(m, o, 1, sources, lengths);
            const attend_translation *t = attend_search_result_at(f, 0, 0);
            const attend_pairs pair = pair_of(0, t);
            attend_real maps[64];
            double p;
            const int area = (t->count + 1) * lengths[0];
            assert_true(4 * area <= 64);
            assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, maps));
            for (int k = 0; k < area; k++) {
                double mean = 0;
                for (int map = 0; map < 4; map++)
                    if ((layer < 0 || map / 2 == layer) && (head < 0 || map % 2 == head))
                        mean += (double)maps[map * area + k] / attend_alignment_map_count(a, attend_model_config(m));
                assert_true(fabs(mean - (double)t->weights[k]) < 1e-5);
            }
            attend_search_result_free(f);
        }
    attend_ctx_free(c);
    attend_model_free(m);
}

/* The sum over source tokens of the log of what they receive, at most 1, when token n is aligned by row n + 1. maps: of
 * attend_model_score. */
static double shifted_coverage(const attend_model *m, const attend_real *maps, int rows, int keys)
{
    const attend_config *config = attend_model_config(m);
    const attend_alignment a = attend_model_alignment(m);
    const int layers = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
    double sum = 0;
    for (int k = 0; k < keys; k++) {
        double received = 0;
        for (int map = 0; map < layers * heads; map++)
            for (int n = 0; attend_alignment_includes(a, config, map / heads, map % heads) && n < rows; n++)
                received += (double)maps[(map * rows + (n + 1 < rows ? n + 1 : n)) * keys + k] /
                            attend_alignment_map_count(a, config);
        sum += log(fmin(received, 1));
    }
    return sum;
}

/* The coverage penalty uses the weights of the alignment, also of the alignment head and of shifted maps. */
static void the_coverage_penalty_reads_shifted_rows(void **state)
{
    (void)state;
    static const char *const models[] = { "heads=2 attention-width=6 attention=projected", TRANSFORMER,
                                          "alignment-head=yes", TRANSFORMER "alignment-head=yes" };
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int k = 0; k < 4; k++) {
        attend_model *m = model_of(models[k], 5);
        if (k < 2) assert_ok(attend_model_set_alignment(m, (attend_alignment){ .head = -1, .shifted = true }));
        attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
        o.beam = o.n_best = 8, o.coverage_penalty = 0.2; /* which computes weights without o.weights */
        attend_search_result *f = search(m, o, SOURCES, sources, lengths);
        for (int i = 0; i < SOURCES; i++)
            for (int j = 0; j < attend_search_result_count(f, i); j++) {
                const attend_translation *t = attend_search_result_at(f, i, j);
                attend_real maps[4096];
                double p;
                const attend_pairs pair = pair_of(i, t);
                assert_true(attend_pairs_weight_count(&pair, attend_model_config(m), ATTEND_ATTENTION_CROSS) <= 4096);
                assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, maps));
                const double expected =
                    p / penalty(1, t->count + 1) + 0.2 * shifted_coverage(m, maps, t->count + 1, lengths[i]);
                if (!(fabs(t->score - expected) < 1e-4))
                    fail_msg("%s: source %d, result %d has the score %g, expected %g", models[k], i, j, t->score,
                             expected);
            }
        attend_search_result_free(f);
        attend_model_free(m);
    }
    attend_ctx_free(c);
}

/* A source without tokens, alone and beside others, with everything that reads weights. */
static void empty_sources_are_searched(void **state)
{
    (void)state;
    static const char *const models[] = {
        "attention=additive",           "attention=dot bidirectional=no",
        "attention=location-sensitive", "attention=none",
        "architecture=lstmn",           "architecture=transformer heads=2 embedding=4"
    };
    static const int sets[][3] = { { 0, 0, 0 }, { 0, 3, 2 }, { 3, 0, 2 } };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        attend_model *m = model_of(models[i], 5);
        for (int k = 0; k < 3 * 4; k++) {
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.weights = true, o.n_best = 2, o.sample = k / 3 == 3;
            if (k / 3 == 1) o.beam = 2;
            if (k / 3 == 2 && strcmp(models[i], "attention=none") != 0) o.coverage_penalty = 0.5;
            attend_search_result *r = search(m, o, 3, sources, sets[k % 3]);
            for (int s = 0; s < 3; s++) {
                assert_true(attend_search_result_count(r, s) >= 1);
                assert_true(isfinite(attend_search_result_at(r, s, 0)->score));
            }
            attend_search_result_free(r);
        }
        attend_model_free(m);
    }
}

static void targets_are_limited_by_positions(void **state)
{
    (void)state;
    attend_model *m = model_of(TRANSFORMER "positions=learned max-positions=6", 3);
    attend_param *b = attend_params_find(attend_model_params(m), "output.b");
    attend_param_edit(b)[ATTEND_END] = -30;
    attend_param_changed(b);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.length_ratio = 10;
    attend_search_result *f = search(m, o, SOURCES, sources, lengths);
    for (int i = 0; i < SOURCES; i++) {
        const attend_translation *t = attend_search_result_at(f, i, 0);
        assert_true(t->count == 5 && !t->ended); /* plus the beginning */
    }
    attend_search_result_free(f);
    attend_model_free(m);
}

/* What a search reports, kept for each source. */
enum { MAX_REPORTED = 4000 };
typedef struct reported {
    attend_search_branch branches[MAX_REPORTED];
    int steps[MAX_REPORTED], count, kept;
} reported;

static void keep_report(void *user, int source, int step, const attend_search_branch *branches, int count)
{
    reported *r = (reported *)user + source;
    assert_true(count > 0 && r->count + count <= MAX_REPORTED);
    for (int i = 0; i < count; i++, r->count++) {
        r->branches[r->count] = branches[i], r->steps[r->count] = step;
        r->kept += branches[i].number >= 0;
    }
}

static const attend_search_branch *numbered(const reported *r, int number)
{
    for (int i = 0; number >= 0 && i < r->count; i++)
        if (r->branches[i].number == number) return &r->branches[i];
    return NULL;
}

/* Whether the tree has a translation: from one of the ends, upwards. Samples may be equal. */
static bool has_translation(const reported *r, const attend_translation *t)
{
    for (int i = 0; i < r->count; i++) {
        const attend_search_branch *b = &r->branches[i];
        if (!b->ended || b->number < 0 || b->token != ATTEND_END || b->total != t->log_probability) continue;
        int n = t->count;
        for (b = numbered(r, b->parent); b && n > 0 && b->token == t->tokens[n - 1]; n--) b = numbered(r, b->parent);
        if (n == 0 && !b) return true;
    }
    return false;
}

/* By members: the bytes between them are not set. */
static void assert_same_branch(const attend_search_branch *a, const attend_search_branch *b)
{
    assert_true(a->parent == b->parent && a->number == b->number && a->token == b->token && a->ended == b->ended);
    assert_true(a->log_probability == b->log_probability && a->total == b->total && a->score == b->score);
}

/* The branches are those of the search: sums add up, what is kept is better than what is pruned, the results are in the
 * tree. They do not depend on the batch, and reporting changes no result. */
static void branches_are_those_of_the_search(void **state)
{
    (void)state;
    static reported all[SOURCES], alone;
    attend_model *m = model_of("", 6);
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.n_best = 3;
    const int prefix[] = { 3, 4 }, prefix_counts[SOURCES] = { 1, 0, 1 };
    for (int mode = 0; mode < 4; mode++) { /* beam, with prefixes, sampling, greedy */
        o.sample = mode == 2, o.beam = mode == 3 ? 1 : 5, o.n_best = mode == 3 ? 1 : 3;
        attend_search_sources x = all_sources;
        if (mode == 1) x.prefix = prefix, x.prefix_lengths = prefix_counts;
        attend_search_result *plain = together((const attend_model *const[]){ m }, 1, &o, &x);
        memset(all, 0, sizeof all);
        x.branches = keep_report, x.user = all;
        attend_search_result *f = together((const attend_model *const[]){ m }, 1, &o, &x);
        for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
            const reported *r = &all[i];
            for (int j = 0; j < r->count; j++) {
                const attend_search_branch *b = &r->branches[j];
                const double before = b->parent >= 0 ? numbered(r, b->parent)->total : 0;
                assert_true(fabs(before + b->log_probability - b->total) < 1e-9);
                assert_true(b->score == b->total / penalty(o.length_penalty, r->steps[j]));
            }
            for (int number = 0; number < r->kept; number++) assert_non_null(numbered(r, number));
            for (int j = 0; j < attend_search_result_count(f, i); j++) {
                const attend_translation *t = attend_search_result_at(f, i, j);
                assert_same(t, attend_search_result_at(plain, i, j), true);
                assert_true(has_translation(r, t));
            }
            if (mode != 0) continue;
            memset(&alone, 0, sizeof alone);
            attend_search_sources one = { .count = 1, .tokens = sources + first, .lengths = &lengths[i] };
            one.branches = keep_report, one.user = &alone;
            attend_search_result_free(together((const attend_model *const[]){ m }, 1, &o, &one));
            assert_int_equal(alone.count, r->count);
            for (int j = 0; j < r->count; j++) assert_same_branch(&alone.branches[j], &r->branches[j]);
            assert_true(r->kept < r->count);   /* some are pruned */
            for (int j = 0; j < r->count; j++) /* of one step: kept before pruned, up to the beam */
                for (int k = 0; k < r->count; k++)
                    if (r->steps[j] == r->steps[k] && r->steps[j] == 1 && r->branches[j].number >= 0 &&
                        r->branches[k].number < 0)
                        assert_true(r->branches[j].total >= r->branches[k].total);
        }
        attend_search_result_free(plain), attend_search_result_free(f);
    }
    o = (attend_search_options)ATTEND_SEARCH_OPTIONS_INIT;
    o.beam = ATTEND_MAX_BRANCH_BEAM + 1;
    attend_search_sources x = all_sources;
    x.branches = keep_report, x.user = all;
    attend_ctx *c = NULL;
    attend_search_result *f = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_int_equal(attend_search_ensemble(&f, &c, (const attend_model *const[]){ m }, 1, &o, &x), ATTEND_BAD_USAGE);
    attend_ctx_free(c);
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_wide_beam_finds_the_best),
                                        cmocka_unit_test(a_beam_of_one_is_greedy),
                                        cmocka_unit_test(n_best_lists_are_sorted_distinct_and_correct),
                                        cmocka_unit_test(results_do_not_depend_on_the_batch),
                                        cmocka_unit_test(limits_and_refusals),
                                        cmocka_unit_test(an_ensemble_of_one_model_twice_is_that_model),
                                        cmocka_unit_test(an_ensemble_averages_probabilities),
                                        cmocka_unit_test(prefixes_come_first),
                                        cmocka_unit_test(no_ngram_is_repeated),
                                        cmocka_unit_test(memory_runs_out_in_every_mode),
                                        cmocka_unit_test(finished_sources_leave_the_batch),
                                        cmocka_unit_test(weights_are_those_of_the_alignment_map),
                                        cmocka_unit_test(the_coverage_penalty_reads_shifted_rows),
                                        cmocka_unit_test(targets_are_limited_by_positions),
                                        cmocka_unit_test(empty_sources_are_searched),
                                        cmocka_unit_test(branches_are_those_of_the_search) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
