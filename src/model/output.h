/* output.h: the output layer of a decoding step: log p of all tokens or of those on a source's shortlist, or only the k
 * best of either.
 *
 * If only the k best tokens are needed, the logits are never stored as a whole: one chunk of columns is computed at a
 * time, searched for the best tokens and added to the log-sum-exp while it is in the cache. */
#ifndef ATTEND_MODEL_OUTPUT_H
#define ATTEND_MODEL_OUTPUT_H

#include "device/device.h"
#include "model/model.h"

/* Every 16th token of the vocabulary, to estimate the probability mass of all tokens that are not on a shortlist.
 * Without the estimate, the listed tokens would always have a total probability of 1, even where the model is
 * uncertain. */
typedef struct output_tail {
    int *tokens, count;
    packed_matrix w;
    const real *b;
} output_tail;

typedef struct output_layer {
    const attend_model *m;
    device_shortlist *shortlists; /* (sources); NULL: all tokens */
    output_tail tail;             /* set if there are shortlists */
    size_t width;                 /* the target vocabulary, or the length of the longest list */
    int top_k;                    /* compute only the k best tokens; 0: all */

    /* results of the last step, in host memory */
    const real *log_p;             /* (rows, width); NULL with top_k */
    int *best_tokens, *best_count; /* (rows, top_k), (rows) */
    real *best_log_p;              /* (rows, top_k), best first */
    real *end_log_p;               /* (rows) of ATTEND_END, whether it is among the best or not */
} output_layer;

void attend_output_new(output_layer *o, const attend_model *m);
/* Restricts the output to the shortlists of these sources. False: the context failed. */
bool attend_output_use_shortlists(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *tokens);
/* readout (rows, R); source_of (rows): the source of each row, rows of one source are adjacent. The results are in the
 * context's memory until the next step. False: the context failed. */
bool attend_output_step(attend_ctx *c, output_layer *o, attend_var *readout, const int *source_of);

#endif
