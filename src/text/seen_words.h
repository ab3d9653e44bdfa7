/* seen_words.h: the words of the training data, so that a word which a model has never seen can be reported.
 *
 * Purpose    A model that splits words into subwords or characters has no list of words. Training adds every word of its
 *            sources (a language model: of its lines) to a set; the model keeps the set as a Bloom filter (Bloom 1970),
 *            the attachment SIDE.words, of 12 to 24 bits for a word and at most 4 MiB. A word that the filter does not
 *            have was not in the training data. Of the words that were not, it takes less than 1 in 300 for one that was;
 *            beyond 2.8 million distinct words, more.
 * Words      Here, a word is a run of letters, marks and digits with at least one letter, in lower case: punctuation and
 *            capitals do not make a word another one. Scripts that are written without spaces have no such words.
 * Ownership  {0} is empty; attend_seen_words_free and attend_word_set_free release memory.
 * Threads    A set is used by one thread at a time; a filter that does not change can be read by many. */
#ifndef ATTEND_TEXT_SEEN_WORDS_H
#define ATTEND_TEXT_SEEN_WORDS_H

#include "text/hash_set.h"
#include <attend/model.h>
#include <attend/string.h>
#include <attend/words.h>

/* ---- while data is read ---- */

/* The distinct words of the lines added so far. */
typedef struct attend_word_set {
    attend_hash_set hashes;
    uint64_t lines, words;
    attend_string normal, lower; /* scratch */
} attend_word_set;

/* Adds the words of a line. A line that is not UTF-8 has none. ATTEND_NO_MEMORY. */
int attend_word_set_add(attend_word_set *s, const char *line, size_t size);
/* Whether a word, a span that attend_seen_word_next found, is in the set. ATTEND_NO_MEMORY. */
int attend_word_set_has(attend_word_set *s, const char *text, attend_span word, bool *has);
void attend_word_set_free(attend_word_set *s);

/* The first word at or after byte *at of a text in NFC; *at becomes its end. False: there is none. */
bool attend_seen_word_next(const char *text, size_t size, size_t *at, attend_span *word);

/* ---- in a model ---- */

typedef struct attend_seen_words {
    unsigned char *bits; /* (size) NULL: the words are not known, and every word counts as seen */
    size_t size;         /* a power of two */
    attend_string lower; /* scratch */
} attend_seen_words;

/* Stores the words of a set in a model, together with those that the model has already; nothing if most lines are a
 * single word, because words are then made of parts that matter more. ATTEND_NO_MEMORY, ATTEND_BAD_MODEL. */
int attend_seen_words_attach(const attend_word_set *s, attend_model *m, const char *side);
/* Copies the words of a model to one that begins with its weights. A model without them is valid. ATTEND_NO_MEMORY. */
int attend_seen_words_copy(attend_model *to, const attend_model *from, const char *side);
/* Whether a model has its words. */
bool attend_seen_words_are_known(const attend_model *m, const char *side);
/* Reads the words of a model. A model without them is valid. ATTEND_BAD_MODEL: damaged; ATTEND_NO_MEMORY. */
int attend_seen_words_from_model(attend_seen_words *out, const attend_model *m, const char *side);
/* Whether a word of a text was in the training data; true if that is not known. ATTEND_NO_MEMORY. */
int attend_seen_words_has(attend_seen_words *s, const char *text, attend_span word, bool *has);
void attend_seen_words_free(attend_seen_words *s);

#endif
