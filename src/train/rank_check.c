/* rank_check.c: before the first update, every rank compares itself with rank 0. Ranks that compute other bits would still
 * train one model, because each number is computed by one rank only; but it would depend on their number. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/pair_block.h"
#include <attend/device.h>
#include <attend/processors.h>
#include <attend/version.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NAME = 64, PROBE_PAIRS = 256 };

/* What must be the same on all ranks. */
typedef struct fingerprint {
    char version[NAME], kernels[NAME], compute[NAME];
    uint64_t pairs, data, valid_pairs, valid_data;
    uint64_t resumed, update, weights, options, gradient;
} fingerprint;

static int hash_weights(const training_run *run, uint64_t *hash)
{
    *hash = 0;
    for (int i = 0; i < attend_params_count(run->model->params); i++) {
        const attend_param *p = attend_params_at(run->model->params, i);
        const real *value = attend_param_value(p);
        if (!value) return ATTEND_NO_MEMORY;
        *hash = XXH3_64bits_withSeed(value, p->size * sizeof(real), *hash);
    }
    return ATTEND_OK;
}

/* Reads the first training pairs: about as many as a shard has, and `tokens` in all. */
static int probe_read(const training_run *run, pair_block *p, int *tokens)
{
    const uint64_t pairs = attend_corpus_count(run->train).pairs;
    int status = ATTEND_OK, count = 0, source, target;
    for (*tokens = 0; count < PROBE_PAIRS && (uint64_t)count < pairs; count++) {
        status = attend_corpus_lengths(run->train, (uint64_t)count, &source, &target);
        if (status != ATTEND_OK) return status;
        if (count > 0 && *tokens + source + target > run->options.shard_tokens) break;
        *tokens += source + target + 1;
    }
    return attend_pair_block_read(p, run->train, 0, count);
}

/* The gradient of the probe, at the current weights. The second time it is measured how long it takes. */
static int run_probe(const training_run *run, attend_ctx *c, attend_grads *g, const pair_block *p, double *seconds)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < 2; i++) {
        const double start = attend_training_time();
        attend_ctx_reset(c);
        attend_grads_zero(g);
        attend_ctx_set_grads(c, g);
        attend_ctx_set_recording(c, true);
        attend_ctx_set_training(c, true);
        attend_ctx_set_random(c, run->options.seed, 0);
        status = attend_backward(c, attend_model_loss(c, run->model, &p->pairs, NULL));
        *seconds = attend_training_time() - start;
    }
    return status;
}

static int hash_gradient(const training_run *run, uint64_t *hash, double *seconds_per_token)
{
    attend_ctx *c = NULL;
    attend_grads *g = NULL;
    pair_block first = { .pairs = { .count = 0 } };
    double seconds = 0;
    int tokens = 0, status = probe_read(run, &first, &tokens);
    if (status == ATTEND_OK) status = attend_ctx_new(&c);
    if (status == ATTEND_OK) status = attend_ctx_set_compute(c, run->options.compute);
    if (status == ATTEND_OK) status = attend_grads_new(&g, run->model->params);
    if (status == ATTEND_OK) status = run_probe(run, c, g, &first, &seconds);
    *seconds_per_token = seconds / (tokens > 0 ? tokens : 1);
    *hash = 0;
    for (int i = 0; status == ATTEND_OK && i < attend_params_count(run->model->params); i++) {
        const attend_param *p = attend_params_at(run->model->params, i);
        const real *values = attend_grads_of(g, p);
        if (values)
            *hash = XXH3_64bits_withSeed(values, p->size * sizeof(real), *hash);
        else
            status = ATTEND_NO_MEMORY;
    }
    attend_ctx_free(c);
    attend_grads_free(g);
    attend_pair_block_free(&first);
    return status;
}

