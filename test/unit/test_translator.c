/* A translator returns one line per line, in order, and its results do not depend on threads or batches; likewise a
 * scorer. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/model_with_tokenizer.h"
#include <math.h>

static const char *const lines[] = { "a b c", "",        "d", "\xff",    "a a a a a a a a",
                                     " ",     "c d a b", "b", "zebra b", "a b c" };
enum { LINES = sizeof lines / sizeof *lines };

typedef struct giver {
    int next;
} giver;

static int next_line(void *user, const char **line, size_t *size)
{
    static const char *const words[] = { "a b c d", "b c", "a" };
    giver *g = user;
    if (g->next == 3) return 0;
    *line = words[g->next++];
    *size = strlen(*line);
    return 1;
}

/* A model with random weights over the words a, b, c and d. */
static attend_model *model_of(attend_token_kind kind)
{
    giver g = { 0 };
    return model_with_tokenizer(kind, "hidden=8 heads=2 attention-width=6", next_line, &g);
}

static attend_translator *translate(const attend_model *m, int threads, int batch_tokens, int count,
                                    const char *const *what)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    size_t sizes[LINES];
    for (int i = 0; i < count; i++) sizes[i] = strlen(what[i]);
    o.threads = threads, o.batch_tokens = batch_tokens, o.search.n_best = 2, o.search.weights = true;
    assert_ok(attend_translator_new(&t, m, &o));
    assert_ok(attend_translator_run(t, count, what, sizes));
    return t;
}

static void results_do_not_depend_on_threads_or_batches(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_model *m = model_of((attend_token_kind)kind);
        attend_translator *one = translate(m, 1, 1000, LINES, lines);
        for (int variant = 0; variant < 3; variant++) {
            attend_translator *other = translate(m, 1 + variant, variant == 0 ? 1 : 7, LINES, lines);
            for (int i = 0; i < LINES; i++) {
                const attend_line_result *a = attend_translator_result(one, i), *b = attend_translator_result(other, i);
                assert_int_equal(a->count, b->count);
                for (int j = 0; j < a->count; j++) assert_string_equal(a->hypotheses[j].text, b->hypotheses[j].text);
            }
            attend_translator_free(other);
        }
        for (int i = 0; i < LINES; i++) {
            const attend_line_result *r = attend_translator_result(one, i);
            const bool nothing = i == 1 || i == 3 || i == 5;
            assert_true(r->count == (nothing ? 1 : 2) && r->hypotheses[0].text);
            assert_true((r->fault != NULL) == (i == 3));
            if (nothing) assert_string_equal(r->hypotheses[0].text, "");
            assert_null(strchr(r->hypotheses[0].text, '\n'));
            if (!nothing) assert_non_null(r->hypotheses[0].weights);
        }
        assert_string_equal(attend_translator_result(one, 0)->hypotheses[0].text,
                            attend_translator_result(one, 9)->hypotheses[0].text);
        assert_null(attend_translator_result(one, LINES));
        attend_translator_free(one);
        attend_model_free(m);
    }
}

