/* beam_cache.c: rows of decoded tokens in blocks that never move, and a list of row numbers for each hypothesis. */
#include "attention/beam_cache.h"

#include "core/memory.h"
#include "core/status.h"
#include "device/device.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

/* Blocks keep their addresses when more are added. Row r is row r % BLOCK of block r / BLOCK. */
enum { BLOCK = 64, FIRST_LENGTH = 32, ALIGNED = 64 / sizeof(real) };

/* The rows of each hypothesis, oldest first. */
typedef struct lists {
    int *rows;    /* (hypotheses, length) */
    int *lengths; /* (hypotheses) */
    size_t hypotheses, length;
} lists;

struct attend_beam_cache {
    attend_ctx *context;  /* has the memory of the blocks */
    size_t width, stride; /* stride: distance of rows, a multiple of a cache line */
    real **blocks;
    int *free_rows;      /* (free_count) rows that can be reused */
    unsigned char *used; /* by row; scratch memory of find_free_rows */
    size_t block_count, block_capacity, free_count;
    lists current, next; /* a step writes to `next` and swaps them */
    int count, max_length;
};

static real *row_at(const attend_beam_cache *cache, int row)
{
    return cache->blocks[(size_t)row / BLOCK] + (size_t)row % BLOCK * cache->stride;
}

/* ---- lists ---- */

static void lists_free(lists *l)
{
    attend_memory_free(l->rows);
    attend_memory_free(l->lengths);
    *l = (lists){ 0 };
}

/* Grows the lists to this size and discards their content. Returns false if memory runs out. */
static bool lists_grow(lists *l, size_t hypotheses, size_t length)
{
    if (hypotheses <= l->hypotheses && length <= l->length) return true;
    lists grown = { .hypotheses = hypotheses > l->hypotheses ? hypotheses : l->hypotheses,
                    .length = length > l->length ? 2 * length : l->length };
    if (grown.length < FIRST_LENGTH) grown.length = FIRST_LENGTH;
    if (grown.length > SIZE_MAX / sizeof *grown.rows / grown.hypotheses) return false;
    grown.rows = attend_memory_aligned(grown.hypotheses * grown.length * sizeof *grown.rows);
    grown.lengths = attend_memory_zeroed(grown.hypotheses, sizeof *grown.lengths);
    if (!grown.rows || !grown.lengths) {
        lists_free(&grown);
        return false;
    }
    lists_free(l);
    *l = grown;
    return true;
}

/* ---- rows ---- */

/* Lists the rows that no hypothesis contains. */
static void find_free_rows(attend_beam_cache *cache)
{
    const size_t rows = cache->block_count * BLOCK;
    if (rows) memset(cache->used, 0, rows);
    for (size_t i = 0; i < (size_t)cache->count; i++)
        for (size_t j = 0; j < (size_t)cache->current.lengths[i]; j++)
            cache->used[cache->current.rows[i * cache->current.length + j]] = 1;
    cache->free_count = 0;
    for (size_t r = rows; r-- > 0;) /* lowest last: rows are taken from the end, so a step writes adjacent rows */
        if (!cache->used[r]) cache->free_rows[cache->free_count++] = (int)r;
}

static bool reserve_blocks(attend_beam_cache *cache, size_t blocks)
{
    if (blocks <= cache->block_capacity) return true;
    const size_t capacity = 2 * blocks;
    if (capacity > INT_MAX / BLOCK) return false; /* rows are counted in int */
    real **list = attend_memory_zeroed(capacity, sizeof *list);
    int *free_rows = attend_memory_zeroed(capacity * BLOCK, sizeof *free_rows);
    unsigned char *used = attend_memory_zeroed(capacity * BLOCK, 1);
    if (!list || !free_rows || !used) {
        attend_memory_free(list);
        attend_memory_free(free_rows);
        attend_memory_free(used);
        return false;
    }
    if (cache->block_count) memcpy(list, cache->blocks, cache->block_count * sizeof *list);
    if (cache->free_count) memcpy(free_rows, cache->free_rows, cache->free_count * sizeof *free_rows);
    attend_memory_free(cache->blocks);
    attend_memory_free(cache->free_rows);
    attend_memory_free(cache->used);
    cache->blocks = list, cache->free_rows = free_rows, cache->used = used, cache->block_capacity = capacity;
    return true;
}

/* Ensures that at least n rows are free. If find_free_rows frees less than a quarter of all rows, also adds blocks, so
 * that it does not run at every step. */
static bool reserve_rows(attend_beam_cache *cache, size_t n)
{
    if (n <= cache->free_count) return true;
    find_free_rows(cache);
    size_t min_free = cache->block_count * BLOCK / 4;
    if (min_free < n) min_free = n;
    if (cache->free_count >= min_free) return true;
    const size_t blocks = cache->block_count + (min_free - cache->free_count + BLOCK - 1) / BLOCK;
    if (!reserve_blocks(cache, blocks)) return n <= cache->free_count;
    while (cache->block_count < blocks) {
        real *block = cache->stride > SIZE_MAX / sizeof(real) / BLOCK
                          ? NULL
                          : attend_ctx_take_state(cache->context, BLOCK * cache->stride * sizeof *block);
        if (!block) break;
        cache->blocks[cache->block_count++] = block;
    }
    find_free_rows(cache);
    return n <= cache->free_count;
}

/* ---- the cache ---- */

