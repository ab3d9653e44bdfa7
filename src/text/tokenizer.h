/* tokenizer.h: what the kinds of tokenizers share, and what a kind is: one struct of functions (word.c, char.c, bpe.c).
 *
 * The vocabulary holds tokens as they are spelled: a space is U+2581, so that a token can be seen and never holds a space; U+2581 itself is
 * therefore never learned, nor are a line feed, which would end its line, and the character 0, which would end its string. */
#ifndef ATTEND_TEXT_TOKENIZER_H
#define ATTEND_TEXT_TOKENIZER_H

#include "core/rng.h"
#include "text/buffers.h"
#include "text/pair_table.h"
#include <attend/string_table.h>
#include <stdbool.h>

#define ATTEND_SPACE_MARK "\xe2\x96\x81"
enum {
    ATTEND_SPACE_MARK_SIZE = 3,
    ATTEND_FIRST_BYTE = ATTEND_FIRST_TOKEN,
    ATTEND_FIRST_LEARNED = ATTEND_FIRST_BYTE + 256 /* of kinds that have bytes */
};

/* Two tokens that become one, by bpe. */
typedef struct attend_merge {
    int left, right;
} attend_merge;

/* Which merges to leave out. */
typedef struct attend_merge_dropout {
    double probability;
    attend_rng rng;
    uint64_t drawn; /* numbers taken */
} attend_merge_dropout;

typedef struct attend_kind {
    attend_token_kind kind;
    const char *name;
    int first;      /* the first number that is learned */
    int usual_size; /* of the vocabulary; 0: as large as it gets */
    /* Counts the parts of a line. */
    int (*split)(attend_string_table *parts, const char *text, size_t size);
    /* Fills the vocabulary from the parts of all lines: at most `size` numbers. */
    int (*learn)(attend_tokenizer *t, const attend_string_table *parts, int size, int min_count);
    /* Prepares a tokenizer whose vocabulary (and merges) are complete. */
    int (*finish)(attend_tokenizer *t);
    /* Is a token, from `first` on, one that this kind could have learned? NULL, or what is wrong with it. */
    const char *(*fault)(const attend_tokenizer *t, int id);
    int (*encode)(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout);
    int (*decode)(const attend_tokenizer *t, const int *ids, int count, attend_string *out);
} attend_kind;

extern const attend_kind attend_kind_word, attend_kind_char, attend_kind_bpe;
/* By number or by name; NULL: no such kind. */
const attend_kind *attend_kind_of(attend_token_kind kind);
const attend_kind *attend_kind_named(const char *name, size_t size);

struct attend_tokenizer {
    const attend_kind *kind;
    attend_string_table tokens;
    int ascii[128]; /* char, bpe: the number of a character below 0x80, or -1 */
    /* bpe: merge i makes token first_merge + i, so merges are known by what they make, and a token is made in one way */
    attend_merge *merges;
    int merge_count, first_merge;
    size_t merge_room;
    attend_pair_table merge_of; /* what a pair becomes */
    unsigned char *whole;       /* of each token: is it what its own text is encoded as? */
};

/* A tokenizer with the special tokens and the bytes its kind has, and nothing learned. */
int attend_tokenizer_new(attend_tokenizer **out, const attend_kind *kind);
/* Adds the parts seen at least min_count times, the most frequent first, until there are `size` tokens. */
int attend_tokenizer_take(attend_tokenizer *t, const attend_string_table *parts, int size, int min_count);

/* attend_tokenizer_encode for a line that is in NFC already. */
int attend_tokenizer_encode_nfc(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                                double dropout, uint64_t seed, uint64_t position);

/* ---- as text (tokenizer_file.c) ---- */

/* The two attachments; what the strings held is replaced. */
int attend_tokenizer_write(const attend_tokenizer *t, attend_string *vocabulary, attend_string *rest);
/* From the two attachments of a side, which are trusted in nothing. */
int attend_tokenizer_read(attend_tokenizer **out, const char *side, const char *vocabulary, size_t vocabulary_size,
                          const char *rest, size_t rest_size);

/* ---- characters and bytes: char and bpe ---- */

/* Counts the characters of some text, as they are spelled, `times` each; those that are never learned are left out. */
int attend_characters_count(attend_string_table *characters, const char *text, size_t size, int64_t times);
int attend_characters_finish(attend_tokenizer *t);
/* The number of a character, or -1: it goes by its bytes. */
int attend_character_token(const attend_tokenizer *t, const char *character, size_t size);
const char *attend_character_fault(const attend_tokenizer *t, int id); /* a fault: of one character */
int attend_characters_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out);

/* ---- bpe ---- */

/* The end of the word that begins at `begin`: spaces, then what is none. */
size_t attend_bpe_word_end(const char *text, size_t size, size_t begin);
int attend_bpe_learn(attend_tokenizer *t, const attend_string_table *words, int size, int min_count);
int attend_bpe_add_merge(attend_tokenizer *t, int left, int right);
int attend_bpe_finish(attend_tokenizer *t);
int attend_bpe_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                      attend_merge_dropout *dropout);

#endif
