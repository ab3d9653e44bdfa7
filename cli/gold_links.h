/* gold_links.h: links that people made, from a file of one of two kinds:
 *     0-0 1-2 3?3           a line a pair, source-target from 0; "-" is sure, "?" or ":" possible
 *     1 1 1 S               a line a link: pair, source, target from 1, and S (sure, also if it is missing) or P (possible) */
#ifndef ATTEND_CLI_GOLD_LINKS_H
#define ATTEND_CLI_GOLD_LINKS_H

#include <attend/metric.h>

typedef struct gold_links {
    unsigned long long *pairs; /* (count), ascending: which pair a link belongs to, from 0 */
    attend_word_link *links;   /* (count) */
    size_t count, room;
    unsigned long long lines; /* of the file */
    int kind;                 /* of the file: 0 is not known yet */
} gold_links;

/* Zero is empty. A failure's message has the file and the line. */
int gold_links_read(gold_links *g, const char *path);
void gold_links_free(gold_links *g);
/* How many links a pair has; *links points at them. */
int gold_links_of(const gold_links *g, unsigned long long pair, const attend_word_link **links);
/* ATTEND_BAD_DATA if the file is about another number of pairs than there were. */
int gold_links_check(const gold_links *g, const char *path, unsigned long long pairs);

#endif
