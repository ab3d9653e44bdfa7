/* Samples follow the model's distribution and do not depend on the batch. */
#include "unit/unit.h"

#include "support/tiny_pairs.h"
#include <math.h>

enum { SOURCES = 3, MANY = 1000, STREAMS = 20 };
static const int sources[] = { 3, 4, 2, 5, 2, 6, 3, 3, 2 }, lengths[SOURCES] = { 3, 2, 4 };

static attend_model *model_of(const char *words, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, words));
    assert_ok(attend_model_new(&m, &config, 7));
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), seed, 1.0);
    return m;
}

static attend_search_result *sample(const attend_model *m, const attend_search_options *o,
                                    const attend_search_sources *x)
{
    attend_ctx *c = NULL;
    attend_search_result *f = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_search_ensemble(&f, &c, &m, 1, o, x));
    attend_ctx_free(c);
    return f;
}

static void assert_same(const attend_translation *a, const attend_translation *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->tokens, b->tokens, (size_t)a->count * sizeof *a->tokens);
    assert_true(a->log_probability == b->log_probability); /* bit-identical */
}

/* The probability of each token after the given ones: temperature, then top k, then top p, computed directly. */
static void expected(const attend_model *m, const attend_search_options *o, const int *history, int count,
                     double p[TINY_TARGET])
{
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    const int one = 1, zero = 0;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_decoding_new(&d, c, m, 1, sources, lengths));
    for (int i = 0, word = ATTEND_BEGIN; i <= count; word = i < count ? history[i] : 0, i++)
        assert_ok(attend_decoding_step(d, &one, &zero, &word));
    double sum = 0;
    for (int v = 0; v < TINY_TARGET; v++)
        sum += p[v] = v == ATTEND_BEGIN ? 0 : exp((double)attend_decoding_log_probabilities(d)[v] / o->temperature);
    for (int v = 0; v < TINY_TARGET; v++) p[v] /= sum;
    for (int cut = 0; cut < 2; cut++) {
        bool kept[TINY_TARGET] = { false };
        double mass = 0, rest = 0;
        for (int n = 0; n < TINY_TARGET; n++) {
            int best = -1;
            for (int v = 0; v < TINY_TARGET; v++)
                if (!kept[v] && (best < 0 || p[v] > p[best])) best = v;
            if (cut == 0 ? o->top_k > 0 && n >= o->top_k : mass >= o->top_p) break;
            kept[best] = true, mass += p[best];
        }
        for (int v = 0; v < TINY_TARGET; v++) rest += p[v] = kept[v] ? p[v] : 0;
        for (int v = 0; v < TINY_TARGET; v++) p[v] /= rest;
    }
    attend_decoding_free(d);
    attend_ctx_free(c);
}

static void assert_drawn(const int *seen, const double *p, const char *what)
{
    int total = 0, kinds = 0;
    double distance = 0;
    for (int v = 0; v < TINY_TARGET; v++) total += seen[v];
    for (int v = 0; v < TINY_TARGET; v++) {
        if (p[v] < 1e-12 && seen[v] > 0)
            fail_msg("%s: word %d was drawn %d times, and never should be", what, v, seen[v]);
        if (p[v] < 1e-12) continue;
        kinds++, distance += (seen[v] - total * p[v]) * (seen[v] - total * p[v]) / (total * p[v]);
    }
    /* at most 4 degrees of freedom: chi-squared exceeds 23.5 with probability 1/10000. The seed is fixed, so the
     * result is reproducible */
    if (total < 500 || distance > 23.5)
        fail_msg("%s: %d draws of %d words are off by %.1f", what, total, kinds, distance);
}

static void token_frequencies_match_the_distribution(void **state)
{
    (void)state;
    const struct {
        double temperature, top_p;
        int top_k;
        const char *name;
    } kinds[] = { { 1, 1, 0, "plain" },     { 0.5, 1, 0, "temperature 0.5" }, { 3, 1, 0, "temperature 3" },
                  { 1, 1, 3, "top-k 3" },   { 1, 0.7, 0, "top-p 0.7" },       { 1.5, 0.9, 4, "all three" },
                  { 1, 0.5, 2, "few left" } };
    int words[SOURCES * STREAMS], one_length[STREAMS];
    uint64_t streams[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        memcpy(words + lengths[0] * i, sources, (size_t)lengths[0] * sizeof *words);
        one_length[i] = lengths[0], streams[i] = 1000 + (uint64_t)i * 17;
    }
    const attend_search_sources x = { .count = STREAMS, .tokens = words, .lengths = one_length, .streams = streams };
    attend_model *m = model_of("", 3);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
        o.sample = true, o.n_best = MANY, o.seed = 5, o.temperature = kinds[k].temperature, o.top_k = kinds[k].top_k;
        o.top_p = kinds[k].top_p, o.length_extra = 3, o.length_ratio = 0;
        attend_search_result *f = sample(m, &o, &x);
        int first[TINY_TARGET] = { 0 }, second[TINY_TARGET] = { 0 }, often = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < STREAMS; i++)
                for (int j = 0; j < MANY; j++) {
                    const attend_translation *t = attend_search_result_at(f, i, j);
                    if (pass == 0) first[t->count > 0 ? t->tokens[0] : ATTEND_END]++;
                    if (pass == 0)
                        for (int v = 0; v < TINY_TARGET; v++)
                            if (v != ATTEND_END && first[v] > first[often]) often = v;
                    if (pass == 1 && t->count > 0 && t->tokens[0] == often)
                        second[t->count > 1 ? t->tokens[1] : ATTEND_END]++;
                }
        double p[TINY_TARGET];
        expected(m, &o, NULL, 0, p);
        assert_drawn(first, p, kinds[k].name);
        expected(m, &o, &often, 1, p);
        assert_drawn(second, p, kinds[k].name);
        attend_search_result_free(f);
    }
    attend_model_free(m);
}

