/* line_features.h: statistics and suspicious characters of a line. */
#ifndef ATTEND_TEXT_LINE_FEATURES_H
#define ATTEND_TEXT_LINE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct attend_line_features {
    const char *text, *file; /* set by the caller, borrowed */
    size_t size;
    size_t words, characters; /* words are separated by white space */
    size_t syllables;         /* characters that are Hangul syllables */
    bool blanks;              /* leading or trailing white space */
    bool control;             /* control characters, and characters that only some programs treat as line ends */
    bool mojibake;            /* appears to be UTF-8 that was read as Latin-1 and encoded again */
} attend_line_features;

/* Computes the other members for a text that is valid UTF-8. */
void attend_line_measure(attend_line_features *l);

#endif
