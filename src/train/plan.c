/* plan.c: sizes. Memory of a shard is not guessed but measured: the loss of as many average pairs as a shard holds is differentiated once. */
#include "train/plan.h"

#include "core/memory.h"
#include <math.h>
#include <stdlib.h>

enum { LEAST_SHARD = 100 };

/* Pairs of the same lengths. */
typedef struct probe {
    int *words, *lengths[2];
    attend_pairs pairs;
} probe;

static void probe_free(probe *p)
{
    attend_memory_free(p->words);
    attend_memory_free(p->lengths[0]);
    attend_memory_free(p->lengths[1]);
}

static bool probe_new(int count, int source, int target, probe *p)
{
    const size_t words = (size_t)count * (size_t)(source > target ? source : target);
    p->words = attend_memory_zeroed(words, sizeof *p->words); /* all ATTEND_UNKNOWN: a word that every vocabulary has */
    for (int side = 0; side < 2; side++) p->lengths[side] = attend_memory_zeroed((size_t)count, sizeof(int));
    if (!p->words || !p->lengths[0] || !p->lengths[1]) return false;
    for (int i = 0; i < count; i++) p->lengths[0][i] = source, p->lengths[1][i] = target;
    p->pairs = (attend_pairs){ .count = count,
                               .source = p->words,
                               .source_lengths = p->lengths[0],
                               .target = p->words,
                               .target_lengths = p->lengths[1] };
    return true;
}

/* Bytes that the context of a shard of so many pairs of these lengths takes. */
static int measure(const trainer *t, int count, int source, int target, size_t *bytes)
{
    probe p = { .words = NULL };
    attend_ctx *c = NULL;
    attend_grads *g = NULL;
    int status = probe_new(count, source, target, &p) ? attend_ctx_new(&c)
                                                      : attend_fail(ATTEND_NO_MEMORY, "no memory for a plan");
    if (status == ATTEND_OK) status = attend_grads_new(&g, t->m->params);
    if (status == ATTEND_OK) {
        attend_ctx_set_grads(c, g);
        attend_ctx_set_training(c, true);
        status = attend_backward(c, attend_model_loss(c, t->m, &p.pairs, NULL));
        *bytes = attend_ctx_bytes(c);
    }
    attend_grads_free(g);
    attend_ctx_free(c);
    probe_free(&p);
    return status;
}

/* Rounded up, but never longer than the longest: a model may have no place for more. */
static int average_length(uint64_t ids, uint64_t pairs, int longest)
{
    const int length = (int)(ids / pairs) + 1;
    return length < longest ? length : longest;
}

/* The same for the worst shard of at most so many tokens: full of pairs of average lengths, or of the longest pair alone. */
static int shard_bytes(const trainer *t, int tokens, size_t *bytes)
{
    const attend_corpus_counts n = attend_corpus_count(t->train);
    const int source = average_length(n.source_ids, n.pairs, n.longest_source);
    const int target = average_length(n.target_ids, n.pairs, n.longest_target);
    const int count = tokens / (source + target + 1);
    size_t full = 0, longest = 0;
    int status = measure(t, count > 0 ? count : 1, source, target, &full);
    if (status == ATTEND_OK && n.longest_source + n.longest_target > tokens)
        status = measure(t, 1, n.longest_source, n.longest_target, &longest);
    *bytes = full > longest ? full : longest;
    *bytes += *bytes / 4; /* batches are not all alike */
    return status;
}

/* What does not depend on shards: the program, weights, two packed copies, gradients; moments and the average, twice, since those of a checkpoint
 * that is gone on from are mapped too, and going on must not take more than beginning. */
static size_t fixed_bytes(const trainer *t, int threads)
{
    enum { PROGRAM = 16 << 20 };
    const size_t n = attend_params_size(t->m->params) * sizeof(real);
    const int moments = t->o.optimizer.kind == ATTEND_ADAM ? 2 : t->o.optimizer.momentum > 0;
    return PROGRAM + n * (size_t)(1 + 2 + threads + 1 + 2 * (moments + (t->o.average > 0)));
}

