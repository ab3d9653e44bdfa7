/* valid_metric.h: the metric of --valid-metric, its meaning for the data at hand, and how its scores are shown. */
#ifndef ATTEND_CLI_VALID_METRIC_H
#define ATTEND_CLI_VALID_METRIC_H

#include <attend/trainer.h>

/* The values of --valid-metric, in order; NULL after the last. */
extern const char *const valid_metric_choices[];

/* The metric of a choice. "word-error" counts wrong lines if a line is a word, and otherwise wrong words. */
attend_valid_metric valid_metric_of(int choice, bool is_word_level);

/* The name of a score for people, and how its numbers are written. */
typedef struct score_style {
    const char *name; /* "word error" */
    enum { SCORE_PERPLEXITY, SCORE_PERCENT, SCORE_POINTS } kind;
} score_style;
score_style valid_metric_style(int choice);

enum { SCORE_TEXT = 40 };
/* Formats a score: "20.9 %", "34.12", and perplexities with four digits. Returns `text`. */
const char *score_text(char text[SCORE_TEXT], score_style style, double score);

#endif
