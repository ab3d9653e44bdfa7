/* beam_cache.h: what was kept of the words decoded so far (keys and values side by side, say), for hypotheses that branch and end.
 *
 * Purpose    A row is stored once, in the step in which its word was decoded, and never moves; a hypothesis is the list of its
 *            ancestors' rows. Going on from a parent copies that list, a number a word, and no row.
 * Ownership  The past owns its rows. A row stays where it is as long as some hypothesis has it.
 * Memory     Rows that no hypothesis has any more are taken again before there are more of them; at most a quarter of the rows, or a few
 *            blocks, lie idle. Nothing is given back before attend_beam_cache_free: a decoding ends.
 * Failure    Without memory (ATTEND_NO_MEMORY) nothing has changed.
 * Threads    Many may read one past at once; it is changed by one thread alone. */
#ifndef ATTEND_ATTENTION_BEAM_CACHE_H
#define ATTEND_ATTENTION_BEAM_CACHE_H

#include <attend/tape.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct attend_beam_cache attend_beam_cache;

/* Of no hypotheses. width: numbers of a row. */
int attend_beam_cache_new(attend_beam_cache **out, int width);
void attend_beam_cache_free(attend_beam_cache *p);

/* Hypothesis i of n goes on from hypothesis parents[i] of the step before with row i of `rows`, `stride` numbers apart, which is
 * copied. parents[i] < 0: it has no past. The first step reads no parents. */
int attend_beam_cache_step(attend_beam_cache *p, int n, const int *parents, const attend_real *rows, size_t stride);

int attend_beam_cache_count(const attend_beam_cache *p);         /* of hypotheses */
int attend_beam_cache_length(const attend_beam_cache *p, int i); /* words of hypothesis i */
int attend_beam_cache_max_length(const attend_beam_cache *p);    /* words of the longest */
/* Row j of hypothesis i; j = 0: the oldest. */
const attend_real *attend_beam_cache_row(const attend_beam_cache *p, int i, int j);
size_t attend_beam_cache_bytes(const attend_beam_cache *p);

/* Of each hypothesis's query over its own words, in every head:
 *     w = softmax(scale q . k_j)     context = sum_j w_j v_j */
typedef struct beam_attention {
    const attend_real *query; /* (n, heads D), rows `query_stride` apart */
    size_t query_stride;
    int heads, width;  /* D */
    size_t key, value; /* where in a row the keys of all heads begin, and the values */
    double scale;
    attend_real *context; /* (n, heads D), rows `context_stride` apart */
    size_t context_stride;
    attend_real *weights; /* (n, heads, longest), 0 behind a hypothesis's own words; or NULL */
} beam_attention;

/* On the context's threads, if it is worth it; the same to the bit on any number. False: no memory, and the context failed. */
bool attend_beam_cache_attend(attend_ctx *c, const attend_beam_cache *p, const beam_attention *a);

#endif
