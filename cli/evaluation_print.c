/* evaluation_print.c: scores for a person and for a program. */
#include "evaluation.h"
#include "json_text.h"

#include <limits.h>
#include <string.h>

static void signature_of(const evaluation *e, int metric, char *text, size_t size)
{
    attend_metric_signature(&e->options[metric], segments_reference_count(&e->segments), text, size);
}

/* ---- for a person ---- */

static void print_score(const evaluation *e, const attend_interval *i)
{
    printf(" %6.2f", i->score);
    if (e->samples > 0) printf("  (%.2f to %.2f)", i->low, i->high);
    printf("  ");
}

/* Columns: lines, and the scores of [first, last) of the metrics, system by system. */
static void print_table(const evaluation *e, int first, int last)
{
    printf("  %-18s %6s", "", "lines");
    for (int m = first; m < last; m++)
        for (int k = 0; e->wanted[m] && k < e->system_count; k++)
            printf("%16.15s", e->system_count > 1 ? e->names[k] : attend_metric_name((attend_metric_kind)m));
    printf("\n");
    for (int b = 0; b < e->bucket_count; b++) {
        char name[40];
        evaluation_bucket_name(&e->buckets[b], name, sizeof name);
        printf("  %-18s %6d", name, e->buckets[b].lines);
        for (int m = first; m < last; m++)
            for (int k = 0; e->wanted[m] && k < e->system_count; k++)
                if (e->buckets[b].lines)
                    printf("%16.2f", e->buckets[b].scores[k][m].score);
                else
                    printf("%16s", "-");
        printf("\n");
    }
}

void evaluation_print(const evaluation *e)
{
    if (e->system_count > 1) printf("%-15s %s against %s, %d lines\n", "", e->names[0], e->names[1], e->whole.lines);
    for (int m = 0; m < METRICS; m++) {
        char signature[160];
        if (!e->wanted[m]) continue;
        printf("%-15s", attend_metric_name((attend_metric_kind)m));
        for (int k = 0; k < e->system_count; k++) print_score(e, &e->whole.scores[k][m]);
        if (e->system_count > 1 && e->samples > 0) printf(" p %.4f  ", e->whole.scores[0][m].p);
        signature_of(e, m, signature, sizeof signature);
        printf(" %s\n", signature);
    }
    if (e->bucket_count == 0) return;
    if (e->system_count == 1) {
        printf("\nby %s:\n", evaluation_length_name(e));
        print_table(e, 0, METRICS);
    }
    for (int m = 0; e->system_count > 1 && m < METRICS; m++)
        if (e->wanted[m]) {
            printf("\n%s by %s:\n", attend_metric_name((attend_metric_kind)m), evaluation_length_name(e));
            print_table(e, m, m + 1);
        }
}

/* ---- for a program ---- */

static void json_score(const evaluation *e, const attend_interval *i)
{
    printf("\"score\": %.4f", i->score);
    if (e->samples > 0) printf(", \"low\": %.4f, \"high\": %.4f", i->low, i->high);
}

/* ", "bleu": {..}" for each wanted score of a bucket. */
static void json_scores(const evaluation *e, const bucket *b, bool signatures)
{
    for (int m = 0; m < METRICS; m++) {
        if (!e->wanted[m]) continue;
        printf(", \"%s\": {", attend_metric_name((attend_metric_kind)m));
        json_score(e, &b->scores[0][m]);
        if (e->system_count > 1) {
            printf(", \"against\": {");
            json_score(e, &b->scores[1][m]);
            printf("}");
            if (e->samples > 0) printf(", \"p\": %.6f", b->scores[0][m].p);
        }
        if (signatures) {
            char signature[160];
            signature_of(e, m, signature, sizeof signature);
            printf(", \"signature\": \"%s\"", signature);
        }
        printf("}");
    }
}

void evaluation_print_json(const evaluation *e)
{
    printf("{\"lines\": %d, \"system\": ", e->whole.lines);
    json_text(stdout, e->names[0], strlen(e->names[0]));
    if (e->system_count > 1) {
        printf(", \"against\": ");
        json_text(stdout, e->names[1], strlen(e->names[1]));
    }
    if (e->samples > 0) printf(", \"samples\": %d", e->samples);
    json_scores(e, &e->whole, true);
    if (e->bucket_count > 0) {
        printf(", \"length\": \"%s\", \"by_length\": [", evaluation_length_name(e));
        for (int i = 0; i < e->bucket_count; i++) {
            const bucket *b = &e->buckets[i];
            char to[16] = "null";
            if (b->to < INT_MAX) snprintf(to, sizeof to, "%d", b->to);
            printf("%s{\"from\": %d, \"to\": %s, \"lines\": %d", i ? ", " : "", b->from, to, b->lines);
            if (b->lines > 0) json_scores(e, b, false);
            printf("}");
        }
        printf("]");
    }
    printf("}\n");
}
