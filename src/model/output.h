/* output.h: the output layer of a decoding step: log p of all words, of those on a source's shortlist, or the best of either alone.
 *
 * A decoding that wants the best alone never has all logits in memory: some columns at a time are multiplied, looked through for the best and added up
 * while they are in the cache. */
#ifndef ATTEND_MODEL_OUTPUT_H
#define ATTEND_MODEL_OUTPUT_H

#include "kernel/gemm.h"
#include "model/model.h"

/* What the shortlist leaves of the output layer for one source. */
typedef struct output_limit {
    int *words, count;
    size_t end; /* place of ATTEND_END, which is always there */
    packed_matrix w;
    const real *b;
    real *outside; /* (tail): 1 for the tail's words that are not on the list, 0 for the others, times .. */
    real rest;     /* .. how many words of the vocabulary each of them stands for */
} output_limit;

/* Every so-manieth word of the vocabulary, for an estimate of what all the words would have that are not on a list: without it a step at which the model
 * does not know what to say would look as sure as any other. */
typedef struct output_tail {
    int *words, count;
    packed_matrix w;
    const real *b;
} output_tail;

typedef struct output_layer {
    const attend_model *m;
    output_limit *limits; /* (sources); NULL: all words */
    output_tail tail;     /* with limits */
    size_t width;         /* target words, or the most that a source's list has */
    int keep;             /* how many of the best are wanted; 0: all */

    /* of the last step: */
    const real *log_p;            /* (rows, width) if all are wanted, else NULL */
    int *best_words, *best_count; /* (rows, keep), (rows) */
    real *best_log_p;             /* (rows, keep), best first */
    real *end_log_p;              /* (rows) of ATTEND_END, whether it is among them or not */
} output_layer;

enum { OUTPUT_MAX_TOP_K = 32 }; /* more than that are better looked for among all */

void attend_output_new(output_layer *o, const attend_model *m);
/* The shortlists of some sources. False: the context failed. */
bool attend_output_limit(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *words);
/* readout (rows, R), on the context's memory until the next step; source_of: of each row, neighbours together. */
bool attend_output_step(attend_ctx *c, output_layer *o, attend_var *readout, const int *source_of);

#endif
