/* tokenizer.h: what the kinds of tokenizers share. A kind is a struct of functions (word.c, char.c, jamo.c, bpe.c).
 *
 * The vocabulary spells a space as U+2581, so that tokens are visible and contain no spaces. Therefore U+2581 itself
 * is never learned; neither are a line feed, which would end the token's line, and NUL, which would end its string. */
#ifndef ATTEND_TEXT_TOKENIZER_H
#define ATTEND_TEXT_TOKENIZER_H

#include "core/rng.h"
#include "text/token_ids.h"
#include "core/pair_table.h"
#include <attend/ranks.h>
#include <attend/string_table.h>
#include <stdbool.h>

#define ATTEND_SPACE_MARK "\xe2\x96\x81"
enum {
    ATTEND_SPACE_MARK_SIZE = 3,
    ATTEND_FIRST_BYTE = ATTEND_FIRST_TOKEN,
    ATTEND_FIRST_LEARNED = ATTEND_FIRST_BYTE + 256 /* in the kinds with byte tokens */
};

/* bpe: two tokens that become one. */
typedef struct attend_merge {
    int left, right;
} attend_merge;

/* BPE-dropout. */
typedef struct attend_merge_dropout {
    double probability;
    attend_rng rng;
    uint64_t drawn; /* random numbers used so far */
} attend_merge_dropout;

typedef struct attend_kind {
    attend_token_kind kind;
    int first;        /* the first learned token id */
    int default_size; /* of the vocabulary; 0: no limit */
    /* Counts the parts of a line: words or characters. */
    int (*split)(const attend_tokenizer_options *o, attend_string_table *parts, const char *text, size_t size);
    /* Fills the vocabulary from the parts of all lines, up to `size` tokens. */
    int (*learn)(attend_tokenizer *t, const attend_string_table *parts, int size, int min_count);
    /* Prepares a tokenizer whose vocabulary and merges are complete. */
    int (*finish)(attend_tokenizer *t);
    /* Checks that a token, from `first` on, is one that this kind can learn; NULL, or what is wrong with it. */
    const char *(*fault)(const attend_tokenizer *t, int id);
    int (*encode)(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                  attend_merge_dropout *dropout);
    int (*decode)(const attend_tokenizer *t, const int *ids, int count, attend_string *out);
} attend_kind;

extern const attend_kind attend_kind_word, attend_kind_char, attend_kind_bpe, attend_kind_jamo;
/* NULL: no such kind. */
const attend_kind *attend_kind_of(attend_token_kind kind);
const attend_kind *attend_kind_named(const char *name, size_t size);

struct attend_tokenizer {
    const attend_kind *kind;
    attend_string_table tokens;
    bool lowercase;        /* texts are lower-cased */
    bool split_classes;    /* bpe: words end where classes of characters meet (boundaries.h) */
    bool has_single_words; /* most lines that it learned from are a single word */
    int ascii[128];        /* char, jamo, bpe: the token of a character below 0x80, or -1 */
    /* bpe: merge i makes token first_merge + i, so each token is made by at most one merge */
    attend_merge *merges;
    int merge_count, first_merge;
    size_t merge_capacity;
    attend_pair_table merge_of; /* the token that a pair makes */
    unsigned char *whole;       /* (tokens) whether its text is encoded as this one token */
    bool (*stop)(void *user);   /* of the options, while it learns */
    void *stop_user;
};

/* attend_tokenizer_learn, on the ranks of a job: `next` supplies a part of the lines on each (ranks NULL: all of them). The
 * tokenizer is that of all lines, on all ranks. */
int attend_tokenizer_learn_shared(attend_tokenizer **out, const attend_tokenizer_options *options, attend_line_fn next,
                                  void *user, attend_ranks *ranks);
/* A tokenizer with the special and byte tokens of its kind, and nothing learned. */
int attend_tokenizer_new(attend_tokenizer **out, const attend_kind *kind);
/* Adds the parts with a count of at least min_count, the most frequent first, until there are `size` tokens. */
int attend_tokenizer_take(attend_tokenizer *t, const attend_string_table *parts, int size, int min_count);

/* attend_tokenizer_normalize without a copy where the text is as it should be; otherwise in `own`, whose content is
 * replaced. */
int attend_tokenizer_to_normal(const attend_tokenizer *t, const char **text, size_t *size, attend_string *own);
/* attend_tokenizer_encode for a line that is normalised already. */
int attend_tokenizer_encode_normal(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                                   double dropout, uint64_t seed, uint64_t position);

/* A lower bound of the number of tokens of a line, in NFC or not, without encoding it. */
size_t attend_tokenizer_min_tokens(const attend_tokenizer *t, const char *text, size_t size);

/* ---- as text (tokenizer_file.c) ---- */

/* Writes the two attachments; the content of the strings is replaced. */
int attend_tokenizer_write(const attend_tokenizer *t, attend_string *vocabulary, attend_string *rest);
/* Reads the two attachments of a side. ATTEND_BAD_MODEL if they are invalid. */
int attend_tokenizer_read(attend_tokenizer **out, const char *side, const char *vocabulary, size_t vocabulary_size,
                          const char *rest, size_t rest_size);

/* ---- characters and bytes, for char, jamo and bpe (characters.c) ---- */

/* Counts each character of a text `times` times, with U+2581 for a space; characters that are never learned are
 * skipped. */
int attend_characters_count(attend_string_table *characters, const char *text, size_t size, int64_t times);
int attend_characters_finish(attend_tokenizer *t);
/* The token of a character; -1: it is encoded as its bytes. */
int attend_character_token(const attend_tokenizer *t, const char *character, size_t size);
/* Appends the token of the character at `at`, or its bytes, with their spans. */
int attend_character_encode(const attend_tokenizer *t, const char *text, size_t at, size_t size, attend_ids *out);
const char *attend_character_fault(const attend_tokenizer *t, int id); /* see attend_kind.fault */
int attend_characters_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out);

/* ---- bpe ---- */

/* The end of the word that begins at `begin`: a run of spaces, then a run of other characters, with split_classes of one
 * class. */
size_t attend_bpe_word_end(const char *text, size_t size, size_t begin, bool split_classes);
int attend_bpe_learn(attend_tokenizer *t, const attend_string_table *words, int size, int min_count);
int attend_bpe_add_merge(attend_tokenizer *t, int left, int right);
int attend_bpe_finish(attend_tokenizer *t);
int attend_bpe_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out,
                      attend_merge_dropout *dropout);

#endif
