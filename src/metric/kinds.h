/* kinds.h: the interface of a metric: statistics of a sentence, and a score from summed statistics. metric.c has the
 * list of metrics.
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
    bool higher_is_better;
    int numbers; /* statistics used */
    /* Writes the statistics of a sentence to n (numbers), which is zeroed. */
    int (*add)(const attend_metric_options *o, attend_metric_lines *lines, double *n);
    double (*score)(const double *n);
    /* Its part of the signature, such as "eff:no|tok:13a|smooth:exp|"; for BLEU one per tokenizer. */
    const char *signature[3];
} attend_metric_functions;

extern const attend_metric_functions attend_metric_bleu;
extern const attend_metric_functions attend_metric_chrf;
extern const attend_metric_functions attend_metric_chrfpp;
extern const attend_metric_functions attend_metric_ter;
extern const attend_metric_functions attend_metric_wer;
extern const attend_metric_functions attend_metric_cer;
extern const attend_metric_functions attend_metric_exact;
extern const attend_metric_functions attend_metric_token_accuracy;
extern const attend_metric_functions attend_metric_line_error;

/* bleu_tokens.c: tokenizes a line for BLEU; `t` is changed, and may be emptied. ATTEND_NO_MEMORY. */
int attend_bleu_words_read(attend_metric_words *w, attend_ngrams *names, attend_metric_text *t,
                           attend_bleu_tokens tokens);

/* The rate of TER, WER and CER: 100 errors / length. For length 0: 100, or 0 without errors. */
static inline double attend_metric_error_rate(double errors, double length)
{
    return length > 0 ? 100 * (errors / length) : errors > 0 ? 100 : 0;
}

#endif
