/* lstmn.h: what the files of the LSTMN share: a look at a tape, sources, and what is checked. */
#ifndef ATTEND_OP_LSTMN_H
#define ATTEND_OP_LSTMN_H

#include "kernel/additive_pairs.h"
#include "op/ragged.h"

struct attend_lstmn_source {
    attend_lstmn_fusion with;
    attend_var *gamma, *alpha, *keys; /* (M, G), (M, H), (M, A) */
    const attend_ragged *words;
    real *ready; /* the keys, made ready */
};

/* Where the parts of a tape's row begin: h is first, then c, ht, gt, the key, and the key made ready. */
typedef struct lstmn_tape {
    size_t memory, mixed, source_mixed, key, ready, width;
} lstmn_tape;

lstmn_tape attend_lstmn_tape(size_t hidden, size_t gamma, size_t attention);

/* Checks all that a call is given; false: the context failed. */
bool attend_lstmn_fits(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                       const attend_lstmn_io *io);

/* ---- a look (lstmn_attention.c) ---- */

/* The rows that one word looks at: some of the past, and behind them [first, first + count) of this call's. */
typedef struct lstmn_view {
    const real *const *past; /* rows of a tape */
    int past_count, count;
    size_t first;
} lstmn_view;

/* One look of every row, at what came before it or at a source; the letters are those of op.h. */
typedef struct lstmn_look {
    attend_var *wx, *wt, *b, *v;
    size_t attention, width, hidden; /* A, K, H */
    lstmn_tape tape;                 /* how rows of the past are laid out */
    const real *k, *m;               /* this call's rows: (.., K), (.., H) */
    const real *key, *ready;         /* Wk k, and the same made ready */
    attend_var *shown;               /* the weights as a variable, or NULL */

    real *query;       /* (N, A): Wx x + b + Wt kt'; on the way back its derivative */
    real *kt, *mt;     /* (N, K), (N, H) */
    real *weights;     /* s of all rows one after another: .. */
    const size_t *at;  /* .. that of row i from at[i] on */
    const size_t *out; /* (N): and in `shown` from out[i] on */

    real *dk, *dm, *dkey; /* of this call's rows; any may be NULL */
    /* scratch */
    real *v_padded, *dv;        /* (A), padded */
    real *ready_query, *dquery; /* a ready row; (A) */
    real *de;                   /* as many as a row sees at most */
    real *pair;                 /* (A), padded */
} lstmn_look;

/* Scratch for rows that see at most so many others, and v; false: the context failed. */
bool attend_lstmn_attention_scratch(attend_ctx *c, lstmn_look *l, size_t most);
/* kt, mt and the weights of a row. */
void attend_lstmn_attention_forward(lstmn_look *l, size_t row, lstmn_view view);
/* Given dkt (K) and dmt (H): adds to dk, dm, dkey and dv, and turns the row's query into its derivative. */
void attend_lstmn_attention_backward(lstmn_look *l, size_t row, lstmn_view view, const real *dkt, const real *dmt);

#endif
