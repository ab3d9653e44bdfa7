/* team.c: gradients of shards on threads.
 *
 * Each thread runs one shard after another; the tree of gradient_tree.h adds their gradients, in an order that does not
 * depend on the threads. Threads that find no shard help with the operations of those that have one: contexts use the
 * threads of the team's pool. A rank of several runs some of the shards, and rank_gradient.c adds what the ranks have. */
#include "train/team.h"

#include "core/status.h"
#include "core/memory.h"
#include "device/device.h"
#include "op/packed_weights.h"
#include "train/gradient_sum.h"
#include "train/rank_gradient.h"
#include <math.h>
#include <stdio.h>

enum {
    STREAM_BITS = 20, /* a random stream is update << STREAM_BITS | shard */
    MAX_SHARDS = 1 << STREAM_BITS,
};

void attend_team_free(attend_team *t)
{
    if (!t) return;
    int threads = t->pool ? attend_pool_threads(t->pool) : 0;
    for (int i = 0; t->contexts && i < threads; i++) attend_ctx_free(t->contexts[i]);
    attend_memory_free(t->contexts);
    attend_memory_free(t->losses);
    attend_memory_free(t->squares);
    attend_rank_buffers_free(t->buffers);
    attend_pieces_free(&t->pieces);
    attend_grads_free(t->total);
    attend_gradient_tree_free(&t->tree);
    attend_pool_free(t->pool);
    attend_memory_free(t);
}

static int fill(attend_team *t, int threads)
{
    int status = attend_pool_new(&t->pool, threads);
    if (status == ATTEND_OK) status = attend_grads_new(&t->total, t->params);
    if (status == ATTEND_OK) status = attend_pieces_new(&t->pieces, t->params);
    if (status != ATTEND_OK) return status;
    t->contexts = attend_memory_zeroed((size_t)threads, sizeof *t->contexts);
    t->squares = attend_memory_zeroed((size_t)t->pieces.count + 1, sizeof *t->squares);
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

int attend_team_set_compute(attend_team *t, attend_compute_precision precision)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, t);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < attend_pool_threads(t->pool); i++)
        status = attend_ctx_set_compute(t->contexts[i], precision);
    return status;
}

int attend_team_set_ranks(attend_team *t, attend_ranks *ranks)
{
    if (!attend_ranks_are_several(ranks)) return ATTEND_OK;
    int status = attend_rank_buffers_new(&t->buffers);
    if (status == ATTEND_OK)
        status = attend_pieces_divide(&t->pieces, attend_ranks_count(ranks), attend_ranks_rank(ranks));
    if (status == ATTEND_OK) t->ranks = ranks;
    return status;
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
    shards_outcome outcome; /* guarded by the lock of the tree */
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
    shards_outcome *o = &w->outcome;
    if (o->status == ATTEND_OK || shard < o->failed) {
        o->failed = shard, o->status = attend_ctx_status(c);
        snprintf(o->message, sizeof o->message, "%s", attend_ctx_message(c));
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
    const shard_range own = attend_gradient_tree_own(shards, t->pieces.ranks, t->pieces.rank);
    const int count = own.end - own.first;
    int status = losses_fit(t, shards);
    if (status == ATTEND_OK) status = attend_gradient_tree_begin(&t->tree, t->params, shards, own, threads);
    if (status != ATTEND_OK) return status;
    if (count > 0) attend_pool_run(t->pool, threads < count ? threads : count, run_thread, &w);
    if (t->ranks) {
        status = attend_rank_gradient(t, shards, &w.outcome);
        if (status != ATTEND_OK) return status;
    } else {
        attend_grads *sum = attend_gradient_tree_end(&t->tree, t->pool);
        attend_gradient_tree_give(&t->tree, t->total);
        t->total = sum;
    }
    if (w.outcome.status != ATTEND_OK)
        return attend_fail(w.outcome.status, "shard %d: %s", w.outcome.failed, w.outcome.message);
    double total = 0;
    for (int i = own.first; i < own.end; i++) total += t->losses[i];
    if (loss) *loss = total;
    return ATTEND_OK;
}

/* ---- norm ---- */

/* Ranges of numbers whose squares are summed in one call, because a device may be far away. */
enum { RANGES = 512 };
typedef struct squares_batch {
    attend_team *team;
    size_t count;
    const real *x[RANGES];
    size_t sizes[RANGES];
    int pieces[RANGES]; /* to whose sum of squares each range belongs */
} squares_batch;

static void flush_squares(squares_batch *b)
{
    double sums[RANGES];
    attend_team *t = b->team;
    const attend_compute compute = { .pool = t->pool };
    attend_device_at(t->total->memory)->sum_squares(&compute, b->count, b->x, b->sizes, (device_sums){ sums });
    for (size_t i = 0; i < b->count; i++) t->squares[b->pieces[i]] += sums[i];
    b->count = 0;
}

static void add_squares(squares_batch *b, int piece, const real *x, size_t size)
{
    if (b->count == RANGES) flush_squares(b);
    b->x[b->count] = x, b->sizes[b->count] = size, b->pieces[b->count++] = piece;
}

/* A piece has whole rows. */
static void add_piece(squares_batch *b, int number)
{
    const parameter_piece *piece = &b->team->pieces.list[number];
    const grad_entry *e = &b->team->total->entries[piece->parameter];
    const size_t first = piece->elements.first, last = piece->elements.last, width = attend_grads_row_size(e);
    b->team->squares[number] = 0;
    if (e->dense) add_squares(b, number, e->value + first, last - first);
    for (int i = 0; !e->dense && i < e->rows_used; i++) {
        const size_t row = (size_t)e->rows[i] * width;
        if (row >= first && row < last) add_squares(b, number, e->value + row, width);
    }
}

/* Gives the sums of squares of this rank's pieces to the others. */
static int exchange_squares(attend_team *t)
{
    const parameter_pieces *p = &t->pieces;
    if (!t->ranks) return ATTEND_OK;
    size_t *offsets = attend_memory_zeroed((size_t)p->ranks + 1, sizeof *offsets);
    if (!offsets) return attend_fail(ATTEND_NO_MEMORY, "no memory for the norm of a gradient");
    for (int r = 0; r <= p->ranks; r++) offsets[r] = (size_t)p->begin[r] * sizeof *t->squares;
    const int status = attend_ranks_all_gather(t->ranks, t->squares, offsets);
    attend_memory_free(offsets);
    return status;
}

int attend_team_measure_norm(attend_team *t, double *norm)
{
    const parameter_pieces *p = &t->pieces;
    squares_batch batch = { .team = t };
    for (int i = p->begin[p->rank]; i < p->begin[p->rank + 1]; i++) add_piece(&batch, i);
    flush_squares(&batch);
    int status = attend_device_memory_check(t->total->memory);
    if (status == ATTEND_OK) status = exchange_squares(t);
    double sum = 0;
    for (int i = 0; i < p->count; i++) sum += t->squares[i];
    *norm = status == ATTEND_OK ? sqrt(sum) : NAN;
    return status;
}

double attend_team_norm(attend_team *t)
{
    ATTEND_REQUIRE(0, t);
    double norm;
    attend_team_measure_norm(t, &norm);
    return norm;
}
