/* text.h: a line for the metrics: characters, white space, word ids.
 *
 * Purpose    The white space and lower case of Python's str (with the final sigma and the dotted I), because the
 *            tools whose scores are reproduced are written in Python.
 * Ownership  Each type has a function that frees it; {0} is empty.
 * Threads    No state. */
#ifndef ATTEND_METRIC_TEXT_H
#define ATTEND_METRIC_TEXT_H

#include "metric/ngrams.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code points. A byte b that is not UTF-8 is U+DC00 + b, which no valid text contains. */
typedef struct attend_metric_text {
    uint32_t *c; /* (n) */
    size_t n;
} attend_metric_text;

/* ATTEND_BAD_DATA if the line is longer than 64 MiB, ATTEND_NO_MEMORY. */
int attend_metric_text_read(attend_metric_text *t, const char *line, bool lowercase);
void attend_metric_text_free(attend_metric_text *t);
bool attend_metric_is_space(uint32_t c);
/* The text without white space at both ends; borrows. */
attend_metric_text attend_metric_strip(const attend_metric_text *t);
/* Removes all white space, in place. */
void attend_metric_remove_spaces(attend_metric_text *t);

/* Word ids: equal words have equal ids within one `names`. */
typedef struct attend_metric_words {
    uint32_t *id; /* (n) */
    size_t n;
} attend_metric_words;

/* Splits at white space. cut_punctuation, for chrF++: also separates one ASCII punctuation mark at the end of a word,
 * or else at its beginning. ATTEND_NO_MEMORY. */
int attend_metric_words_read(attend_metric_words *w, attend_ngrams *names, const attend_metric_text *t,
                             bool cut_punctuation);
void attend_metric_words_free(attend_metric_words *w);

#endif
