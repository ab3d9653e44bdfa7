/* ibm1.h: links between words that stand to reason, where nobody has made any: those on which IBM Model 1 (Brown et al. 1993) agrees in both
 * directions, its tables estimated from the very pairs.
 *
 * Too few and too rough to be an alignment, they tell a map that aligns from one that does not. Words are numbers; whatever the model's pieces are. */
#ifndef ATTEND_DECODE_IBM1_H
#define ATTEND_DECODE_IBM1_H

#include <attend/metric.h>

/* Pairs one behind another. ATTEND_END, which both sides may have at their end, stands for what has no word on the other side. */
typedef struct attend_ibm1_pairs {
    int count;
    const int *words[2];   /* of all sources, of all targets */
    const int *lengths[2]; /* (count) */
} attend_ibm1_pairs;

typedef struct attend_ibm1 attend_ibm1;

/* *out is the caller's, freed by attend_ibm1_free (NULL is fine there); the arrays of `pairs` are not needed afterwards. ATTEND_NO_MEMORY. */
int attend_ibm1_new(attend_ibm1 **out, const attend_ibm1_pairs *pairs);
void attend_ibm1_free(attend_ibm1 *s);
/* How many links a pair has, from 0; *links points at them, in the order of the target. */
int attend_ibm1_links(const attend_ibm1 *s, int pair, const attend_word_link **links);

#endif
