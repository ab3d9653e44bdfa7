/* training_files.c: the model files of a run: MODEL, MODEL.update-N and MODEL.single. The checkpoint is in
 * checkpoint.c. */
#include "train/training_run.h"
#include "train/team.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const attend_training_suffixes[] = { ".checkpoint", ".single",    LOG_SUFFIX, ".svg",
                                                 ".lock",       ".update-%d", NULL };

static const char single[] = ".single";

const char *attend_training_path(training_run *run, const char *suffix)
{
    snprintf(run->path, sizeof run->path, "%s%s", run->options.model, suffix);
    return run->path;
}

int attend_training_save_model(training_run *run, const char *suffix)
{
    int status = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK && attend_training_writes(run))
        status = attend_model_save(run->model, attend_training_path(run, suffix));
    const int restored = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK) status = restored;
    if (status == ATTEND_OK && !*suffix) run->has_saved = true;
    return status;
}

void attend_training_copy_weights(training_run *run, const attend_model *from)
{
    for (int i = 0; i < attend_params_count(run->model->params); i++) {
        attend_param *to = attend_params_at(run->model->params, i);
        to->memory->copy(to->value, attend_params_at(from->params, i)->value, to->size * sizeof(real));
        attend_param_computed(to);
    }
}

/* ---- kept models ---- */

/* A kept model is written every save_every updates, and at the end. */
uint64_t attend_training_kept_update(const training_run *run, int i)
{
    const uint64_t every = run->intervals.save_every, last = run->state.update, saved = every > 0 ? last / every : 0;
    if (attend_training_is_done(run) && saved * every < last && i-- == 0) return last;
    return (uint64_t)i < saved ? (saved - (uint64_t)i) * every : 0;
}

void attend_training_kept_suffix(char suffix[KEPT_SUFFIX], uint64_t update)
{
    snprintf(suffix, KEPT_SUFFIX, ".update-%llu", (unsigned long long)update);
}

int attend_training_save_kept(training_run *run)
{
    char suffix[KEPT_SUFFIX];
    const attend_train_options *o = &run->options;
    const int keep = o->keep > o->average_checkpoints ? o->keep : o->average_checkpoints;
    if (keep < 1) return ATTEND_OK;
    attend_training_kept_suffix(suffix, run->state.update);
    const int status = attend_training_save_model(run, suffix);
    const uint64_t old = attend_training_kept_update(run, keep);
    if (status != ATTEND_OK || old == 0 || !attend_training_writes(run)) return status;
    attend_training_kept_suffix(suffix, old);
    unlink(attend_training_path(run, suffix)); /* may already be gone */
    return ATTEND_OK;
}

/* ---- the best single model ---- */

static int copy(const char *from, const char *to)
{
    attend_model *m = NULL;
    int status = attend_model_load(&m, from, NULL);
    if (status == ATTEND_OK) status = attend_model_save(m, to);
    attend_model_free(m);
    return status;
}

int attend_training_keep_single(training_run *run)
{
    if (access(run->options.model, F_OK) != 0) return ATTEND_OK;
    return copy(run->options.model, attend_training_path(run, single));
}

int attend_training_restore_single(training_run *run)
{
    const char *path = attend_training_path(run, single);
    if (access(path, F_OK) != 0) return ATTEND_OK;
    const int status = copy(path, run->options.model);
    if (status == ATTEND_OK) unlink(path);
    return status;
}

int attend_training_restore_from(training_run *run, const char *path)
{
    return copy(path, run->options.model);
}

void attend_training_remove_single(training_run *run)
{
    unlink(attend_training_path(run, single)); /* may not exist */
}
