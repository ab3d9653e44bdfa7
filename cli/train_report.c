#include "train_report.h"

#include "content_hash.h"
#include "evaluation.h"
#include "interrupt.h"
#include "job.h"
#include "search_options.h"
#include "translate_lines.h"

#include <attend/terminal.h>
#include <attend/status.h>
#include <attend/string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEGMENTS = 1000, WORST = 3 };

/* ---- scores ---- */

/* Whether every rank reads the same model as rank 0: machines need no common directory for training, but for this report. The
 * same on all ranks. */
static int find_readers(const char *model, bool *all)
{
    const int ranks = attend_ranks_count(job_ranks());
    int status = attend_ranks_wait(job_ranks()); /* until rank 0 has written the model */
    *all = true;
    if (ranks == 1 || status != ATTEND_OK) return status;
    content_hash hash = { "" };
    if (content_hash_file(&hash, model) != ATTEND_OK) hash.text[0] = '\0'; /* not found on this machine */
    attend_string own = { 0 }, verdict = { 0 }, *parts = calloc((size_t)ranks, sizeof *parts);
    status = parts ? attend_string_add(&own, hash.text, strlen(hash.text))
                   : attend_fail(ATTEND_NO_MEMORY, "out of memory for %d ranks", ranks);
    if (status == ATTEND_OK) status = attend_ranks_collect(job_ranks(), &own, parts);
    for (int i = 0; status == ATTEND_OK && job_speaks() && i < ranks; i++)
        if (parts[i].size == 0 || strcmp(parts[i].text, hash.text) != 0) *all = false;
    for (int i = 0; status == ATTEND_OK && job_speaks() && i < ranks; i++) {
        attend_string_free(&parts[i]);
        status = attend_string_add(&parts[i], *all ? "y" : "n", 1);
    }
    if (status == ATTEND_OK) status = attend_ranks_hand_out(job_ranks(), parts, &verdict);
    if (status == ATTEND_OK) *all = verdict.size == 1 && verdict.text[0] == 'y';
    for (int i = 0; parts && i < ranks; i++) attend_string_free(&parts[i]);
    free(parts);
    attend_string_free(&own);
    attend_string_free(&verdict);
    return status;
}

/* Translates the first sources of the validation pairs as `attend translate` does. */
static int translate(evaluation *e, const train_settings *s, const char *model, bool *stopped)
{
    search_settings search = search_settings_defaults();
    search.threads = s->threads;
    const attend_translator_options o = search_settings_options(&search);
    text_lines sources = e->test_set.sources;
    if (sources.count > MAX_SEGMENTS) sources.count = e->test_set.count = MAX_SEGMENTS;
    attend_model *m = NULL;
    attend_tokenizer *t = NULL;
    translate_cost cost = { 0 };
    int status = attend_model_load(&m, model, NULL);
    if (status == ATTEND_OK) status = attend_tokenizer_from_model(&t, m, "target");
    for (int i = 0; status == ATTEND_OK && i < METRICS; i++) e->options[i].lowercase = attend_tokenizer_is_lowercase(t);
    if (status == ATTEND_OK)
        status = translate_lines(NULL, model, m, &o, &sources, interrupt_stop, &e->systems[0], &cost);
    *stopped = cost.stopped;
    attend_tokenizer_free(t);
    attend_model_free(m);
    return status;
}

static void print_scores(const evaluation *e, int all)
{
    const char *separator = "";
    attend_print(stderr, "best model  ");
    for (int i = 0; i < METRICS; i++) {
        const int m = evaluation_metric_at(e, i);
        char title[40], score[EVALUATION_SCORE];
        if (!e->selected[m]) continue;
        evaluation_metric_title(e, m, title, sizeof title);
        attend_print(stderr, "%s%s %s", separator, title, evaluation_score_text(e, score, e->whole.scores[0][m].score));
        separator = ", ";
    }
    attend_print(stderr, " on ");
    if (e->test_set.count < all) attend_print(stderr, "the first %d of ", e->test_set.count);
    attend_print(stderr, "%d validation %s, by beam search\n", all, e->is_word_level ? "words" : "sentences");
}

/* ---- the worst examples ---- */

/* How wrong a translation is, from 0 on. */
static int error_of(const evaluation *e, int i, double *error)
{
    const test_set *g = &e->test_set;
    const attend_metric_options *o = &e->options[!e->is_word_level ? ATTEND_CHRF
                                                 : e->has_phonemes ? ATTEND_WER
                                                                   : ATTEND_CER];
    attend_metric_sums sums = { { 0 } };
    const int status =
        attend_metric_add(o, &sums, e->systems[0].items[i], g->references + g->begin[i], g->begin[i + 1] - g->begin[i]);
    *error = attend_metric_score(o, &sums);
    if (attend_metric_higher_is_better(o->kind)) *error = 100 - *error;
    return status;
}

