/* evaluation_print.c: scores as text and as JSON. */
#include "evaluation.h"
#include "json_members.h"

#include <limits.h>

static void signature_of(const evaluation *e, int metric, char *text, size_t size)
{
    attend_metric_signature(&e->options[metric], test_set_reference_count(&e->test_set), text, size);
}

/* ---- text ---- */

/* The name of a metric in the output: that of --metric or, where lines are words, what it is called there. */
static const char *name_of(const evaluation *e, int metric, char text[40])
{
    if (!e->by_word) return attend_metric_name((attend_metric_kind)metric);
    evaluation_metric_title(e, metric, text, 40);
    return text;
}

static void print_score(const evaluation *e, const attend_interval *i)
{
    const int digits = e->by_word ? 1 : 2;
    char text[EVALUATION_SCORE];
    attend_print(stdout, e->by_word ? " %7s" : " %6s", evaluation_score_text(e, text, i->score));
    if (e->samples > 0) attend_print(stdout, "  (%.*f to %.*f)", digits, i->low, digits, i->high);
    attend_print(stdout, "  ");
}

/* Columns: the number of lines, then the scores of the metrics [first, last) that are shown, for each system. */
static void print_table(const evaluation *e, int first, int last)
{
    attend_print(stdout, "  %-18s %6s", "", "lines");
    for (int i = first; i < last; i++)
        for (int k = 0, m = evaluation_metric_at(e, i); e->selected[m] && k < e->system_count; k++) {
            char title[40];
            attend_print(stdout, "%16.15s", e->system_count > 1 ? e->names[k] : name_of(e, m, title));
        }
    attend_print(stdout, "\n");
    for (int b = 0; b < e->bucket_count; b++) {
        char name[40];
        evaluation_bucket_name(&e->buckets[b], name, sizeof name);
        attend_print(stdout, "  %-18s %6d", name, e->buckets[b].lines);
        for (int i = first; i < last; i++)
            for (int k = 0, m = evaluation_metric_at(e, i); e->selected[m] && k < e->system_count; k++) {
                char text[EVALUATION_SCORE];
                const double score = e->buckets[b].scores[k][m].score;
                attend_print(stdout, "%16s", e->buckets[b].lines ? evaluation_score_text(e, text, score) : "-");
            }
        attend_print(stdout, "\n");
    }
}

void evaluation_print(const evaluation *e)
{
    if (e->system_count > 1)
        attend_print(stdout, "%-15s %s against %s, %d lines\n", "", e->names[0], e->names[1], e->whole.lines);
    for (int i = 0; i < METRICS; i++) {
        const int m = evaluation_metric_at(e, i);
        char signature[160], title[40];
        if (!e->selected[m]) continue;
        attend_print(stdout, "%-15s", name_of(e, m, title));
        for (int k = 0; k < e->system_count; k++) print_score(e, &e->whole.scores[k][m]);
        if (e->system_count > 1 && e->samples > 0) attend_print(stdout, " p %.4f  ", e->whole.scores[0][m].p);
        signature_of(e, m, signature, sizeof signature);
        attend_print(stdout, " %s\n", signature);
    }
    if (e->bucket_count == 0) return;
    if (e->system_count == 1) {
        attend_print(stdout, "\nby %s:\n", evaluation_length_name(e));
        print_table(e, 0, METRICS);
    }
    for (int i = 0; e->system_count > 1 && i < METRICS; i++) {
        const int m = evaluation_metric_at(e, i);
        char title[40];
        if (!e->selected[m]) continue;
        attend_print(stdout, "\n%s by %s:\n", name_of(e, m, title), evaluation_length_name(e));
        print_table(e, i, i + 1);
    }
}

/* ---- JSON ---- */

static void json_score(attend_json_writer *w, const evaluation *e, const attend_interval *i)
{
    json_number(w, "score", 4, i->score);
    if (e->samples == 0) return;
    json_number(w, "low", 4, i->low);
    json_number(w, "high", 4, i->high);
}

/* One member for each selected metric: "bleu": {...}. */
static void json_scores(attend_json_writer *w, const evaluation *e, const bucket *b, bool signatures)
{
    for (int m = 0; m < METRICS; m++) {
        if (!e->selected[m]) continue;
        json_begin_object(w, attend_metric_name((attend_metric_kind)m));
        json_score(w, e, &b->scores[0][m]);
        if (e->system_count > 1) {
            json_begin_object(w, "against");
            json_score(w, e, &b->scores[1][m]);
            attend_json_end_object(w);
            if (e->samples > 0) json_number(w, "p", 6, b->scores[0][m].p);
        }
        if (signatures) {
            char signature[160];
            signature_of(e, m, signature, sizeof signature);
            json_text(w, "signature", signature);
        }
        attend_json_end_object(w);
    }
}

static void json_bucket(attend_json_writer *w, const evaluation *e, const bucket *b)
{
    attend_json_begin_object(w);
    json_integer(w, "from", b->from);
    attend_json_put_key(w, "to");
    if (b->to < INT_MAX)
        attend_json_put_integer(w, b->to);
    else
        attend_json_put_null(w);
    json_integer(w, "lines", b->lines);
    if (b->lines > 0) json_scores(w, e, b, false);
    attend_json_end_object(w);
}

void evaluation_print_json(const evaluation *e)
{
    attend_json_writer w = attend_json_to_file(stdout);
    attend_json_begin_object(&w);
    json_integer(&w, "lines", e->whole.lines);
    json_text(&w, "system", e->names[0]);
    if (e->system_count > 1) json_text(&w, "against", e->names[1]);
    if (e->samples > 0) json_integer(&w, "samples", e->samples);
    json_scores(&w, e, &e->whole, true);
    if (e->bucket_count > 0) {
        json_text(&w, "length", evaluation_length_name(e));
        json_begin_array(&w, "by_length");
        for (int i = 0; i < e->bucket_count; i++) json_bucket(&w, e, &e->buckets[i]);
        attend_json_end_array(&w);
    }
    json_end_line(&w);
}
