/* cache.h: a key/value cache for attention one decoding step at a time.
 *
 * Purpose    Each step appends the rows of the new tokens and attends over all rows, without copying them:
 *                attend_cache_append(cache, 1, key, value, false);
 *                attend_cache_fill(cache, &arrays);
 *                attend_runner_forward(runner, &options, &arrays, context, NULL, NULL);
 *            With options.causal, several tokens appended at once give the same result as one by one. All sequences
 *            have the same length.
 * Shapes     B sequences, T rows, Hk key heads of widths Dk and Dv. The layout is (B, capacity, Hk, D), capacity >= T.
 * Ownership  The cache owns its rows; attend_cache_free frees them. The pointers that attend_cache_fill sets point
 *            into the cache and are valid until the next call that appends, reserves, reorders, truncates or frees.
 * Failure    ATTEND_NO_MEMORY or ATTEND_BAD_USAGE leave the cache unchanged.
 * Threads    Several threads may read a cache at once; changing it needs exclusive access. */
#ifndef ATTEND_CACHE_H
#define ATTEND_CACHE_H

#include <attend/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_cache attend_cache;

/* Creates an empty cache for `batch` sequences. value_width 0: the keys serve as values. */
int attend_cache_new(attend_cache **out, int batch, int key_heads, int key_width, int value_width);
void attend_cache_free(attend_cache *cache);

/* Appends `rows` rows to every sequence: key (B, rows, Hk, Dk) and value (B, rows, Hk, Dv), or with heads_first
 * (B, Hk, rows, Dk) and (B, Hk, rows, Dv). The arrays are copied and must not overlap the cache. value is not read if
 * its width is 0. The capacity doubles when it is exhausted. */
int attend_cache_append(attend_cache *cache, int rows, const attend_real *key, const attend_real *value,
                        bool heads_first);

/* Sets the capacity to at least `rows` rows. Up to that length, appending neither fails nor moves rows. */
int attend_cache_reserve(attend_cache *cache, int rows);

/* Replaces sequence b by a copy of sequence from[b], for b < `batch`: the surviving hypotheses of a beam. The batch
 * may grow or shrink. The cache keeps a second buffer for this, so that repeated calls allocate nothing. */
int attend_cache_reorder(attend_cache *cache, const int *from, int batch);

/* Removes all rows after the first `length`. */
int attend_cache_truncate(attend_cache *cache, int length);

/* The number of rows of each sequence, and of sequences. */
int attend_cache_length(const attend_cache *cache);
int attend_cache_batch(const attend_cache *cache);
/* Bytes of memory, including the second buffer. */
size_t attend_cache_bytes(const attend_cache *cache);

/* Copies all rows into contiguous arrays: key (B, Hk, T, Dk), value (B, Hk, T, Dv); either may be NULL. */
void attend_cache_present(const attend_cache *cache, attend_real *key, attend_real *value);

/* Sets batch, keys, key_lengths, key, value, their widths and heads_first of `arrays`, and no other member.
 * heads_first is false, so the query has the layout (B, Tq, H, D). keys is the capacity: masks, weights and scores of
 * the call are that wide. Rows after the length are never read. */
void attend_cache_fill(const attend_cache *cache, attend_arrays *arrays);

#ifdef __cplusplus
}
#endif
#endif
