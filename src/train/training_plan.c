/* training_plan.c: intervals, the number of updates, and the memory of a training run. The memory of a shard is
 * measured: the loss of as many average pairs as a shard holds is differentiated once. */
#include "train/training_run.h"

#include "core/machine_memory.h"
#include "core/memory.h"
#include "core/status.h"
#include "text/batches.h"
#include "train/gradient_tree.h"
#include <attend/device.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { MIN_SHARD_TOKENS = 100 };

/* Pairs of the same lengths. */
typedef struct probe {
    int *tokens, *lengths[2];
    attend_pairs pairs;
} probe;

static void probe_free(probe *p)
{
    attend_memory_free(p->tokens);
    attend_memory_free(p->lengths[0]);
    attend_memory_free(p->lengths[1]);
}

static bool probe_new(int count, int source, int target, probe *p)
{
    const size_t tokens = (size_t)count * (size_t)(source > target ? source : target);
    p->tokens = attend_memory_zeroed(tokens, sizeof *p->tokens); /* all ATTEND_UNKNOWN, which every vocabulary has */
    for (int side = 0; side < 2; side++) p->lengths[side] = attend_memory_zeroed((size_t)count, sizeof(int));
    if (!p->tokens || !p->lengths[0] || !p->lengths[1]) return false;
    for (int i = 0; i < count; i++) p->lengths[0][i] = source, p->lengths[1][i] = target;
    p->pairs = (attend_pairs){ .count = count,
                               .source = p->tokens,
                               .source_lengths = p->lengths[0],
                               .target = p->tokens,
                               .target_lengths = p->lengths[1] };
    return true;
}

/* Bytes of the context for a shard of `count` pairs of these lengths. */
static int measure(const training_run *run, int count, int source, int target, size_t *bytes)
{
    probe p = { .tokens = NULL };
    attend_ctx *c = NULL;
    attend_grads *g = NULL;
    int status = probe_new(count, source, target, &p) ? attend_ctx_new(&c)
                                                      : attend_fail(ATTEND_NO_MEMORY, "no memory for a plan");
    if (status == ATTEND_OK) status = attend_ctx_set_compute(c, run->options.compute);
    if (status == ATTEND_OK) status = attend_grads_new(&g, run->model->params);
    if (status == ATTEND_OK) {
        const attend_link first = { 0 };
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        if (run->links) p.pairs.links = &first, p.pairs.link_count = 1, options.guidance = 1;
        attend_ctx_set_grads(c, g);
        attend_ctx_set_training(c, true);
        status = attend_backward(c, attend_model_loss(c, run->model, &p.pairs, &options));
        *bytes = attend_ctx_bytes(c);
    }
    attend_grads_free(g);
    attend_ctx_free(c);
    probe_free(&p);
    return status;
}

/* Rounded up, but at most the maximum of the data: a model may have no more positions. */
static int average_length(uint64_t ids, uint64_t pairs, int max_length)
{
    const int length = (int)(ids / pairs) + 1;
    return length < max_length ? length : max_length;
}

/* Arrays as large as the weights that a checkpoint also holds: moments and the average. */
static int saved_arrays(const training_run *run)
{
    const int moments = run->options.optimizer.kind == ATTEND_ADAM ? 2 : run->options.optimizer.momentum > 0;
    return moments + (run->options.average > 0);
}

static int rank_count(const training_run *run)
{
    return attend_ranks_count(run->options.ranks);
}

/* What does not depend on shards: the program, weights, two packed copies, gradients, and the moments and the
 * average. These twice, because those of the checkpoint are also in memory while training resumes, and resuming must not
 * take more memory than a new run: once as a whole, as also rank 0 has them while it saves a checkpoint, and once those that
 * this rank owns. */
static size_t fixed_bytes(const training_run *run, size_t parameters, int threads, int shard_tokens, int ranks)
{
    enum { PROGRAM = 16 << 20 };
    /* batches count the longer side of a pair, shards both */
    const int64_t batch = 2 * (int64_t)run->options.batch_tokens * run->options.accumulate;
    const int64_t shards = batch / shard_tokens + 1;
    const int sets = attend_gradient_tree_sets(shards < INT_MAX ? (int)shards : INT_MAX, threads, ranks == 1);
    const int exchanged = ranks == 1 ? 0 : 2; /* what ranks send and receive */
    const size_t saved = parameters * (size_t)saved_arrays(run), own = (saved + (size_t)ranks - 1) / (size_t)ranks;
    return PROGRAM + (parameters * (size_t)(1 + 2 + sets + 1 + exchanged) + saved + own) * sizeof(real);
}

/* The memory that training may take: options.memory; on a device with memory of its own, also what is free there, except for
 * a tenth. 0: no limit. */
