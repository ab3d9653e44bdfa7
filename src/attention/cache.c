/* cache.c: the key/value cache. The rows of a sequence are contiguous, with unused capacity after them, so a step
 * writes one row for each sequence and moves nothing. */
#include <attend/cache.h>

#include "core/memory.h"
#include "core/status.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { INITIAL_CAPACITY = 16 };

/* A buffer of keys and values. */
typedef struct store {
    attend_real *key, *value; /* (sequences, capacity, Hk, D); value is NULL if its width is 0 */
    int *lengths;             /* (sequences) */
    int sequences, capacity;
} store;

struct attend_cache {
    store current, spare; /* reorder writes to `spare` and swaps them; `spare` is empty until the first reorder */
    int batch, length;
    int key_heads, key_width, value_width;
    size_t key_row, value_row; /* elements in a row of all heads */
};

/* ---- stores ---- */

static void store_free(store *s)
{
    attend_memory_free(s->key);
    attend_memory_free(s->value);
    attend_memory_free(s->lengths);
    *s = (store){ 0 };
}

/* Allocates sequences * capacity * row elements; NULL if there is not enough memory. */
static attend_real *elements_new(int sequences, int capacity, size_t row)
{
    const size_t max_rows = SIZE_MAX / sizeof(attend_real) / row;
    if (sequences > 0 && (size_t)capacity > max_rows / (size_t)sequences) return NULL;
    return attend_memory_aligned((size_t)sequences * (size_t)capacity * row * sizeof(attend_real));
}

static int store_new(store *out, const attend_cache *c, int sequences, int capacity)
{
    store s = { .sequences = sequences, .capacity = capacity };
    s.key = elements_new(sequences, capacity, c->key_row);
    if (c->value_row) s.value = elements_new(sequences, capacity, c->value_row);
    s.lengths = attend_memory_zeroed((size_t)sequences, sizeof *s.lengths);
    if (!s.key || (c->value_row && !s.value) || !s.lengths) {
        store_free(&s);
        return attend_fail(
            ATTEND_NO_MEMORY,
            "no memory for a cache of %d sequences of %d rows, keys of width %zu and values of width %zu", sequences,
            capacity, c->key_row, c->value_row);
    }
    *out = s;
    return ATTEND_OK;
}

/* Copies the rows of the cache's sequence `from` to sequence `to` of another store. */
static void store_copy(store *s, const attend_cache *c, int to, int from)
{
    const size_t target = (size_t)to * (size_t)s->capacity, source = (size_t)from * (size_t)c->current.capacity;
    const size_t rows = (size_t)c->length * sizeof(attend_real);
    memcpy(s->key + target * c->key_row, c->current.key + source * c->key_row, rows * c->key_row);
    if (s->value)
        memcpy(s->value + target * c->value_row, c->current.value + source * c->value_row, rows * c->value_row);
}

static size_t store_bytes(const store *s, const attend_cache *c)
{
    return (size_t)s->sequences *
           ((size_t)s->capacity * (c->key_row + c->value_row) * sizeof(attend_real) + sizeof *s->lengths);
}

static void set_length(attend_cache *c, int length)
{
    c->length = length;
    for (int b = 0; b < c->batch; b++) c->current.lengths[b] = length;
}

/* ---- the cache ---- */

int attend_cache_new(attend_cache **out, int batch, int key_heads, int key_width, int value_width)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = NULL;
    if (batch < 0 || key_heads < 1 || key_width < 1 || value_width < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "attend_cache_new: batch %d, key heads %d, key width %d or value width %d is out of range",
                           batch, key_heads, key_width, value_width);
    if (key_width > INT_MAX / key_heads || value_width > INT_MAX / key_heads)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "attend_cache_new: rows of %d heads with keys of width %d and values of width %d are too long", key_heads,
            key_width, value_width);
    attend_cache *c = attend_memory_zeroed(1, sizeof *c);
    if (!c) return attend_fail(ATTEND_NO_MEMORY, "no memory for a cache");
    c->batch = batch;
    c->key_heads = key_heads, c->key_width = key_width, c->value_width = value_width;
    c->key_row = (size_t)key_heads * (size_t)key_width;
    c->value_row = (size_t)key_heads * (size_t)value_width;
    int status = store_new(&c->current, c, batch, INITIAL_CAPACITY);
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
    store_free(&c->current);
    store_free(&c->spare);
    attend_memory_free(c);
}

int attend_cache_length(const attend_cache *c)
{
    ATTEND_REQUIRE(0, c);
    return c->length;
}

int attend_cache_batch(const attend_cache *c)
{
    ATTEND_REQUIRE(0, c);
    return c->batch;
}

size_t attend_cache_bytes(const attend_cache *c)
{
    ATTEND_REQUIRE(0, c);
    return sizeof *c + store_bytes(&c->current, c) + store_bytes(&c->spare, c);
}

