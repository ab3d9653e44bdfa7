/* text.h: lines of text to words by number, and back.
 *
 * Purpose    A tokenizer is learned from lines, kept in a model (as two attachments, see attend_tokenizer_attach) and used for one side of a model
 *            or for both. Text is UTF-8, put into normal form C before anything else; what is not UTF-8 is refused with its place. docs/text.md
 *            has the details.
 * Kinds      word: what stands between spaces; a word that is not known is ATTEND_UNKNOWN. char: characters. bpe: pieces of words, learned by
 *            byte-pair encoding (Sennrich, Haddow, Birch 2016). char and bpe lose nothing, spaces included: a character
 *            they do not know is written as its bytes, which are always known. decode(encode(x)) is x in normal form C (for word: if every word
 *            is known and single spaces stand between them).
 * Numbers    0, 1, 2 are ATTEND_UNKNOWN, ATTEND_BEGIN, ATTEND_END ("<unk>", "<s>", "</s>"), then, for char and bpe, the 256 bytes ("<0x00>" ..),
 *            then what was learned: words and characters by falling count, then, for bpe, merges as they were made. Text that spells "<s>" is
 *            never ATTEND_BEGIN.
 * Lines      have at most ATTEND_LONGEST_LINE bytes. Line feeds and the character 0 inside one are kept by char and bpe, as their
 *            bytes; word splits at the former and never learns a word with the latter.
 * Ownership  Arrays of attend_ids and attend_string are grown as needed and kept for the next call; {0} is empty; the caller frees.
 * Threads    A tokenizer is read by many threads at once. */
#ifndef ATTEND_TEXT_H
#define ATTEND_TEXT_H

#include <attend/model.h>
#include <attend/string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes. Normal form C has at most three times as many, which an int can count. */
enum { ATTEND_LONGEST_LINE = 1 << 28 };

/* ---- growing arrays ---- */

/* Where a number came from: bytes [begin, end) of the text in normal form C. For char and bpe they cover the text, one behind
 * the other; the space that bpe adds in front has no bytes. */
typedef struct attend_span {
    int begin, end;
} attend_span;

typedef struct attend_ids {
    int *ids;
    attend_span *spans; /* of each id */
    int count, room;
} attend_ids;
void attend_ids_free(attend_ids *ids);

/* ---- UTF-8 ---- */

/* Bytes of the longest prefix that is valid UTF-8 (no overlong forms, no surrogates, no code point above 10FFFF). */
size_t attend_utf8_valid(const char *text, size_t size);
/* Normal form C into `out`, whose content is replaced. ATTEND_BAD_DATA if it is not UTF-8: the message says which byte. */
int attend_normalize(attend_string *out, const char *text, size_t size);

/* ---- learning ---- */

typedef enum attend_token_kind { ATTEND_TOKENS_WORD, ATTEND_TOKENS_CHAR, ATTEND_TOKENS_BPE } attend_token_kind;

typedef struct attend_tokenizer_options {
    attend_token_kind kind;
    int vocab_size; /* numbers at most, special ones and bytes included; 0: as many as there are (word, char), 8000 (bpe) */
    int min_count; /* words, characters and merges seen less often are not learned (nor are merges seen once) */
} attend_tokenizer_options;
#define ATTEND_TOKENIZER_OPTIONS_INIT                                                                                  \
    {                                                                                                                  \
        ATTEND_TOKENS_BPE, 0, 1                                                                                        \
    }

typedef struct attend_tokenizer attend_tokenizer;

/* Gives the next line (without its end; valid until the next call): 1, or 0 behind the last, or minus a status (-ATTEND_IO, say) after a
 * failure, whose message is set. */
typedef int (*attend_line_fn)(void *user, const char **line, size_t *size);

/* *out is the caller's, freed by attend_tokenizer_free (NULL is fine there). The same lines give the same tokenizer, in any order.
 * ATTEND_BAD_DATA if a line is not UTF-8: the message says which one. */
int attend_tokenizer_learn(attend_tokenizer **out, const attend_tokenizer_options *options, attend_line_fn next,
                           void *user);
void attend_tokenizer_free(attend_tokenizer *t);

attend_token_kind attend_tokenizer_kind(const attend_tokenizer *t);
int attend_tokenizer_size(const attend_tokenizer *t); /* numbers */
const char *attend_tokenizer_token(const attend_tokenizer *t,
                                   int id);                 /* as the vocabulary spells it; NULL: no such number */
const char *attend_token_kind_name(attend_token_kind kind); /* "word", "char", "bpe" */

/* ---- using ---- */

/* Adds the numbers of a line to `out` (nothing special in front or behind). dropout > 0: each merge of bpe is left out with that probability
 * (Provilkov et al. 2020), by (seed, place): the same pair gives the same numbers. ATTEND_BAD_DATA if the line is not UTF-8. */
int attend_tokenizer_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out, double dropout,
                            uint64_t seed, uint64_t place);
/* Adds the text of some numbers to `out`. Special ones but ATTEND_UNKNOWN ("<unk>") are left out; each byte that is no part of UTF-8 becomes
 * U+FFFD. Numbers that a model made up can say anything that bytes can, a line feed among them. */
int attend_tokenizer_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out);

/* ---- in a model ---- */

/* As "SIDE.vocabulary" (a line a number) and "SIDE.tokenizer" (what else it knows, as text). side: "source" or "target", of which the model
 * must have as many words as the tokenizer has numbers. After a failure the side is to be attached again. */
int attend_tokenizer_attach(const attend_tokenizer *t, attend_model *m, const char *side);
/* ATTEND_BAD_MODEL if what is attached is damaged: it comes from a file, and is trusted in nothing. */
int attend_tokenizer_of(attend_tokenizer **out, const attend_model *m, const char *side);

#ifdef __cplusplus
}
#endif
#endif
