/* team.c: gradients of shards on threads, added in shard order.
 *
 * Shards run in waves of one shard per thread. After each wave its gradients are added to the total, shard by shard,
 * and each thread adds a part of the elements. So every element is added in shard order, whatever the number of
 * threads, and memory is one set of gradients per thread. */
#include "train/team.h"

#include "core/status.h"
#include "core/memory.h"
#include "kernel/kernel.h"
#include "train/gradient_sum.h"
#include <math.h>

enum {
    CHUNK = 1 << 16,  /* elements whose squares are added by one call */
    STREAM_BITS = 20, /* of the number of a random stream: the shard within an update */
    MAX_SHARDS = 1 << STREAM_BITS,
};

static int count_chunks(const attend_param *p)
{
    return (int)((p->size + CHUNK - 1) / CHUNK);
}

void attend_team_free(attend_team *t)
{
    if (!t) return;
    int threads = t->pool ? attend_pool_threads(t->pool) : 0;
    for (int i = 0; i < threads; i++) {
        if (t->contexts) attend_ctx_free(t->contexts[i]);
        if (t->shard) attend_grads_free(t->shard[i]);
    }
    attend_memory_free(t->contexts);
    attend_memory_free(t->shard);
    attend_memory_free(t->losses);
    attend_memory_free(t->squares);
    attend_grads_free(t->total);
    attend_pool_free(t->pool);
    attend_memory_free(t);
}

static int fill(attend_team *t, int threads)
{
    int status = attend_pool_new(&t->pool, threads);
    if (status == ATTEND_OK) status = attend_grads_new(&t->total, t->params);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i < t->params->count; i++) t->chunks += count_chunks(t->params->list[i]);
    t->contexts = attend_memory_zeroed((size_t)threads, sizeof *t->contexts);
    t->shard = attend_memory_zeroed((size_t)threads, sizeof *t->shard);
    t->losses = attend_memory_zeroed((size_t)threads, sizeof *t->losses);
    t->squares = attend_memory_zeroed((size_t)t->chunks, sizeof *t->squares);
    if (!t->contexts || !t->shard || !t->losses || !t->squares)
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a team of %d threads", threads);
    for (int i = 0; status == ATTEND_OK && i < threads; i++) {
        status = attend_ctx_new(&t->contexts[i]);
        if (status == ATTEND_OK) status = attend_grads_new(&t->shard[i], t->params);
    }
    return status;
}

int attend_team_new(attend_team **out, attend_params *params, int threads)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && params);
    *out = NULL;
    attend_team *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory for a team");
    t->params = params;
    t->count = params->count;
    int status = fill(t, threads);
    if (status != ATTEND_OK) {
        attend_team_free(t);
        return status;
    }
    *out = t;
    return ATTEND_OK;
}

const attend_grads *attend_team_grads(const attend_team *t)
{
    ATTEND_REQUIRE(NULL, t);
    return t->total;
}

/* ---- gradient ---- */

typedef struct wave {
    attend_team *team;
    attend_shard_fn fn;
    void *user;
    uint64_t seed, update;
    int first; /* shard */
    attend_grads **merge;
    int merge_count, parts;
} wave;

static void run_shard(void *user, int i)
{
    wave *w = user;
    attend_ctx *c = w->team->contexts[i];
    attend_ctx_reset(c);
    attend_ctx_set_grads(c, w->team->shard[i]);
    attend_ctx_set_recording(c, true);
    attend_ctx_set_training(c, true);
    attend_ctx_set_random(c, w->seed, w->update << STREAM_BITS | (uint64_t)(w->first + i));
    attend_var *loss = w->fn(c, w->first + i, w->user);
    w->team->losses[i] = loss && loss->size == 1 ? (double)loss->value[0] : 0;
    attend_backward(c, loss); /* a failure stays in the context */
}

static void run_merge(void *user, int part)
{
    wave *w = user;
    attend_gradient_sum_part(w->team->total, w->merge, w->merge_count, part, w->parts);
}

