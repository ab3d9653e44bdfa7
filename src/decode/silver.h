/* silver.h: links between words that stand to reason, where nobody has made any: those on which IBM Model 1 (Brown et al. 1993) agrees in both
 * directions, its tables estimated from the very pairs.
 *
 * Too few and too rough to be an alignment, they tell a map that aligns from one that does not. Words are numbers; whatever the model's pieces are. */
#ifndef ATTEND_DECODE_SILVER_H
#define ATTEND_DECODE_SILVER_H

#include <attend/metric.h>

/* Pairs one behind another. ATTEND_END, which both sides may have at their end, stands for what has no word on the other side. */
typedef struct attend_silver_pairs {
    int count;
    const int *words[2];   /* of all sources, of all targets */
    const int *lengths[2]; /* (count) */
} attend_silver_pairs;

typedef struct attend_silver attend_silver;

/* *out is the caller's, freed by attend_silver_free (NULL is fine there); the arrays of `pairs` are not needed afterwards. ATTEND_NO_MEMORY. */
int attend_silver_new(attend_silver **out, const attend_silver_pairs *pairs);
void attend_silver_free(attend_silver *s);
/* How many links a pair has, from 0; *links points at them, in the order of the target. */
int attend_silver_links(const attend_silver *s, int pair, const attend_aligned **links);

#endif
