/* team.c: gradients of shards on threads.
 *
 * Each thread runs one shard after another; the tree of gradient_tree.h adds their gradients, in an order that does not
 * depend on the threads. Threads that find no shard help with the operations of those that have one: contexts use the
 * threads of the team's pool. */
#include "train/team.h"

#include "core/status.h"
#include "core/memory.h"
#include "device/device.h"
#include "op/packed_weights.h"
#include "train/gradient_sum.h"
#include <math.h>
#include <stdio.h>

enum {
    CHUNK = 1 << 16,  /* elements of one partial sum of squares */
    STREAM_BITS = 20, /* a random stream is update << STREAM_BITS | shard */
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
    for (int i = 0; t->contexts && i < threads; i++) attend_ctx_free(t->contexts[i]);
    attend_memory_free(t->contexts);
    attend_memory_free(t->losses);
    attend_memory_free(t->squares);
    attend_grads_free(t->total);
    attend_gradient_tree_free(&t->tree);
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
    t->squares = attend_memory_zeroed((size_t)t->chunks, sizeof *t->squares);
    if (!t->contexts || !t->squares)
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a team of %d threads", threads);
    for (int i = 0; status == ATTEND_OK && i < threads; i++) {
        status = attend_ctx_new(&t->contexts[i]);
        if (status == ATTEND_OK) attend_ctx_set_pool(t->contexts[i], t->pool);
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
    attend_gradient_tree_init(&t->tree);
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

typedef struct shard_work {
    attend_team *team;
    attend_shard_fn fn;
    void *user;
    uint64_t seed, update;
    /* the failed shard with the lowest number; guarded by the lock of the tree */
    int failed, status;
    char message[ATTEND_MESSAGE_SIZE];
} shard_work;

static void run_shard(shard_work *w, attend_ctx *c, int shard, attend_grads *grads)
{
    attend_ctx_reset(c);
    attend_ctx_set_grads(c, grads);
    attend_ctx_set_recording(c, true);
    attend_ctx_set_training(c, true);
    attend_ctx_set_random(c, w->seed, w->update << STREAM_BITS | (uint64_t)shard);
    attend_var *loss = w->fn(c, shard, w->user);
    const real *value = loss && loss->size == 1 ? attend_value(loss) : NULL;
    w->team->losses[shard] = value ? (double)*value : 0;
    attend_backward(c, loss); /* the caller reads the status of the context */
}

/* Shards are taken in ascending order, so that all with a lower number than a failed one run to their end. */
static void note_failure(shard_work *w, const attend_ctx *c, int shard)
{
    gradient_tree *tree = &w->team->tree;
    attend_gradient_tree_stop(tree);
    pthread_mutex_lock(&tree->lock);
    if (w->status == ATTEND_OK || shard < w->failed) {
        w->failed = shard, w->status = attend_ctx_status(c);
        snprintf(w->message, sizeof w->message, "%s", attend_ctx_message(c));
    }
    pthread_mutex_unlock(&tree->lock);
}

/* One thread: runs shards until there are none left. */
static void run_thread(void *user, int i)
{
    shard_work *w = user;
    attend_ctx *c = w->team->contexts[i];
    attend_grads *grads;
    for (int shard; attend_gradient_tree_take(&w->team->tree, &shard, &grads);) {
        run_shard(w, c, shard, grads);
        if (attend_ctx_status(c) != ATTEND_OK) {
            note_failure(w, c, shard);
            attend_gradient_tree_give(&w->team->tree, grads);
            return;
        }
        attend_gradient_tree_finish(&w->team->tree, shard, grads, w->team->pool);
    }
}

static int losses_fit(attend_team *t, int shards)
{
    if (shards <= t->loss_capacity) return ATTEND_OK;
    attend_memory_free(t->losses);
    t->loss_capacity = 0;
    t->losses = attend_memory_zeroed((size_t)shards, sizeof *t->losses);
    if (!t->losses) return attend_fail(ATTEND_NO_MEMORY, "no memory for the losses of %d shards", shards);
    t->loss_capacity = shards;
    return ATTEND_OK;
}

int attend_team_gradient(attend_team *t, int shards, attend_shard_fn fn, void *user, uint64_t seed, uint64_t update,
                         double *loss)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t && fn);
    shard_work w = { .team = t, .fn = fn, .user = user, .seed = seed, .update = update };
    if (loss) *loss = 0;
    if (shards < 0 || shards > MAX_SHARDS)
        return attend_fail(ATTEND_BAD_USAGE, "the number of shards is %d; it must be from 0 to %d", shards, MAX_SHARDS);
    if (t->params->count != t->count)
        return attend_fail(ATTEND_BAD_USAGE, "the team was created for %d parameters, and now there are %d", t->count,
                           t->params->count);
    attend_gradient_zero(t->pool, t->total);
    if (shards == 0) return ATTEND_OK;
    attend_params_repack(t->params, t->pool);
    const int threads = attend_pool_threads(t->pool);
    int status = losses_fit(t, shards);
    if (status == ATTEND_OK) status = attend_gradient_tree_begin(&t->tree, t->params, shards, threads);
    if (status != ATTEND_OK) return status;
    attend_pool_run(t->pool, threads < shards ? threads : shards, run_thread, &w);
    attend_grads *sum = attend_gradient_tree_end(&t->tree, t->pool);
    attend_gradient_tree_give(&t->tree, t->total);
    t->total = sum;
    if (w.status != ATTEND_OK) return attend_fail(w.status, "shard %d: %s", w.failed, w.message);
    double total = 0;
    for (int i = 0; i < shards; i++) total += t->losses[i];
    if (loss) *loss = total;
    return ATTEND_OK;
}

/* ---- norm ---- */

static double squares_of(const attend_device *d, const grad_entry *e, size_t first, size_t last)
{
    const attend_compute compute = { 0 };
    if (e->dense) return d->sum_squares(&compute, last - first, e->value + first);
    double sum = 0;
    size_t width = attend_grads_row_size(e);
    for (int i = 0; i < e->rows_used; i++) { /* a row belongs to the chunk in which it begins */
        size_t row = (size_t)e->rows[i] * width;
        if (row >= first && row < last) sum += d->sum_squares(&compute, width, e->value + row);
    }
    return sum;
}

static void run_squares(void *user, int chunk)
{
    attend_team *t = user;
    int in_entry = chunk, i = 0;
    for (; in_entry >= count_chunks(t->params->list[i]); i++) in_entry -= count_chunks(t->params->list[i]);
    size_t size = t->params->list[i]->size, first = (size_t)in_entry * CHUNK;
    t->squares[chunk] = squares_of(attend_device_at(t->total->memory), &t->total->entries[i], first,
                                   size - first < CHUNK ? size : first + CHUNK);
}

double attend_team_norm(attend_team *t)
{
    ATTEND_REQUIRE(0, t);
    attend_pool_run(t->pool, t->chunks, run_squares, t);
    double sum = 0;
    for (int i = 0; i < t->chunks; i++) sum += t->squares[i];
    return sqrt(sum);
}