/* ---- growing ---- */

static int set_capacity(attend_cache *c, int capacity)
{
    store larger;
    int status = store_new(&larger, c, c->batch, capacity);
    if (status != ATTEND_OK) return status;
    for (int b = 0; b < c->batch; b++) store_copy(&larger, c, b, b);
    store_free(&c->current);
    store_free(&c->spare); /* now too small */
    c->current = larger;
    set_length(c, c->length);
    return ATTEND_OK;
}

int attend_cache_reserve(attend_cache *c, int rows)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (rows < 0)
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_reserve: the number of rows is negative: %d", rows);
    return rows <= c->current.capacity ? ATTEND_OK : set_capacity(c, rows);
}

/* Writes `rows` rows of every sequence after the existing ones. */
static void write_rows(const attend_cache *c, int rows, int width, const attend_real *from, bool heads_first,
                       attend_real *to)
{
    const size_t w = (size_t)width, heads = (size_t)c->key_heads, n = (size_t)rows;
    for (size_t b = 0; b < (size_t)c->batch; b++, from += n * heads * w) {
        attend_real *end = to + (b * (size_t)c->current.capacity + (size_t)c->length) * heads * w;
        if (!heads_first) memcpy(end, from, n * heads * w * sizeof *end);
        for (size_t h = 0; heads_first && h < heads; h++)
            for (size_t t = 0; t < n; t++) memcpy(end + (t * heads + h) * w, from + (h * n + t) * w, w * sizeof *end);
    }
}

int attend_cache_append(attend_cache *c, int rows, const attend_real *key, const attend_real *value, bool heads_first)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (rows < 0 || rows > INT_MAX - c->length)
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_append: cannot append %d rows to %d", rows, c->length);
    if (rows == 0) return ATTEND_OK;
    if (!key || (!value && c->value_row))
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_append: the array of %s is NULL", key ? "values" : "keys");
    const int length = c->length + rows, capacity = c->current.capacity;
    if (length > capacity) {
        int status = set_capacity(c, capacity > INT_MAX / 2 ? INT_MAX : length > 2 * capacity ? length : 2 * capacity);
        if (status != ATTEND_OK) return status;
    }
    write_rows(c, rows, c->key_width, key, heads_first, c->current.key);
    if (c->value_row) write_rows(c, rows, c->value_width, value, heads_first, c->current.value);
    set_length(c, length);
    return ATTEND_OK;
}

/* ---- reordering and truncating ---- */

int attend_cache_reorder(attend_cache *c, const int *from, int batch)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (batch < 0 || (batch > 0 && !from))
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_reorder: %d sequences%s", batch,
                           from ? "" : ", but `from` is NULL");
    bool same = batch == c->batch;
    for (int b = 0; b < batch; b++) {
        if (from[b] < 0 || from[b] >= c->batch)
            return attend_fail(ATTEND_BAD_USAGE,
                               "attend_cache_reorder: sequence %d cannot be a copy of sequence %d: the cache has %d", b,
                               from[b], c->batch);
        same = same && from[b] == b;
    }
    if (same) return ATTEND_OK;
    if (c->spare.capacity != c->current.capacity || c->spare.sequences < batch) {
        store fresh;
        int status =
            store_new(&fresh, c, batch > c->current.sequences ? batch : c->current.sequences, c->current.capacity);
        if (status != ATTEND_OK) return status;
        store_free(&c->spare);
        c->spare = fresh;
    }
    for (int b = 0; b < batch; b++) store_copy(&c->spare, c, b, from[b]);
    const store old = c->current;
    c->current = c->spare;
    c->spare = old;
    c->batch = batch;
    set_length(c, c->length);
    return ATTEND_OK;
}

int attend_cache_truncate(attend_cache *c, int length)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (length < 0 || length > c->length)
        return attend_fail(ATTEND_BAD_USAGE, "attend_cache_truncate: cannot truncate %d rows to %d", c->length, length);
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
                memcpy(to, from + ((b * (size_t)c->current.capacity + t) * heads + h) * w, w * sizeof *to);
}

void attend_cache_present(const attend_cache *c, attend_real *key, attend_real *value)
{
    ATTEND_REQUIRE_VOID(c);
    if (key) read_rows(c, c->key_width, c->current.key, key);
    if (!value) return;
    if (c->value_row)
        read_rows(c, c->value_width, c->current.value, value);
    else
        read_rows(c, c->key_width, c->current.key, value);
}

void attend_cache_fill(const attend_cache *c, attend_arrays *a)
{
    ATTEND_REQUIRE_VOID(c && a);
    a->batch = c->batch;
    a->keys = c->current.capacity;
    a->key_lengths = c->current.lengths;
    a->key = c->current.key, a->value = c->current.value;
    a->key_width = c->key_width;
    a->value_width = c->value_row ? c->value_width : c->key_width;
    a->heads_first = false;
}
