/* corpus.h: encoded sentence pairs, as many as fit on the disk.
 *
 * Purpose    The training data of a model, encoded once. The tokens of all pairs (2 bytes each if the vocabulary
 *            allows it, otherwise 4), an index and, optionally, the texts are appended to temporary files, and a pair
 *            is read when it is needed. The files are unlinked as soon as they are open, so none is left when the
 *            process ends. They are in TMPDIR, or /tmp: 2 or 4 bytes per token, 24 bytes per pair, and the texts.
 * Memory     It does not grow with the number of pairs: the page cache holds as much of the files as fits. A TMPDIR in
 *            memory (tmpfs) defeats this.
 * Lines      Monolingual lines, for a language model, are pairs with an empty source.
 * Left out   Pairs with an empty side (for monolingual lines, an empty target), a side longer than max_length, or too many
 *            steps of attention are not stored, but counted.
 * Ownership  A corpus is the caller's.
 * Threads    A corpus is filled by one thread; once finished, it can be read by many. */
#ifndef ATTEND_TEXT_CORPUS_H
#define ATTEND_TEXT_CORPUS_H

#include "text/pipeline.h"
#include <attend/config.h>
#include <attend/pairs_file.h>
#include <attend/ranks.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the tokens of a text to `out`, those of a source with the end token: see pipeline.h. */
typedef int (*attend_encode_fn)(void *user, attend_side side, const char *text, size_t size, attend_ids *out);

typedef struct attend_corpus_options {
    int vocabulary;        /* all tokens are below this, on both sides */
    int max_length;        /* maximum tokens of a side; 0: no limit */
    bool lines;            /* monolingual: no pair has a source */
    bool keep_text;        /* keep the texts, for encoding again: see batches.h */
    const char *directory; /* of the temporary files; NULL: TMPDIR, or /tmp */
    /* of the model, until the corpus is full: pairs that it cannot attend to (model/config.h) are left out; NULL: none is */
    const attend_config *config;
} attend_corpus_options;

typedef struct attend_corpus_counts {
    uint64_t pairs;                           /* in the corpus */
    uint64_t source_ids, target_ids;          /* tokens of those */
    uint64_t empty, too_long;                 /* left out */
    int max_source_length, max_target_length; /* tokens */
    uint64_t fingerprint;                     /* hash of all tokens in order */
} attend_corpus_counts;

typedef struct attend_corpus attend_corpus;

/* ATTEND_BAD_USAGE, ATTEND_IO if a temporary file cannot be created, ATTEND_NO_MEMORY. *out is freed by
 * attend_corpus_free (NULL is allowed there). */
int attend_corpus_new(attend_corpus **out, const attend_corpus_options *options);
void attend_corpus_free(attend_corpus *c);

/* Appends a pair; `text` may be NULL unless texts are kept. ATTEND_BAD_DATA if a token is outside the vocabulary;
 * ATTEND_IO if the disk is full, after which the corpus can only be freed. */
int attend_corpus_add(attend_corpus *c, const int *source, int source_count, const int *target, int target_count,
                      const attend_text_pair *text);
/* Appends the remaining pairs of a file. The message of a failure of `encode` is prefixed with file and line. The ranks of a
 * job (NULL: alone) read the same file; each encodes a part of the pairs and gives the tokens to the others. */
int attend_corpus_read(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user,
                       attend_ranks *ranks);
/* Ends filling and enables reading. */
int attend_corpus_finish(attend_corpus *c);

/* True if the corpus can be read, and if it keeps texts. */
bool attend_corpus_is_finished(const attend_corpus *c);
bool attend_corpus_has_text(const attend_corpus *c);
attend_corpus_counts attend_corpus_count(const attend_corpus *c);
/* The lengths of pair i < pairs in tokens. ATTEND_IO, here and below, if the temporary files cannot be read. */
int attend_corpus_lengths(const attend_corpus *c, uint64_t i, int *source, int *target);
/* Reports pairs that are left out for their steps of attention: their number, and where the first one was read, as
 * "FILE:LINE". NULL, 0: there are none. */
const char *attend_corpus_unattended(const attend_corpus *c, uint64_t *count);
/* Copies the tokens of a pair to arrays that are large enough. */
int attend_corpus_ids(const attend_corpus *c, uint64_t i, int *source, int *target);
/* Reads the texts of a pair into `buffer`, which is the caller's; *text gets pointers into it, sizes and the index. Only
 * if texts are kept. */
int attend_corpus_text(const attend_corpus *c, uint64_t i, attend_string *buffer, attend_text_pair *text);

#endif
