/* gold_links.h: manual word alignments, from a file in one of two formats:
 *     0-0 1-2 3?3           one line per pair: source-target, counted from 0; "-" is sure, "?" or ":" possible
 *     1 1 1 S               one line per link: pair, source and target, counted from 1; S (sure, the default) or P
 *                           (possible) */
#ifndef ATTEND_CLI_GOLD_LINKS_H
#define ATTEND_CLI_GOLD_LINKS_H

#include <attend/metric.h>

typedef struct gold_links {
    unsigned long long *pairs; /* (count), ascending: the pair of each link, from 0 */
    attend_word_link *links;   /* (count) */
    size_t count;
    int pair_capacity, link_capacity;
    unsigned long long lines; /* of the file */
    int format;               /* of the file; 0: not known yet */
} gold_links;

/* Zero-initialised: empty. Links that take more than `memory` bytes are refused; 0: no limit. The message of a failure gives
 * the file and the line. */
int gold_links_read(gold_links *g, const char *path, size_t memory);
void gold_links_free(gold_links *g);
/* The links of a pair. Returns their number. */
int gold_links_of(const gold_links *g, unsigned long long pair, const attend_word_link **links);
/* ATTEND_BAD_DATA if the file does not match the number of pairs. */
int gold_links_check(const gold_links *g, const char *path, unsigned long long pairs);

#endif
