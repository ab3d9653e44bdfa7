/* checkpoint_average.c: at the end of a training run, the mean of the weights of the last kept models (checkpoint
 * averaging, Vaswani et al. 2017). It becomes MODEL if its validation score is better than that of the best single
 * model, which is then kept as MODEL.single: a training run that resumes with more updates restores it first, and so
 * ends in the same bytes as one longer run. The checkpoint does not record the average; if averaging is interrupted,
 * it is repeated. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/rank_parameters.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Paths of the kept models that exist, stored in *texts. A model may be missing if it was trained with other
 * options. */
static int find_paths(training_run *run, char **texts, const char ***paths, int *count)
{
    const int max = run->options.average_checkpoints;
    const size_t size = strlen(run->options.model) + KEPT_SUFFIX;
    *texts = attend_memory_zeroed((size_t)max, size);
    *paths = attend_memory_zeroed((size_t)max, sizeof(char *));
    *count = 0;
    if (!*texts || !*paths) return attend_fail(ATTEND_NO_MEMORY, "no memory for the paths of %d models", max);
    for (int i = 0; i < max && attend_training_kept_update(run, i) > 0; i++) {
        char *to = *texts + (size_t)*count * size, suffix[KEPT_SUFFIX];
        attend_training_kept_suffix(suffix, attend_training_kept_update(run, i));
        snprintf(to, size, "%s%s", run->options.model, suffix);
        if (access(to, F_OK) == 0)
            (*paths)[(*count)++] = to;
        else
            attend_training_notice(run, "%s does not exist; the average is computed without it", to);
    }
    return ATTEND_OK;
}

/* Validates the average, which rank 0 has, and logs the result. Overwrites the weights of the run's own model, which is
 * no longer needed. mean: NULL on other ranks. */
static int compare(training_run *run, const attend_model *mean, int count, bool *better)
{
    double loss = NAN, score = NAN;
    if (mean) attend_training_copy_weights(run, mean);
    int status = attend_rank_parameters_share(run->team);
    if (status == ATTEND_OK) status = attend_training_measure(run, &loss, &score);
    if (status != ATTEND_OK) return status;
    *better = isfinite(score) && attend_training_is_better(run, score);
    attend_training_notice(run, "the average of the last %d models: %s %.4f, %s the best one, %.4f", count,
                           attend_valid_metric_names[run->options.valid_metric], score,
                           *better ? "better than" : "not better than", run->state.best);
    attend_json_writer w = attend_training_log_begin(&run->log, run->state.update);
    attend_json_put_key(&w, "event"), attend_json_put_text(&w, "averaged");
    attend_json_put_key(&w, "models"), attend_json_put_integer(&w, count);
    attend_json_put_key(&w, "average_loss"), attend_json_put_number(&w, 6, loss);
    attend_json_put_key(&w, "average_score"), attend_json_put_number(&w, 4, score);
    attend_json_put_key(&w, "better"), attend_json_put_bool(&w, *better);
    return attend_training_log_end(&run->log, &w);
}

/* MODEL is written last: until then everything can be repeated. */
static int save(training_run *run, const attend_model *mean)
{
    const int status = attend_training_keep_single(run);
    return status == ATTEND_OK ? attend_model_save(mean, run->options.model) : status;
}

int attend_training_average_checkpoints(training_run *run)
{
    attend_model *mean = NULL;
    const char **paths = NULL;
    char *texts = NULL;
    int count = 0;
    if (run->options.average_checkpoints < 2) return ATTEND_OK;
    attend_optimizer_free(run->optimizer); /* makes room: the average takes less memory */
    run->optimizer = NULL;
    const bool writes = attend_training_writes(run);
    int status = writes ? find_paths(run, &texts, &paths, &count) : ATTEND_OK;
    if (status == ATTEND_OK) status = attend_ranks_share(run->options.ranks, &count, sizeof count);
    if (status == ATTEND_OK && count < 2) {
        attend_training_notice(run, "there are fewer than two models to average: checkpoints are %llu updates apart",
                               (unsigned long long)run->intervals.save_every);
    } else if (status == ATTEND_OK) {
        bool better = true; /* without validation data the average always becomes MODEL */
        if (writes) status = attend_models_average(&mean, paths, count);
        if (status == ATTEND_BAD_MODEL)
            status =
                attend_fail(status, "%s; training is complete: remove that file and run again to average without it",
                            attend_message());
        if (status == ATTEND_OK && run->valid) status = compare(run, mean, count, &better);
        if (status == ATTEND_OK && better && writes) status = save(run, mean);
    }
    attend_model_free(mean);
    attend_memory_free(paths);
    attend_memory_free(texts);
    return status;
}
