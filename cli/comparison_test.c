/* comparison_test.c: tests a trained variant: translates the test sources, computes the probability of the test
 * targets and the alignment error, and scores all variants. */
#include "comparison.h"
#include "array.h"
#include "interrupt.h"
#include "memory_option.h"
#include "score_pairs.h"
#include "translate_lines.h"

#include <attend/status.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const pairs_list *test_pairs(const comparison *c)
{
    return c->s->test.count ? &c->s->test : &c->s->t.valid;
}

/* ---- probabilities and links ---- */

enum { STOPPED = -1 }; /* status of a visitor: interrupted by a signal */

static int add_probability(void *user, const attend_scored_pair *r, unsigned long long index)
{
    variant_result *result = user;
    (void)index;
    if (interrupt_stop(NULL)) return STOPPED;
    if (!r->fault) result->log_probability += r->log_probability, result->rows += r->rows;
    if (r->is_non_finite) result->log_probability = NAN; /* the variant has no perplexity */
    return ATTEND_OK;
}

typedef struct link_errors {
    const gold_links *gold;
    attend_aer_sums sums;
    attend_word_link *links; /* scratch */
    int capacity;
} link_errors;

static int add_links(void *user, const attend_scored_pair *r, unsigned long long index)
{
    link_errors *e = user;
    const attend_word_link *gold;
    int sources, targets;
    if (interrupt_stop(NULL)) return STOPPED;
    attend_scorer_word_counts(r, &sources, &targets);
    if (!array_reserve(&e->links, &e->capacity, (size_t)targets, sizeof *e->links))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for the links of %d words", targets);
    const int predicted = attend_scorer_links(r, e->links, targets), count = gold_links_of(e->gold, index, &gold);
    return attend_aer_add(&e->sums, e->links, predicted, gold, count);
}

static int score_targets(const comparison *c, variant *x, const attend_model *m, bool *stopped)
{
    const long long memory = c->s->t.memory ? c->s->t.memory : MEMORY_DEFAULT;
    const score_options of_targets = { .threads = c->s->t.threads, .memory = memory };
    const score_options of_links = { .threads = c->s->t.threads, .memory = memory, .weights = true };
    const bool attends = attend_config_attention_layers(attend_model_config(m), ATTEND_ATTENTION_CROSS) > 0;
    link_errors errors = { .gold = &c->gold };
    x->r.log_probability = x->r.rows = 0;
    int status = score_pairs(m, test_pairs(c), &of_targets, add_probability, &x->r);
    if (status == ATTEND_OK && c->s->gold && attends)
        status =
            score_pairs(m, c->s->gold_pairs.count ? &c->s->gold_pairs : test_pairs(c), &of_links, add_links, &errors);
    x->r.both_sure = errors.sums.matched_sure, x->r.both_possible = errors.sums.matched_possible;
    x->r.found = errors.sums.predicted, x->r.sure = errors.sums.sure;
    free(errors.links);
    *stopped = status == STOPPED;
    return *stopped ? ATTEND_OK : status;
}

/* ---- translations ---- */

static int write_translations(const comparison *c, const variant *x)
{
    char *path = comparison_path(c, x, "translations");
    const int status = path ? text_lines_write(&x->translations, path) : ATTEND_NO_MEMORY;
    free(path);
    return status;
}

static int translate(const comparison *c, variant *x, const char *path, const attend_model *m, bool *stopped)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.beam = (int)c->s->beam, o.search.length_penalty = c->s->length_penalty;
    o.threads = (int)c->s->t.threads;
    o.memory = memory_limit(c->s->t.memory ? c->s->t.memory : MEMORY_DEFAULT);
    translate_cost cost;
    text_lines_free(&x->translations);
    const int status = translate_lines(c->s->t.quiet ? NULL : c->v, path, m, &o, &c->e.test_set.sources, interrupt_stop,
                                       &x->translations, &cost);
    x->r.translating = cost.seconds, x->r.translated = (double)cost.tokens;
    *stopped = cost.stopped;
    return status;
}

int comparison_test(const comparison *c, variant *x, bool *stopped)
{
    attend_model *m = NULL;
    char *path = comparison_path(c, x, "model");
    int status = path ? attend_model_load(&m, path, NULL) : ATTEND_NO_MEMORY;
    *stopped = false;
    if (status == ATTEND_OK) x->r.parameters = (double)attend_params_size(attend_model_params(m));
    if (status == ATTEND_OK) status = translate(c, x, path, m, stopped);
    if (status == ATTEND_OK && !*stopped) status = score_targets(c, x, m, stopped);
    if (status == ATTEND_OK && !*stopped) status = write_translations(c, x);
    if (status == ATTEND_OK && !*stopped) status = comparison_save(c, x);
    attend_model_free(m);
    free(path);
    return status;
}

/* ---- scores ---- */

static int score(comparison *c, int i)
{
    evaluation *e = &c->e;
    variant *x = &c->variants[i];
    e->system_count = i == c->base ? 1 : 2;
    e->systems[0] = x->translations, e->systems[1] = c->variants[c->base].translations;
    const int status = evaluation_run(e);
    memcpy(x->scores, e->whole.scores[0], sizeof x->scores);
    e->systems[0] = e->systems[1] = (text_lines){ 0 }; /* borrowed */
    return status;
}

int comparison_score(comparison *c)
{
    int status = ATTEND_OK;
    c->base = -1;
    for (int i = 0; status == ATTEND_OK && i < c->count; i++) {
        if (c->variants[i].state != VARIANT_DONE) continue;
        if (c->base < 0) c->base = i;
        status = score(c, i);
    }
    return status;
}

/* ---- ratios ---- */

double comparison_perplexity(const variant *x)
{
    return exp(-x->r.log_probability / x->r.rows);
}

double comparison_aer(const variant *x)
{
    const attend_aer_sums sums = { x->r.both_sure, x->r.both_possible, x->r.found, x->r.sure };
    return x->r.found + x->r.sure > 0 ? attend_aer(&sums) : NAN;
}

double comparison_train_speed(const variant *x)
{
    return x->r.words / fmax(x->r.seconds - x->r.validating, 1e-9);
}

double comparison_translate_speed(const variant *x)
{
    return x->r.translated / fmax(x->r.translating, 1e-9);
}