/* The lines with the largest errors, worst first. */
static int find_worst(const evaluation *e, int worst[WORST], int *count)
{
    double errors[WORST], error;
    int status = ATTEND_OK;
    *count = 0;
    for (int i = 0; status == ATTEND_OK && i < e->test_set.count; i++) {
        status = error_of(e, i, &error);
        if (status != ATTEND_OK || !(error > 1e-9) || (*count == WORST && error <= errors[WORST - 1])) continue;
        int at = *count < WORST ? (*count)++ : WORST - 1;
        for (; at > 0 && errors[at - 1] < error; at--) errors[at] = errors[at - 1], worst[at] = worst[at - 1];
        errors[at] = error, worst[at] = i;
    }
    return status;
}

/* A line with its title; the worst ones are often very long. */
static void print_line(const char *title, const char *text)
{
    enum { MAX_COLUMNS = 400 };
    int columns;
    const size_t size = attend_columns_cut(text, MAX_COLUMNS, &columns);
    attend_print(stderr, "%s%.*s%s\n", title, (int)size, text, text[size] ? " ..." : "");
}

static void print_worst(const evaluation *e, const int *worst, int count)
{
    for (int k = 0; k < count; k++) {
        print_line(k ? "            " : "worst       ", e->test_set.sources.items[worst[k]]);
        print_line("  expected  ", e->test_set.references[e->test_set.begin[worst[k]]]);
        print_line("  got       ", e->systems[0].items[worst[k]]);
    }
}

/* ---- what to do next ---- */

static void print_command(const char *title, const char *verb_name, const char *model, const texts_list *plugins,
                          const char *argument)
{
    attend_print(stderr, "%s", title);
    cli_print_word(stderr, cli_program);
    attend_print(stderr, " %s --model ", verb_name);
    cli_print_word(stderr, model);
    for (int i = 0; i < plugins->count; i++) {
        attend_print(stderr, " --score-plugin ");
        cli_print_word(stderr, plugins->items[i]);
    }
    attend_print(stderr, " ");
    cli_print_word(stderr, argument);
    attend_print(stderr, "\n");
}

/* example: a source, or a beginning of a line. */
static void print_next(const char *model, const texts_list *plugins, const char *example, bool has_attention)
{
    print_command("next        ", "translate", model, plugins, example);
    if (has_attention) print_command("            ", "show", model, plugins, example);
}

static bool attends(const attend_config *c)
{
    return attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) > 0;
}

static int report_pairs(const train_settings *s, const char *model, const texts_list *plugins, evaluation *e)
{
    int worst[WORST], count = 0;
    bool stopped = false, all_can_read;
    const int found = find_readers(model, &all_can_read);
    if (found != ATTEND_OK) return found;
    if (!all_can_read) {
        attend_print(stderr,
                     "no scores: not every rank finds this model at %s; attend evaluate on one machine prints them\n",
                     model);
        return ATTEND_OK;
    }
    if (!job_speaks()) return translate(e, s, model, &stopped);
    int status = test_set_read_pairs(&e->test_set, &s->valid);
    const int all = e->test_set.count;
    if (status != ATTEND_OK) return status;
    evaluation_fit_metrics(e, false);
    for (int i = 0; !e->is_word_level && i < METRICS; i++) e->selected[i] = i == ATTEND_BLEU || i == ATTEND_CHRF;
    e->system_count = 1, e->samples = 0;
    status = translate(e, s, model, &stopped);
    if (status != ATTEND_OK || stopped) return status;
    status = evaluation_run(e);
    if (status == ATTEND_OK) status = find_worst(e, worst, &count);
    if (status != ATTEND_OK) return status;
    print_scores(e, all);
    print_worst(e, worst, count);
    print_next(model, plugins, e->test_set.sources.items[count ? worst[0] : 0], attends(&s->config));
    return ATTEND_OK;
}

int train_report(const verb *v, const train_settings *s, const char *model, const texts_list *plugins,
                 const attend_progress *last)
{
    static evaluation e;
    const bool is_language_model = s->config.task == ATTEND_TASK_LANGUAGE_MODEL;
    if (s->valid.count == 0 || is_language_model) {
        char text[SCORE_TEXT];
        if (last->update > 0 && !isnan(last->best))
            attend_print(stderr, "best model  %s %s on the validation lines\n", valid_metric_style(s->metric).name,
                         score_text(text, valid_metric_style(s->metric), last->best));
        print_next(model, plugins,
                   is_language_model  ? "the beginning of a line"
                   : s->is_word_level ? "WORD"
                                      : "A SENTENCE",
                   !is_language_model && attends(&s->config));
        return 0;
    }
    const int wrong = evaluation_set_metrics(&e, v, NULL, ATTEND_BLEU_13A, false);
    const int status = wrong ? ATTEND_OK : report_pairs(s, model, plugins, &e);
    evaluation_free(&e);
    return wrong ? wrong : status == ATTEND_OK ? 0 : cli_fail(v, status);
}
