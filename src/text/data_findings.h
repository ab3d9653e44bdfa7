/* data_findings.h: the kinds of findings there are, and their examples. A new kind is a line here and one in data_findings.c. */
#ifndef ATTEND_TEXT_DATA_FINDINGS_H
#define ATTEND_TEXT_DATA_FINDINGS_H

#include "text/data_check.h"

typedef enum attend_finding_kind {
    ATTEND_FOUND_COUNTS,
    ATTEND_FOUND_NO_TAB,
    ATTEND_FOUND_TABS,
    ATTEND_FOUND_TOO_LONG,
    ATTEND_FOUND_NOT_UTF8,
    ATTEND_FOUND_NUL,
    ATTEND_FOUND_NOTHING,
    ATTEND_FOUND_EMPTY,
    ATTEND_FOUND_CONTROL,
    ATTEND_FOUND_MOJIBAKE,
    ATTEND_FOUND_LONG,
    ATTEND_FOUND_RATIO,
    ATTEND_FOUND_VALID_PAIR,
    ATTEND_FOUND_VALID_SOURCE,
    ATTEND_FOUND_DUPLICATE,
    ATTEND_FOUND_IDENTICAL,
    ATTEND_FOUND_SAME_SOURCE,
    ATTEND_FOUND_BLANKS,
    ATTEND_FOUND_TAB,
    ATTEND_FOUND_KINDS
} attend_finding_kind;

/* name, what and advice of a kind. `total`: the pairs its count is a share of, which may decide its severity; lines: they are lines alone. */
void attend_finding_describe(attend_finding *f, attend_finding_kind kind, uint64_t total, bool lines);

/* Fills in an example from a line, or from both sides of a pair (`target` may be NULL). The file name is borrowed. */
void attend_example_of(attend_example *e, const char *file, uint64_t line, const char *source, size_t source_size,
                       const char *target, size_t target_size);

#endif
