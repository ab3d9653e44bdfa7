/* translation_writer.h: writes translations as text or JSON (docs/translate.md describes the formats). */
#ifndef ATTEND_CLI_TRANSLATION_WRITER_H
#define ATTEND_CLI_TRANSLATION_WRITER_H

#include <attend/translator.h>
#include <stdio.h>

enum { ALIGNMENT_NONE, ALIGNMENT_HARD, ALIGNMENT_SOFT };

/* The caller sets the members up to `confidence`; the others are zero. */
typedef struct translation_writer {
    FILE *to;
    const attend_translator *translator;
    bool json, list;         /* list: all translations of a line, not only the best */
    bool is_language_model;  /* the lines are continued, not translated */
    int alignment;           /* ALIGNMENT_* */
    bool confidence;         /* plain text has the confidence of each translation */
    attend_word_link *links; /* scratch */
    int link_capacity;
} translation_writer;

/* Writes the result of a line; `number` counts from 0. False: out of memory. */
bool translation_write(translation_writer *w, unsigned long long number, const attend_line_result *r);
/* Writes a text as a line of its own. */
void translation_write_text(const translation_writer *w, const char *text);
void translation_writer_free(translation_writer *w);

#endif