int attend_beam_cache_new(attend_beam_cache **out, attend_ctx *c, int width)
{
    *out = NULL;
    if (width < 1) return attend_fail(ATTEND_BAD_USAGE, "attend_beam_cache_new: the width of a row is %d", width);
    attend_beam_cache *cache = attend_memory_zeroed(1, sizeof *cache);
    if (!cache) return attend_fail(ATTEND_NO_MEMORY, "no memory for a beam cache");
    cache->context = c;
    cache->width = (size_t)width;
    cache->stride = (cache->width + ALIGNED - 1) / ALIGNED * ALIGNED;
    *out = cache;
    return ATTEND_OK;
}

void attend_beam_cache_free(attend_beam_cache *cache)
{
    if (!cache) return;
    attend_memory_free(cache->blocks);
    attend_memory_free(cache->free_rows);
    attend_memory_free(cache->used);
    lists_free(&cache->current);
    lists_free(&cache->next);
    attend_memory_free(cache);
}

int attend_beam_cache_count(const attend_beam_cache *cache)
{
    return cache->count;
}

int attend_beam_cache_length(const attend_beam_cache *cache, int i)
{
    return cache->current.lengths[i];
}

int attend_beam_cache_max_length(const attend_beam_cache *cache)
{
    return cache->max_length;
}

const real *attend_beam_cache_row(const attend_beam_cache *cache, int i, int j)
{
    return row_at(cache, cache->current.rows[(size_t)i * cache->current.length + (size_t)j]);
}

static size_t lists_bytes(const lists *l)
{
    return l->hypotheses * (l->length * sizeof *l->rows + sizeof *l->lengths);
}

size_t attend_beam_cache_bytes(const attend_beam_cache *cache)
{
    return sizeof *cache + cache->block_count * BLOCK * cache->stride * sizeof(real) +
           cache->block_capacity * (sizeof *cache->blocks + BLOCK * (sizeof *cache->free_rows + sizeof *cache->used)) +
           lists_bytes(&cache->current) + lists_bytes(&cache->next);
}

/* ---- a step ---- */

/* The parent of hypothesis i, or -1 if it has none. */
static int parent_of(const attend_beam_cache *cache, const int *parents, int i)
{
    return cache->count > 0 && parents[i] >= 0 ? parents[i] : -1;
}

/* Whether every hypothesis extends the one with its own index, so that no list has to be copied. */
static bool parents_are_in_order(const attend_beam_cache *cache, int n, const int *parents)
{
    bool in_order = true;
    for (int i = 0; in_order && i < n; i++) in_order = parent_of(cache, parents, i) == i;
    return in_order;
}

/* Copies to each hypothesis the list of its parent. */
static void copy_parent_lists(attend_beam_cache *cache, int n, const int *parents)
{
    for (size_t i = 0; i < (size_t)n; i++) {
        const int parent = parent_of(cache, parents, (int)i);
        cache->next.lengths[i] = parent < 0 ? 0 : cache->current.lengths[parent];
        if (parent >= 0)
            memcpy(cache->next.rows + i * cache->next.length,
                   cache->current.rows + (size_t)parent * cache->current.length,
                   (size_t)cache->next.lengths[i] * sizeof *cache->next.rows);
    }
    const lists old = cache->current;
    cache->current = cache->next, cache->next = old;
}

int attend_beam_cache_step(attend_beam_cache *cache, int n, const int *parents, const real *rows, size_t stride)
{
    if (n < 1) return attend_fail(ATTEND_BAD_USAGE, "attend_beam_cache_step: %d hypotheses", n);
    int max_length = 0;
    for (int i = 0; i < n; i++) {
        const int parent = parent_of(cache, parents, i);
        if (parent >= cache->count)
            return attend_fail(
                ATTEND_BAD_USAGE,
                "attend_beam_cache_step: hypothesis %d has parent %d, but the previous step has only %d hypotheses", i,
                parent, cache->count);
        const int length = parent < 0 ? 0 : cache->current.lengths[parent];
        if (length > max_length) max_length = length;
    }
    const bool extends_lists = parents_are_in_order(cache, n, parents) && (size_t)max_length < cache->current.length;
    if (max_length == INT_MAX || (!extends_lists && !lists_grow(&cache->next, (size_t)n, (size_t)max_length + 1)) ||
        !reserve_rows(cache, (size_t)n))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for token %d of %d hypotheses", max_length, n);
    if (!extends_lists) copy_parent_lists(cache, n, parents);
    for (size_t i = 0; i < (size_t)n; i++) {
        const int row = cache->free_rows[--cache->free_count];
        cache->context->memory->copy(row_at(cache, row), rows + i * stride, cache->width * sizeof *rows);
        cache->current.rows[i * cache->current.length + (size_t)cache->current.lengths[i]++] = row;
    }
    cache->count = n, cache->max_length = max_length + 1;
    return ATTEND_OK;
}

/* ---- attention ---- */

bool attend_beam_cache_attend(attend_ctx *c, const attend_beam_cache *cache, const beam_attention *a)
{
    if (c->status != ATTEND_OK) return false;
    if (cache->count == 0) return true;
    const device_beam beam = { .count = (size_t)cache->count,
                               .max_length = (size_t)cache->max_length,
                               .blocks = (const real *const *)cache->blocks,
                               .block = BLOCK,
                               .row_stride = cache->stride,
                               .rows = cache->current.rows,
                               .lengths = cache->current.lengths,
                               .list_stride = cache->current.length,
                               .query = a->query,
                               .query_stride = a->query_stride,
                               .heads = (size_t)a->heads,
                               .width = (size_t)a->width,
                               .key = a->key,
                               .value = a->value,
                               .scale = (real)a->scale,
                               .context = a->context,
                               .context_stride = a->context_stride,
                               .weights = a->weights };
    return attend_ctx_computed(c, attend_device_of(c)->beam_attention(&c->compute, &beam));
}
