/* word_links.h: attention between pieces, as links between words. Words are what blanks separate; a piece belongs to the word of its last byte that
 * is no blank. */
#ifndef ATTEND_DECODE_WORD_LINKS_H
#define ATTEND_DECODE_WORD_LINKS_H

#include <attend/metric.h>
#include <attend/text.h>

/* Pieces of a text. */
typedef struct attend_tokenized_text {
    const char *text;
    const attend_span *spans;
    int count;
} attend_tokenized_text;

/* The word of the source that some rows of weights look at most together: its number, or -1 if they look at none. weights: (rows, width), of which
 * the first source->count columns are the source's pieces. *word, if not NULL, becomes its place. */
int attend_most_attended_word(const attend_tokenized_text *source, const attend_real *weights, int rows, int width,
                              attend_span *word);

/* Of each word of the target the one it looks at most; returns how many links there are, at most `room`. weights: (target pieces, width). */
int attend_word_links(const attend_tokenized_text *source, const attend_tokenized_text *target,
                      const attend_real *weights, int width, attend_word_link *links, int room);

/* What separates words. */
bool attend_is_blank(char c);
/* How many words a text has, and the place of each. */
int attend_word_count(const char *text);
void attend_word_spans(const char *text, attend_span *places);
/* Which word each piece belongs to; -1: none, it is blank. */
void attend_words_of_tokens(const attend_tokenized_text *side, int *words);
/* How much each word of the target looks at each of the source: sums (target words, source words), of a word's pieces the mean. */
void attend_word_weights(const attend_tokenized_text *source, const attend_tokenized_text *target,
                         const attend_real *weights, int width, double *sums);

#endif
