/* data_findings.h: the kinds of findings of a data check, and their examples. A new kind is one line here and one in
 * data_findings.c. */
#ifndef ATTEND_TEXT_DATA_FINDINGS_H
#define ATTEND_TEXT_DATA_FINDINGS_H

#include <attend/data_check.h>

typedef enum attend_finding_kind {
    ATTEND_FINDING_LINE_COUNTS,
    ATTEND_FINDING_NO_TAB,
    ATTEND_FINDING_MANY_TABS,
    ATTEND_FINDING_TOO_LONG,
    ATTEND_FINDING_NOT_UTF8,
    ATTEND_FINDING_NUL,
    ATTEND_FINDING_NOTHING_USABLE,
    ATTEND_FINDING_EMPTY,
    ATTEND_FINDING_CONTROL,
    ATTEND_FINDING_MOJIBAKE,
    ATTEND_FINDING_LONG,
    ATTEND_FINDING_RATIO,
    ATTEND_FINDING_VALID_PAIR,
    ATTEND_FINDING_VALID_SOURCE,
    ATTEND_FINDING_VALID_CHARACTER,
    ATTEND_FINDING_VALID_WORD,
    ATTEND_FINDING_DUPLICATE,
    ATTEND_FINDING_IDENTICAL,
    ATTEND_FINDING_SAME_SOURCE,
    ATTEND_FINDING_BLANKS,
    ATTEND_FINDING_TAB,
    ATTEND_FINDING_KINDS
} attend_finding_kind;

/* Sets name, what, advice and severity of a finding. total: the number of pairs; lines: the data is
 * monolingual; symbols: the words of one side are symbols, such as phonemes. */
void attend_finding_describe(attend_finding *f, attend_finding_kind kind, uint64_t total, bool lines, bool symbols);

/* Fills in an example from a line, or from both sides of a pair (target NULL: a line). The file name is borrowed. */
void attend_example_of(attend_example *e, const char *file, uint64_t line, const char *source, size_t source_size,
                       const char *target, size_t target_size);

#endif