static size_t memory_limit(const training_run *run)
{
    const attend_device_info d = attend_device_describe();
    const size_t given = run->options.memory, there = d.is_gpu ? d.free_memory / 10 * 9 : 0;
    return there > 0 && (given == 0 || there < given) ? there : given;
}

/* What remains of the limit for the context of one thread; 0: no limit. */
static size_t context_limit(const training_run *run, int shard_tokens)
{
    const size_t limit = memory_limit(run),
                 fixed = fixed_bytes(run, attend_params_size(run->model->params), 1, shard_tokens, rank_count(run));
    return limit == 0 ? 0 : limit > fixed ? limit - fixed : 1;
}

/* Bytes of the context for the longest pair alone. With a limit, shorter pairs are measured first, and measuring ends with
 * one from which it is clear that the longest takes more: measuring must not take much more memory than is allowed. */
static int measure_longest(const training_run *run, int source, int target, size_t limit, size_t *bytes)
{
    enum { SHORT = 1000 };
    const double growth = 1.4;
    int steps = 0; /* of growth, to the longest */
    while (limit > 0 && pow(growth, -steps) * (source + target) > SHORT) steps++;
    for (; steps > 1; steps--) {
        const double share = pow(growth, -steps);
        const int status = measure(run, 1, (int)(share * source) + 1, (int)(share * target) + 1, bytes);
        if (status != ATTEND_OK) return status;
        *bytes = (size_t)((double)*bytes * growth); /* at least, for the next one */
        if (*bytes > limit) return ATTEND_OK;
    }
    return measure(run, 1, source, target, bytes);
}

/* Bytes of the context for the largest shard of at most `tokens` tokens: many pairs of average lengths, or the
 * longest pair alone. */
static int shard_bytes(const training_run *run, int tokens, size_t *bytes)
{
    const attend_corpus_counts n = attend_corpus_count(run->train);
    const int source = average_length(n.source_ids, n.pairs, n.max_source_length);
    const int target = average_length(n.target_ids, n.pairs, n.max_target_length);
    const int count = tokens / (source + target + 1);
    size_t full = 0, longest = 0;
    int status = measure(run, count > 0 ? count : 1, source, target, &full);
    if (status == ATTEND_OK && n.max_source_length + n.max_target_length > tokens)
        status = measure_longest(run, n.max_source_length, n.max_target_length, context_limit(run, tokens), &longest);
    *bytes = full > longest ? full : longest;
    *bytes += *bytes / 4; /* a margin: batches differ */
    return status;
}

int attend_training_check_memory(training_run *run, size_t parameters, bool is_loaded)
{
    const size_t min_bytes = fixed_bytes(run, parameters, 1, run->options.shard_tokens, rank_count(run)),
                 one = parameters * sizeof(real);
    const size_t loaded = is_loaded ? one * (size_t)(1 + saved_arrays(run)) : 0;
    enum { LARGE = 64 << 20 };
    size_t available;
    /* A small model is created all the same: fit_memory then knows which limit is enough. */
    if (run->options.memory > 0 && one > LARGE && min_bytes > run->options.memory)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "training a model of %zu million parameters takes more than %zuM (weights, gradients, the "
            "optimizer's moments), and the memory limit is %zuM: raise it, or reduce " ATTEND_SIZE_FIELDS,
            parameters / 1000000, min_bytes >> 20, run->options.memory >> 20);
    if (!attend_machine_has_memory(min_bytes - loaded, &available))
        return attend_fail(ATTEND_NO_MEMORY,
                           "training a model of %zu million parameters takes at least %zu MB (weights, gradients, the "
                           "optimizer's moments), and %zu MB of memory are available: reduce " ATTEND_SIZE_FIELDS,
                           parameters / 1000000, (min_bytes - loaded) / 1000000, available / 1000000);
    const int requested = run->options.threads;
    while (run->options.threads > 1 &&
           !attend_machine_has_memory(
               fixed_bytes(run, parameters, run->options.threads, run->options.shard_tokens, rank_count(run)) - loaded,
               NULL))
        run->options.threads--;
    if (run->options.threads < requested)
        attend_training_notice(run, "the machine has memory for the gradients of %d of %d threads",
                               run->options.threads, requested);
    return ATTEND_OK;
}

/* Chooses the largest shard size at which SHARDS shards, or one on a device that threads use in turns, fit into memory, and then
 * the largest number of threads that
 * fits. Rounding depends on the size of shards, so that it must not depend on the number of threads or ranks. Small shards are
 * tried first, so that measuring takes no more memory than is allowed. */
