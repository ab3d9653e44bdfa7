/* training_run.c: begins or resumes a training run, runs its updates and ends it. Every update depends only on what a
 * checkpoint stores, so that a resumed run gives the same model, byte for byte, as an uninterrupted one. */
#include "train/training_run.h"

#include "core/c_locale.h"
#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include "train/team.h"
#include <attend/device.h>
#include <attend/processors.h>
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

bool attend_training_is_stopping(const training_run *run)
{
    return attend_ranks_are_several(run->options.ranks) ? run->team->news.stop : attend_training_stop_requested(run);
}

bool attend_training_writes(const training_run *run)
{
    return attend_ranks_rank(run->options.ranks) == 0;
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

/* The expected number of updates; 0: unknown. Batches are not always full, so that epochs have more updates than planned:
 * what they had so far says how many. */
static uint64_t expected_updates(const training_run *run, const attend_progress *p)
{
    const double epochs_done = (double)p->epoch + p->part, enough = 0.2;
    const uint64_t planned = run->intervals.total_updates;
    if (run->options.epochs == 0 || epochs_done < enough) return planned;
    const double updates = ceil((double)p->update / epochs_done * (double)run->options.epochs);
    return run->options.updates > 0 && updates >= (double)run->options.updates ? run->options.updates
                                                                               : (uint64_t)updates;
}

static void estimate_time_left(const training_run *run, attend_progress *p)
{
    const training_intervals *n = &run->intervals;
    const uint64_t update = run->state.update, done = update - run->clock.updates_at_start;
    const int validations = run->options.patience - run->state.validations_since_best;
    p->seconds_left = p->min_seconds_left = -1;
    if (done == 0) return;
    const double each = p->seconds / (double)done;
    if (p->updates > update) p->seconds_left = each * (double)(p->updates - update);
    if (run->valid && run->options.patience > 0 && validations >= 0)
        p->min_seconds_left = each * ((double)n->valid_every * validations - (double)(update % n->valid_every));
}

static void report_progress(const training_run *run, attend_progress *p)
{
    p->update = run->state.update;
    p->epoch = run->state.position.epoch;
    p->part = attend_batches_progress(run->batches, &run->state.position);
    p->updates = expected_updates(run, p);
    p->seconds = attend_training_time() - run->clock.start;
    p->step_seconds = run->clock.step_seconds, p->validation_seconds = run->clock.validation_seconds;
    p->tokens_per_second = (double)(run->state.rows - run->clock.rows_at_start) / fmax(p->seconds, 1e-9);
    estimate_time_left(run, p);
    p->valid_loss = run->state.valid_loss, p->valid_score = run->state.valid_score, p->best = run->state.best;
    if (run->events.progress) run->events.progress(run->events.user, p);
}

/* Seconds have a fixed width, so that the size of the log, which the checkpoint stores, does not depend on them. */
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

/* Logs and validates, if that is due after this update. *rolled_back: the validation had no finite loss. Where nothing is
 * validated, the last update is: if it was skipped, its loss is that of the weights that would be saved. */
static int after_update(training_run *run, attend_progress *p, bool last, bool *rolled_back)
{
    p->loss = run->state.loss_rows ? run->state.loss / (double)run->state.loss_rows : p->loss;
    int status = is_due(run->state.update, run->intervals.log_every) || last ? log_progress(run, p) : ATTEND_OK;
    p->validated = run->valid && (is_due(run->state.update, run->intervals.valid_every) || last);
    *rolled_back = false;
    if (status == ATTEND_OK && p->validated) status = attend_training_validate(run, &p->better, rolled_back);
    if (!run->valid && last && run->state.skipped_updates > 0) *rolled_back = !attend_training_has_finite_loss(run);
    return status == ATTEND_OK && *rolled_back ? attend_training_reject_loss(run) : status;
}

/* Non-finite weights are not saved. The next gradients will be non-finite too, and training then rolls back to the
 * last checkpoint. */
static int save(training_run *run)
{
    if (!attend_training_has_finite_weights(run)) {
        attend_training_notice(run, "update %llu: the weights are non-finite and are not saved",
                               (unsigned long long)run->state.update);
        return ATTEND_OK;
    }
    int status = run->valid ? ATTEND_OK : attend_training_save_model(run, "");
    /* A stop between two regular saves keeps no MODEL.update-N: attend_training_kept_update would not list it, and it
     * would never be removed. */
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
        if (status == ATTEND_OK && isfinite(p.norm)) run->state.skipped_updates = 0;
        if (status == ATTEND_OK && !isfinite(p.norm)) {
            status = attend_training_skip_update(run, p.norm);
            if (status != ATTEND_OK || !attend_training_is_done(run)) {
                stop = attend_training_is_stopping(run); /* resuming repeats the skipped updates */
                continue;
            } /* else the end: the weights, which the skipped update did not change, are validated and saved */
        }
        bool rolled_back = false;
        if (status == ATTEND_OK) status = after_update(run, &p, attend_training_is_done(run), &rolled_back);
        stop = attend_training_is_stopping(run);
        if (rolled_back) continue; /* the checkpoint is saved already */
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

static int check_vocabularies(const training_run *run)
{
    const attend_pairs_spec *first = &run->options.train[0];
    for (int side = 0; side < 2; side++)
        if (attend_tokenizer_size(run->tokenizers[side]) <= ATTEND_FIRST_TOKEN)
            return attend_fail(ATTEND_BAD_DATA,
                               "%s: the %svocabulary would be empty: all lines are empty, or all tokens occur less "
                               "often than the minimum count, %d",
                               side && first->target ? first->target : attend_pairs_spec_name(first),
                               attend_training_is_language_model(run) ? ""
                               : side                                 ? "target "
                                                                      : "source ",
                               run->options.tokens[side].min_count);
    return ATTEND_OK;
}

/* base: the model that it begins with; NULL: random weights. */
static int make_model(training_run *run, const attend_model *base)
{
    run->options.config.source_vocab = attend_tokenizer_size(run->tokenizers[0]);
    run->options.config.target_vocab = attend_tokenizer_size(run->tokenizers[1]);
    size_t parameters;
    int status = attend_config_count_parameters(&run->options.config, &parameters);
    if (status == ATTEND_OK) status = attend_training_check_memory(run, parameters, false);
    if (status == ATTEND_OK) status = attend_model_new(&run->model, &run->options.config, run->options.seed);
    if (status == ATTEND_OK && !attend_training_is_language_model(run))
        status = attend_tokenizer_attach(run->tokenizers[0], run->model, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_attach(run->tokenizers[1], run->model, "target");
    if (status == ATTEND_OK && base) status = attend_training_copy_words(run, base);
    return status == ATTEND_OK && base ? attend_training_take_weights(run, base) : status;
}

static int new_model(training_run *run)
{
    attend_model *base = NULL;
    int status = run->options.init_from ? attend_training_open_base(run, &base) : ATTEND_OK;
    if (status == ATTEND_OK && (!base || run->options.new_vocab)) status = attend_training_learn_tokenizers(run);
    if (status == ATTEND_OK) status = check_vocabularies(run);
    if (status == ATTEND_OK) status = make_model(run, base);
    attend_model_free(base);
    return status;
}

/* The first line identifies the training. */
static int begin_log(training_run *run, const attend_plan *plan)
{
    char id[20];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)run->id);
    attend_json_writer w = attend_training_log_begin(&run->log, run->state.update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "started");
    attend_json_put_key(&w, LOG_ID), attend_json_put_text(&w, id);
    attend_json_put_key(&w, "pairs"), attend_json_put_unsigned(&w, attend_corpus_count(run->train).pairs);
    attend_json_put_key(&w, "valid_pairs");
    attend_json_put_unsigned(&w, run->valid ? attend_corpus_count(run->valid).pairs : 0);
    attend_json_put_key(&w, "held_out"), attend_json_put_bool(&w, plan->held_out);
    attend_json_put_key(&w, "compute"), attend_json_put_text(&w, attend_compute_names[run->options.compute]);
    return attend_training_log_end(&run->log, &w);
}

static int open_log(training_run *run, const attend_plan *plan)
{
    char path[4096];
    snprintf(path, sizeof path, "%s",
             !attend_training_writes(run) ? "/dev/null"
             : run->options.log           ? run->options.log
                                          : attend_training_path(run, LOG_SUFFIX));
    const training_log_owner owner = { run->id, plan->resumed, run->options.fresh };
    int status = attend_training_log_open(&run->log, path, run->state.log_bytes, &owner);
    bool is_shorter = status == ATTEND_OK && run->log.bytes < run->state.log_bytes;
    if (status == ATTEND_OK) status = attend_ranks_decide(run->options.ranks, &is_shorter);
    if (status == ATTEND_OK && is_shorter)
        attend_training_notice(run, "%s: the last %llu bytes of the log are missing; training resumes without them",
                               path, (unsigned long long)(run->state.log_bytes - run->log.bytes));
    if (status == ATTEND_OK && run->log.bytes == 0 && run->id != 0) status = begin_log(run, plan);
    /* the checkpoint holds the size of the log, to which it will be truncated */
    return status == ATTEND_OK && is_shorter ? attend_checkpoint_save(run) : status;
}

static int begin(training_run *run)
{
    bool resumed = false;
    int status = attend_training_check_options(&run->options);
    if (status == ATTEND_OK) run->options.shard_tokens = attend_training_shard_tokens(&run->options);
    run->state = (training_state){ .best = NAN, .valid_loss = NAN, .valid_score = NAN, .rate_factor = 1 };
    if (status == ATTEND_OK) status = attend_training_check_config(run);
    if (status == ATTEND_OK) status = attend_training_check_data_files(run);
    const bool writes = attend_training_writes(run);
    if (status == ATTEND_OK && writes) status = attend_training_check_files(run);
    if (status == ATTEND_OK && writes) status = attend_training_lock(run);
    /* with options.fresh, an old checkpoint stays until the first new one replaces it */
    if (status == ATTEND_OK && !run->options.fresh) status = attend_checkpoint_load(run, &resumed);
    if (status == ATTEND_OK && resumed && writes) status = attend_training_check_resumed(run);
    if (status == ATTEND_OK && resumed && run->options.init_from)
        attend_training_notice(run, "training resumes from its checkpoint; %s is not read again",
                               run->options.init_from);
    if (status == ATTEND_OK && !resumed && !run->options.fresh && writes) status = attend_training_check_new(run);
    if (status == ATTEND_OK && !resumed) status = new_model(run);
    if (status == ATTEND_OK && resumed)
        status = attend_training_check_memory(run, attend_params_size(run->model->params), true);
    if (status == ATTEND_OK && run->changes_device)
        attend_training_notice(run,
                               "training resumes on another kind of device, %s: its results are equal within rounding",
                               attend_device_describe().model);
    if (status == ATTEND_OK) status = attend_training_read_data(run);
    attend_plan plan = { .resumed = resumed, .update = run->state.update };
    if (status == ATTEND_OK) status = attend_training_plan(run, &plan);
    if (status == ATTEND_OK && run->events.plan) run->events.plan(run->events.user, &plan);
    if (status == ATTEND_OK) status = attend_team_new(&run->team, run->model->params, run->options.threads);
    if (status == ATTEND_OK) status = attend_team_set_ranks(run->team, run->options.ranks);
    if (status == ATTEND_OK) status = attend_team_set_compute(run->team, run->options.compute);
    if (status == ATTEND_OK) status = attend_training_check_ranks(run);
    if (status == ATTEND_OK && !attend_compute_is_fast(run->options.compute))
        attend_training_notice(run, "products in %s are not faster than in fp32 on this device, %s",
                               attend_compute_names[run->options.compute], attend_device_describe().model);
    if (status == ATTEND_OK) status = attend_optimizer_new(&run->optimizer, run->team, &run->options.optimizer);
    if (status == ATTEND_OK)
        status = attend_weight_average_begin(&run->average, run->team, run->options.average, resumed);
    if (status == ATTEND_OK && resumed) status = attend_checkpoint_load_optimizer(run);
    if (status == ATTEND_OK && !resumed) status = attend_checkpoint_identify(run);
    if (status == ATTEND_OK && !resumed) status = attend_training_mark_model(run);
    if (status == ATTEND_OK && !resumed) attend_training_note_replaced(run);
    if (status == ATTEND_OK) status = open_log(run, &plan);
    if (status == ATTEND_OK && resumed && writes) status = attend_training_restore_single(run); /* all checks passed */
    if (status == ATTEND_OK && resumed) status = attend_training_restore_model(run);
    if (status == ATTEND_OK && !resumed)
        status = attend_checkpoint_save(run); /* also tests disk space and permission */
    if (status == ATTEND_OK && !resumed && writes) attend_training_remove_single(run);
    return status;
}

static void run_free(training_run *run)
{
    attend_training_log_close(&run->log);
    attend_tensor_file_close(run->checkpoint);
    attend_optimizer_free(run->optimizer);
    attend_weight_average_free(&run->average);
    attend_team_free(run->team);
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
    if (run->stopped) {
        attend_fail(ATTEND_FAILED, "stopped before the first update");
        attend_ranks_fail(run->options.ranks, ATTEND_FAILED);
        *end = ATTEND_TRAIN_STOPPED, status = ATTEND_OK;
    } else if (status == ATTEND_OK)
        status = loop(run, end);
    if (status == ATTEND_OK && *end != ATTEND_TRAIN_STOPPED) {
        status = attend_training_require_model(run);
        if (status == ATTEND_OK) status = attend_training_average_checkpoints(run);
        if (status == ATTEND_OK && attend_training_writes(run)) status = attend_training_choose_alignment(run);
    }
    if (status == ATTEND_OK && run->log.file && !run->log.is_stream) {
        char log[4096];
        snprintf(log, sizeof log, "%s", run->log.path);
        status = attend_training_plot_write(log, attend_training_path(run, ".svg"), run->options.model,
                                            attend_valid_metric_names[run->options.valid_metric]);
    }
    if (status != ATTEND_OK) attend_ranks_fail(run->options.ranks, status);
    run_free(run);
    return status;
}
