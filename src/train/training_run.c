/* training_run.c: begins or resumes a training run, runs its updates and ends it. Every update depends only on what a
 * checkpoint holds, so that a resumed run ends in the same bytes as one that was never interrupted. */
#include "train/training_run.h"

#include "core/c_locale.h"
#include "core/memory.h"
#include "core/status.h"
#include "train/team.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

double attend_training_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void attend_training_notice(const training_run *run, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (!run->events.notice) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->events.notice(run->events.user, text);
}

bool attend_training_stop_requested(const training_run *run)
{
    return run->events.stop && run->events.stop(run->events.user);
}

/* ---- the loop ---- */

bool attend_training_is_done(const training_run *run)
{
    return (run->options.updates > 0 && run->state.update >= run->options.updates) ||
           (run->options.epochs > 0 && run->state.position.epoch >= run->options.epochs);
}

static bool is_out_of_patience(const training_run *run)
{
    return run->valid && run->options.patience > 0 && run->state.validations_since_best >= run->options.patience;
}

static bool is_due(uint64_t update, uint64_t every)
{
    return every > 0 && update % every == 0;
}

static void report_progress(const training_run *run, attend_progress *p)
{
    p->update = run->state.update, p->updates = run->intervals.total_updates;
    p->epoch = run->state.position.epoch;
    p->part = attend_batches_progress(run->batches, &run->state.position);
    p->seconds = attend_training_time() - run->clock.start;
    p->step_seconds = run->clock.step_seconds, p->validation_seconds = run->clock.validation_seconds;
    p->tokens_per_second = (double)(run->state.rows - run->clock.rows_at_start) / fmax(p->seconds, 1e-9);
    const uint64_t done = run->state.update - run->clock.updates_at_start;
    p->seconds_left = run->intervals.total_updates > run->state.update && done > 0
                          ? p->seconds / (double)done * (double)(run->intervals.total_updates - run->state.update)
                          : -1;
    p->valid_loss = run->state.valid_loss, p->valid_score = run->state.valid_score, p->best = run->state.best;
    if (run->events.progress) run->events.progress(run->events.user, p);
}

