/* Memory limits of scorers and translators: results are handed over in parts and are the same; what would exceed the
 * limit alone is left out, on any number of threads; estimates are not below what is taken. */
#include "unit/unit.h"

#include "core/memory.h"
#include "decode/search.h"
#include "model/model.h"
#include "support/model_with_tokenizer.h"
#include <attend/map_selection.h>
#include <attend/scorer.h>
#include <attend/translator.h>
#include <math.h>

enum { LINES = 40, LONG = 400, SIZE = 2 * LONG, MEGABYTE = 1 << 20 };

/* Lines of 1 to 7 words, and of LONG words at LONG_LINES. */
static char texts[LINES][SIZE];
static const char *lines[LINES];
static size_t sizes[LINES];
static const int long_lines[] = { 5, 6, 20, 39 };

static bool is_long(int i)
{
    for (size_t k = 0; k < sizeof long_lines / sizeof *long_lines; k++)
        if (i == long_lines[k]) return true;
    return false;
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < LINES; i++) {
        const int words = is_long(i) ? LONG : 1 + i % 7;
        char *to = texts[i];
        for (int j = 0; j < words; j++) *to++ = (char)('a' + (i + j * j) % 5), *to++ = ' ';
        to[-1] = '\0';
        lines[i] = texts[i], sizes[i] = strlen(texts[i]);
    }
    return 0;
}

static int next_line(void *user, const char **line, size_t *size)
{
    int *next = user;
    *line = "a b c d e", *size = 9;
    return (*next)++ < 1;
}

static attend_model *model(const char *words)
{
    int next = 0;
    return model_with_tokenizer(ATTEND_TOKENS_WORD, words, next_line, &next);
}

/* ---- estimates ---- */

static size_t scoring_takes(const attend_model *m, int source, int target, bool weights)
{
    attend_ctx *c = NULL;
    int *tokens = calloc((size_t)(source + target), sizeof *tokens);
    double log_probability;
    assert_non_null(tokens);
    for (int i = 0; i < source + target; i++) tokens[i] = ATTEND_FIRST_TOKEN + i % 4;
    if (source) tokens[source - 1] = ATTEND_END;
    const attend_pairs pair = {
        .count = 1, .source = tokens, .source_lengths = &source, .target = tokens + source, .target_lengths = &target
    };
    const size_t count = attend_pairs_weight_count(&pair, attend_model_config(m), ATTEND_ATTENTION_CROSS);
    attend_real *numbers = weights ? calloc(count + 1, sizeof *numbers) : NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_model_score(c, m, &pair, &log_probability, NULL, ATTEND_ATTENTION_CROSS, numbers));
    const size_t bytes = attend_ctx_bytes(c) + (numbers ? count * sizeof *numbers : 0);
    attend_ctx_free(c);
    free(numbers), free(tokens);
    return bytes;
}

static size_t searching_takes(const attend_model *m, int source, int target)
{
    attend_ctx *c = NULL;
    attend_search_result *r = NULL;
    attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
    int *tokens = calloc((size_t)source, sizeof *tokens);
    assert_non_null(tokens);
    for (int i = 0; i < source; i++) tokens[i] = ATTEND_FIRST_TOKEN + i % 4;
    o.max_length = target, o.beam = 2;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_search(&r, c, m, &o, 1, tokens, &source));
    const size_t bytes = attend_ctx_bytes(c);
    attend_search_result_free(r);
    attend_ctx_free(c);
    free(tokens);
    return bytes;
}

/* A context takes memory in chunks of a megabyte: for structs, for numbers and for the states of a decoding. */
enum { CHUNKS = 3 * MEGABYTE };

