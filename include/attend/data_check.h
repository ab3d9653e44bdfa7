/* data_check.h: checks training data.
 *
 * Purpose    Reads sentence pairs, or monolingual lines for a language model, once, from files or standard input, and
 *            reports what prevents training, what harms it and what is worth knowing: each finding with a count, up
 *            to three examples with file and line, and advice. docs/data.md lists the findings and explains their
 *            thresholds.
 * Memory     21 to 43 bytes for each distinct pair (the hashes of its two sides) and, with validation data, 11 to 21 for
 *            each distinct word; none in a quick check. Nothing else grows with the data except the longest line.
 * Ownership  A report owns everything it points to.
 * Threads    A check runs on the calling thread. A finished report can be read by many threads at once. */
#ifndef ATTEND_DATA_CHECK_H
#define ATTEND_DATA_CHECK_H

#include <attend/pairs_file.h>
#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_severity {
    ATTEND_SEVERITY_ERROR, /* training cannot use this data */
    ATTEND_SEVERITY_WARNING,
    ATTEND_SEVERITY_INFO
} attend_severity;

enum { ATTEND_MAX_EXAMPLES = 3, ATTEND_EXCERPT_BYTES = 768 };

/* One occurrence of a finding. */
typedef struct attend_example {
    const char *file;
    uint64_t line;                      /* from 1 */
    char excerpt[ATTEND_EXCERPT_BYTES]; /* UTF-8, truncated; unprintable characters are escaped as \xNN or \u{NNNN} */
} attend_example;

typedef struct attend_finding {
    const char *name; /* an identifier for programs, such as "not-utf8" */
    attend_severity severity;
    uint64_t count;   /* occurrences */
    const char *what; /* what is counted, such as "lines that are not UTF-8" */
    const char *advice;
    int example_count;
    attend_example examples[ATTEND_MAX_EXAMPLES];
} attend_finding;

/* Sizes of a data set. Arrays are indexed by side: 0 source (zero for monolingual lines), 1 target. Words are
 * separated by white space. */
typedef struct attend_data_check_counts {
    uint64_t pairs;                   /* all pairs or lines read */
    uint64_t usable;                  /* those that training would use: valid text, no empty side */
    uint64_t words[2], characters[2]; /* of the usable ones */
    uint64_t syllables[2];            /* characters that are Hangul syllables */
    int median[2];                    /* median characters per line; 0 in a quick check */
    int longest[2];                   /* maximum characters per line */
} attend_data_check_counts;

typedef struct attend_data_check_report {
    attend_data_check_counts train, valid;
    bool quick;
    bool lines;    /* monolingual lines, not pairs */
    bool held_out; /* the validation data is a part of the training files (attend_pairs_hold_out) */
    int finding_count;
    attend_finding *findings; /* the most severe first */
    char *names;              /* storage of the examples' file names */
} attend_data_check_report;

/* Checks training data and, if valid_count > 0, validation data. quick: only findings that prevent training, and
 * empty sides. A faulty line is a finding; a file that cannot be read to its end (missing, empty, damaged) is a
 * failure with the status and message of attend_pairs_file_next. ATTEND_BAD_USAGE if one set has pairs and the other
 * monolingual lines; ATTEND_NO_MEMORY, also if the hashes of all lines, about 40 bytes for each, take more than `memory`
 * bytes (0: no limit). *out is the caller's, freed by attend_data_check_free; NULL after a failure. */
int attend_data_check(attend_data_check_report **out, const attend_pairs_spec *train, int train_count,
                      const attend_pairs_spec *valid, int valid_count, bool quick, size_t memory);
/* NULL is allowed. */
void attend_data_check_free(attend_data_check_report *r);

/* True if a finding prevents training. */
bool attend_data_check_stops(const attend_data_check_report *r);
/* Writes the report as text, or as one JSON object on a line, and flushes the stream. ATTEND_IO if writing fails. */
int attend_data_check_print(const attend_data_check_report *r, FILE *out);
int attend_data_check_json(const attend_data_check_report *r, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
