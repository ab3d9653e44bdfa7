/* training_steps.c: batches of random tokens and training steps on them. */
#include "training_steps.h"

#include "train/shards.h"
#include "train/team.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void cut_shards(step_batch *b)
{
    enum { DEFAULT_TOKENS = 800 };
    int *first = malloc(((size_t)b->pairs.count + 2) * sizeof *first);
    if (!first) exit(1);
    b->shards = attend_cut_shards(&b->pairs, DEFAULT_TOKENS, first);
    if (b->shards > MAX_STEP_SHARDS) {
        fprintf(stderr, "bench: a batch has %d shards\n", b->shards);
        exit(1);
    }
    for (int i = 0; i <= b->shards; i++) b->first[i] = first[i];
    free(first);
}

step_batch step_batch_new(const pair_lengths *lengths, int count, int vocabulary, int shard_pairs)
{
    step_batch b = { .source_lengths = malloc((size_t)count * sizeof(int)),
                     .target_lengths = malloc((size_t)count * sizeof(int)) };
    if (!b.source_lengths || !b.target_lengths) exit(1);
    for (int i = 0; i < count; i++) {
        if (shard_pairs > 0 && i % shard_pairs == 0 && b.shards < MAX_STEP_SHARDS) b.first[b.shards++] = i;
        b.source_lengths[i] = lengths[i].source,
        b.target_lengths[i] = lengths[i].target - 1; /* the end token is added */
        b.sources += lengths[i].source, b.rows += lengths[i].target;
    }
    b.first[b.shards] = count;
    b.tokens = malloc((size_t)(b.sources + b.rows) * sizeof *b.tokens);
    if (!b.tokens) exit(1);
    bench_random_tokens(b.tokens, b.sources + b.rows, vocabulary);
    b.pairs = (attend_pairs){ .count = count,
                              .source = b.tokens,
                              .source_lengths = b.source_lengths,
                              .target = b.tokens + b.sources,
                              .target_lengths = b.target_lengths };
    if (shard_pairs == 0) cut_shards(&b);
    return b;
}

void step_batch_free(step_batch *b)
{
    free(b->source_lengths);
    free(b->target_lengths);
    free(b->tokens);
}

bool step_batches_write(char *path, const step_batch *batches, int count)
{
    const int file = mkstemp(path);
    FILE *f = file >= 0 ? fdopen(file, "w") : NULL;
    if (!f) return false;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < batches[i].pairs.count; j++)
            fprintf(f, "%d:%d ", batches[i].source_lengths[j], batches[i].target_lengths[j] + 1);
        fprintf(f, "\n");
    }
    return fclose(f) == 0;
}

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const stepper *s = user;
    const int *first = s->current->first + shard;
    const attend_pairs part = attend_pairs_slice(&s->current->pairs, first[0], first[1] - first[0]);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 1.0 / s->current->rows;
    return attend_model_loss(c, s->m, &part, &options);
}

void stepper_run(void *state)
{
    stepper *s = state;
    for (int i = 0; i < s->count; i++) {
        double loss;
        s->current = &s->batches[i];
        bench_require(attend_team_gradient(s->team, s->current->shards, shard_loss, s, 1, s->update++, &loss));
        bench_require(attend_optimizer_step(s->adam, 1e-3, 1, NULL));
    }
}

static attend_compute_precision compute; /* fp32 */

void steps_use_compute(attend_compute_precision precision)
{
    compute = precision;
}

double steps_goal(step_goals g)
{
    const double with_amx[] = { g.amx_fp32, g.amx_bf16x3, g.amx_bf16 };
    if (compute != ATTEND_COMPUTE_FP32 && !bench_has_amx()) return 0;
    return bench_has_amx() ? with_amx[compute] : g.fp32;
}

const char *steps_peer_precision(void)
{
    return compute == ATTEND_COMPUTE_BF16 ? " bf16" : "";
}

stepper stepper_new(const attend_config *config, const step_batch *batches, int count)
{
    return stepper_on_threads(config, batches, count, 2);
}

stepper stepper_on_threads(const attend_config *config, const step_batch *batches, int count, int threads)
{
    return stepper_on_ranks(config, batches, count, threads, NULL);
}

stepper stepper_on_ranks(const attend_config *config, const step_batch *batches, int count, int threads,
                         attend_ranks *ranks)
{
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    stepper s = { .batches = batches, .count = count };
    bench_require(attend_model_new(&s.m, config, 1));
    bench_require(attend_team_new(&s.team, attend_model_params(s.m), threads));
    bench_require(attend_team_set_ranks(s.team, ranks));
    bench_require(attend_team_set_compute(s.team, compute));
    bench_require(attend_optimizer_new(&s.adam, s.team, &options));
    return s;
}

void stepper_free(stepper *s)
{
    attend_optimizer_free(s->adam);
    attend_team_free(s->team);
    attend_model_free(s->m);
}

void report_share_of_ceiling(bench *b, const char *group, const char *name, double flop, double seconds, double goal)
{
    const double speed = flop / seconds * 1e-9, ceiling = 2 * bench_peak();
    result r = { .group = group, .goal = goal, .ratio = speed / ceiling };
    snprintf(r.name, sizeof r.name, "%s, vs ceiling", name);
    snprintf(r.measured, sizeof r.measured, "%.0f GFLOP/s", speed);
    snprintf(r.reference, sizeof r.reference, "%.0f GFLOP/s, 2 x fp32 peak", ceiling);
    bench_report(b, &r);
}

void report_missing_data(bench *b, const char *group, const char *name)
{
    result r = { .group = group, .ratio = NAN };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.measured, sizeof r.measured, "-");
    snprintf(r.reference, sizeof r.reference, "no data (set ATTEND_DATA to its directory)");
    bench_report(b, &r);
}
