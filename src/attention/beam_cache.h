/* beam_cache.h: rows (for example keys and values) of the tokens decoded so far, for hypotheses that branch and end.
 *
 * Purpose    A row is stored once, in the step that decoded its token, and never moves. A hypothesis is the list of
 *            the rows of its tokens. Extending a hypothesis copies its list, one int for each token, and no row.
 * Ownership  The rows are in the context's memory: the cache can be used until the context is reset. A row keeps its
 *            address as long as a hypothesis contains it.
 * Memory     Rows that no hypothesis contains are reused before more are allocated; at most a quarter of the rows, or
 *            a few blocks, are unused. attend_beam_cache_free frees the lists.
 * Failure    ATTEND_NO_MEMORY leaves the cache unchanged.
 * Threads    Several threads may read a cache at once; changing it needs exclusive access. */
#ifndef ATTEND_ATTENTION_BEAM_CACHE_H
#define ATTEND_ATTENTION_BEAM_CACHE_H

#include <attend/tape.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct attend_beam_cache attend_beam_cache;

/* Creates a cache without hypotheses, for rows of `width` elements. */
int attend_beam_cache_new(attend_beam_cache **out, attend_ctx *c, int width);
void attend_beam_cache_free(attend_beam_cache *cache);

/* Replaces the hypotheses by n new ones: hypothesis i is hypothesis parents[i] of the previous step followed by row i
 * of `rows`, which is copied; rows are `stride` elements apart. parents[i] < 0: the new row is its first. The first
 * step does not read `parents`. */
int attend_beam_cache_step(attend_beam_cache *cache, int n, const int *parents, const attend_real *rows, size_t stride);

int attend_beam_cache_count(const attend_beam_cache *cache);         /* number of hypotheses */
int attend_beam_cache_length(const attend_beam_cache *cache, int i); /* tokens of hypothesis i */
int attend_beam_cache_max_length(const attend_beam_cache *cache);    /* tokens of the longest hypothesis */
/* Row j of hypothesis i, oldest first. */
const attend_real *attend_beam_cache_row(const attend_beam_cache *cache, int i, int j);
size_t attend_beam_cache_bytes(const attend_beam_cache *cache);

/* Attention of each hypothesis's query over its own tokens, in every head:
 *     w = softmax(scale q . k_j)     context = sum_j w_j v_j */
typedef struct beam_attention {
    const attend_real *query; /* (n, heads D), rows `query_stride` apart */
    size_t query_stride;
    int heads, width;  /* D */
    size_t key, value; /* offsets in a row of the keys and of the values of all heads */
    double scale;
    attend_real *context; /* (n, heads D), rows `context_stride` apart */
    size_t context_stride;
    attend_real *weights; /* (n, heads, max length), 0 after a hypothesis's last token; or NULL */
} beam_attention;

/* Uses the threads of the context if the work is large enough; the result is bit-identical for any number of
 * them. Returns false if there is not enough memory; the context then holds the error. */
bool attend_beam_cache_attend(attend_ctx *c, const attend_beam_cache *cache, const beam_attention *a);

#endif
