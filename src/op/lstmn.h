/* lstmn.h: what the files of the LSTMN operation share: attention over a tape, sources, and checks. A tape holds the
 * states of previous tokens (op.h); it is not the tape of core/tape.h. */
#ifndef ATTEND_OP_LSTMN_H
#define ATTEND_OP_LSTMN_H

#include "device/device.h"
#include "op/ragged.h"

struct attend_lstmn_source {
    attend_lstmn_fusion fusion;
    attend_var *gamma, *alpha, *keys; /* (M, G), (M, H), (M, A) */
    const attend_ragged *sequences;
    real *prepared; /* the keys, prepared (additive_keys in device.h) */
};

/* The offsets of the parts of a row of the tape: h (first), c, ht, gt, the key, and the prepared key. */
typedef struct lstmn_tape {
    size_t memory, context, source_context, key, prepared, width;
} lstmn_tape;

lstmn_tape attend_lstmn_tape(const attend_device *d, size_t hidden, size_t gamma, size_t attention);

/* Checks all inputs of a call; false: the context has failed. */
bool attend_lstmn_fits(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                       const attend_lstmn_io *io);

/* attend_lstmn_sequence with a past in device memory: rows of a beam cache. */
attend_var *attend_lstmn_step(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                              const attend_ragged *sequences, attend_lstmn_io *io);

/* ---- the operation (lstmn.c, lstmn_backward.c) ---- */

/* The attention of all rows to previous rows, or to a source; letters as in attend_lstmn_attention (op.h). */
typedef struct lstmn_attention {
    attend_var *wx, *wt, *b, *v;
    attend_var *weights_var; /* the weights as a variable, or NULL */
    device_lstmn d;
} lstmn_attention;

/* A weight that is multiplied at each step. */
typedef struct step_weight {
    attend_var *w;
    packed_matrix matrix; /* for the current pass */
} step_weight;

enum { LSTMN_SELF, LSTMN_SOURCE }; /* kinds of attention: to the previous rows, and to a source */

/* One operation: its node and its scratch memory. Rows of x, h, c, gates, keys and attentions are in batch order; rows
 * of the products of a step are in order of length, so that the active sequences are the first n. */
typedef struct lstmn_run {
    attend_node node;
    attend_ctx *c;
    attend_var *x, *y, *memory; /* (N, Din), (N, H), (N, H) */
    attend_var *w, *b, *wr, *br;
    step_weight u, wk, ur, wt[2];
    const attend_ragged *sequences;
    int span;
    const attend_lstmn_source *source;
    const int *source_of;    /* (B) */
    const real *const *past; /* the rows of the pasts of all sequences */
    const int *past_offsets; /* (B + 1): the past of sequence b begins at past[past_offsets[b]]; NULL: no past */
    lstmn_tape tape;
    size_t hidden, blocks; /* H; number of gates */
    lstmn_attention attentions[2];
    int attention_count;

    device_lstmn_gates gates;
    real *key;      /* (N, A): Wk h */
    real *prepared; /* the keys, prepared */
    /* scratch: rows gathered for a product, and its result; the rows of a step, in batch order, the rows before them, what
     * they attend to, and pointers to rows */
    real *gathered, *product; /* (B, the largest width) */
    int *rows, *next_rows;    /* (B) */
    device_lstmn_view *views; /* (B) */
    const real **pointers;    /* (B) */
    real *dh, *dc;            /* (N, H) */
    real *dkt[2];             /* (B, K) */
} lstmn_run;

/* Sets rows (n) to the rows, in batch order, of step t of the n longest sequences. */
static inline void lstmn_set_rows(const lstmn_run *r, int t, int n, int *rows)
{
    for (int i = 0; i < n; i++) rows[i] = r->sequences->offsets[r->sequences->order[i]] + t;
}

/* Sets r->views to the rows that row t of the n longest sequences attends to. */
void attend_lstmn_set_views(lstmn_run *r, int kind, int t, int n);
/* kt of the row before row t; NULL: there is none. */
const real *attend_lstmn_previous_kt(const lstmn_run *r, int kind, int sequence, int t);
/* Whether no sequence has a row before row t. */
bool attend_lstmn_is_first(const lstmn_run *r, int t);
/* Allocates the scratch memory of one pass; false: the context has failed. */
bool attend_lstmn_scratch_alloc(attend_ctx *c, lstmn_run *r);
/* The backward function of the node. */
void attend_lstmn_backward(attend_ctx *c, attend_node *node);

#endif
