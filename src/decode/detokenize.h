/* detokenize.h: numbers to text, with the place of each. */
#ifndef ATTEND_DECODE_DETOKENIZE_H
#define ATTEND_DECODE_DETOKENIZE_H

#include <attend/text.h>

/* What is written in the place of a number; text NULL: what it says itself. */
typedef struct attend_substitution {
    const char *text;
    size_t size;
} attend_substitution;

/* Adds the text of some numbers to `out`, as attend_tokenizer_decode writes it; spans (count) become their places in it, from its own
 * beginning. Bytes that follow one another share one place: what they spell together. instead (count), or NULL, is for words only. */
int attend_detokenize(const attend_tokenizer *t, const int *ids, int count, const attend_substitution *instead,
                      attend_string *out, attend_span *spans);

#endif
