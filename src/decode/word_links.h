/* word_links.h: attention between tokens as links between words (attend/words.h has words and their tokens). Words stand
 * for the unit of each text. */
#ifndef ATTEND_DECODE_WORD_LINKS_H
#define ATTEND_DECODE_WORD_LINKS_H

#include <attend/text.h>
#include <attend/words.h>

/* A text and the spans of its tokens. */
typedef struct attend_tokenized_text {
    const char *text;
    const attend_span *spans;
    int count;
    attend_unit unit;
} attend_tokenized_text;

/* The number of words. */
int attend_tokenized_count(const attend_tokenized_text *t);

/* The index of the source word with the largest sum of weights over some rows; -1 if there is none above 0. weights:
 * (rows, width), whose first source->count columns are the source's tokens. *word, if not NULL, becomes the span of
 * the word. */
int attend_most_attended_word(const attend_tokenized_text *source, const attend_real *weights, int rows, int width,
                              attend_span *word);

/* Links each target word to the source word to which it attends most; returns the number of links, at most `capacity`.
 * weights: (target tokens, width). has_null: a word that attends more to the last column, the source's end, is not
 * linked (attend_alignment_has_null). */
int attend_word_links(const attend_tokenized_text *source, const attend_tokenized_text *target,
                      const attend_real *weights, int width, bool has_null, attend_word_link *links, int capacity);

/* Attention between words: sums (target words, source words). The weight of a source word is the sum over its tokens;
 * that of a target word the mean over its tokens. */
void attend_word_weights(const attend_tokenized_text *source, const attend_tokenized_text *target,
                         const attend_real *weights, int width, double *sums);

#endif
