/* training_update.c: gradient and step. */
#include "train/training_run.h"

#include "train/team.h"
#include <math.h>

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const training_run *run = user;
    const update_batch *b = &run->batch;
    const int first = b->shard_first[shard];
    const attend_pairs part = attend_pairs_slice(&b->pairs, first, b->shard_first[shard + 1] - first);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 1.0 / b->rows;
    options.label_smoothing = run->options.label_smoothing;
    options.baseline = run->state.baseline;
    options.guidance = run->links ? run->options.guidance : 0;
    options.nll = b->nll + b->shard_rows[shard];
    return attend_model_loss(c, run->model, &part, &options);
}

int attend_training_update(training_run *run, double *norm, double *rate)
{
    training_state *s = &run->state;
    update_batch *b = &run->batch;
    double loss;
    int status = attend_update_batch_next(b, run->batches, run->links, &s->position, run->options.accumulate,
                                          run->options.shard_tokens, attend_ranks_count(run->options.ranks),
                                          attend_ranks_rank(run->options.ranks));
    const double start = attend_training_time();
    run->team->news =
        (team_news){ .stop = attend_ranks_are_several(run->options.ranks) && attend_training_stop_requested(run),
                     .numbers = b->nll,
                     .offsets = b->shard_rows };
    if (status == ATTEND_OK)
        status = attend_team_gradient(run->team, b->shards, shard_loss, run, run->options.seed, s->update, &loss);
    if (status != ATTEND_OK) return status;
    s->update++;
    *rate = s->rate_factor * attend_schedule_rate(&run->options.schedule, s->update, s->rate_reductions);
    status = attend_optimizer_step(run->optimizer, *rate, run->options.clip, norm);
    run->clock.step_seconds += attend_training_time() - start;
    if (status == ATTEND_OK) status = attend_device_memory_check(run->model->params->memory);
    if (status != ATTEND_OK || !isfinite(*norm)) return status;
    double nll = 0;
    for (int i = 0; i < b->rows; i++) nll += (double)b->nll[i];
    s->loss += nll, s->loss_rows += (uint64_t)b->rows;
    s->rows += (uint64_t)b->rows;
    s->baseline = s->update == 1 ? nll / b->rows : 0.9 * s->baseline + 0.1 * nll / b->rows;
    attend_weight_average_update(&run->average, s->update);
    return ATTEND_OK;
}
