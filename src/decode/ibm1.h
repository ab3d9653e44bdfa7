/* ibm1.h: word links by IBM Model 1 (Brown et al. 1993), estimated from the sentence pairs themselves: the links on
 * which both directions agree.
 *
 * They are too sparse and rough to serve as an alignment, but sufficient to rank attention maps. The units are the
 * model's tokens.
 *
 * Ownership  An attend_ibm1 is the caller's and owns its links.
 * Threads    Can be read by many threads. */
#ifndef ATTEND_DECODE_IBM1_H
#define ATTEND_DECODE_IBM1_H

#include <attend/words.h>

/* Sentence pairs, one after another. Both sides may end with ATTEND_END, which serves as the NULL word: the origin of
 * tokens without a counterpart. */
typedef struct attend_ibm1_pairs {
    int count;
    const int *tokens[2];  /* of all sources, of all targets */
    const int *lengths[2]; /* (count) */
} attend_ibm1_pairs;

typedef struct attend_ibm1 attend_ibm1;

/* Estimates both directions and links all pairs. *out is the caller's, freed by attend_ibm1_free (NULL is allowed
 * there); `pairs` is not needed afterwards. ATTEND_NO_MEMORY, also if it would take more than about max_bytes
 * (INFINITY: no limit). */
int attend_ibm1_new(attend_ibm1 **out, const attend_ibm1_pairs *pairs, double max_bytes);
void attend_ibm1_free(attend_ibm1 *s);
/* The number of links of pair 0, 1, ...; *links points to them, in the order of the target. */
int attend_ibm1_links(const attend_ibm1 *s, int pair, const attend_word_link **links);

#endif
