/* trainer.c: the training loop. Every update is a function of what a checkpoint holds, so that going on from one ends where an uninterrupted
 * run ends. */
#include "train/trainer.h"

#include "core/memory.h"
#include "kernel/kernel.h"
#include "train/plan.h"
#include "train/team.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BAD = 10 };

const char *const attend_optimizer_names[] = { "sgd", "adam", NULL };
const char *const attend_schedule_names[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
const char *const attend_valid_metric_names[] = { "perplexity", "bleu",  "chrf", "token-accuracy",
                                                  "word-error", "exact", NULL };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *attend_trainer_path(trainer *t, const char *suffix)
{
    snprintf(t->path, sizeof t->path, "%s%s", t->o.model, suffix);
    return t->path;
}

void attend_trainer_say(const trainer *t, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (!t->events.notice) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    t->events.notice(t->events.user, text);
}

bool attend_trainer_stops(const trainer *t)
{
    return t->events.stop && t->events.stop(t->events.user);
}

attend_train_options attend_train_defaults(void)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    static const attend_tokenizer_options tokens = ATTEND_TOKENIZER_OPTIONS_INIT;
    static const attend_optimizer_options optimizer = ATTEND_OPTIMIZER_OPTIONS_INIT;
    static const attend_schedule schedule = ATTEND_SCHEDULE_INIT;
    return (attend_train_options){ .config = config,
                                   .tokens = { tokens, tokens },
                                   .max_length = 200,
                                   .optimizer = optimizer,
                                   .schedule = schedule,
                                   .clip = 1,
                                   .label_smoothing = 0.1,
                                   .accumulate = 1,
                                   .batch_tokens = 2000,
                                   .shard_tokens = 800,
                                   .patience = 10,
                                   .seed = 1,
                                   .threads = 1 };
}

/* ---- an update ---- */

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const trainer *t = user;
    const int first = t->shard_first[shard];
    const attend_pairs part = attend_pairs_slice(&t->pairs, first, t->shard_count[shard]);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 1.0 / t->rows;
    options.label_smoothing = t->o.label_smoothing;
    options.baseline = t->s.baseline;
    options.nll = t->nll;
    for (int i = 0; i < first; i++) options.nll += t->pairs.target_lengths[i] + 1;
    return attend_model_loss(c, t->m, &part, &options);
}

typedef struct averaging {
    trainer *t;
    real keep;
    int parts;
} averaging;

static void average_part(void *user, int part)
{
    const averaging *a = user;
    for (int i = 0; i < attend_params_count(a->t->m->params); i++) {
        const attend_param *p = attend_params_at(a->t->m->params, i);
        const size_t first = p->size * (size_t)part / (size_t)a->parts,
                     last = p->size * (size_t)(part + 1) / (size_t)a->parts;
        real *to = a->t->average[i];
        for (size_t j = first; j < last; j++) to[j] = a->keep * to[j] + (1 - a->keep) * p->value[j];
    }
}

/* The first updates weigh more, since the average begins with random weights. */
static void average(trainer *t)
{
    if (!t->average) return;
    const double u = (double)t->s.update;
    averaging a = { .t = t,
                    .keep = (real)fmin(t->o.average, (1 + u) / (10 + u)),
                    .parts = 4 * attend_pool_threads(t->team->pool) };
    attend_pool_run(t->team->pool, a.parts, average_part, &a);
}

/* Averaged weights in the place of the weights, and back. */
static void swap_average(trainer *t)
{
    for (int i = 0; t->average && i < attend_params_count(t->m->params); i++) {
        attend_param *p = attend_params_at(t->m->params, i);
        for (size_t j = 0; j < p->size; j++) {
            const real x = p->value[j];
            p->value[j] = t->average[i][j];
            t->average[i][j] = x;
        }
        attend_param_changed(p);
    }
}

