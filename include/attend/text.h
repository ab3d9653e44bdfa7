/* text.h: tokenizers: text to token ids and back.
 *
 * Purpose    A tokenizer is learned from lines of text, stored in a model (as attachments, see
 *            attend_tokenizer_attach) and used for one side of a model or for both. Text is UTF-8; it is converted to
 *            Unicode normal form C (NFC) before anything else. Invalid UTF-8 is an error that names the byte.
 *            docs/text.md has the details.
 * Kinds      word: what white space separates; an unknown word becomes ATTEND_UNKNOWN. char: characters. jamo:
 *            characters, but a Hangul syllable is split into its letters. bpe: subwords learned by byte-pair encoding
 *            (Sennrich, Haddow, Birch 2016). char, jamo and bpe are lossless, white space included: a character outside the vocabulary is encoded as its UTF-8 bytes, each of which has a
 *            token. decode(encode(x)) is x in NFC (for word: if every word is known and words are separated by single
 *            spaces); in lower case, if the tokenizer has that option.
 * Token ids  0, 1 and 2 are ATTEND_UNKNOWN, ATTEND_BEGIN and ATTEND_END ("<unk>", "<s>", "</s>"). For char,
 *            jamo and bpe the 256 bytes follow ("<0x00>", ...). Then come learned tokens: words or characters by decreasing count
 *            and, for bpe, merges in the order in which they were learned. The text "<s>" is never encoded as
 *            ATTEND_BEGIN.
 * Lines      A line has at most ATTEND_MAX_TEXT_BYTES bytes. char and bpe encode a line feed or a NUL inside a line
 *            as its byte; word splits at a line feed and never learns a word with a NUL.
 * Ownership  The arrays of attend_ids and attend_string grow as needed and are reused by the next call; {0} is empty;
 *            the caller frees them.
 * Threads    A tokenizer can be used by many threads at once. */
#ifndef ATTEND_TEXT_H
#define ATTEND_TEXT_H

#include <attend/model.h>
#include <attend/string.h>
#include <attend/utf8.h>
#include <attend/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 256 MiB. NFC is at most three times as long, which still fits an int. */
enum { ATTEND_MAX_TEXT_BYTES = 1 << 28 };

/* ---- token ids ---- */

/* The span of a token is the part of the text, as attend_tokenizer_normalize gives it, from which it was made. For char, jamo and bpe the spans of a line cover
 * it without gaps; the space that bpe puts before a line has an empty span. */
typedef struct attend_ids {
    int *ids;
    attend_span *spans;  /* one per id */
    int count, capacity; /* ids in use, ids allocated */
} attend_ids;
/* Frees the arrays, not the struct. */
void attend_ids_free(attend_ids *ids);

/* ---- normalisation ---- */

/* Replaces the content of `out` with the text in NFC. ATTEND_BAD_DATA if the text is not UTF-8 (the message names the
 * byte) or longer than ATTEND_MAX_TEXT_BYTES; ATTEND_NO_MEMORY. */
int attend_normalize(attend_string *out, const char *text, size_t size);

/* ---- learning a tokenizer ---- */

typedef enum attend_token_kind {
    ATTEND_TOKENS_WORD,
    ATTEND_TOKENS_CHAR,
    ATTEND_TOKENS_BPE,
    ATTEND_TOKENS_JAMO
} attend_token_kind;
extern const char
    *const attend_token_kind_names[]; /* "word", "char", "bpe" and "jamo", in order; NULL after the last */

typedef struct attend_tokenizer_options {
    attend_token_kind kind;
    /* maximum number of tokens, special tokens and bytes included; 0: no limit (word, char, jamo), 8000 (bpe) */
    int vocab_size;
    /* words, characters and merges with a lower count are not learned; a merge needs a count of at least 2 */
    int min_count;
    bool lowercase; /* texts are lower-cased before they are split (full Unicode lower case) */
    /* bpe: no merge crosses from letters to digits, to other characters or to letters of another script. The default for
     * new tokenizers, of attend_train_defaults too; otherwise only spaces limit merges, as in versions before 0.2 */
    bool split_classes;
    /* asked for each merge of bpe whether to end the learning, which then returns ATTEND_FAILED; NULL: never */
    bool (*stop)(void *user);
    void *stop_user;
} attend_tokenizer_options;
#define ATTEND_TOKENIZER_OPTIONS_INIT                                                                                  \
    {                                                                                                                  \
        ATTEND_TOKENS_BPE, 0, 1, false, true, 0, 0                                                                     \
    }

