/* test_set.h: the segments of a test set: sources with one or more references each. */
#ifndef ATTEND_CLI_TEST_SET_H
#define ATTEND_CLI_TEST_SET_H

#include "options.h"
#include "text_lines.h"

typedef struct test_set {
    int count;               /* segments */
    text_lines sources;      /* (count), or empty if the sources are unknown */
    text_lines texts;        /* references in the order of the files */
    const char **references; /* the same, by segment; they point into `texts` */
    int *begin;              /* (count + 1): index of a segment's first reference */
    int *segment_of;         /* (texts.count): the segment of a reference */
    bool grouped;            /* segments are pairs of equal source, not lines */
    char from[256];          /* the file that determines the count, for messages */
} test_set;

/* Pairs of equal source form one segment with several references. Segments are in the order of first occurrence. */
int test_set_read_pairs(test_set *s, const pairs_list *pairs);
/* Line i of each reference file and, unless NULL, of the source file. ATTEND_BAD_DATA if the files differ in their
 * number of lines. */
int test_set_read_lines(test_set *s, const texts_list *references, const char *sources);
void test_set_free(test_set *s);

/* Reads a system's translations: one line per segment or, for a grouped set, one per pair; lines of equal sources
 * must then be equal. */
int test_set_read_system(const test_set *s, text_lines *hypotheses, const char *path);

/* "FILE:LINE" of reference k (an index into s->references). Returns `place`. */
const char *test_set_reference_place(const test_set *s, int k, char place[TEXT_PLACE]);

/* The number of references of each segment; 0: it varies. */
int test_set_reference_count(const test_set *s);

#endif
