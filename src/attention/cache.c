/* cache.c: keys and values that grow row by row. A sequence's rows lie together, head beside head, with room behind
 * them: a step writes one row a sequence and moves nothing. */
#include <attend/cache.h>

#include "core/memory.h"
#include "core/status.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

/* One set of rows. */
typedef struct store {
    attend_real *key, *value; /* (sequences, room, Hk, D); value NULL: its width is 0 */
    int *lengths;             /* (sequences) */
    int sequences, room;
} store;

struct attend_cache {
    store now, spare; /* spare: what reorder writes to, and then swaps; empty until it is needed */
    int batch, length;
    int key_heads, key_width, value_width;
    size_t key_row, value_row; /* numbers in a row of all heads */
};

/* ---- stores ---- */

static void store_free(store *s)
{
    attend_memory_free(s->key);
    attend_memory_free(s->value);
    attend_memory_free(s->lengths);
    *s = (store){ 0 };
}

/* sequences * room * row numbers; NULL: there is no such memory. */
static attend_real *numbers_new(int sequences, int room, size_t row)
{
    const size_t most = SIZE_MAX / sizeof(attend_real) / row;
    if (sequences > 0 && (size_t)room > most / (size_t)sequences) return NULL;
    return attend_memory_aligned((size_t)sequences * (size_t)room * row * sizeof(attend_real));
}

static int store_new(store *out, const attend_cache *c, int sequences, int room)
{
    store s = { .sequences = sequences, .room = room };
    s.key = numbers_new(sequences, room, c->key_row);
    if (c->value_row) s.value = numbers_new(sequences, room, c->value_row);
    s.lengths = attend_memory_zeroed((size_t)sequences, sizeof *s.lengths);
    if (!s.key || (c->value_row && !s.value) || !s.lengths) {
        store_free(&s);
        return attend_fail(ATTEND_NO_MEMORY,
                           "no memory for a cache of %d sequences of %d keys and values, %zu and %zu wide", sequences,
                           room, c->key_row, c->value_row);
    }
    *out = s;
    return ATTEND_OK;
}

/* The cache's rows of sequence `from` become sequence `to` of another store. */
static void store_take(store *s, const attend_cache *c, int to, int from)
{
    const size_t there = (size_t)to * (size_t)s->room, here = (size_t)from * (size_t)c->now.room;
    const size_t rows = (size_t)c->length * sizeof(attend_real);
    memcpy(s->key + there * c->key_row, c->now.key + here * c->key_row, rows * c->key_row);
    if (s->value) memcpy(s->value + there * c->value_row, c->now.value + here * c->value_row, rows * c->value_row);
}

static size_t store_bytes(const store *s, const attend_cache *c)
{
    return (size_t)s->sequences *
           ((size_t)s->room * (c->key_row + c->value_row) * sizeof(attend_real) + sizeof *s->lengths);
}

static void set_length(attend_cache *c, int length)
{
    c->length = length;
    for (int b = 0; b < c->batch; b++) c->now.lengths[b] = length;
}

/* ---- the cache ---- */

int attend_cache_new(attend_cache **out, int batch, int key_heads, int key_width, int value_width)
{
    *out = NULL;
    if (batch < 0 || key_heads < 1 || key_width < 1 || value_width < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "attend_cache_new: a batch of %d, %d heads, keys %d and values %d wide make no cache", batch,
                           key_heads, key_width, value_width);
    if (key_width > INT_MAX / key_heads || value_width > INT_MAX / key_heads)
        return attend_fail(ATTEND_BAD_USAGE,
                           "attend_cache_new: %d heads of keys %d and values %d wide make rows that are too long",
                           key_heads, key_width, value_width);
    attend_cache *c = attend_memory_zeroed(1, sizeof *c);
    if (!c) return attend_fail(ATTEND_NO_MEMORY, "no memory for a cache");
    c->batch = batch;
    c->key_heads = key_heads, c->key_width = key_width, c->value_width = value_width;
    c->key_row = (size_t)key_heads * (size_t)key_width;
    c->value_row = (size_t)key_heads * (size_t)value_width;
    int status = store_new(&c->now, c, batch, FIRST_ROOM);
    if (status != ATTEND_OK) {
        attend_cache_free(c);
        return status;
    }
    *out = c;
    return ATTEND_OK;
}

void attend_cache_free(attend_cache *c)
{
    if (!c) return;
    store_free(&c->now);
    store_free(&c->spare);
    attend_memory_free(c);
}

int attend_cache_length(const attend_cache *c)
{
    return c->length;
}

int attend_cache_batch(const attend_cache *c)
{
    return c->batch;
}

size_t attend_cache_bytes(const attend_cache *c)
{
    return sizeof *c + store_bytes(&c->now, c) + store_bytes(&c->spare, c);
}

/* ---- growing ---- */

