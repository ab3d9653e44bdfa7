/* decoding.h: the internals of a decoding: hypotheses, and the state that an architecture keeps for them.
 *
 * The encoded sources stay in the context. State that passes from step to step is stored outside of it, and each step
 * rewinds the context to the end of the sources. Memory therefore does not grow with the number of steps, except for
 * the caches of architectures that attend to previous target tokens. */
#ifndef ATTEND_MODEL_DECODING_H
#define ATTEND_MODEL_DECODING_H

#include "model/output.h"

struct attend_decoding {
    attend_ctx *c;
    const attend_model *m;
    attend_mark mark; /* the end of the sources */
    const attend_ragged *sources;
    int count;      /* sources */
    int max_length; /* tokens of the longest source */
    int hypotheses; /* of the last step */
    int steps;
    int *source_of; /* (hypotheses) of the last step: the source of each */
    int *index_of;  /* (hypotheses) of the last step: the index of each among those of its source */
    size_t hypothesis_capacity;
    output_layer out;
    bool stepped; /* `out` holds the results of the last step */
    /* cross-attention of the last step: (B, H, Tq, Tk) of each layer; NULL: none */
    const attend_var *weights[ATTEND_MAX_LAYERS + 1];
    bool aligns;                           /* computes those of the alignment head */
    const attend_source *alignment_source; /* of the alignment head, in the context, before the mark; NULL: none */
    const int *source; /* the caller's array: tokens of all sources, for attend_decoding_use_shortlist */
    void *states;      /* of the architecture */
};

/* The inputs of a step for an architecture. */
typedef struct decoding_step {
    int count;                    /* hypotheses */
    const int *parents, *tokens;  /* of each: the hypothesis of the previous step that it extends, and the token */
    const attend_ragged *queries; /* the hypotheses of each source */
    const attend_ragged *singles; /* `count` sequences of length 1 */
} decoding_step;

/* The weights of the alignment head in this step, if they are wanted. rows: see attend_alignment_head_weights. */
void attend_decoding_align(attend_decoding *d, const decoding_step *step, attend_var *rows);

/* Rows stored outside of the context; the memory grows as needed. */
typedef struct stored_rows {
    const device_memory *memory; /* of data */
    real *data;
    size_t capacity;
    int width;
} stored_rows;

/* Stores a copy of (n, width). NULL: nothing to store. False: no memory. */
bool attend_rows_store(stored_rows *r, const attend_var *v);
/* Stores n rows of zeros on the device of the context. False: no memory. */
bool attend_rows_zero(attend_ctx *c, stored_rows *r, int n);
void attend_rows_free(stored_rows *r);
/* Stored rows rows[0], ..., rows[n - 1] -> (n, width). */
attend_var *attend_rows_gather(attend_ctx *c, const stored_rows *r, const int *rows, int n);

/* Moves all n stored rows back into the context; NULL: none are stored. An encoder stores its result, rewinds
 * the context and restores the result, which frees everything else. */
attend_var *attend_rows_restore(attend_ctx *c, stored_rows *r, int n);

/* Weights over source tokens, grouped by source: rows (..., width) -> (B, 1, Tq, Tk). which: the row of each
 * hypothesis; NULL: row i is that of hypothesis i. */
attend_var *attend_weights_by_source(attend_decoding *d, const decoding_step *step, const real *rows, int width,
                                     const int *which);
/* The inverse, for scores that use the previous weights: stores one row per hypothesis, max_length wide. NULL: nothing
 * to store. False: no memory. */
bool attend_weights_store(attend_decoding *d, stored_rows *r, const attend_var *weights);

#endif