static void estimates_are_not_too_low(void **state)
{
    (void)state;
    static const char *const models[] = {
        "hidden=32",
        "hidden=32 cell=lstm layers=2",
        "hidden=32 heads=4 attention=projected attention-width=32",
        "hidden=32 attention=none readout=plain",
        "hidden=32 architecture=transformer embedding=0 heads=4 layers=3",
        "hidden=32 architecture=lstmn layers=2",
        "hidden=32 architecture=lstmn fusion=deep",
        "hidden=32 architecture=transformer embedding=0 heads=2 task=language-model",
        "hidden=32 task=language-model",
    };
    static const int lengths[][2] = { { 300, 300 }, { 1500, 5 }, { 5, 1500 } };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        attend_config config;
        attend_model *m = NULL;
        assert_ok(tiny_config(&config, models[i]));
        config.source_vocab = config.target_vocab = 500, config.max_positions = 2000;
        assert_ok(attend_model_new(&m, &config, 1));
        const bool is_language_model = config.task == ATTEND_TASK_LANGUAGE_MODEL;
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            const int source = is_language_model ? 0 : lengths[k][0], target = lengths[k][1];
            for (int weights = 0; weights < 2; weights++) {
                const double taken = (double)scoring_takes(m, source, target, weights),
                             estimated = attend_model_score_bytes(m, source, target, weights);
                if (taken > estimated + CHUNKS || estimated > 30 * taken + CHUNKS)
                    fail_msg("%s, %d x %d tokens, weights %d: %.1f MB taken, %.1f estimated", models[i], source, target,
                             weights, taken / MEGABYTE, estimated / MEGABYTE);
            }
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.max_length = 20, o.beam = 2;
            if (is_language_model) continue;
            const attend_model *one = m;
            const double taken = (double)searching_takes(m, source, 20),
                         estimated = attend_search_estimate(&o, &one, 1, source, 0).work;
            if (taken > estimated + CHUNKS)
                fail_msg("%s, %d tokens: a search takes %.1f MB, %.1f estimated", models[i], source, taken / MEGABYTE,
                         estimated / MEGABYTE);
        }
        attend_model_free(m);
    }
}

/* ---- scorers ---- */

/* Scores all lines with themselves as targets, in parts if `some`; returns the number of parts. */
static int score_all(attend_scorer *s, bool some, double *log_probability, attend_word_link *first_links)
{
    int parts = 0;
    for (int first = 0, done = LINES; first < LINES; first += done, parts++) {
        if (some)
            assert_ok(attend_scorer_run_some(s, LINES - first, lines + first, lines + first, &done));
        else
            assert_ok(attend_scorer_run(s, LINES, lines, lines));
        assert_true(done >= 1 && done <= LINES - first);
        assert_null(attend_scorer_result(s, done));
        for (int i = 0; i < done; i++) {
            const attend_scored_pair *r = attend_scorer_result(s, i);
            log_probability[first + i] = r->fault ? NAN : r->log_probability;
            first_links[first + i] = (attend_word_link){ .source = -1 };
            if (!r->fault) attend_scorer_links(r, &first_links[first + i], 1);
            if (r->fault) assert_non_null(strstr(r->fault, "more memory than the limit"));
        }
    }
    return parts;
}

/* Not the bytes of the structs, which have padding. */
static void assert_same_links(const attend_word_link *a, const attend_word_link *b)
{
    for (int i = 0; i < LINES; i++) assert_true(a[i].source == b[i].source && a[i].target == b[i].target);
}

static attend_scorer *scorer_of(const attend_model *m, int threads, size_t memory)
{
    attend_scorer *s = NULL;
    assert_ok(attend_scorer_new(&s, m, threads, true));
    assert_ok(attend_scorer_set_memory(s, memory));
    return s;
}