/* Seconds have a fixed width: the checkpoint holds the size of the log, which must not depend on the time. */
static int log_progress(training_run *run, const attend_progress *p)
{
    const double loss = run->state.loss / (double)(run->state.loss_rows ? run->state.loss_rows : 1);
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%9.1f", attend_training_time() - run->clock.start);
    attend_use_decimal_point(seconds);
    attend_json_writer w = attend_training_log_begin(&run->log, run->state.update);
    attend_json_put_key(&w, "epoch"), attend_json_put_unsigned(&w, run->state.position.epoch);
    attend_json_put_key(&w, "loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "perplexity"), attend_json_put_number(&w, 4, exp(loss));
    attend_json_put_key(&w, "rate"), attend_json_put_short(&w, 6, p->rate);
    attend_json_put_key(&w, "norm"), attend_json_put_number(&w, 4, p->norm);
    attend_json_put_key(&w, "rows"), attend_json_put_unsigned(&w, run->state.rows);
    attend_json_put_key(&w, "seconds"), attend_json_put_value(&w, seconds);
    const int status = attend_training_log_end(&run->log, &w);
    run->state.loss = 0, run->state.loss_rows = 0;
    return status;
}

/* Logs and validates, if it is time. */
static int after_update(training_run *run, attend_progress *p, bool last)
{
    p->loss = run->state.loss_rows ? run->state.loss / (double)run->state.loss_rows : p->loss;
    int status = is_due(run->state.update, run->intervals.log_every) || last ? log_progress(run, p) : ATTEND_OK;
    p->validated = run->valid && (is_due(run->state.update, run->intervals.valid_every) || last);
    if (status == ATTEND_OK && p->validated) status = attend_training_validate(run, &p->better);
    return status;
}

/* Non-finite weights are not saved: the next gradient will be non-finite too, and training rolls back to the last
 * checkpoint. */
static int save(training_run *run)
{
    if (!attend_training_has_finite_weights(run)) {
        attend_training_notice(run, "update %llu: weights are non-finite; nothing is saved",
                               (unsigned long long)run->state.update);
        return ATTEND_OK;
    }
    int status = run->valid ? ATTEND_OK : attend_training_save_model(run, "");
    /* A model saved only because training was stopped is not one of the kept models: nothing would remove it later. */
    const bool is_kept = is_due(run->state.update, run->intervals.save_every) || attend_training_is_done(run);
    if (status == ATTEND_OK && is_kept) status = attend_training_save_kept(run);
    return status == ATTEND_OK ? attend_checkpoint_save(run) : status;
}

static int loop(training_run *run, attend_train_end *end)
{
    attend_progress p = { .loss = NAN };
    int status = ATTEND_OK;
    bool stop = false;
    while (status == ATTEND_OK && !attend_training_is_done(run) && !is_out_of_patience(run) && !stop) {
        p.validated = p.saved = p.better = false;
        status = attend_training_update(run, &p.norm, &p.rate);
        if (status == ATTEND_OK && !isfinite(p.norm)) {
            status = attend_training_skip_update(run, p.norm);
            stop = attend_training_stop_requested(run); /* resuming repeats the skipped updates */
            continue;
        }
        run->state.skipped_updates = 0;
        if (status == ATTEND_OK) status = after_update(run, &p, attend_training_is_done(run));
        stop = attend_training_stop_requested(run);
        if (status == ATTEND_OK && (is_due(run->state.update, run->intervals.save_every) ||
                                    attend_training_is_done(run) || is_out_of_patience(run) || stop)) {
            p.saved = true;
            status = save(run);
        }
        if (status == ATTEND_OK) report_progress(run, &p);
    }
    *end = is_out_of_patience(run) ? ATTEND_TRAIN_PATIENCE : stop ? ATTEND_TRAIN_STOPPED : ATTEND_TRAIN_DONE;
    return status;
}

/* ---- begin and end ---- */

static int new_model(training_run *run)
{
    int status = attend_training_learn_tokenizers(run);
    const attend_pairs_spec *first = &run->options.train[0];
    const bool is_language_model = attend_training_is_language_model(run);
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        if (attend_tokenizer_size(run->tokenizers[side]) <= ATTEND_FIRST_TOKEN)
            status = attend_fail(ATTEND_BAD_DATA,
                                 "%s: there is no token to learn%s: all lines are empty, or no token occurs %d times "
                                 "(the minimum count)",
                                 side && first->target ? first->target : attend_pairs_spec_name(first),
                                 is_language_model ? ""
                                 : side            ? " on the target side"
                                                   : " on the source side",
                                 run->options.tokens[side].min_count);
    if (status != ATTEND_OK) return status;
    run->options.config.source_vocab = attend_tokenizer_size(run->tokenizers[0]);
    run->options.config.target_vocab = attend_tokenizer_size(run->tokenizers[1]);
    status = attend_model_new(&run->model, &run->options.config, run->options.seed);
    if (status == ATTEND_OK && !is_language_model)
        status = attend_tokenizer_attach(run->tokenizers[0], run->model, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_attach(run->tokenizers[1], run->model, "target");
    return status;
}

static int open_log(training_run *run)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", run->options.log ? run->options.log : attend_training_path(run, ".log.jsonl"));
    const int status = attend_training_log_open(&run->log, path, run->state.log_bytes);
    if (status == ATTEND_OK && run->log.bytes < run->state.log_bytes)
        attend_training_notice(run, "%s: the last %llu bytes of the log are missing; training resumes without them",
                               path, (unsigned long long)(run->state.log_bytes - run->log.bytes));
    return status;
}

static int begin(training_run *run)
{
    bool resumed = false;
    int status = attend_training_check_options(&run->options);
    run->state = (training_state){ .best = NAN, .valid_loss = NAN, .valid_score = NAN, .rate_factor = 1 };
    if (status == ATTEND_OK) status = attend_training_check_config(run);
    if (status == ATTEND_OK) status = attend_training_check_data_files(run);
    if (status == ATTEND_OK) status = attend_training_lock(run);
    /* with options.fresh, an old checkpoint stays until the first new one replaces it */
    if (status == ATTEND_OK && !run->options.fresh) status = attend_checkpoint_load(run, &resumed);
    if (status == ATTEND_OK && !resumed) status = new_model(run);
    if (status == ATTEND_OK) status = attend_training_read_data(run);
    attend_plan plan = { .resumed = resumed, .update = run->state.update };
    if (status == ATTEND_OK) status = attend_training_plan(run, &plan);
    if (status == ATTEND_OK && run->events.plan) run->events.plan(run->events.user, &plan);
    if (status == ATTEND_OK) status = attend_team_new(&run->team, run->model->params, run->options.threads);
    if (status == ATTEND_OK) status = attend_optimizer_new(&run->optimizer, run->team, &run->options.optimizer);
    if (status == ATTEND_OK)
        status = attend_weight_average_begin(&run->average, run->model->params, run->options.average, resumed);
    if (status == ATTEND_OK && resumed) status = attend_checkpoint_load_optimizer(run);
    if (status == ATTEND_OK) status = open_log(run);
    if (status == ATTEND_OK && resumed) status = attend_training_restore_single(run); /* after the last check */
    if (status == ATTEND_OK && !resumed)
        status = attend_checkpoint_save(run); /* also tests disk space and permission */
    if (status == ATTEND_OK && !resumed) attend_training_remove_single(run);
    return status;
}

static void run_free(training_run *run)
{
    attend_training_log_close(&run->log);
    attend_optimizer_free(run->optimizer);
    attend_team_free(run->team);
    attend_weight_average_free(&run->average);
    attend_update_batch_free(&run->batch);
    attend_training_data_free(run);
    attend_model_free(run->model);
    attend_training_unlock(run);
    attend_memory_free(run);
}

int attend_train(const attend_train_options *options, const attend_train_events *events, attend_train_end *end)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, options);
    attend_train_end ignored;
    if (!end) end = &ignored;
    training_run *run = attend_memory_zeroed(1, sizeof *run);
    if (!run) return attend_fail(ATTEND_NO_MEMORY, "no memory to train");
    run->options = *options;
    run->lock = -1;
    if (events) run->events = *events;
    int status = begin(run);
    run->clock.start = attend_training_time();
    run->clock.rows_at_start = run->state.rows, run->clock.updates_at_start = run->state.update;
    if (run->stopped)
        *end = ATTEND_TRAIN_STOPPED, status = ATTEND_OK;
    else if (status == ATTEND_OK)
        status = loop(run, end);
    if (status == ATTEND_OK && *end != ATTEND_TRAIN_STOPPED) {
        status = attend_training_average_checkpoints(run);
        if (status == ATTEND_OK) status = attend_training_choose_alignment(run);
    }
    if (status == ATTEND_OK && run->log.file) {
        char log[4096];
        snprintf(log, sizeof log, "%s", run->log.path);
        status = attend_training_plot_write(log, attend_training_path(run, ".svg"), run->options.model);
    }
    run_free(run);
    return status;
}