static int set_room(attend_cache *c, int room)
{
    store larger;
    int status = store_new(&larger, c, c->batch, room);
    if (status != ATTEND_OK) return status;
    for (int b = 0; b < c->batch; b++) store_take(&larger, c, b, b);
    store_free(&c->now);
    store_free(&c->spare); /* too small from now on */
    c->now = larger;
    set_length(c, c->length);
    return ATTEND_OK;
}

int attend_cache_reserve(attend_cache *c, int rows)
{
    if (rows < 0) return attend_fail(ATTEND_BAD_USAGE, "attend_cache_reserve: room for %d rows cannot be", rows);
    return rows <= c->now.room ? ATTEND_OK : set_room(c, rows);
}

/* `rows` rows of every sequence go behind those that are there. */
static void write_rows(const attend_cache *c, int rows, int width, const attend_real *from, bool heads_first,
                       attend_real *to)
{
    const size_t w = (size_t)width, heads = (size_t)c->key_heads, n = (size_t)rows;
    for (size_t b = 0; b < (size_t)c->batch; b++, from += n * heads * w) {
        attend_real *end = to + (b * (size_t)c->now.room + (size_t)c->length) * heads * w;
        if (!heads_first) memcpy(end, from, n * heads * w * sizeof *end);
        for (size_t h = 0; heads_first && h < heads; h++)
            for (size_t t = 0; t < n; t++) memcpy(end + (t * heads + h) * w, from + (h * n + t) * w, w * sizeof *end);
    }
}

int attend_cache_append(attend_cache *c, int rows, const attend_real *key, const attend_real *value, bool heads_first)
{
    if (rows < 0 || rows > INT_MAX - c->length)
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_append: %d rows cannot follow %d", rows, c->length);
    if (rows == 0) return ATTEND_OK;
    if (!key || (!value && c->value_row))
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_append: the array of %s is NULL", key ? "values" : "keys");
    const int length = c->length + rows, room = c->now.room;
    if (length > room) {
        int status = set_room(c, room > INT_MAX / 2 ? INT_MAX : length > 2 * room ? length : 2 * room);
        if (status != ATTEND_OK) return status;
    }
    write_rows(c, rows, c->key_width, key, heads_first, c->now.key);
    if (c->value_row) write_rows(c, rows, c->value_width, value, heads_first, c->now.value);
    set_length(c, length);
    return ATTEND_OK;
}

/* ---- changing what is there ---- */

int attend_cache_reorder(attend_cache *c, const int *from, int batch)
{
    if (batch < 0 || (batch > 0 && !from))
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_reorder: %d sequences%s", batch,
                           from ? "" : ", and nothing that says from which");
    bool same = batch == c->batch;
    for (int b = 0; b < batch; b++) {
        if (from[b] < 0 || from[b] >= c->batch)
            return attend_fail(ATTEND_BAD_USAGE,
                               "attend_cache_reorder: sequence %d shall be a copy of %d, but there are %d", b, from[b],
                               c->batch);
        same = same && from[b] == b;
    }
    if (same) return ATTEND_OK;
    if (c->spare.room != c->now.room || c->spare.sequences < batch) {
        store fresh;
        int status = store_new(&fresh, c, batch > c->now.sequences ? batch : c->now.sequences, c->now.room);
        if (status != ATTEND_OK) return status;
        store_free(&c->spare);
        c->spare = fresh;
    }
    for (int b = 0; b < batch; b++) store_take(&c->spare, c, b, from[b]);
    const store old = c->now;
    c->now = c->spare;
    c->spare = old;
    c->batch = batch;
    set_length(c, c->length);
    return ATTEND_OK;
}

int attend_cache_truncate(attend_cache *c, int length)
{
    if (length < 0 || length > c->length)
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_truncate: %d rows cannot be cut to %d", c->length, length);
    set_length(c, length);
    return ATTEND_OK;
}

/* ---- reading ---- */

static void read_rows(const attend_cache *c, int width, const attend_real *from, attend_real *to)
{
    const size_t w = (size_t)width, heads = (size_t)c->key_heads;
    for (size_t b = 0; b < (size_t)c->batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t t = 0; t < (size_t)c->length; t++, to += w)
                memcpy(to, from + ((b * (size_t)c->now.room + t) * heads + h) * w, w * sizeof *to);
}

void attend_cache_present(const attend_cache *c, attend_real *key, attend_real *value)
{
    if (key) read_rows(c, c->key_width, c->now.key, key);
    if (!value) return;
    if (c->value_row)
        read_rows(c, c->value_width, c->now.value, value);
    else
        read_rows(c, c->key_width, c->now.key, value);
}

void attend_cache_fill(const attend_cache *c, attend_arrays *a)
{
    a->batch = c->batch;
    a->keys = c->now.room;
    a->key_lengths = c->now.lengths;
    a->key = c->now.key, a->value = c->now.value;
    a->key_width = c->key_width;
    a->value_width = c->value_row ? c->value_width : c->key_width;
    a->heads_first = false;
}