static void scores_in_parts(void **state)
{
    (void)state;
    attend_model *m = model("hidden=16 architecture=transformer embedding=0 heads=4 layers=2");
    double all[LINES], some[LINES];
    attend_word_link links[2][LINES];
    attend_scorer *s = scorer_of(m, 2, 0);
    assert_int_equal(score_all(s, false, all, links[0]), 1);
    assert_int_equal(score_all(s, true, some, links[1]), 1); /* 64 MiB are enough */
    assert_memory_equal(all, some, sizeof all);
    assert_same_links(links[0], links[1]);
    attend_scorer_free(s);
    for (int threads = 1; threads <= 3; threads++) { /* long pairs one at a time */
        s = scorer_of(m, threads, 60 * MEGABYTE);
        assert_true(score_all(s, true, some, links[1]) >= 4);
        assert_memory_equal(all, some, sizeof all);
        assert_same_links(links[0], links[1]);
        attend_scorer_free(s);
        s = scorer_of(m, threads, 27 * MEGABYTE); /* no long pairs */
        for (int part = 0; part < 2; part++) {
            score_all(s, part, some, links[1]);
            for (int i = 0; i < LINES; i++)
                if (is_long(i) ? !isnan(some[i]) : some[i] != all[i])
                    fail_msg("line %d on %d threads: %g instead of %g", i, threads, some[i], all[i]);
        }
        attend_scorer_free(s);
    }
    s = scorer_of(m, 1, 0);
    assert_int_equal(attend_scorer_set_memory(s, 20 * MEGABYTE), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "this model takes at least 25M, and the memory limit is 20M"));
    attend_scorer_free(s);
    attend_model_free(m);
}

/* 60 maps of 400 x 400 tokens and 8 heads take 307 MB: a part has less than 32 MiB. */
static void parts_are_small(void **state)
{
    (void)state;
    enum { PAIRS = 60 };
    attend_model *m = model("hidden=16 architecture=transformer embedding=0 heads=4 layers=2");
    attend_scorer *s = scorer_of(m, 1, 0);
    const char *same[PAIRS];
    int done;
    for (int i = 0; i < PAIRS; i++) same[i] = lines[long_lines[0]];
    attend_scorer_keep_maps(s);
    assert_ok(attend_scorer_run_some(s, PAIRS, same, same, &done));
    assert_in_range(done, 2, 6);
    attend_scorer_free(s);
    attend_model_free(m);
}

/* ---- map selections ---- */

static void selections(void **state)
{
    (void)state;
    attend_model *m = model("hidden=16 architecture=transformer embedding=0 heads=4 layers=2");
    double errors[2][64];
    int count = 0, best[2];
    for (int limited = 0; limited < 2; limited++) {
        attend_map_selection *s = NULL;
        const attend_map_score *scores;
        assert_ok(attend_map_selection_new(&s, m, 2));
        assert_ok(attend_map_selection_set_memory(s, limited ? 120 * MEGABYTE : 0));
        assert_ok(attend_map_selection_add(s, LINES, lines, lines, NULL));
        assert_ok(attend_map_selection_end(s, &scores, &count, &best[limited]));
        assert_true(count <= 64);
        for (int i = 0; i < count; i++) errors[limited][i] = scores[i].error;
        attend_map_selection_free(s);
    }
    assert_int_equal(best[0], best[1]);
    assert_memory_equal(errors[0], errors[1], (size_t)count * sizeof errors[0][0]);
    attend_map_selection *s = NULL;
    assert_ok(attend_map_selection_new(&s, m, 1));
    assert_int_equal(attend_map_selection_set_memory(s, 1), ATTEND_BAD_USAGE);
    attend_map_selection_free(s);
    attend_model_free(m);
}

/* ---- translators ---- */

typedef struct translated {
    char text[LINES][64]; /* the beginning */
    bool fault[LINES];
} translated;

static int translate_all(attend_translator *t, bool some, translated *out)
{
    int parts = 0;
    memset(out, 0, sizeof *out);
    for (int first = 0, done = LINES; first < LINES; first += done, parts++) {
        if (some)
            assert_ok(attend_translator_run_some(t, LINES - first, lines + first, sizes + first, NULL, NULL, &done));
        else
            assert_ok(attend_translator_run(t, LINES, lines, sizes));
        assert_true(done >= 1 && done <= LINES - first);
        assert_null(attend_translator_result(t, done));
        for (int i = 0; i < done; i++) {
            const attend_line_result *r = attend_translator_result(t, i);
            out->fault[first + i] = r->fault;
            snprintf(out->text[first + i], sizeof out->text[0], "%.60s", r->hypotheses[0].text);
            if (r->fault) assert_non_null(strstr(r->fault, "more memory than the limit"));
        }
    }
    return parts;
}

