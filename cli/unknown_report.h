/* unknown_report.h: counts what the training data did not have, and prints one warning about all lines of a run. */
#ifndef ATTEND_CLI_UNKNOWN_REPORT_H
#define ATTEND_CLI_UNKNOWN_REPORT_H

#include "options.h"
#include "packed.h"

#include <attend/string_table.h>
#include <attend/translator.h>

/* {0} is empty. */
typedef struct unknown_report {
    bool keeps_all;                /* keep all texts, not only the first ten thousand: the report is part of another */
    unsigned long long lines;      /* that were added */
    unsigned long long last;       /* the number of the last line added, from 1 */
    struct unknown_kind {          /* characters, words */
        unsigned long long lines;  /* that have some */
        unsigned long long last;   /* the number of the last of them, from 1 */
        unsigned long long count;  /* occurrences */
        attend_string_table texts; /* the first of them */
        long long *counts;         /* (texts.count) */
        int capacity;
    } kinds[2];
} unknown_report;

/* Adds a result. number: of its line, from 0; several results may belong to one line. ATTEND_NO_MEMORY. */
int unknown_report_add(unknown_report *u, unsigned long long number, const attend_line_result *r);
/* Appends a report with keeps_all to a string, or adds one to the report of the lines before it. The status of packed_add
 * and unknown_report_add, or of shared_work_damaged. */
int unknown_report_pack(const unknown_report *u, attend_string *to);
int unknown_report_add_packed(unknown_report *u, packed_reader *from);
/* Prints the warnings; nothing if everything is known. is_vocabulary: words are unknown because the vocabulary does not
 * have them. */
void unknown_report_print(const unknown_report *u, const verb *v, bool is_vocabulary);
void unknown_report_free(unknown_report *u);

#endif
