/* lstmn.h: what the files of the LSTMN operation share: attention over a tape, sources, and checks. A tape holds the
 * states of previous tokens (op.h); it is not the tape of core/tape.h. */
#ifndef ATTEND_OP_LSTMN_H
#define ATTEND_OP_LSTMN_H

#include "kernel/additive_pairs.h"
#include "kernel/gemm.h"
#include "op/ragged.h"
#include <string.h>

struct attend_lstmn_source {
    attend_lstmn_fusion fusion;
    attend_var *gamma, *alpha, *keys; /* (M, G), (M, H), (M, A) */
    const attend_ragged *sequences;
    real *prepared; /* the keys, prepared (kernel/additive_pairs.h) */
};

/* The offsets of the parts of a row of the tape: h (first), c, ht, gt, the key, and the prepared key. */
typedef struct lstmn_tape {
    size_t memory, context, source_context, key, prepared, width;
} lstmn_tape;

lstmn_tape attend_lstmn_tape(size_t hidden, size_t gamma, size_t attention);

/* Checks all inputs of a call; false: the context has failed. */
bool attend_lstmn_fits(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                       const attend_lstmn_io *io);

/* ---- attention (lstmn_attention.c) ---- */

/* The rows that one row attends to: rows of the past, followed by rows [first, first + count) of this call. */
typedef struct lstmn_view {
    const real *const *past; /* rows of a tape */
    int past_count, count;
    size_t first;
} lstmn_view;

/* The attention of all rows to previous rows, or to a source; letters as in attend_lstmn_attention (op.h). */
typedef struct lstmn_attention {
    attend_var *wx, *wt, *b, *v;
    size_t attention_width, width, hidden; /* A, K, H */
    lstmn_tape tape;                       /* the layout of rows of the past */
    const real *k, *m;                     /* rows of this call: (..., K), (..., H) */
    const real *key, *prepared;            /* Wk k, and the same prepared */
    attend_var *weights_var;               /* the weights as a variable, or NULL */

    real *query;                  /* (N, A): Wx x + b + Wt kt'; during backward its derivative */
    real *kt, *mt;                /* (N, K), (N, H) */
    real *weights;                /* s of all rows, one after another */
    const size_t *weight_offsets; /* (N + 1): where the weights of row i begin in `weights` */
    const size_t *output_offsets; /* (N): where they begin in weights_var */

    real *dk, *dm, *dkey; /* of the rows of this call; any may be NULL */
    /* scratch */
    real *v_padded, *dv;           /* (A), padded */
    real *prepared_query, *dquery; /* a prepared row; (A) */
    real *de;                      /* (max_count) */
    real *pair;                    /* (A), padded */
} lstmn_attention;

/* Allocates scratch for rows that attend to at most max_count others, and copies v; false: the context has failed. */
bool attend_lstmn_attention_scratch(attend_ctx *c, lstmn_attention *l, size_t max_count);
/* Computes kt, mt and the weights of a row. */
void attend_lstmn_attention_forward(lstmn_attention *l, size_t row, lstmn_view view);
/* Given dkt (K) and dmt (H): adds to dk, dm, dkey and dv, and replaces the row's query by its derivative. */
void attend_lstmn_attention_backward(lstmn_attention *l, size_t row, lstmn_view view, const real *dkt, const real *dmt);

/* ---- the operation (lstmn.c, lstmn_backward.c) ---- */

/* A weight that is multiplied at each step. */
typedef struct step_weight {
    attend_var *w;
    packed_matrix matrix; /* for forward */
    activations rows;
    const real *packed; /* for backward */
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
    size_t hidden, blocks; /* H; number of gates: i, f, g, o and r */
    lstmn_attention attentions[2];
    int attention_count;

    real *gates;    /* (N, blocks H): W x + b, then the gates, then their derivatives */
    real *key;      /* (N, A): Wk h */
    real *prepared; /* the keys, prepared */
    /* scratch: rows gathered for a product, and its result */
    real *gathered, *product; /* (B, the largest width) */
    real *recurrent;          /* (B, blocks H): U ht and Ur gt; during backward the derivatives of the gates */
    real *dh, *dc;            /* (N, H) */
    real *dkt[2];             /* (B, K) */
    real *dat;                /* (B, H) */
} lstmn_run;

/* The row, in batch order, of step t of the i-th longest sequence. */
static inline size_t lstmn_row(const lstmn_run *r, int i, int t)
{
    return (size_t)r->sequences->offsets[r->sequences->order[i]] + (size_t)t;
}

/* Copies n numbers; zeros if `from` is NULL. */
static inline void lstmn_copy_or_zero(size_t n, const real *from, real *to)
{
    if (from)
        memcpy(to, from, n * sizeof *to);
    else
        memset(to, 0, n * sizeof *to);
}

/* The rows that row t of the i-th longest sequence attends to. */
lstmn_view attend_lstmn_view(const lstmn_run *r, int kind, int i, int t);
/* kt of the row before row t; NULL: there is none. */
const real *attend_lstmn_previous_kt(const lstmn_run *r, int kind, int sequence, int t);
/* Whether no sequence has a row before row t. */
bool attend_lstmn_is_first(const lstmn_run *r, int t);
/* Allocates the scratch memory of one pass; false: the context has failed. */
bool attend_lstmn_scratch_alloc(attend_ctx *c, lstmn_run *r);
/* The backward function of the node. */
void attend_lstmn_backward(attend_ctx *c, attend_node *node);

#endif