static int fit_memory(training_run *run, attend_plan *plan, bool resumed)
{
    enum { SHARDS = 4 };
    const size_t limit = memory_limit(run), together = run->model->params->memory->is_serial ? 1 : SHARDS;
    int tokens = run->options.shard_tokens;
    while (!resumed && limit > 0 && tokens / 2 >= MIN_SHARD_TOKENS) tokens /= 2;
    size_t shard = 0;
    int status = shard_bytes(run, tokens, &shard);
    if (status != ATTEND_OK) return status;
    const size_t parameters = attend_params_size(run->model->params);
    const size_t min_bytes = fixed_bytes(run, parameters, 1, tokens, rank_count(run)) + shard;
    const bool is_small = run->options.memory < (size_t)1 << 20;
    if (min_bytes > limit && limit > 0 && limit != run->options.memory)
        return attend_fail(
            ATTEND_NO_MEMORY,
            "training this model takes at least %zu MiB, and %zu MiB of the memory of %s are free: use a "
            "smaller model (hidden, embedding, vocabulary size) or a smaller maximum length",
            (min_bytes >> 20) + 1, limit >> 20, attend_device_describe().name);
    if (limit > 0 && min_bytes > limit)
        return attend_fail(ATTEND_BAD_USAGE,
                           "training this model takes at least %zuM, and the memory limit is %zu%c: raise it to %zuM, "
                           "or use a smaller model (hidden, embedding, vocabulary size) or a smaller maximum length",
                           (min_bytes >> 20) + 1, is_small ? run->options.memory >> 10 : run->options.memory >> 20,
                           is_small ? 'k' : 'M', (min_bytes >> 20) + 1);
    while (status == ATTEND_OK && 2 * tokens <= run->options.shard_tokens &&
           fixed_bytes(run, parameters, 1, 2 * tokens, 1) + 2 * together * shard <= limit) {
        tokens *= 2;
        status = shard_bytes(run, tokens, &shard);
    }
    const size_t needed = fixed_bytes(run, parameters, 1, tokens, rank_count(run)) + shard;
    if (status == ATTEND_OK && run->options.memory > 0 && needed > run->options.memory)
        return attend_fail(ATTEND_BAD_USAGE,
                           "training this model on several ranks takes at least %zuM, and the memory limit is %zuM: "
                           "raise it",
                           (needed >> 20) + 1, run->options.memory >> 20);
    run->options.shard_tokens = tokens;
    const int requested = run->options.threads;
    while (run->options.memory > 0 && run->options.threads > 1 &&
           fixed_bytes(run, parameters, run->options.threads, tokens, rank_count(run)) +
                   (size_t)run->options.threads * shard >
               run->options.memory)
        run->options.threads--;
    if (run->options.threads < requested)
        attend_training_notice(run, "the memory limit has room for %d of %d threads", run->options.threads, requested);
    plan->bytes = fixed_bytes(run, parameters, run->options.threads, tokens, rank_count(run)) +
                  (size_t)run->options.threads * shard;
    return status;
}

/* A run of few updates still has MIN_VALIDATIONS, so that there is a curve; the last one is at its end. The interval of a
 * checkpoint stays, also if the number of updates is another one now. */
static void plan_intervals(training_run *run, bool resumed)
{
    enum { MIN_UPDATES = 50, MAX_UPDATES = 1000, MIN_VALIDATIONS = 8 };
    const attend_train_options *o = &run->options;
    training_intervals *n = &run->intervals;
    const uint64_t epoch = n->updates_per_epoch < MIN_UPDATES   ? MIN_UPDATES
                           : n->updates_per_epoch > MAX_UPDATES ? MAX_UPDATES
                                                                : n->updates_per_epoch;
    uint64_t share = n->total_updates < MIN_VALIDATIONS ? 1 : n->total_updates / MIN_VALIDATIONS;
    if (share >= MIN_VALIDATIONS && n->total_updates % MIN_VALIDATIONS > 0) share++; /* none just before the last */
    if (o->valid_every > 0)
        n->valid_every = o->valid_every;
    else if (!resumed || n->valid_every == 0)
        n->valid_every = n->total_updates > 0 && share < epoch ? share : epoch;
    n->save_every = o->save_every ? o->save_every : o->valid_every ? o->valid_every : epoch;
    n->log_every = o->log_every ? o->log_every : attend_train_defaults().log_every;
}

/* The number of batches of a run, or, if it is not limited to epochs, of one epoch. Batches are grouped as in training;
 * beyond MAX_PAIRS pairs, the pools that were grouped stand for the others. */
