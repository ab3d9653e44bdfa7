/* decoding.h: the inside of a decoding: hypotheses, and what an architecture keeps for them.
 *
 * The sources stay in the context; what goes from step to step is kept outside of it, so that each step begins where the sources end: memory
 * does not grow with the number of steps, but for the past of architectures that look at it. */
#ifndef ATTEND_MODEL_DECODING_H
#define ATTEND_MODEL_DECODING_H

#include "model/output.h"

struct attend_decoding {
    attend_ctx *c;
    const attend_model *m;
    attend_mark mark; /* behind the sources */
    const attend_ragged *sources;
    int count;      /* sources */
    int longest;    /* words of the longest */
    int hypotheses; /* of the last step */
    int steps;
    int *source_of; /* hypotheses of the last step: whose they are, and .. */
    int *place;     /* .. the how-manieth of its source */
    size_t hypotheses_room;
    output_layer out;
    bool stepped; /* what is in `out` is of the last step */
    const attend_var
        *weights[ATTEND_MAX_LAYERS]; /* of the last step, on source words: (B, H, Tq, Tk) of each layer; NULL: none */
    const int *source;               /* words of all sources; the caller's, for attend_decoding_use_shortlist */
    void *states;                    /* the architecture's own */
};

/* A step, as an architecture sees it. */
typedef struct decoding_step {
    int count;                    /* hypotheses */
    const int *parents, *words;   /* of each: which of the step before it goes on from, and with which word */
    const attend_ragged *queries; /* how many each source has */
    const attend_ragged *singles; /* count times one */
} decoding_step;

/* Rows of numbers that grow when they must. */
typedef struct kept_rows {
    real *data;
    size_t room;
    int width;
} kept_rows;

/* Copies (n, width); NULL is nothing to copy. False: no memory. */
bool attend_rows_keep(kept_rows *r, const attend_var *v);
/* n rows of zeros. */
bool attend_rows_zero(kept_rows *r, int n);
/* Row rows[i] of what was kept, n of them. */
attend_var *attend_rows_chosen(attend_ctx *c, const kept_rows *r, const int *rows, int n);

/* All n of them as a constant, and no longer kept; NULL if there are none. For what an encoder leaves: kept, the context rewound, and so
 * moved to its front. */
attend_var *attend_rows_moved(attend_ctx *c, kept_rows *r, int n);

/* Weights on source words, `width` of each hypothesis, in the order of sources and of hypotheses there. which: the row of each hypothesis; NULL:
 * its own.   rows (.., width) -> (B, 1, Tq, Tk) */
attend_var *attend_weights_by_source(attend_decoding *d, const decoding_step *step, const real *rows, int width,
                                     const int *which);
/* The way back, for scores that want those of the step before: a row for each hypothesis, as wide as the longest source. NULL is nothing to
 * keep. False: no memory. */
bool attend_weights_copy(attend_decoding *d, kept_rows *r, const attend_var *weights);

#endif
