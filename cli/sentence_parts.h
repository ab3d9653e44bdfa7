/* sentence_parts.h: the sentences of lines, for attend translate --split-sentences. */
#ifndef ATTEND_CLI_SENTENCE_PARTS_H
#define ATTEND_CLI_SENTENCE_PARTS_H

#include <stddef.h>

/* {0} is empty. The texts are parts of the lines, without the white space around them; a blank line has one part. */
typedef struct sentence_parts {
    const char **texts;
    size_t *sizes;
    int *lines; /* the line of a part */
    int count, text_capacity, size_capacity, line_capacity;
} sentence_parts;

/* Replaces the parts by those of other lines, which are borrowed. ATTEND_NO_MEMORY. */
int sentence_parts_split(sentence_parts *p, const char *const *lines, const size_t *sizes, int count);
void sentence_parts_free(sentence_parts *p);

#endif
