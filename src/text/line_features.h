/* line_features.h: what a look at a line tells. */
#ifndef ATTEND_TEXT_LINE_FEATURES_H
#define ATTEND_TEXT_LINE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct attend_line_features {
    const char *text, *file; /* given, and borrowed */
    size_t size;
    size_t words, characters; /* words as blanks separate them */
    bool blanks;              /* at the beginning or at the end */
    bool control;  /* characters that control something, or end a line for some programs and not for others */
    bool mojibake; /* UTF-8 that was read as Latin-1 and written as UTF-8 again, by the look of it */
} attend_line_features;

/* Fills in the rest for a text that is UTF-8. */
void attend_line_measure(attend_line_features *l);

#endif
