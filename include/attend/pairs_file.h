/* pairs_file.h: pairs of sentences, or sentences alone, from files.
 *
 * Purpose    Pairs come from one file with a TAB between source and target (.tsv), or from two files in which line i of one belongs to
 *            line i of the other; several of either are read one after another. Lines alone, for a language model, are targets whose
 *            sources are empty. gzip is unpacked, "-" is standard input. docs/data.md has the rules and the limits.
 * Ownership  A pair's texts belong to the reader and are valid until the next pair is asked for, its file names until the
 *            reader is closed.
 * Threads    A reader belongs to one thread at a time. */
#ifndef ATTEND_PAIRS_FILE_H
#define ATTEND_PAIRS_FILE_H

#include <attend/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One file with TABs (target is NULL), two with lines that belong together, or one of lines alone (source is NULL). */
typedef struct attend_pairs_spec {
    const char *source, *target;
} attend_pairs_spec;

/* What a list of file names means: a name that ends in .tsv or .tsv.gz, "-", or the only name there is has TABs; others come two by
 * two, source and target. `specs` has room for `count` and borrows the names. ATTEND_BAD_USAGE if one is left over. */
int attend_pairs_specs(attend_pairs_spec *specs, int *spec_count, const char *const *names, int count);

/* Lines alone: each name is a file of them, in which a TAB is text like any other. `specs` has room for `count` and borrows the names.
 * ATTEND_BAD_USAGE if a name ends in .tsv or .tsv.gz, which is a file of pairs. */
int attend_monolingual_specs(attend_pairs_spec *specs, const char *const *names, int count);

/* Bytes as they are in the files; no '\0' ends them. Of a line alone the source is empty. */
typedef struct attend_text_pair {
    const char *source, *target;
    size_t source_size, target_size;
    const char *source_file, *target_file; /* the same one if it has TABs, or lines alone */
    uint64_t line;                         /* in both files; the first is 1 */
} attend_text_pair;

typedef struct attend_pairs_file attend_pairs_file;

/* ATTEND_BAD_USAGE: no files, pairs and lines alone together, or standard input twice. ATTEND_IO: one of them cannot be read; all are looked
 * at before the first is. *out is the caller's, freed by attend_pairs_file_close (NULL is fine there). The specs are copied. */
int attend_pairs_file_open(attend_pairs_file **out, const attend_pairs_spec *specs, int count);
void attend_pairs_file_close(attend_pairs_file *f);

/* The next pair; pair->source is NULL behind the last. The message of a failure begins with the file and the line. */
int attend_pairs_file_next(attend_pairs_file *f, attend_text_pair *pair);

/* Why the last attend_pairs_file_next failed. After the first three the next call gives the pair behind; what of the line there is is then in
 * pair->source (NULL if it is too long), with its place. After the others nothing more can be read. */
typedef enum attend_pair_fault {
    ATTEND_PAIR_OK,
    ATTEND_PAIR_NO_TAB,
    ATTEND_PAIR_MANY_TABS,   /* more than one */
    ATTEND_PAIR_TOO_LONG,    /* a line of more than 16 MiB */
    ATTEND_PAIR_LINE_COUNTS, /* two files with different numbers of lines; the message has both */
    ATTEND_PAIR_EMPTY_FILE,  /* a file without a line */
    ATTEND_PAIR_UNREADABLE   /* unreadable, damaged, no memory */
} attend_pair_fault;
attend_pair_fault attend_pairs_file_fault(const attend_pairs_file *f);

#ifdef __cplusplus
}
#endif
#endif
