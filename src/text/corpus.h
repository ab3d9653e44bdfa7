/* corpus.h: encoded pairs, as many as the disk holds.
 *
 * Purpose    What a model trains on, encoded once. The numbers of all pairs (2 bytes each if the vocabulary allows it, 4 otherwise), an index and,
 *            if asked for, the texts are appended to temporary files, from which a pair is read when it is wanted. The files have no names,
 *            so nothing is left behind, whatever happens. They lie in TMPDIR (or /tmp): 2 or 4 bytes a number, 24 bytes a pair, and the texts.
 * Memory     does not grow with the number of pairs: the system keeps of the files what it has room for. A TMPDIR in memory (tmpfs) defeats
 *            the purpose.
 * Lines      alone, for a language model, are pairs whose sources are empty.
 * Left out   are pairs of which a side is empty (of lines, the target) or longer than max_length; they are counted.
 * Threads    Filled by one thread; once finished, read by many at once. */
#ifndef ATTEND_TEXT_CORPUS_H
#define ATTEND_TEXT_CORPUS_H

#include "text/pipeline.h"
#include <attend/pairs_file.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds the numbers of a text to `out` (whose arrays are from core/memory.h); for a source with ATTEND_END behind, if the model wants that. */
typedef int (*attend_encode_fn)(void *user, attend_side side, const char *text, size_t size, attend_ids *out);

typedef struct attend_corpus_options {
    int vocabulary;     /* all numbers are below this, on both sides */
    int max_length;     /* numbers of a side; 0: any */
    bool lines;         /* no pair has a source */
    bool keep_text;     /* for encoding anew, see batches.h */
    const char *folder; /* for the temporary files; NULL: TMPDIR, or /tmp */
} attend_corpus_options;

typedef struct attend_corpus_counts {
    uint64_t pairs;                  /* that are in it */
    uint64_t source_ids, target_ids; /* of those */
    uint64_t empty, too_long;        /* left out */
    int longest_source, longest_target;
    uint64_t fingerprint; /* of all numbers in their order */
} attend_corpus_counts;

typedef struct attend_corpus attend_corpus;

/* *out is the caller's, freed by attend_corpus_free (NULL is fine there). */
int attend_corpus_new(attend_corpus **out, const attend_corpus_options *options);
void attend_corpus_free(attend_corpus *c);

/* Adds a pair; `text` may be NULL unless it is kept. ATTEND_IO if the disk is full; then only freeing makes sense. */
int attend_corpus_add(attend_corpus *c, const int *source, int source_count, const int *target, int target_count,
                      const attend_text_pair *text);
/* Adds all that is left of a file. A failure of `encode` gets file and line in front of its message. */
int attend_corpus_read(attend_corpus *c, attend_pairs_file *file, attend_encode_fn encode, void *user);
/* Ends the adding, and makes reading possible. */
int attend_corpus_finish(attend_corpus *c);

/* Can it be read? And its texts? */
bool attend_corpus_is_finished(const attend_corpus *c);
bool attend_corpus_has_text(const attend_corpus *c);
attend_corpus_counts attend_corpus_count(const attend_corpus *c);
/* Lengths of pair i < pairs. These three are ATTEND_IO if the temporary files cannot be read. */
int attend_corpus_lengths(const attend_corpus *c, uint64_t i, int *source, int *target);
/* Its numbers, to where there is room for them. */
int attend_corpus_ids(const attend_corpus *c, uint64_t i, int *source, int *target);
/* Its texts, in `room`, which grows as needed and is the caller's; sizes and pointers only. Only if they are kept. */
int attend_corpus_text(const attend_corpus *c, uint64_t i, attend_string *room, attend_text_pair *text);

#endif
