/* cache.h: the keys and values of what was decoded so far, for attention one step at a time.
 *
 * Purpose    Each step appends the rows of the new words and attends over all of them, in place:
 *                attend_cache_append(cache, 1, key, value, false);
 *                attend_cache_fill(cache, &arrays);
 *                attend_runner_forward(runner, &options, &arrays, context, NULL, NULL);
 *            With options.causal several words at once come out as one by one. All sequences are of one length.
 * Shapes     B sequences, T rows, Hk key heads, Dk and Dv wide. The cache is laid out as (B, room, Hk, D), room >= T.
 * Ownership  The cache owns its rows, and attend_cache_free frees them. What attend_cache_fill sets points into the
 *            cache and holds until it is next appended to, reserved, reordered, truncated or freed.
 * Failure    Without memory, or with an argument that makes no sense, the cache stays as it was.
 * Threads    Many may read one cache at once; it is changed by one thread alone. */
#ifndef ATTEND_CACHE_H
#define ATTEND_CACHE_H

#include <attend/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_cache attend_cache;

/* Empty, for `batch` sequences. value_width 0: the keys are the values too. */
int attend_cache_new(attend_cache **out, int batch, int key_heads, int key_width, int value_width);
void attend_cache_free(attend_cache *cache);

/* `rows` more rows for every sequence: key (B, rows, Hk, Dk) and value (B, rows, Hk, Dv), or with heads_first
 * (B, Hk, rows, Dk) and (B, Hk, rows, Dv). value is not read if its width is 0. They are copied, and must not lie in
 * the cache itself. Room doubles when it runs out. */
int attend_cache_append(attend_cache *cache, int rows, const attend_real *key, const attend_real *value,
                        bool heads_first);

/* Room for `rows` rows of each sequence in all: until then appending neither fails nor moves anything. */
int attend_cache_reserve(attend_cache *cache, int rows);

/* Sequence b becomes what sequence from[b] was, for `batch` of them: a beam that lives on in the hypotheses it picked.
 * The batch may grow and shrink. Keeps a second set of rows, so that a step of a beam takes no memory each time. */
int attend_cache_reorder(attend_cache *cache, const int *from, int batch);

/* Forgets all rows behind the first `length`. */
int attend_cache_truncate(attend_cache *cache, int length);

int attend_cache_length(const attend_cache *cache);
int attend_cache_batch(const attend_cache *cache);
/* Bytes it holds, those of the second set included. */
size_t attend_cache_bytes(const attend_cache *cache);

/* All rows, close together: key (B, Hk, T, Dk), value (B, Hk, T, Dv); NULL: not wanted. */
void attend_cache_present(const attend_cache *cache, attend_real *key, attend_real *value);

/* Sets batch, keys, key_lengths, key, value, their widths and heads_first, and nothing else. heads_first is false, so
 * the query must lie as (B, Tq, H, D). keys is the cache's room: masks, weights and scores of the call are that wide;
 * what is behind the length is never seen. */
void attend_cache_fill(const attend_cache *cache, attend_arrays *arrays);

#ifdef __cplusplus
}
#endif
#endif