static int fill(const training_run *run, fingerprint *f, double *seconds_per_token)
{
    const attend_corpus_counts train = attend_corpus_count(run->train),
                               valid = run->valid ? attend_corpus_count(run->valid) : (attend_corpus_counts){ 0 };
    snprintf(f->version, NAME, "%s", attend_version());
    snprintf(f->kernels, NAME, "%s", attend_device_describe().model);
    snprintf(f->compute, NAME, "%s", attend_compute_names[run->options.compute]);
    f->pairs = train.pairs, f->data = train.fingerprint;
    f->valid_pairs = valid.pairs, f->valid_data = valid.fingerprint;
    f->resumed = run->checkpoint != NULL, f->update = run->state.update;
    int status = attend_checkpoint_hash_options(run, &f->options);
    if (status == ATTEND_OK) status = hash_weights(run, &f->weights);
    return status == ATTEND_OK ? hash_gradient(run, &f->gradient, seconds_per_token) : status;
}

/* What differs, in the order in which one difference explains the next; "": nothing. */
static void compare(const fingerprint *a, const fingerprint *b, bool is_mixed, char text[ATTEND_MESSAGE_SIZE])
{
    const size_t size = ATTEND_MESSAGE_SIZE;
    *text = '\0';
    if (strcmp(a->version, b->version) != 0)
        snprintf(text, size, "is attend %s, and rank 0 is %s: install the same version on all machines", b->version,
                 a->version);
    else if (strcmp(a->kernels, b->kernels) != 0 && !is_mixed)
        snprintf(
            text, size,
            "computes with the kernels '%s', and rank 0 with '%s', so that the model would depend on which machines "
            "are used: use machines of one kind, set ATTEND_KERNEL to a name that all of them have, or allow mixed "
            "machines (option 'mixed-ranks')",
            b->kernels, a->kernels);
    else if (a->pairs != b->pairs || a->data != b->data || a->valid_pairs != b->valid_pairs ||
             a->valid_data != b->valid_data)
        snprintf(
            text, size,
            "has read other data: %llu training and %llu validation pairs, and rank 0 %llu and %llu. All ranks must "
            "read the same files",
            (unsigned long long)b->pairs, (unsigned long long)b->valid_pairs, (unsigned long long)a->pairs,
            (unsigned long long)a->valid_pairs);
    else if (a->resumed != b->resumed || a->update != b->update)
        snprintf(text, size,
                 "%s a checkpoint%s, and rank 0 %s: the directory of the model must be the same for all ranks",
                 b->resumed ? "has found" : "has not found", b->resumed && a->resumed ? " of another update" : "",
                 a->resumed ? "has" : "has not");
    else if (a->options != b->options)
        snprintf(text, size, "has other options than rank 0: start all ranks with the same command");
    else if (a->weights != b->weights)
        snprintf(text, size, "has other weights than rank 0: all ranks must read the same checkpoint");
    else if (a->gradient != b->gradient && !is_mixed)
        snprintf(
            text, size,
            "computes another gradient than rank 0, so that the model would depend on which machines are used: use "
            "machines of one kind, or allow mixed machines (option 'mixed-ranks')");
}

int attend_training_check_ranks(training_run *run)
{
    attend_ranks *ranks = run->options.ranks;
    const int count = attend_ranks_count(ranks), rank = attend_ranks_rank(ranks);
    if (!attend_ranks_are_several(ranks)) return ATTEND_OK;
    fingerprint *all = attend_memory_zeroed((size_t)count, sizeof *all);
    size_t *offsets = attend_memory_zeroed((size_t)count + 1, sizeof *offsets);
    int status = all && offsets ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to compare %d ranks", count);
    for (int i = 0; status == ATTEND_OK && i <= count; i++) offsets[i] = (size_t)i * sizeof *all;
    double seconds_per_token = 0;
    if (status == ATTEND_OK) status = fill(run, &all[rank], &seconds_per_token);
    if (status == ATTEND_OK) status = attend_ranks_all_gather(ranks, all, offsets);
    for (int i = 1; status == ATTEND_OK && i < count; i++) {
        char text[ATTEND_MESSAGE_SIZE];
        compare(&all[0], &all[i], run->options.mixed_ranks, text);
        if (*text) status = attend_fail(ATTEND_BAD_USAGE, "rank %d on %s %s", i, attend_ranks_host(ranks, i), text);
    }
    attend_memory_free(all);
    attend_memory_free(offsets);
    return status == ATTEND_OK ? attend_training_report_ranks(run, seconds_per_token) : status;
}