/* Gradient and step; *norm is not finite if the update was skipped. */
static int update(trainer *t, double *norm, double *rate)
{
    double loss;
    int status = attend_trainer_next_pairs(t);
    const double began = now();
    if (status == ATTEND_OK)
        status = attend_team_gradient(t->team, t->shards, shard_loss, t, t->o.seed, t->s.update, &loss);
    if (status != ATTEND_OK) return status;
    t->s.update++;
    *rate = t->s.rate_share * attend_schedule_rate(&t->o.schedule, t->s.update, t->s.falls);
    status = attend_optimizer_step(t->optimizer, *rate, t->o.clip, norm);
    t->step_seconds += now() - began;
    if (status != ATTEND_OK || !isfinite(*norm)) return status;
    double nll = 0;
    for (int i = 0; i < t->rows; i++) nll += (double)t->nll[i];
    t->s.loss += nll, t->s.loss_rows += (uint64_t)t->rows;
    t->s.rows += (uint64_t)t->rows;
    t->s.baseline = t->s.update == 1 ? nll / t->rows : 0.9 * t->s.baseline + 0.1 * nll / t->rows;
    average(t);
    return ATTEND_OK;
}

/* ---- models on disk ---- */

static int save_model(trainer *t, const char *suffix)
{
    swap_average(t);
    const int status = attend_model_save(t->m, attend_trainer_path(t, suffix));
    swap_average(t);
    return status;
}

/* The last ones: as many as are asked for, or are going to be averaged. */
static int save_kept(trainer *t)
{
    char suffix[KEPT_SUFFIX];
    const int keep = t->o.keep > t->o.average_checkpoints ? t->o.keep : t->o.average_checkpoints;
    if (keep < 1) return ATTEND_OK;
    attend_trainer_kept_suffix(suffix, t->s.update);
    const int status = save_model(t, suffix);
    const uint64_t old = attend_trainer_kept_update(t, keep);
    if (status != ATTEND_OK || old == 0) return status;
    attend_trainer_kept_suffix(suffix, old);
    unlink(attend_trainer_path(t, suffix)); /* that it is not there is fine */
    return ATTEND_OK;
}

/* ---- validation ---- */

bool attend_trainer_better(const trainer *t, double score)
{
    const bool falls = t->o.valid_metric == ATTEND_VALID_LOSS || t->o.valid_metric == ATTEND_VALID_WORD_ERROR;
    return isnan(t->s.best) || (falls ? score < t->s.best : score > t->s.best);
}