static int count_batches(const training_run *run, uint64_t epochs, uint64_t *batches)
{
    enum { MAX_PAIRS = 500000 };
    const uint64_t pools = attend_batches_pools(run->batches), pairs = attend_corpus_count(run->train).pairs;
    const double all = (double)pools * (double)epochs;
    uint64_t counted = 0, groups = 0;
    for (uint64_t epoch = 0; epoch < epochs && groups * (pairs / pools) < MAX_PAIRS; epoch++)
        for (uint64_t pool = 0; pool < pools && groups * (pairs / pools) < MAX_PAIRS; pool++, groups++) {
            int count;
            const int status = attend_batches_in_pool(run->batches, epoch, pool, &count);
            if (status != ATTEND_OK) return status;
            counted += (uint64_t)count;
        }
    *batches = (uint64_t)llround((double)counted * (all / (double)groups));
    return ATTEND_OK;
}

/* updates: of all epochs; 0: their number is not limited. */
static uint64_t total_updates(const training_run *run, uint64_t updates)
{
    const uint64_t limit = run->options.updates;
    return run->options.epochs > 0 && (limit == 0 || updates < limit) ? updates : limit;
}

/* Batches are not always full, so that there are more than the tokens suggest. Version 0.1 did not count them: a checkpoint
 * with its number of updates keeps it, for the learning rates depend on it. */
static int plan_updates(training_run *run)
{
    const attend_corpus_counts n = attend_corpus_count(run->train);
    const uint64_t rows = n.target_ids + n.pairs, tokens = rows > n.source_ids ? rows : n.source_ids;
    const uint64_t each = (uint64_t)run->options.accumulate, batch = (uint64_t)run->options.batch_tokens * each;
    const uint64_t epochs = run->options.epochs > 0 ? run->options.epochs : 1, full = (tokens + batch - 1) / batch;
    training_intervals *to = &run->intervals;
    uint64_t batches;
    const int status = count_batches(run, epochs, &batches);
    if (status != ATTEND_OK) return status;
    const uint64_t updates = (batches + each - 1) / each;
    to->updates_per_epoch = (updates + epochs - 1) / epochs;
    to->total_updates = total_updates(run, updates);
    if (to->scheduled > 0 && to->scheduled != to->total_updates && to->scheduled == total_updates(run, epochs * full))
        to->updates_per_epoch = full, to->total_updates = to->scheduled;
    return ATTEND_OK;
}

int attend_training_plan(training_run *run, attend_plan *plan)
{
    const attend_corpus_counts n = attend_corpus_count(run->train);
    const int status = plan_updates(run);
    if (status != ATTEND_OK) return status;
    plan_intervals(run, plan->resumed);
    if (run->options.schedule.kind == ATTEND_SCHEDULE_COSINE && run->options.schedule.updates == 0)
        run->options.schedule.updates = run->intervals.total_updates;
    if (run->crops &&
        run->options.schedule.kind == ATTEND_SCHEDULE_COSINE) /* a checkpoint holds its number of updates */
        attend_crops_set_epochs(run->crops,
                                (double)run->options.schedule.updates / (double)run->intervals.updates_per_epoch);
    plan->held_out = run->valid && run->options.valid[0].part == ATTEND_PART_HELD_OUT;
    plan->task = run->model->config.task;
    plan->parameters = attend_params_size(run->model->params);
    plan->pairs = n.pairs, plan->left_out = n.empty + n.too_long;
    plan->valid_pairs = run->valid ? attend_corpus_count(run->valid).pairs : 0;
    plan->source_tokens = n.source_ids, plan->target_tokens = n.target_ids;
    plan->updates_per_epoch = run->intervals.updates_per_epoch, plan->updates = run->intervals.total_updates;
    plan->epochs = run->options.epochs;
    plan->valid_every = run->intervals.valid_every, plan->save_every = run->intervals.save_every;
    plan->source_kind = attend_tokenizer_kind(run->tokenizers[ATTEND_SOURCE]);
    plan->target_kind = attend_tokenizer_kind(run->tokenizers[ATTEND_TARGET]);
    for (int side = 0; side < 2; side++) {
        plan->lowercase[side] = attend_tokenizer_is_lowercase(run->tokenizers[side]);
        plan->has_symbols[side] = attend_tokenizer_kind(run->tokenizers[side]) == ATTEND_TOKENS_WORD &&
                                  attend_tokenizer_unit(run->tokenizers[!side]) == ATTEND_UNIT_CHARACTER;
    }
    const attend_schedule *schedule = &run->options.schedule;
    const uint64_t next = run->state.update + 1;
    plan->schedule = *schedule;
    plan->rate =
        run->state.rate_factor *
        attend_schedule_rate(schedule, next > schedule->warmup ? next : schedule->warmup, run->state.rate_reductions);
    plan->source_vocab = run->model->config.source_vocab, plan->target_vocab = run->model->config.target_vocab;
    return fit_memory(run, plan, plan->resumed && !run->changes_device);
}