static void invalid_use_is_reported(void **state)
{
    (void)state;
    attend_config config;
    attend_model *bare = NULL, *m = model_of(ATTEND_TOKENS_WORD);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    attend_scorer *s = NULL;
    assert_ok(tiny_config(&config, ""));
    assert_ok(attend_model_new(&bare, &config, 1));
    assert_int_equal(attend_translator_new(&t, bare, &o), ATTEND_BAD_MODEL);
    assert_int_equal(attend_scorer_new(&s, bare, 1, true), ATTEND_BAD_MODEL);
    assert_int_equal(attend_scorer_new(&s, m, 0, true), ATTEND_BAD_USAGE);
    o.threads = 0;
    assert_int_equal(attend_translator_new(&t, m, &o), ATTEND_BAD_USAGE);
    o.threads = 1, o.max_tokens = 3;
    assert_ok(attend_translator_new(&t, m, &o));
    const size_t sizes[2] = { 15, 5 };
    assert_ok(attend_translator_run(t, 2, (const char *const[]){ lines[4], lines[0] }, sizes));
    assert_string_equal(attend_translator_result(t, 0)->fault,
                        "it is too long: it has more tokens than the maximum input length");
    assert_null(attend_translator_result(t, 1)->fault);
    attend_translator_free(t);
    attend_model_free(bare), attend_model_free(m);
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_BPE);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    size_t sizes[LINES];
    for (int i = 0; i < LINES; i++) sizes[i] = strlen(lines[i]);
    for (long n = 1, done = 0; !done; n += 1 + n / 8) { /* all of the first allocations, then a sample of the others */
        attend_translator *t = NULL;
        attend_memory_refuse(n);
        int status = attend_translator_new(&t, m, &o);
        if (status == ATTEND_OK) status = attend_translator_run(t, LINES, lines, sizes);
        done = status == ATTEND_OK;
        if (!done) assert_int_equal(status, ATTEND_NO_MEMORY);
        attend_memory_refuse(0);
        attend_translator_free(t);
    }
    for (long n = 1, done = 0; !done; n += 1 + n / 8) {
        attend_scorer *s = NULL;
        attend_memory_refuse(n);
        int status = attend_scorer_new(&s, m, 1, true);
        if (status == ATTEND_OK) status = attend_scorer_run(s, LINES, lines, lines);
        done = status == ATTEND_OK;
        if (!done) assert_int_equal(status, ATTEND_NO_MEMORY);
        attend_memory_refuse(0);
        attend_scorer_free(s);
    }
    attend_model_free(m);
}

static void scores_do_not_depend_on_threads_or_batches(void **state)
{
    (void)state;
    const char *targets[LINES];
    for (int i = 0; i < LINES; i++) targets[i] = lines[LINES - 1 - i];
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_model *m = model_of((attend_token_kind)kind);
        attend_scorer *one = NULL, *two = NULL, *alone = NULL;
        assert_ok(attend_scorer_new(&one, m, 1, true));
        assert_ok(attend_scorer_new(&two, m, 3, true));
        assert_ok(attend_scorer_new(&alone, m, 1, true));
        assert_ok(attend_scorer_run(one, LINES, lines, targets));
        assert_ok(attend_scorer_run(two, LINES, lines, targets));
        for (int i = 0; i < LINES; i++) {
            const attend_scored_pair *a = attend_scorer_result(one, i), *b = attend_scorer_result(two, i);
            assert_true((a->fault == NULL) == (b->fault == NULL));
            if (a->fault) continue;
            assert_true(a->log_probability == b->log_probability); /* bit-identical */
            double sum = 0;
            for (int j = 0; j < a->rows; j++) {
                double weight = 0;
                for (int k = 0; k < a->source_count; k++) weight += (double)a->weights[j * a->source_count + k];
                assert_true(fabs(weight - 1) < 1e-5);
                sum += (double)a->row_log_probability[j];
            }
            assert_true(fabs(sum - a->log_probability) < 1e-4);
            assert_ok(attend_scorer_run(alone, 1, &lines[i], &targets[i]));
            assert_true(fabs(attend_scorer_result(alone, 0)->log_probability - a->log_probability) < 1e-4);
            attend_word_link links[16];
            const int n = attend_scorer_links(a, links, 16);
            int words = 0;
            for (const char *c = targets[i]; *c; c++) words += *c != ' ' && (c == targets[i] || c[-1] == ' ');
            assert_int_equal(n, strcmp(lines[i], " ") == 0 ? 0 : words); /* a blank line has no words */
            for (int j = 0; j < n; j++) assert_true(links[j].target == j && links[j].source >= 0);
        }
        attend_scorer_free(one), attend_scorer_free(two), attend_scorer_free(alone);
        attend_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(results_do_not_depend_on_threads_or_batches),
                                        cmocka_unit_test(invalid_use_is_reported),
                                        cmocka_unit_test(memory_that_runs_out),
                                        cmocka_unit_test(scores_do_not_depend_on_threads_or_batches) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