static int validate(trainer *t, bool *better)
{
    double loss = 0, score = 0;
    const double began = now();
    swap_average(t);
    int status = attend_trainer_validate(t, &loss, &score);
    swap_average(t);
    t->validation_seconds += now() - began;
    if (status != ATTEND_OK) return status;
    t->s.valid_loss = loss, t->s.valid_score = score;
    *better = isfinite(score) && attend_trainer_better(t, score);
    attend_json_writer w = attend_training_log_begin(&t->log, t->s.update);
    attend_json_put_key(&w, "valid_loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "valid_perplexity"), attend_json_put_number(&w, 4, exp(loss));
    attend_json_put_key(&w, "valid_score"), attend_json_put_number(&w, 4, score);
    attend_json_put_key(&w, "better"), attend_json_put_bool(&w, *better);
    status = attend_training_log_end(&t->log, &w);
    if (*better) {
        t->s.best = score, t->s.best_update = t->s.update;
        t->s.since_best = t->s.since_fall = 0;
        return status == ATTEND_OK ? save_model(t, "") : status;
    }
    t->s.since_best++;
    if (t->o.schedule.kind == ATTEND_SCHEDULE_PLATEAU && ++t->s.since_fall >= t->o.schedule.patience) {
        t->s.falls++, t->s.since_fall = 0;
        attend_trainer_say(t, "update %llu: no better model for %d validations; the learning rate is now %.3g",
                           (unsigned long long)t->s.update, t->o.schedule.patience,
                           t->s.rate_share * attend_schedule_rate(&t->o.schedule, t->s.update + 1, t->s.falls));
    }
    return status;
}

/* ---- numbers that are none ---- */

/* Back to the last checkpoint, at half the rate. */
static int go_back(trainer *t)
{
    const int returns = t->s.returns + 1;
    const double share = t->s.rate_share / 2;
    const uint64_t logged = t->log.bytes;
    attend_model *old = t->m, *good = NULL;
    int status = attend_model_load(&good, attend_trainer_path(t, ".checkpoint"), NULL);
    for (int i = 0; status == ATTEND_OK && i < attend_params_count(old->params); i++) {
        attend_param *to = attend_params_at(old->params, i);
        memcpy(to->value, attend_params_at(good->params, i)->value, to->size * sizeof(real));
        attend_param_changed(to);
    }
    attend_model_free(good);
    if (status == ATTEND_OK) status = attend_checkpoint_state(t);
    if (status == ATTEND_OK) status = attend_checkpoint_moments(t);
    if (status != ATTEND_OK) return status;
    t->s.returns = returns, t->s.rate_share = share, t->s.bad = 0, t->s.journal = logged;
    attend_trainer_say(
        t, "%d updates in a row had gradients that are not numbers: back to update %llu, at half the learning rate",
        MOST_BAD, (unsigned long long)t->s.update);
    attend_json_writer w = attend_training_log_begin(&t->log, t->s.update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "went back");
    attend_json_put_key(&w, "rate_share"), attend_json_put_short(&w, 6, t->s.rate_share);
    status = attend_training_log_end(&t->log, &w);
    return status == ATTEND_OK ? attend_checkpoint_save(t) : status;
}

static int skipped(trainer *t, double norm)
{
    t->s.bad++;
    attend_trainer_say(t, "update %llu was skipped: its gradient is %s", (unsigned long long)t->s.update,
                       isnan(norm) ? "not a number" : "infinite");
    attend_json_writer w = attend_training_log_begin(&t->log, t->s.update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "skipped");
    const int status = attend_training_log_end(&t->log, &w);
    if (status != ATTEND_OK || t->s.bad < MOST_BAD) return status;
    if (t->s.returns > 0)
        return attend_fail(ATTEND_FAILED,
                           "training diverged: gradients are not numbers, also at half the learning rate. The best "
                           "model so far is untouched; "
                           "try a lower --learning-rate, a smaller --clip or a longer --warmup with --fresh");
    return go_back(t);
}

/* ---- the loop ---- */

bool attend_trainer_done(const trainer *t)
{
    return (t->o.updates > 0 && t->s.update >= t->o.updates) || (t->o.epochs > 0 && t->s.position.epoch >= t->o.epochs);
}

static bool is_out_of_patience(const trainer *t)
{
    return t->valid && t->o.patience > 0 && t->s.since_best >= t->o.patience;
}

static bool is_due(uint64_t update, uint64_t every)
{
    return every > 0 && update % every == 0;
}

static void tell(const trainer *t, attend_progress *p)
{
    p->update = t->s.update, p->updates = t->updates;
    p->epoch = t->s.position.epoch;
    p->part = attend_batches_progress(t->batches, &t->s.position);
    p->seconds = now() - t->begin;
    p->step_seconds = t->step_seconds, p->validation_seconds = t->validation_seconds;
    p->tokens_per_second = (double)(t->s.rows - t->rows_at_begin) / fmax(p->seconds, 1e-9);
    const uint64_t done = t->s.update - t->updates_at_begin;
    p->seconds_left =
        t->updates > t->s.update && done > 0 ? p->seconds / (double)done * (double)(t->updates - t->s.update) : -1;
    p->valid_loss = t->s.valid_loss, p->valid_score = t->s.valid_score, p->best = t->s.best;
    if (t->events.progress) t->events.progress(t->events.user, p);
}

/* Seconds are always as long: the checkpoint has the size of the log, and must not depend on the time. */
static int log_line(trainer *t, const attend_progress *p)
{
    const double loss = t->s.loss / (double)(t->s.loss_rows ? t->s.loss_rows : 1);
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%9.1f",
             now() - t->begin); /* a fixed width keeps the log's size the same in every run */
    attend_json_writer w = attend_training_log_begin(&t->log, t->s.update);
    attend_json_put_key(&w, "epoch"), attend_json_put_unsigned(&w, t->s.position.epoch);
    attend_json_put_key(&w, "loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "perplexity"), attend_json_put_number(&w, 4, exp(loss));
    attend_json_put_key(&w, "rate"), attend_json_put_short(&w, 6, p->rate);
    attend_json_put_key(&w, "norm"), attend_json_put_number(&w, 4, p->norm);
    attend_json_put_key(&w, "rows"), attend_json_put_unsigned(&w, t->s.rows);
    attend_json_put_key(&w, "seconds"), attend_json_put_value(&w, seconds);
    const int status = attend_training_log_end(&t->log, &w);
    t->s.loss = 0, t->s.loss_rows = 0;
    return status;
}

/* What is due after an update that went well. */
static int after_update(trainer *t, attend_progress *p, bool last)
{
    p->loss = t->s.loss_rows ? t->s.loss / (double)t->s.loss_rows : p->loss;
    int status = is_due(t->s.update, t->log_every) || last ? log_line(t, p) : ATTEND_OK;
    p->validated = t->valid && (is_due(t->s.update, t->valid_every) || last);
    if (status == ATTEND_OK && p->validated) status = validate(t, &p->better);
    return status;
}

static bool all_finite(const trainer *t)
{
    for (int i = 0; i < attend_params_count(t->m->params); i++) {
        const attend_param *p = attend_params_at(t->m->params, i);
        if (!isfinite(attend_kernel()->sum_squares(p->size, p->value))) return false;
    }
    return true;
}

/* Weights that an update blew up are no model to keep, nor a place to go back to; the next gradient will say so, and training go back. */
static int save(trainer *t)
{
    if (!all_finite(t)) {
        attend_trainer_say(t, "update %llu: weights are not numbers; nothing is saved",
                           (unsigned long long)t->s.update);
        return ATTEND_OK;
    }
    int status = t->valid ? ATTEND_OK : save_model(t, "");
    /* one that is saved only because training was stopped would be kept for ever */
    if (status == ATTEND_OK && (is_due(t->s.update, t->save_every) || attend_trainer_done(t))) status = save_kept(t);
    return status == ATTEND_OK ? attend_checkpoint_save(t) : status;
}

static int loop(trainer *t, attend_train_end *end)
{
    attend_progress p = { .loss = NAN };
    int status = ATTEND_OK;
    bool stop = false;
    while (status == ATTEND_OK && !attend_trainer_done(t) && !is_out_of_patience(t) && !stop) {
        p.validated = p.saved = p.better = false;
        status = update(t, &p.norm, &p.rate);
        if (status == ATTEND_OK && !isfinite(p.norm)) {
            status = skipped(t, p.norm);
            stop = attend_trainer_stops(t); /* the checkpoint is from before: these updates come again */
            continue;
        }
        t->s.bad = 0;
        if (status == ATTEND_OK) status = after_update(t, &p, attend_trainer_done(t));
        stop = attend_trainer_stops(t);
        if (status == ATTEND_OK &&
            (is_due(t->s.update, t->save_every) || attend_trainer_done(t) || is_out_of_patience(t) || stop)) {
            p.saved = true;
            status = save(t);
        }
        if (status == ATTEND_OK) tell(t, &p);
    }
    *end = is_out_of_patience(t) ? ATTEND_TRAIN_PATIENCE : stop ? ATTEND_TRAIN_STOPPED : ATTEND_TRAIN_DONE;
    return status;
}

/* ---- before and after ---- */

static int check_options(const attend_train_options *o)
{
    if (o->train_count < 1 || !o->model)
        return attend_fail(ATTEND_BAD_USAGE, "training needs pairs, or lines, and the name of a model");
    if (o->config.task == ATTEND_TASK_LANGUAGE_MODEL && o->valid_metric != ATTEND_VALID_LOSS)
        return attend_fail(ATTEND_BAD_USAGE,
                           "valid-metric '%s' compares translations, and a language model makes none: perplexity is "
                           "what tells language models apart",
                           attend_valid_metric_names[o->valid_metric]);
    if (o->threads < 1 || o->threads > 1024)
        return attend_fail(ATTEND_BAD_USAGE, "%d threads are not 1 to 1024", o->threads);
    if (o->accumulate < 1 || o->batch_tokens < 1 || o->shard_tokens < 1 || o->keep < 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "accumulate, batch tokens and shard tokens are at least 1, keep at least 0");
    if (o->average_checkpoints < 0 || o->average_checkpoints == 1 ||
        o->average_checkpoints > ATTEND_MAX_AVERAGED_CHECKPOINTS)
        return attend_fail(ATTEND_BAD_USAGE, "an average is of 2 to %d models, not of %d",
                           ATTEND_MAX_AVERAGED_CHECKPOINTS, o->average_checkpoints);
    if (!(o->average >= 0 && o->average < 1) || !(o->bpe_dropout >= 0 && o->bpe_dropout < 1) ||
        !(o->label_smoothing >= 0 && o->label_smoothing < 1))
        return attend_fail(ATTEND_BAD_USAGE, "average, BPE dropout and label smoothing lie in [0, 1)");
    if (o->updates == 0 && o->epochs == 0 && (o->valid_count == 0 || o->patience == 0))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "training would never end: give a number of updates or epochs, or validation data and patience");
    return ATTEND_OK;
}