/* The largest shards of which SEVERAL fit into memory beside the rest, and as many threads as then have room: the size of shards, on which rounding
 * depends, must not depend on the number of threads. Small shards are tried first, so that trying takes no more memory than is allowed. */
static int fit_memory(trainer *t, attend_plan *plan, bool resumed)
{
    enum { SEVERAL = 4 };
    int smallest = t->o.shard_tokens;
    while (!resumed && t->o.memory > 0 && smallest / 2 >= LEAST_SHARD) smallest /= 2;
    size_t shard = 0;
    int status = shard_bytes(t, smallest, &shard);
    if (status != ATTEND_OK) return status;
    const size_t least = fixed_bytes(t, 1) + shard;
    if (t->o.memory > 0 && least > t->o.memory)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "training this model takes at least %zu MiB, and --memory allows %zu: give --memory %zuM, or take "
            "a smaller model (--hidden, --embedding, --vocab-size) or a smaller --max-length",
            (least >> 20) + 1, t->o.memory >> 20, (least >> 20) + 1);
    while (status == ATTEND_OK && 2 * smallest <= t->o.shard_tokens &&
           fixed_bytes(t, 1) + SEVERAL * 2 * shard <= t->o.memory) {
        smallest *= 2;
        status = shard_bytes(t, smallest, &shard);
    }
    t->o.shard_tokens = smallest;
    const int wanted = t->o.threads;
    while (t->o.memory > 0 && t->o.threads > 1 &&
           fixed_bytes(t, t->o.threads) + (size_t)t->o.threads * shard > t->o.memory)
        t->o.threads--;
    if (t->o.threads < wanted) attend_trainer_say(t, "--memory has room for %d of %d threads", t->o.threads, wanted);
    plan->bytes = fixed_bytes(t, t->o.threads) + (size_t)t->o.threads * shard;
    return status;
}

int attend_trainer_plan(trainer *t, attend_plan *plan)
{
    const attend_corpus_counts n = attend_corpus_count(t->train);
    const uint64_t rows = n.target_ids + n.pairs, tokens = rows > n.source_ids ? rows : n.source_ids;
    const uint64_t batch = (uint64_t)t->o.batch_tokens * (uint64_t)t->o.accumulate;
    t->updates_per_epoch = (tokens + batch - 1) / batch;
    t->updates = t->o.updates;
    if (t->o.epochs > 0 && (t->updates == 0 || t->o.epochs * t->updates_per_epoch < t->updates))
        t->updates = t->o.epochs * t->updates_per_epoch;
    t->valid_every = t->o.valid_every;
    if (t->valid_every == 0)
        t->valid_every = t->updates_per_epoch < 50 ? 50 : t->updates_per_epoch > 1000 ? 1000 : t->updates_per_epoch;
    t->save_every = t->o.save_every ? t->o.save_every : t->valid_every;
    t->log_every = t->o.log_every ? t->o.log_every : 50;
    if (t->o.schedule.kind == ATTEND_SCHEDULE_COSINE && t->o.schedule.updates == 0) t->o.schedule.updates = t->updates;
    plan->task = t->m->config.task;
    plan->parameters = attend_params_size(t->m->params);
    plan->pairs = n.pairs, plan->left_out = n.empty + n.too_long;
    plan->valid_pairs = t->valid ? attend_corpus_count(t->valid).pairs : 0;
    plan->source_tokens = n.source_ids, plan->target_tokens = n.target_ids;
    plan->updates_per_epoch = t->updates_per_epoch, plan->updates = t->updates;
    plan->valid_every = t->valid_every, plan->save_every = t->save_every;
    plan->source_vocab = t->m->config.source_vocab, plan->target_vocab = t->m->config.target_vocab;
    return fit_memory(t, plan, plan->resumed);
}
