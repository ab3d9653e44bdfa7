/* kinds.h: what a metric is: how to count a sentence, and what the counts are worth. One file a family; metric.c has
 * the list.
 *
 * Ownership  The lines belong to the call; a metric may change them in place.
 * Threads    No state. */
#ifndef ATTEND_METRIC_KINDS_H
#define ATTEND_METRIC_KINDS_H

#include "metric/text.h"

#include <attend/metric.h>

typedef struct attend_metric_lines {
    attend_metric_text hypothesis;
    attend_metric_text *references; /* (count), at least one */
    int count;
} attend_metric_lines;

typedef struct attend_metric_functions {
    const char *name;
    const char *title; /* in signatures */
    bool rises;
    int numbers; /* of the sums, how many it uses */
    /* Into n (numbers), all zero before. */
    int (*add)(const attend_metric_options *o, attend_metric_lines *lines, double *n);
    double (*score)(const double *n);
    /* What of the signature is its own, such as "eff:no|tok:13a|smooth:exp|": BLEU's by its tokens, others' first. */
    const char *own[3];
} attend_metric_functions;

extern const attend_metric_functions attend_metric_bleu;
extern const attend_metric_functions attend_metric_chrf;
extern const attend_metric_functions attend_metric_chrfpp;
extern const attend_metric_functions attend_metric_ter;
extern const attend_metric_functions attend_metric_wer;
extern const attend_metric_functions attend_metric_cer;
extern const attend_metric_functions attend_metric_exact;
extern const attend_metric_functions attend_metric_token_accuracy;

/* bleu_tokens.c: the words BLEU counts; changes or takes `t`. ATTEND_NO_MEMORY. */
int attend_bleu_words_read(attend_metric_words *w, attend_ngrams *names, attend_metric_text *t,
                           attend_bleu_tokens tokens);

/* 100 errors / length, over nothing 100 or, without errors, 0: of TER, WER and CER. */
static inline double attend_metric_error_rate(double errors, double length)
{
    return length > 0 ? 100 * (errors / length) : errors > 0 ? 100 : 0;
}

#endif