static void low_temperature_or_top_k_1_is_greedy(void **state)
{
    (void)state;
    const attend_search_sources x = { .count = SOURCES, .tokens = sources, .lengths = lengths };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        attend_model *m = model_of(seed % 2 ? "" : "attention=none", seed);
        attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
        o.beam = 1;
        attend_search_result *greedy = sample(m, &o, &x);
        for (int kind = 0; kind < 3; kind++) {
            attend_search_options drawn = ATTEND_SEARCH_OPTIONS_INIT;
            drawn.sample = true, drawn.seed = seed, drawn.n_best = 3;
            if (kind == 0) drawn.top_k = 1;
            if (kind == 1) drawn.temperature = 1e-6;
            if (kind == 2) drawn.top_p = 1e-6;
            attend_search_result *f = sample(m, &drawn, &x);
            for (int i = 0; i < SOURCES; i++)
                for (int j = 0; j < 3; j++)
                    assert_same(attend_search_result_at(greedy, i, 0), attend_search_result_at(f, i, j));
            attend_search_result_free(f);
        }
        attend_search_result_free(greedy);
        attend_model_free(m);
    }
}

/* Samples depend on the source and its stream, not on the batch or the number of samples. */
static void the_same_seed_gives_the_same_tokens(void **state)
{
    (void)state;
    attend_model *m = model_of("layers=2", 4);
    const uint64_t streams[SOURCES] = { 7, 8, 7 };
    attend_search_sources x = { .count = SOURCES, .tokens = sources, .lengths = lengths, .streams = streams };
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    o.sample = true, o.seed = 11, o.n_best = 50, o.top_p = 0.95;
    attend_search_result *all = sample(m, &o, &x), *again = sample(m, &o, &x);
    o.seed = 12;
    attend_search_result *other = sample(m, &o, &x);
    o.seed = 11, o.n_best = 7;
    int differ = 0, within = 0;
    for (int i = 0, first = 0; i < SOURCES; first += lengths[i++]) {
        const attend_search_sources alone = {
            .count = 1, .tokens = sources + first, .lengths = &lengths[i], .streams = &streams[i]
        };
        attend_search_result *one = sample(m, &o, &alone);
        for (int j = 0; j < 50; j++) {
            const attend_translation *t = attend_search_result_at(all, i, j), *u = attend_search_result_at(other, i, j);
            assert_same(t, attend_search_result_at(again, i, j));
            if (j < 7) assert_same(t, attend_search_result_at(one, 0, j));
            differ += t->log_probability != u->log_probability;
            within += t->log_probability != attend_search_result_at(all, i, 0)->log_probability;
        }
        attend_search_result_free(one);
    }
    assert_true(differ > 100 && within > 100);
    /* after a prefix samples differ again */
    const int prefix[] = { 3, 4, 5 }, counts[SOURCES] = { 1, 2, 0 };
    x.prefix = prefix, x.prefix_lengths = counts;
    o.n_best = 50;
    attend_search_result *led = sample(m, &o, &x);
    for (int i = 0; i < 2; i++) {
        int kinds = 0;
        for (int j = 0; j < 50; j++) {
            const attend_translation *t = attend_search_result_at(led, i, j);
            assert_true(t->count >= counts[i] &&
                        memcmp(t->tokens, prefix + i, (size_t)counts[i] * sizeof *prefix) == 0);
            kinds += t->log_probability != attend_search_result_at(led, i, 0)->log_probability;
        }
        assert_true(kinds > 10);
    }
    attend_search_result_free(all), attend_search_result_free(again), attend_search_result_free(other),
        attend_search_result_free(led);
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(token_frequencies_match_the_distribution),
                                        cmocka_unit_test(low_temperature_or_top_k_1_is_greedy),
                                        cmocka_unit_test(the_same_seed_gives_the_same_tokens) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
