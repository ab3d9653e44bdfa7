/* missing_model.c: a training run that ends without an error leaves a model. MODEL may be missing because it was deleted
 * after it was saved; then it is saved again from what the run still has. Or training diverged before a model could be
 * saved, which is an error. */
#include "train/training_run.h"
#include "train/team.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* As rank 0 sees it: the others may see a directory of a network late. */
static int find_missing(const training_run *run, const char *path, bool *is_missing)
{
    *is_missing = access(path, F_OK) != 0 && errno == ENOENT;
    return attend_ranks_decide(run->options.ranks, is_missing);
}

/* The weights of the best model are lost. The current ones take their place, with their own score. */
static int replace_best(training_run *run)
{
    training_state *s = &run->state;
    double loss = NAN, score = NAN;
    int status = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK) status = attend_training_measure(run, &loss, &score);
    const int restored = attend_weight_average_swap(&run->average);
    if (status == ATTEND_OK) status = restored;
    if (status != ATTEND_OK) return status;
    attend_training_notice(run,
                           "%s does not exist any more. It was the best model, of update %llu with %s %.4f; it is "
                           "replaced by that of update %llu with %.4f",
                           run->options.model, (unsigned long long)s->best_update,
                           attend_valid_metric_names[run->options.valid_metric], s->best, (unsigned long long)s->update,
                           score);
    s->best = isfinite(score) ? score : NAN, s->best_update = s->update;
    if (isfinite(score)) return attend_training_save_model(run, "");
    run->has_saved = false;
    return ATTEND_OK;
}

int attend_training_restore_model(training_run *run)
{
    const training_state *s = &run->state;
    bool is_missing = false;
    if (!run->has_saved) return ATTEND_OK;
    const int status = find_missing(run, run->options.model, &is_missing);
    if (status != ATTEND_OK || !is_missing) return status;
    if (run->valid && s->best_update != s->update) {
        char suffix[KEPT_SUFFIX];
        attend_training_kept_suffix(suffix, s->best_update);
        const char *kept = attend_training_path(run, suffix);
        const int found = find_missing(run, kept, &is_missing);
        if (found != ATTEND_OK) return found;
        if (is_missing) return replace_best(run);
        attend_training_notice(run, "%s does not exist any more; it is restored from %s", run->options.model, kept);
        return attend_training_writes(run) ? attend_training_restore_from(run, kept) : ATTEND_OK;
    }
    attend_training_notice(run, "%s does not exist any more; it is saved again, with the weights of update %llu",
                           run->options.model, (unsigned long long)s->update);
    return attend_training_save_model(run, "");
}

int attend_training_require_model(training_run *run)
{
    if (!attend_training_has_finite_weights(run))
        return attend_training_diverged(run, "the weights are non-finite after the last update");
    const int status = attend_training_restore_model(run);
    if (status != ATTEND_OK || run->has_saved) return status;
    return attend_training_diverged(run, "no validation had a finite score");
}
