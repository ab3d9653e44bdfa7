/* translation_writer.h: translations as lines of text or JSON (docs/translate.md has the formats). */
#ifndef ATTEND_CLI_TRANSLATION_WRITER_H
#define ATTEND_CLI_TRANSLATION_WRITER_H

#include <attend/translator.h>
#include <stdio.h>

enum { ALIGNMENT_NONE, ALIGNMENT_HARD, ALIGNMENT_SOFT };

/* The first members are the caller's to set, the rest begin as zero. */
typedef struct translation_writer {
    FILE *to;
    const attend_translator *translator;
    bool json, list; /* list: all translations of a line, not the best alone */
    bool lines;      /* a language model went on from them */
    int alignment;
    char *quoted; /* scratch */
    size_t quoted_room;
    attend_word_link *links; /* scratch */
    int link_room;
} translation_writer;

/* The result of the line with this number, from 0. False: no memory. */
bool translation_write(translation_writer *w, unsigned long long number, const attend_line_result *r);
void translation_writer_free(translation_writer *w);

#endif