static attend_translator *translator_of(const attend_model *m, int threads, size_t memory, bool sample)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    o.search.weights = true, o.search.sample = sample, o.search.beam = 3, o.search.seed = 5;
    o.search.length_ratio = 1, o.search.length_extra = 2;
    o.threads = threads, o.memory = memory;
    assert_ok(attend_translator_new(&t, m, &o));
    return t;
}

static void translations_in_parts(void **state)
{
    (void)state;
    attend_model *m = model("hidden=16 embedding=8");
    for (int sample = 0; sample < 2; sample++) {
        translated all, some;
        attend_translator *t = translator_of(m, 2, 0, sample);
        assert_int_equal(translate_all(t, false, &all), 1);
        attend_translator_free(t);
        for (int threads = 1; threads <= 3; threads++) {
            t = translator_of(m, threads, 26 * MEGABYTE, sample); /* a long line takes 4 MB or more */
            const int parts = translate_all(t, true, &some);
            if (threads > 1) assert_true(parts >= 4);
            assert_memory_equal(&all, &some, sizeof all);
            attend_translator_free(t);
        }
    }
    translated limited[3];
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.weights = true, o.search.beam = o.search.n_best = 20, o.memory = 40 * MEGABYTE;
    for (int threads = 1; threads <= 3; threads++) {
        attend_translator *t = NULL;
        o.threads = threads;
        assert_ok(attend_translator_new(&t, m, &o));
        translate_all(t, true, &limited[threads - 1]);
        for (int i = 0; i < LINES; i++) assert_true(limited[threads - 1].fault[i] == is_long(i));
        assert_memory_equal(&limited[0], &limited[threads - 1], sizeof limited[0]);
        attend_translator_free(t);
    }
    attend_translator *t = NULL;
    o.memory = MEGABYTE;
    assert_int_equal(attend_translator_new(&t, m, &o), ATTEND_BAD_USAGE);
    assert_null(t);
    attend_model_free(m);
}

/* Every allocation of runs in parts fails in turn. */
static void no_memory(void **state)
{
    (void)state;
    attend_model *m = model("hidden=8 embedding=4");
    attend_scorer *s = scorer_of(m, 1, 40 * MEGABYTE);
    attend_translator *t = translator_of(m, 1, 40 * MEGABYTE, false);
    int done, status = ATTEND_OK;
    long requests = 0;
    for (long n = -1; n <= requests; n++) {
        if (n == 0) continue;
        attend_memory_refuse(n);
        status = attend_scorer_run_some(s, 5, lines, lines, &done);
        if (status == ATTEND_OK) status = attend_translator_run_some(t, 5, lines, sizes, NULL, NULL, &done);
        if (n < 0) requests = attend_memory_requests();
        if (n < 0) assert_int_equal(status, ATTEND_OK);
        if (n > 0)
            assert_true(status == ATTEND_NO_MEMORY || status == ATTEND_OK); /* fewer are made after the first run */
    }
    attend_memory_refuse(0);
    assert_ok(attend_scorer_run_some(s, 5, lines, lines, &done));
    assert_int_equal(done, 5);
    attend_scorer_free(s);
    attend_translator_free(t);
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(estimates_are_not_too_low), cmocka_unit_test(scores_in_parts),
                                        cmocka_unit_test(parts_are_small),           cmocka_unit_test(selections),
                                        cmocka_unit_test(translations_in_parts),     cmocka_unit_test(no_memory) };
    return cmocka_run_group_tests(tests, setup, NULL);
}
