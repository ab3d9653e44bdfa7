/* divergence.c: what happens after a non-finite gradient or validation loss. The update of such a gradient is skipped.
 * After MAX_SKIPPED skipped updates in a row, or a validation without a finite loss, training rolls back to the last
 * checkpoint and continues at half the learning rate; if that happens a second time, training has diverged and ends. The
 * same without validation, if the last update has no finite loss. */
#include "train/training_run.h"

#include "core/status.h"
#include "device/device.h"
#include <math.h>
#include <stdio.h>

enum { MAX_SKIPPED = 10 };

static int roll_back(training_run *run, const char *reason)
{
    training_state *s = &run->state;
    const int rollbacks = s->rollbacks + 1;
    const double factor = s->rate_factor / 2;
    const uint64_t logged = run->log.bytes;
    int status = attend_checkpoint_reload(run);
    if (status != ATTEND_OK) return status;
    s->rollbacks = rollbacks, s->rate_factor = factor, s->skipped_updates = 0, s->log_bytes = logged;
    attend_training_notice(run, "%s: rolled back to update %llu, at half the learning rate, %.3g", reason,
                           (unsigned long long)s->update,
                           s->rate_factor *
                               attend_schedule_rate(&run->options.schedule, s->update + 1, s->rate_reductions));
    attend_json_writer w = attend_training_log_begin(&run->log, s->update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "rolled back");
    attend_json_put_key(&w, "rate_share"), attend_json_put_short(&w, 6, s->rate_factor);
    status = attend_training_log_end(&run->log, &w);
    return status == ATTEND_OK ? attend_checkpoint_save(run) : status;
}

int attend_training_skip_update(training_run *run, double norm)
{
    training_state *s = &run->state;
    s->skipped_updates++;
    attend_training_notice(run, "update %llu was skipped: its gradient is %s", (unsigned long long)s->update,
                           isnan(norm) ? "not a number" : "infinite");
    attend_json_writer w = attend_training_log_begin(&run->log, s->update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "skipped");
    const int status = attend_training_log_end(&run->log, &w);
    if (status != ATTEND_OK || s->skipped_updates < MAX_SKIPPED) return status;
    if (s->rollbacks > 0)
        return attend_training_diverged(run, "gradients are non-finite, also at half the learning rate");
    char reason[80];
    snprintf(reason, sizeof reason, "%d updates in a row had non-finite gradients", MAX_SKIPPED);
    return roll_back(run, reason);
}

int attend_training_reject_loss(training_run *run)
{
    char reason[80];
    const char *const loss = run->valid ? "validation loss" : "loss";
    if (run->state.rollbacks > 0) {
        snprintf(reason, sizeof reason, "the %s is non-finite, also at half the learning rate", loss);
        return attend_training_diverged(run, reason);
    }
    snprintf(reason, sizeof reason, "update %llu: the %s is non-finite", (unsigned long long)run->state.update, loss);
    return roll_back(run, reason);
}

int attend_training_diverged(const training_run *run, const char *reason)
{
    return attend_fail(ATTEND_FAILED,
                       "training diverged: %s. %s. Start over (option 'fresh') with a lower learning rate, a smaller "
                       "gradient clip or a longer warmup",
                       reason,
                       run->has_saved ? "The best model so far is unchanged" : "No model was written by this training");
}

bool attend_training_has_finite_loss(const training_run *run)
{
    double nll = 0;
    for (int i = 0; i < run->batch.rows; i++) nll += (double)run->batch.nll[i];
    return isfinite(nll);
}

bool attend_training_has_finite_weights(const training_run *run)
{
    for (int i = 0; i < attend_params_count(run->model->params); i++) {
        const attend_param *p = attend_params_at(run->model->params, i);
        const attend_compute compute = { 0 };
        double sum;
        attend_device_at(p->memory)->sum_squares(&compute, 1, (const real *const[]){ p->value }, &p->size,
                                                 (device_sums){ &sum });
        if (!isfinite(sum)) return false;
    }
    return true;
}