static int new_model(trainer *t)
{
    int status = attend_trainer_learn(t);
    const attend_pairs_spec *first = &t->o.train[0];
    const bool lines = attend_trainer_lines(t);
    for (int side = 0; status == ATTEND_OK && side < 2; side++)
        if (attend_tokenizer_size(t->tokenizers[side]) <= ATTEND_FIRST_TOKEN)
            status = attend_fail(ATTEND_BAD_DATA,
                                 "%s: there is not one word to learn%s: lines are empty, or no word comes "
                                 "%d times (--min-count)",
                                 side && first->target ? first->target : attend_spec_name(first),
                                 lines  ? ""
                                 : side ? " on the target side"
                                        : " on the source side",
                                 t->o.tokens[side].min_count);
    if (status != ATTEND_OK) return status;
    t->o.config.source_vocab = attend_tokenizer_size(t->tokenizers[0]);
    t->o.config.target_vocab = attend_tokenizer_size(t->tokenizers[1]);
    status = attend_model_new(&t->m, &t->o.config, t->o.seed);
    if (status == ATTEND_OK && !lines) status = attend_tokenizer_attach(t->tokenizers[0], t->m, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_attach(t->tokenizers[1], t->m, "target");
    return status;
}

static int take_average(trainer *t, bool resumed)
{
    if (t->o.average == 0) return ATTEND_OK;
    const int count = attend_params_count(t->m->params);
    t->average = attend_memory_zeroed((size_t)count, sizeof *t->average);
    for (int i = 0; t->average && i < count; i++) {
        const attend_param *p = attend_params_at(t->m->params, i);
        t->average[i] = attend_memory_aligned(p->size * sizeof(real));
        if (!t->average[i]) return attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
        if (!resumed) memcpy(t->average[i], p->value, p->size * sizeof(real));
    }
    return t->average ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for averaged weights");
}

/* Before any data is read; the vocabularies are not known yet. */
static int check_config(trainer *t)
{
    t->o.config.source_vocab = t->o.config.target_vocab = ATTEND_FIRST_TOKEN + 1;
    const int status = attend_config_check(&t->o.config);
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        const int most =
            attend_config_max_tokens(&t->o.config, side) - 1; /* one place is the end's, or the beginning's */
        if (most < t->o.max_length) t->o.max_length = most;
        if (most < INT_MAX - 1 && t->o.bpe_dropout > 0)
            return attend_fail(ATTEND_BAD_USAGE,
                               "BPE dropout makes sentences longer than any limit, and this model has one "
                               "('max-positions'): choose other positions or another attention");
    }
    return status;
}

