/* text.h: a line as the metrics see it: characters, white space, words as numbers.
 *
 * Purpose    What Python's str does, because the tools whose scores are reproduced are written in it: its white space,
 *            its lower case (with the final sigma and the dotted I).
 * Ownership  What is read or counted is freed with the function beside it; a zero struct is free.
 * Threads    No state. */
#ifndef ATTEND_METRIC_TEXT_H
#define ATTEND_METRIC_TEXT_H

#include "metric/ngrams.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters (code points). A byte b that is no UTF-8 stands as U+DC00 + b, which no valid text contains. */
typedef struct attend_metric_text {
    uint32_t *c; /* (n) */
    size_t n;
} attend_metric_text;

/* ATTEND_BAD_DATA if the line is longer than 64 MiB, ATTEND_NO_MEMORY. */
int attend_metric_text_read(attend_metric_text *t, const char *line, bool lowercase);
void attend_metric_text_free(attend_metric_text *t);
bool attend_metric_is_space(uint32_t c);
/* Without white space at either end; borrows. */
attend_metric_text attend_metric_strip(const attend_metric_text *t);
/* Takes all white space out, in place. */
void attend_metric_remove_spaces(attend_metric_text *t);

/* Words, each a number: the same number exactly if `names` has seen the same word. */
typedef struct attend_metric_words {
    uint32_t *id; /* (n) */
    size_t n;
} attend_metric_words;

/* What white space separates; chrF++ cuts one mark of ASCII punctuation off the end of a word, or else off its
 * beginning. ATTEND_NO_MEMORY. */
int attend_metric_words_read(attend_metric_words *w, attend_ngrams *names, const attend_metric_text *t,
                             bool cut_punctuation);
void attend_metric_words_free(attend_metric_words *w);

#endif
