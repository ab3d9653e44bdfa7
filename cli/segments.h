/* segments.h: what is to be translated and what it should become: lines with their references. */
#ifndef ATTEND_CLI_SEGMENTS_H
#define ATTEND_CLI_SEGMENTS_H

#include "options.h"

typedef struct text_lines {
    char **items;
    int count, room;
} text_lines;

/* Adds the lines of a file. A failure's message has the file and the line. */
int text_lines_read(text_lines *l, const char *path);
int text_lines_add(text_lines *l, const char *text, size_t size);
void text_lines_free(text_lines *l);

typedef struct segments {
    int count;
    text_lines sources;      /* (count); none: they are not known */
    text_lines texts;        /* references as they were read */
    const char **references; /* all of them, by segment; they are texts */
    int *begin;              /* (count + 1): where a segment's references begin */
    int *segment_of;         /* (texts): which segment a reference belongs to */
    bool grouped;            /* by equal sources; else line by line */
    char from[256];          /* where the count comes from, for messages */
} segments;

/* Pairs of equal source are one segment with several references, in the order in which sources first come. */
int segments_read_pairs(segments *s, const pairs_list *pairs);
/* Line i of each reference, and of the sources unless they are NULL. ATTEND_BAD_DATA with the counts if the files differ in them. */
int segments_read_lines(segments *s, const texts_list *references, const char *sources);
void segments_free(segments *s);

/* A system's lines for the segments: as many as segments, or, of grouped ones, as many as pairs; then those of equal sources must be equal. */
int segments_read_system(const segments *s, text_lines *hypotheses, const char *path);

/* How many references each has; 0: it varies. */
int segments_reference_count(const segments *s);

#endif
