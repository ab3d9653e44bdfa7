/* map_selection.h: which of a model's maps says which word comes from which? Every layer and head tried on the same pairs, in one run of the model.
 *
 * Purpose    A model of several layers or heads has as many maps of a pair; some align, others do something else. A trial makes the model say given
 *            targets and counts the alignment error (metric.h) of every map against links that people made, or, where there are none,
 *            against those on which IBM Model 1 agrees in both directions, estimated from these pairs (docs/metrics.md): too rough to be an
 *            alignment, good enough to tell which map is one. attend_model_set_alignment keeps the answer with the model.
 * Failure    A trial that has failed (ATTEND_NO_MEMORY, say) has counted some pairs for some maps: all it can be after that is freed.
 * Ownership  A trial borrows its model. Scores belong to the trial.
 * Threads    A trial is used by one thread at a time; it has its own. Any number of them gives the same. */
#ifndef ATTEND_MAP_TRIAL_H
#define ATTEND_MAP_TRIAL_H

#include <attend/metric.h>
#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Links of one pair between its words, as blanks separate them. */
typedef struct attend_pair_links {
    const attend_word_link *links;
    int count;
} attend_pair_links;

typedef struct attend_map_score {
    attend_alignment map;
    attend_aer_sums sums;
    double error; /* attend_aer of them */
} attend_map_score;

typedef struct attend_map_selection attend_map_selection;

/* *out is the caller's, freed by attend_map_selection_free (NULL is fine there). ATTEND_BAD_USAGE if the model has no attention. */
int attend_map_selection_new(attend_map_selection **out, const attend_model *m, int threads);
void attend_map_selection_free(attend_map_selection *t);

/* More pairs. gold: links of each, of all pairs or of none (NULL). Pairs that cannot be used (scorer.h) have no links found. */
int attend_map_selection_add(attend_map_selection *t, int count, const char *const *sources, const char *const *targets,
                             const attend_pair_links *gold);

/* How each map did: the mean of all if there are several layers, of each layer, and every head. *best: which has the least error; of equal ones the
 * first. Nothing can be added afterwards. */
int attend_map_selection_end(attend_map_selection *t, const attend_map_score **scores, int *count, int *best);

#ifdef __cplusplus
}
#endif
#endif
