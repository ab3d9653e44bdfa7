/* pairs_file.h: reads sentence pairs, or monolingual lines, from files.
 *
 * Purpose    Pairs come from a file with source, TAB and target in each line (.tsv), or from two files whose lines
 *            correspond; several of either are read one after another. Monolingual lines, for a language model, are
 *            targets with empty sources. gzip is decompressed; "-" is standard input. docs/data.md has the rules and
 *            limits.
 * Ownership  The texts of a pair belong to the reader and are valid until the next pair is read; its file names until
 *            the reader is closed.
 * Threads    A reader is used by one thread at a time. */
#ifndef ATTEND_PAIRS_FILE_H
#define ATTEND_PAIRS_FILE_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which pairs of a file are read. */
typedef enum attend_data_part {
    ATTEND_PART_ALL,
    ATTEND_PART_TRAINING, /* those that are not held out */
    ATTEND_PART_HELD_OUT
} attend_data_part;

/* A file with TABs (target is NULL), two files whose lines correspond, or a file of monolingual lines (source is
 * NULL). */
typedef struct attend_pairs_spec {
    const char *source, *target;
    attend_data_part part; /* 0: all pairs */
    double held_out;       /* the fraction of the sources that are held out; not used if part is ATTEND_PART_ALL */
    uint64_t max_held_out; /* maximum number of pairs held out; 0: no limit */
} attend_pairs_spec;

/* Interprets a list of file names: a name ending in .tsv or .tsv.gz, "-", or a single name is a file with TABs; other
 * names come in twos, source and target. `specs` has room for `count` and borrows the names. ATTEND_BAD_USAGE if a
 * name has no counterpart. */
int attend_pairs_specs(attend_pairs_spec *specs, int *spec_count, const char *const *names, int count);

/* Interprets each name as a file of monolingual lines, in which a TAB is text. `specs` has room for `count` and
 * borrows the names. ATTEND_BAD_USAGE if a name ends in .tsv or .tsv.gz. */
int attend_monolingual_specs(attend_pairs_spec *specs, const char *const *names, int count);

/* Holds out a fraction of the pairs (0 < fraction < 1) for validation: `train` then reads the other pairs of its files,
 * and valid[i] becomes a copy of train[i] that reads the pairs held out, at most max_pairs (0: no limit).
 *
 * A pair is held out if a hash of the words of its source, or of a monolingual line, is in the first `fraction` of all
 * hashes. So a pair stays in its part whatever the other pairs are, and all pairs with the same source are in the same
 * part. Once max_pairs are held out, in the order of the files, no other sources are held out, so that pairs also stay
 * in their parts if lines are appended; further pairs with a source that is held out are in neither part. Faulty lines
 * are reported with the training part only, and pairs with an empty side belong to it. ATTEND_BAD_USAGE. */
int attend_pairs_hold_out(attend_pairs_spec *train, attend_pairs_spec *valid, int count, double fraction,
                          uint64_t max_pairs);

/* The same if it holds out at least `min_pairs` pairs that have words on both sides (or lines that have words) and leaves
 * one for training; otherwise, and after a failure to read the files, nothing is held out. *held and *left receive the
 * numbers of these pairs, counted up to min_pairs and 1. ATTEND_BAD_USAGE; or the status of attend_pairs_file_next. */
int attend_pairs_try_hold_out(attend_pairs_spec *train, attend_pairs_spec *valid, int count, double fraction,
                              uint64_t max_pairs, int min_pairs, int *held, int *left);

/* The bytes of the files, without a terminating '\0'. The source of a monolingual line is empty. */
typedef struct attend_text_pair {
    const char *source, *target;
    size_t source_size, target_size;
    const char *source_file, *target_file; /* the same for a file with TABs or monolingual lines */
    uint64_t line;                         /* in both files, from 1 */
    uint64_t index;                        /* among the lines of all files, from 0, those that are not read included */
} attend_text_pair;

typedef struct attend_pairs_file attend_pairs_file;

/* Checks that all files are readable. ATTEND_BAD_USAGE: no files, pairs mixed with monolingual lines, or standard
 * input twice. ATTEND_IO: a file cannot be read. ATTEND_NO_MEMORY. *out is the caller's, freed by
 * attend_pairs_file_close. The specs are copied. */
int attend_pairs_file_open(attend_pairs_file **out, const attend_pairs_spec *specs, int count);
/* NULL is allowed. */
void attend_pairs_file_close(attend_pairs_file *f);

/* Reads the next pair; pair->source is NULL after the last. ATTEND_BAD_DATA, ATTEND_IO, ATTEND_NO_MEMORY; the message
 * begins with the file and the line. attend_pairs_file_fault reports whether reading can continue. */
int attend_pairs_file_next(attend_pairs_file *f, attend_text_pair *pair);
/* Whether attend_pairs_file_next would return without waiting for a pipe, a socket or a terminal, or opens a file. Waits up
 * to `milliseconds` for that; 0: not at all. */
bool attend_pairs_file_wait(attend_pairs_file *f, int milliseconds);

/* Why the last attend_pairs_file_next failed. After NO_TAB, MANY_TABS and TOO_LONG the next call returns the
 * following pair; pair->source then has the faulty line (NULL if it is too long), with its file and number. After the
 * others nothing more can be read. */
typedef enum attend_pair_fault {
    ATTEND_PAIR_OK,
    ATTEND_PAIR_NO_TAB,
    ATTEND_PAIR_MANY_TABS,
    ATTEND_PAIR_TOO_LONG,    /* more than ATTEND_MAX_LINE_BYTES (lines.h) */
    ATTEND_PAIR_LINE_COUNTS, /* two files with different numbers of lines; the message has both */
    ATTEND_PAIR_EMPTY_FILE,
    ATTEND_PAIR_UNREADABLE /* a read error, damaged gzip data, or no memory */
} attend_pair_fault;
attend_pair_fault attend_pairs_file_fault(const attend_pairs_file *f);

#ifdef __cplusplus
}
#endif
#endif
