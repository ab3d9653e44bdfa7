/* unknown_report.h: counts what the training data did not have, and prints one warning about all lines of a run. */
#ifndef ATTEND_CLI_UNKNOWN_REPORT_H
#define ATTEND_CLI_UNKNOWN_REPORT_H

#include "options.h"

#include <attend/string_table.h>
#include <attend/translator.h>

/* {0} is empty. */
typedef struct unknown_report {
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
/* Prints the warnings; nothing if everything is known. is_vocabulary: words are unknown because the vocabulary does not
 * have them. */
void unknown_report_print(const unknown_report *u, const verb *v, bool is_vocabulary);
void unknown_report_free(unknown_report *u);

#endif