static void merge(wave *w, int from, int count)
{
    attend_team *t = w->team;
    w->merge = t->shard + from;
    w->merge_count = count;
    w->parts = 4 * attend_pool_threads(t->pool);
    attend_gradient_sum_begin(t->total, w->merge, count);
    attend_pool_run(t->pool, w->parts, run_merge, w);
    attend_gradient_sum_end(w->merge, count);
}

/* The first failure of a wave of n shards, in shard order. */
static int wave_status(attend_team *t, int first, int n)
{
    for (int i = 0; i < n; i++)
        if (attend_ctx_status(t->contexts[i]) != ATTEND_OK)
            return attend_fail(attend_ctx_status(t->contexts[i]), "shard %d: %s", first + i,
                               attend_ctx_message(t->contexts[i]));
    return ATTEND_OK;
}

int attend_team_gradient(attend_team *t, int shards, attend_shard_fn fn, void *user, uint64_t seed, uint64_t update,
                         double *loss)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && fn);
    wave w = { .team = t, .fn = fn, .user = user, .seed = seed, .update = update };
    if (loss) *loss = 0;
    if (shards < 0 || shards > MAX_SHARDS)
        return attend_fail(ATTEND_BAD_USAGE, "%d shards: give a number from 0 to %d", shards, MAX_SHARDS);
    if (t->params->count != t->count)
        return attend_fail(ATTEND_BAD_USAGE, "there are %d parameters, and there were %d when the team was made",
                           t->params->count, t->count);
    int threads = attend_pool_threads(t->pool), status = ATTEND_OK;
    double total = 0;
    attend_grads_zero(t->total);
    for (int n; w.first < shards && status == ATTEND_OK; w.first += n) {
        n = shards - w.first < threads ? shards - w.first : threads;
        attend_pool_run(t->pool, n, run_shard, &w);
        status = wave_status(t, w.first, n);
        if (status != ATTEND_OK) break;
        for (int i = 0; i < n; i++) total += t->losses[i];
        int merged = 0;
        if (w.first == 0) { /* the total is zero: the first shard's gradients become the total */
            attend_grads *first = t->shard[0];
            t->shard[0] = t->total;
            t->total = first;
            merged = 1;
        }
        if (n > merged) merge(&w, merged, n - merged);
    }
    if (status != ATTEND_OK) {
        attend_grads_zero(t->total);
        for (int i = 0; i < threads; i++) attend_grads_zero(t->shard[i]);
        return status;
    }
    if (loss) *loss = total;
    return ATTEND_OK;
}

/* ---- norm ---- */

static double squares_of(const grad_entry *e, size_t first, size_t last)
{
    const attend_kernel_table *k = attend_kernel();
    if (e->dense) return k->sum_squares(last - first, e->value + first);
    double sum = 0;
    size_t width = attend_grads_row_size(e);
    for (int i = 0; i < e->rows_used; i++) { /* a row counts in the chunk where it begins */
        size_t row = (size_t)e->rows[i] * width;
        if (row >= first && row < last) sum += k->sum_squares(width, e->value + row);
    }
    return sum;
}

static void run_squares(void *user, int chunk)
{
    attend_team *t = user;
    int in_entry = chunk, i = 0;
    for (; in_entry >= count_chunks(t->params->list[i]); i++) in_entry -= count_chunks(t->params->list[i]);
    size_t size = t->params->list[i]->size, first = (size_t)in_entry * CHUNK;
    t->squares[chunk] = squares_of(&t->total->entries[i], first, size - first < CHUNK ? size : first + CHUNK);
}

double attend_team_norm(attend_team *t)
{
    ATTEND_REQUIRE(0, t);
    attend_pool_run(t->pool, t->chunks, run_squares, t);
    double sum = 0;
    for (int i = 0; i < t->chunks; i++) sum += t->squares[i];
    return sqrt(sum);
}
