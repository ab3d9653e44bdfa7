/* words.h: the words and characters of a text, and links between them.
 *
 * Purpose    The one definition of a word: a longest run of characters that are not white space. White space is U+0009
 *            to U+000D and the space separators of Unicode (general category Zs), which include the space and the
 *            no-break space. Alignments, attention between words, lengths in words and the tokenizer `word` use it.
 *            The metrics do not: they split text as Python does (docs/metrics.md).
 * Text       is UTF-8 of at most ATTEND_MAX_TEXT_BYTES bytes. Bytes that are not valid UTF-8 count as part of a word.
 * Threads    The functions have no state. */
#ifndef ATTEND_WORDS_H
#define ATTEND_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes [begin, end) of a text. */
typedef struct attend_span {
    int begin, end;
} attend_span;

/* Finds the first word at or after byte *at. Returns false if there is none. Otherwise *word becomes its span and *at
 * its end. */
bool attend_word_next(const char *text, size_t size, size_t *at, attend_span *word);
/* Returns the number of words. */
int attend_word_count(const char *text, size_t size);
/* Sets words[i] to the index of the word to which the token with spans[i] belongs: the last word of which it covers a
 * byte; -1 if it covers none. Spans are in the order of the text. */
void attend_words_of_spans(const char *text, size_t size, const attend_span *spans, int count, int *words);

/* A text of fewer words per line than this has single words. */
#define ATTEND_SINGLE_WORDS 1.2

/* What attention between the sides of a pair, alignments and lengths count.
 *
 *   word        as above
 *   piece       the tokens of a tokenizer, except white space alone
 *   character   what a reader sees as one: a grapheme cluster (Unicode Standard Annex 29), which is a letter with its
 *               accents; white space is left out
 *   auto        what fits the text that a tokenizer has learned from (attend_tokenizer_unit, text.h): characters if it
 *               splits into characters and most lines are a single word, such as names and pronunciations; else words */
typedef enum attend_unit { ATTEND_UNIT_AUTO, ATTEND_UNIT_WORD, ATTEND_UNIT_PIECE, ATTEND_UNIT_CHARACTER } attend_unit;

/* "auto", "word", "piece" and "character", in order; NULL after the last. */
extern const char *const attend_unit_names[];
/* One of them; NULL: there is no such unit. */
const char *attend_unit_name(attend_unit unit);

/* attend_word_next and attend_word_count for a unit. A text alone has no pieces: only ATTEND_UNIT_CHARACTER differs from
 * words. */
bool attend_unit_next(attend_unit unit, const char *text, size_t size, size_t *at, attend_span *span);
int attend_unit_count(attend_unit unit, const char *text, size_t size);
/* attend_words_of_spans for a unit. */
void attend_units_of_spans(attend_unit unit, const char *text, size_t size, const attend_span *spans, int count,
                           int *units);

/* A link between a source word and a target word, numbered from 0. */
typedef struct attend_word_link {
    int source, target;
    bool sure; /* in a gold alignment: a sure link, not only a possible one */
} attend_word_link;

#ifdef __cplusplus
}
#endif
#endif