typedef struct attend_tokenizer attend_tokenizer;

/* Supplies the next line, without its line feed, valid until the next call. Returns 1, or 0 after the last line, or a
 * negated status code (such as -ATTEND_IO) after a failure whose message is set. */
typedef int (*attend_line_fn)(void *user, const char **line, size_t *size);

/* Learns a tokenizer. The result depends on the lines but not on their order. ATTEND_BAD_USAGE for invalid options;
 * ATTEND_BAD_DATA if a line is not UTF-8 (the message names the line); ATTEND_NO_MEMORY; or the status of `next`.
 * *out is the caller's, freed by attend_tokenizer_free. */
int attend_tokenizer_learn(attend_tokenizer **out, const attend_tokenizer_options *options, attend_line_fn next,
                           void *user);
/* NULL is allowed. */
void attend_tokenizer_free(attend_tokenizer *t);

/* What its tokens are. */
attend_token_kind attend_tokenizer_kind(const attend_tokenizer *t);
/* Whether it lower-cases texts before it splits them. */
bool attend_tokenizer_is_lowercase(const attend_tokenizer *t);
/* Whether it is of the kind bpe and has the option split_classes. */
bool attend_tokenizer_splits_classes(const attend_tokenizer *t);
/* Replaces the content of `out` with a text as the tokenizer reads it: in NFC and, if it lower-cases texts, in lower
 * case. Spans of tokens refer to this text. Status codes as attend_normalize. */
int attend_tokenizer_normalize(const attend_tokenizer *t, const char *text, size_t size, attend_string *out);
/* ATTEND_UNIT_CHARACTER if the tokenizer splits into characters and most of the lines that it learned from are a single
 * word; else ATTEND_UNIT_WORD. */
attend_unit attend_tokenizer_unit(const attend_tokenizer *t);
/* The number of tokens: ids are 0 to size - 1. */
int attend_tokenizer_size(const attend_tokenizer *t);
/* A token as the vocabulary file spells it, with U+2581 for a space; NULL if the id is out of range. */
const char *attend_tokenizer_token(const attend_tokenizer *t, int id);
/* One of attend_token_kind_names; NULL: there is no such kind. */
const char *attend_token_kind_name(attend_token_kind kind);

/* ---- encoding and decoding ---- */

/* Appends the tokens of a line to `out`, without ATTEND_BEGIN or ATTEND_END. dropout > 0: bpe skips each merge with
 * this probability (BPE-dropout, Provilkov et al. 2020); the result is a function of the text, seed and position.
 * ATTEND_BAD_DATA if the line is not UTF-8; ATTEND_NO_MEMORY. */
int attend_tokenizer_encode(const attend_tokenizer *t, const char *text, size_t size, attend_ids *out, double dropout,
                            uint64_t seed, uint64_t position);
/* Appends the text of tokens to `out`. ATTEND_UNKNOWN is written as "<unk>", other special tokens are skipped, and
 * each byte that is not part of valid UTF-8 becomes U+FFFD. Tokens that a model generates can contain any character,
 * a line feed included. */
int attend_tokenizer_decode(const attend_tokenizer *t, const int *ids, int count, attend_string *out);

/* ---- tokenizers in a model ---- */

/* Stores a tokenizer in a model as "SIDE.vocabulary" (one token per line) and "SIDE.tokenizer" (kind and merges, as
 * text), and "SIDE.unit" if attend_tokenizer_unit cannot be told from these. side is "source" or "target". ATTEND_BAD_USAGE if the model's vocabulary on that side has another size.
 * After a failure the side must be attached again. */
int attend_tokenizer_attach(const attend_tokenizer *t, attend_model *m, const char *side);
/* Reads a tokenizer from a model. ATTEND_BAD_MODEL if it is missing or damaged; every field is validated. *out is the
 * caller's, freed by attend_tokenizer_free. */
int attend_tokenizer_from_model(attend_tokenizer **out, const attend_model *m, const char *side);
/* Checks the tokenizers of a model as everything that translates, scores or shows text does. ATTEND_BAD_MODEL: one is
 * missing or damaged. A model without any tokenizer or vocabulary, which reads and writes token ids, is valid; then
 * *has_text is false. */
int attend_model_check_text(const attend_model *m, bool *has_text);

#ifdef __cplusplus
}
#endif
#endif
