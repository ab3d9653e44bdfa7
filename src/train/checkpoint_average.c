/* average_checkpoints.c: at the end of a training, the mean of its last models' weights (Vaswani et al. 2017). It becomes MODEL if validation finds it
 * better than the best single one, which then stays as MODEL.single: a training that goes on puts it back first, and so ends in the same bytes as one
 * that never stopped there. Nothing of this is in the checkpoint; an interrupted end is begun anew. */
#include "train/trainer.h"

#include "core/memory.h"
#include "core/status.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char single[] = ".single";

/* ---- which models ---- */

uint64_t attend_trainer_kept_update(const trainer *t, int i)
{
    const uint64_t every = t->save_every, last = t->s.update, saved = every > 0 ? last / every : 0;
    if (attend_trainer_done(t) && saved * every < last && i-- == 0) return last;
    return (uint64_t)i < saved ? (saved - (uint64_t)i) * every : 0;
}

void attend_trainer_kept_suffix(char suffix[KEPT_SUFFIX], uint64_t update)
{
    snprintf(suffix, KEPT_SUFFIX, ".update-%llu", (unsigned long long)update);
}

/* Paths of those that are there, one behind another in *texts; other options may have kept others. */
static int find_paths(trainer *t, char **texts, const char ***paths, int *count)
{
    const int most = t->o.average_checkpoints;
    const size_t size = strlen(t->o.model) + KEPT_SUFFIX;
    *texts = attend_memory_zeroed((size_t)most, size);
    *paths = attend_memory_zeroed((size_t)most, sizeof(char *));
    *count = 0;
    if (!*texts || !*paths) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d models' names", most);
    for (int i = 0; i < most && attend_trainer_kept_update(t, i) > 0; i++) {
        char *to = *texts + (size_t)*count * size, suffix[KEPT_SUFFIX];
        attend_trainer_kept_suffix(suffix, attend_trainer_kept_update(t, i));
        snprintf(to, size, "%s%s", t->o.model, suffix);
        if (access(to, F_OK) == 0)
            (*paths)[(*count)++] = to;
        else
            attend_trainer_say(t, "%s is not there, so that the average goes without it", to);
    }
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

int attend_trainer_put_back(trainer *t)
{
    const char *path = attend_trainer_path(t, single);
    if (access(path, F_OK) != 0) return ATTEND_OK;
    const int status = copy(path, t->o.model);
    if (status == ATTEND_OK) unlink(path);
    return status;
}

void attend_trainer_forget_single(trainer *t)
{
    unlink(attend_trainer_path(t, single)); /* that it is not there is fine */
}

/* ---- the average ---- */

/* The threads' contexts know the trainer's own model, whose weights nobody needs any more. */
static int validate(trainer *t, const attend_model *mean, double *loss, double *score)
{
    for (int i = 0; i < attend_params_count(t->m->params); i++) {
        attend_param *to = attend_params_at(t->m->params, i);
        memcpy(to->value, attend_params_at(mean->params, i)->value, to->size * sizeof(real));
        attend_param_changed(to);
    }
    return attend_trainer_validate(t, loss, score);
}

static int weigh(trainer *t, const attend_model *mean, int count, bool *better)
{
    double loss = NAN, score = NAN;
    int status = validate(t, mean, &loss, &score);
    if (status != ATTEND_OK) return status;
    *better = isfinite(score) && attend_trainer_better(t, score);
    attend_trainer_say(t, "the average of the last %d models: %s %.4f, %s the best one, %.4f", count,
                       attend_valid_metric_names[t->o.valid_metric], score, *better ? "better than" : "not better than",
                       t->s.best);
    attend_json_writer w = attend_training_log_begin(&t->log, t->s.update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "averaged");
    attend_json_put_key(&w, "models"), attend_json_put_integer(&w, count);
    attend_json_put_key(&w, "average_loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "average_score"), attend_json_put_number(&w, 4, score);
    attend_json_put_key(&w, "better"), attend_json_put_bool(&w, *better);
    return attend_training_log_end(&t->log, &w);
}

/* MODEL last: as long as it is the single one, all of this can be done again. */
static int keep(trainer *t, const attend_model *mean)
{
    int status = ATTEND_OK;
    if (access(t->o.model, F_OK) == 0) status = copy(t->o.model, attend_trainer_path(t, single));
    return status == ATTEND_OK ? attend_model_save(mean, t->o.model) : status;
}

int attend_trainer_average_last(trainer *t)
{
    attend_model *mean = NULL;
    const char **paths = NULL;
    char *texts = NULL;
    int count = 0;
    if (t->o.average_checkpoints < 2) return ATTEND_OK;
    attend_optimizer_free(t->optimizer); /* the average takes less than it did */
    t->optimizer = NULL;
    int status = find_paths(t, &texts, &paths, &count);
    if (status == ATTEND_OK && count < 2) {
        attend_trainer_say(t, "there are not two models to average: checkpoints are %llu updates apart",
                           (unsigned long long)t->save_every);
    } else if (status == ATTEND_OK) {
        bool better = true; /* if nothing can be compared, it is what was asked for */
        status = attend_models_average(&mean, paths, count);
        if (status == ATTEND_BAD_MODEL)
            status = attend_fail(status, "%s; the training is done: remove that file, and the average goes without it",
                                 attend_message());
        if (status == ATTEND_OK && t->valid) status = weigh(t, mean, count, &better);
        if (status == ATTEND_OK && better) status = keep(t, mean);
    }
    attend_model_free(mean);
    attend_memory_free(paths);
    attend_memory_free(texts);
    return status;
}
