/* map_selection.h: selects the attention map (layer and head) that aligns best.
 *
 * Purpose    A model with several layers or heads has several attention maps of a pair, and only some of them are
 *            word alignments. A selection runs forced decoding over sentence pairs and computes the alignment error
 *            rate (metric.h) of every map against gold links or, without any, against the links of a word aligner
 *            (aligner.h) that is trained on the tokens of the same pairs (docs/metrics.md).
 *            attend_model_set_alignment stores the choice in the model.
 * Failure    After a failure (such as ATTEND_NO_MEMORY) maps may have counted different pairs; the selection can then
 *            only be freed.
 * Ownership  A selection borrows its model. Scores belong to the selection.
 * Threads    A selection is used by one thread at a time; it has worker threads of its own. Their number does not
 *            change the result. */
#ifndef ATTEND_MAP_SELECTION_H
#define ATTEND_MAP_SELECTION_H

#include <attend/metric.h>
#include <attend/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gold links of a pair, between words (words.h). */
typedef struct attend_pair_links {
    const attend_word_link *links;
    int count;
} attend_pair_links;

typedef struct attend_map_score {
    attend_alignment map;
    attend_aer_sums sums;
    double error; /* attend_aer(&sums) */
} attend_map_score;

typedef struct attend_map_selection attend_map_selection;

/* ATTEND_BAD_USAGE if the model has no cross-attention; ATTEND_BAD_MODEL if it has no tokenizers; ATTEND_NO_MEMORY.
 * *out is the caller's, freed by attend_map_selection_free. */
int attend_map_selection_new(attend_map_selection **out, const attend_model *m, int threads);
/* NULL is allowed. */
void attend_map_selection_free(attend_map_selection *s);

/* Limits the memory of a selection to about `bytes`, the model included; 0: no limit. A pair that would exceed it alone
 * cannot be scored. ATTEND_BAD_USAGE if the model does not fit into the limit. */
int attend_map_selection_set_memory(attend_map_selection *s, size_t bytes);
/* The precision of the model's matrix products: attend_ctx_set_compute. */
int attend_map_selection_set_compute(attend_map_selection *s, attend_compute_precision precision);

/* Adds pairs. gold: (count) links of each pair, or NULL; all calls must agree on that (ATTEND_BAD_USAGE). A pair that
 * cannot be scored (scorer.h) has no predicted links. ATTEND_NO_MEMORY, also if all pairs together take more than the
 * limit. */
int attend_map_selection_add(attend_map_selection *s, int count, const char *const *sources, const char *const *targets,
                             const attend_pair_links *gold);

/* Computes the scores: of the mean of all maps if there are several layers, of each layer's mean, and of each head.
 * *best is the index of the lowest error, the first of equal ones. No pairs can be added afterwards. ATTEND_BAD_USAGE
 * after a failure; ATTEND_NO_MEMORY. */
int attend_map_selection_end(attend_map_selection *s, const attend_map_score **scores, int *count, int *best);

#ifdef __cplusplus
}
#endif
#endif