static int prepare(trainer *t)
{
    bool found = false;
    int status = check_options(&t->o);
    t->s = (train_state){ .best = NAN, .valid_loss = NAN, .valid_score = NAN, .rate_share = 1 };
    if (status == ATTEND_OK) status = check_config(t);
    if (status == ATTEND_OK) status = attend_trainer_check_files(t);
    if (status == ATTEND_OK) status = attend_trainer_lock(t);
    /* an old checkpoint stays until there is a new one */
    if (status == ATTEND_OK && !t->o.fresh) status = attend_checkpoint_load(t, &found);
    if (status == ATTEND_OK && !found) status = new_model(t);
    if (status == ATTEND_OK) status = attend_trainer_corpora(t);
    attend_plan plan = { .resumed = found, .update = t->s.update };
    if (status == ATTEND_OK) status = attend_trainer_plan(t, &plan);
    if (status == ATTEND_OK && t->events.plan) t->events.plan(t->events.user, &plan);
    if (status == ATTEND_OK) status = attend_team_new(&t->team, t->m->params, t->o.threads);
    if (status == ATTEND_OK) status = attend_optimizer_new(&t->optimizer, t->team, &t->o.optimizer);
    if (status == ATTEND_OK) status = take_average(t, found);
    if (status == ATTEND_OK && found) status = attend_checkpoint_moments(t);
    char log[4096];
    snprintf(log, sizeof log, "%s", t->o.log ? t->o.log : attend_trainer_path(t, ".log.jsonl"));
    if (status == ATTEND_OK) status = attend_training_log_open(&t->log, log, t->s.journal);
    if (status == ATTEND_OK && t->log.bytes < t->s.journal)
        attend_trainer_say(t, "%s: the log has lost its last %llu bytes; training goes on without them", log,
                           (unsigned long long)(t->s.journal - t->log.bytes));
    if (status == ATTEND_OK && found) status = attend_trainer_put_back(t); /* nothing is refused any more */
    if (status == ATTEND_OK && !found)
        status = attend_checkpoint_save(t); /* also a first try whether there is room and permission */
    if (status == ATTEND_OK && !found) attend_trainer_forget_single(t);
    return status;
}

