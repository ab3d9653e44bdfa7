/* data_check.h: what is wrong with this data?
 *
 * Purpose    Reads pairs, or lines alone, once, from files or standard input, and says what would stop a training, what would harm it and what is worth
 *            knowing: each finding with a count, up to three examples with file and line, and what to do. docs/data.md has
 *            the list and the reasons for its limits.
 * Memory     21 to 43 bytes for each pair that differs from those before it (its two hashes, see hash_set.h), none in the quick look; nothing else
 *            grows with the data but the longest line.
 * Ownership  A report owns all it points to.
 * Threads    One at a time; a report is read by many. */
#ifndef ATTEND_TEXT_DATA_CHECK_H
#define ATTEND_TEXT_DATA_CHECK_H

#include <attend/pairs_file.h>
#include <stdbool.h>
#include <stdio.h>

typedef enum attend_severity { ATTEND_STOPS_TRAINING, ATTEND_WARNING, ATTEND_INFORMATION } attend_severity;

enum { ATTEND_EXAMPLES = 3, ATTEND_EXCERPT = 768 };

typedef struct attend_example {
    const char *file;
    uint64_t line;
    char excerpt[ATTEND_EXCERPT]; /* UTF-8, clipped; what cannot be shown is written as \xNN or \u{NNNN} */
} attend_example;

typedef struct attend_finding {
    const char *name; /* for programs: "not-utf8" */
    attend_severity severity;
    uint64_t count;
    const char *what; /* is counted: "lines that are not UTF-8" */
    const char *advice;
    int example_count;
    attend_example examples[ATTEND_EXAMPLES];
} attend_finding;

typedef struct attend_data_check_counts {
    uint64_t pairs; /* lines of a file, good or bad */
    uint64_t good;  /* of those, the ones a training would use: text, with something on both sides */
    uint64_t words[2],
        characters[2]; /* of the good ones: source (0 of lines alone), target; words as blanks separate them */
    int median[2];     /* characters of a line; 0 in the quick look */
    int longest[2];    /* characters */
} attend_data_check_counts;

typedef struct attend_data_check_report {
    attend_data_check_counts train, valid;
    bool quick;
    bool lines; /* alone, and no pairs */
    int finding_count;
    attend_finding *findings; /* the most serious first */
    char *names;              /* of the files */
} attend_data_check_report;

/* valid_count may be 0. quick: only what stops training, and empty sides. Trouble with lines is a finding; files that cannot be read to
 * their end (missing, empty, damaged) are a failure, with the reader's message. *out is the caller's, freed by attend_data_check_free
 * (NULL is fine there). */
int attend_data_check(attend_data_check_report **out, const attend_pairs_spec *train, int train_count,
                      const attend_pairs_spec *valid, int valid_count, bool quick);
void attend_data_check_free(attend_data_check_report *r);

/* Is anything in it that stops training? */
bool attend_data_check_stops(const attend_data_check_report *r);
/* As text for people, and as one JSON object for programs. ATTEND_IO if the file does not take it. */
int attend_data_check_print(const attend_data_check_report *r, FILE *out);
int attend_data_check_json(const attend_data_check_report *r, FILE *out);

#endif