static void trainer_free(trainer *t)
{
    attend_training_log_close(&t->log);
    attend_optimizer_free(t->optimizer);
    attend_team_free(t->team);
    for (int i = 0; t->average && i < attend_params_count(t->m->params); i++) attend_memory_free(t->average[i]);
    attend_memory_free(t->average);
    attend_trainer_data_free(t);
    attend_model_free(t->m);
    attend_trainer_unlock(t);
    attend_memory_free(t);
}

int attend_train(const attend_train_options *options, const attend_train_events *events, attend_train_end *end)
{
    attend_train_end ignored;
    if (!end) end = &ignored;
    trainer *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory to train");
    t->o = *options;
    t->lock = -1;
    if (events) t->events = *events;
    int status = prepare(t);
    t->begin = now();
    t->rows_at_begin = t->s.rows, t->updates_at_begin = t->s.update;
    if (t->stopped)
        *end = ATTEND_TRAIN_STOPPED, status = ATTEND_OK;
    else if (status == ATTEND_OK)
        status = loop(t, end);
    if (status == ATTEND_OK && *end != ATTEND_TRAIN_STOPPED) {
        status = attend_trainer_average_last(t);
        if (status == ATTEND_OK) status = attend_trainer_choose_map(t);
    }
    if (status == ATTEND_OK && t->log.file) {
        char log[4096];
        snprintf(log, sizeof log, "%s", t->log.path);
        status = attend_training_plot_write(log, attend_trainer_path(t, ".svg"), t->o.model);
    }
    trainer_free(t);
    return status;
}
