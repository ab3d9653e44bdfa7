/* op.h: the differentiable operations.
 *
 * Each takes the context first and returns a new variable (or NULL, see tape.h on failure). Shape letters:
 * B sequences, N rows (all positions of a batch, packed: no padding), D width, H hidden, V vocabulary.
 * Matrices are row-major; a weight is (out, in), so y = x W' + b. */
#ifndef ATTEND_OP_H
#define ATTEND_OP_H

#include <attend/activation.h>
#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- products ---- */

/* y = x W' + b.   x (N, Din), w (Dout, Din), b (Dout) or NULL  ->  (N, Dout) */
attend_var *attend_linear(attend_ctx *c, attend_var *x, attend_var *w, attend_var *b);

enum { ATTEND_TRANSPOSE_A = 1, ATTEND_TRANSPOSE_B = 2 };
/* op(a) op(b), each transposed as `flags` say.   (M, K) (K, N)  ->  (M, N) */
attend_var *attend_matmul(attend_ctx *c, attend_var *a, attend_var *b, int flags);

/* ---- element by element; a and b of the same shape, or b a vector (D) repeated for each row of a (.., D) ---- */

attend_var *attend_add(attend_ctx *c, attend_var *a, attend_var *b);
attend_var *attend_mul(attend_ctx *c, attend_var *a, attend_var *b);
attend_var *attend_scale(attend_ctx *c, attend_var *a, double factor);
attend_var *attend_tanh(attend_ctx *c, attend_var *a);
attend_var *attend_sigmoid(attend_ctx *c, attend_var *a);
attend_var *attend_relu(attend_ctx *c, attend_var *a);
attend_var *attend_gelu(attend_ctx *c, attend_var *a); /* a (1 + erf(a / sqrt 2)) / 2 (Hendrycks, Gimpel 2016) */
attend_var *attend_sum(attend_ctx *c, attend_var *a);  /* of all elements -> (1) */

/* y = a sigmoid(a) b for the two halves of each row of [a, b] (SwiGLU: Shazeer 2020).   (N, 2 F) -> (N, F) */
attend_var *attend_swiglu(attend_ctx *c, attend_var *ab);

/* ---- moving rows and columns ---- */

/* Rows of `table` (V, D) by id, n of them -> (n, D). Backward touches only the rows used.
 * The same operation gathers rows of a computed variable. `ids` is copied. */
attend_var *attend_gather(attend_ctx *c, attend_var *table, const int *ids, int n);
/* The parts side by side along the last axis: (N, D1), (N, D2), ... -> (N, D1 + D2 + ...) */
attend_var *attend_concat(attend_ctx *c, attend_var *const *parts, int count);
/* The parts below one another along the first axis: (N1, D), (N2, D), ... -> (N1 + N2 + ..., D) */
attend_var *attend_stack(attend_ctx *c, attend_var *const *parts, int count);
/* The same with row i of all the parts, counted through, as row places[i] of the result: a permutation, copied. */
attend_var *attend_stack_at(attend_ctx *c, attend_var *const *parts, int count, const int *places);
/* Columns [first, first + count) of (N, D) -> (N, count) */
attend_var *attend_slice(attend_ctx *c, attend_var *a, int first, int count);
/* The same numbers under another shape. */
attend_var *attend_reshape(attend_ctx *c, attend_var *a, int rank, const int *shape);

/* ---- normalisation, dropout ---- */

/* y = gain (x - mean) / sqrt(variance + epsilon) + bias over the last axis (Ba, Kiros, Hinton 2016).
 * x (.., D), gain (D), bias (D) */
attend_var *attend_layer_norm(attend_ctx *c, attend_var *x, attend_var *gain, attend_var *bias, double epsilon);

/* Each element kept with probability 1 - p and then divided by it; the identity unless training. */
attend_var *attend_dropout(attend_ctx *c, attend_var *x, double p);

/* ---- sequences of different lengths ---- */

/* B sequences laid one after another: sequence b has `lengths[b]` >= 0 rows, from row `offsets[b]`. */
typedef struct attend_ragged attend_ragged;

/* Copies `lengths` into the context; lives as long as a variable made now. NULL on failure. */
const attend_ragged *attend_ragged_new(attend_ctx *c, int count, const int *lengths);
int attend_ragged_count(const attend_ragged *r);
int attend_ragged_rows(const attend_ragged *r);
int attend_ragged_length(const attend_ragged *r, int sequence);
int attend_ragged_offset(const attend_ragged *r, int sequence);

/* Dropout with one mask a sequence, shared by all its rows (Gal, Ghahramani 2016).   x (N, D) */
attend_var *attend_dropout_shared(attend_ctx *c, attend_var *x, const attend_ragged *sequences, double p);

/* ---- places in a sequence: row t of a sequence stands at place first_place + t ---- */

/* scale x + P with P(p, 2i) = sin(p / 10000^(2i / D)), P(p, 2i + 1) = cos of the same (Vaswani et al. 2017).   x (N, D) */
attend_var *attend_add_sinusoids(attend_ctx *c, attend_var *x, double scale, const attend_ragged *sequences,
                                 int first_place);
/* scale x + row p of a table, learned.   x (N, D), table (P, D): no sequence may reach beyond place P - 1 */
attend_var *attend_add_rows(attend_ctx *c, attend_var *x, double scale, attend_var *table,
                            const attend_ragged *sequences, int first_place);
/* Turns each pair (2i, 2i + 1) of a head's D numbers by the angle p 10000^(-2i / D), so that the product of a turned query and a
 * turned key depends on how far apart they are, and not on where (RoPE: Su et al. 2021).   x (N, heads D), D even */
attend_var *attend_rotary(attend_ctx *c, attend_var *x, const attend_ragged *sequences, int heads, int first_place);

/* ---- recurrent cells ---- */

typedef enum attend_cell_kind {
    ATTEND_CELL_SIMPLE, /* h' = f(W x + bw + U h + bu) */
    /* [r; z] = sigmoid(W x + bw + U h + bu),  h' = (1 - z) n + z h,  with (reset after, as cuDNN and PyTorch)
     *     n = f(Wn x + bwn + r * (Un h + bun))
     * or (reset before, Cho et al. 2014, Bahdanau et al. 2015)
     *     n = f(Wn x + bwn + Un (r * h) + bun).          Rows of W, U: r, z, n. */
    ATTEND_CELL_GRU,
    ATTEND_CELL_GRU_RESET_BEFORE,
    /* [i; k; o] = sigmoid(..), g = f(..),  c' = k * c + i * g,  h' = o * f(c'), k what is kept (the forget gate).
     * Rows of W, U: i, k, g, o. */
    ATTEND_CELL_LSTM
} attend_cell_kind;

/* A cell with its weights; G = 1, 3, 4 gates for simple, GRU, LSTM. */
typedef struct attend_cell {
    attend_cell_kind kind;
    attend_activation activation; /* f above; the gates stay sigmoid */
    attend_var *w;        /* (G H, Din); NULL: x (N, G H) is W x + bw itself, and neither bw nor base is there */
    attend_var *u;        /* (G H, H) */
    attend_var *bw;       /* (G H) or NULL */
    attend_var *bu;       /* (G H) or NULL */
    attend_var *base;     /* (M, G H) or NULL: added to W x, bw then being NULL; row i of x takes row .. */
    const int *base_rows; /* .. base_rows[i] of it (copied); NULL: row i */
} attend_cell;

/* What a cell carries from step to step. */
typedef struct attend_state {
    attend_var *h; /* (B, H); NULL where given: zeros */
    attend_var *c; /* (B, H), LSTM only; NULL where given: zeros */
} attend_state;

int attend_cell_gates(attend_cell_kind kind); /* G, or 0 for an unknown kind */

/* A whole batch of sequences as one operation. x (N, Din) in the order of `sequences` -> h of every row
 * (N, H). Starts from *state (NULL: zeros) and leaves there the state after each sequence's last row (its
 * first, if `reverse`); a sequence of no rows keeps the state it had. No arithmetic is done on padding. */
attend_var *attend_cell_sequence(attend_ctx *c, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                                 bool reverse, attend_state *state);

/* One step for B sequences. x (B, Din); *state becomes the state after it. Returns state->h. */
attend_var *attend_cell_step(attend_ctx *c, const attend_cell *cell, attend_var *x, attend_state *state);

/* ---- LSTMN: a memory network whose cell looks back at its own past (Cheng, Dong, Lapata 2016) ---- */

/* A look at the rows k_j of a tape, each with a row m_j beside it, for the input x:
 *     e_j = v . tanh(Wk k_j + Wx x + b + Wt kt'),  s = softmax(e),  kt = sum_j s_j k_j,  mt = sum_j s_j m_j
 * with kt' what this gave for the word before, 0 for the first. Where there is nothing to look at, kt = mt = 0. */
typedef struct attend_lstmn_attention {
    attend_var *wk; /* (A, K) */
    attend_var *wx; /* (A, Din) */
    attend_var *wt; /* (A, K) */
    attend_var *b;  /* (A) or NULL */
    attend_var *v;  /* (A) */
} attend_lstmn_attention;

/* (ht, ct) = a look at (h, c) of the words before;  [i; f; o] = sigmoid(W x + U ht + b),  g = tanh(..),
 * c = f * ct + i * g,  h = o * tanh(c).   Rows of W, U, b: i, f, g, o. */
typedef struct attend_lstmn_cell {
    attend_lstmn_attention look; /* K = H */
    attend_var *w;               /* (4 H, Din) */
    attend_var *u;               /* (4 H, H) */
    attend_var *b;               /* (4 H) or NULL */
    int span;                    /* how many words it looks back at; 0: all */
} attend_lstmn_cell;

/* Deep fusion: (gt, at) = a look at the tapes (gamma, alpha) of a source;  r = sigmoid(Wr x + Ur gt + br),
 * c = r * at + f * ct + i * g */
typedef struct attend_lstmn_fusion {
    attend_lstmn_attention look; /* K = G */
    attend_var *w;               /* (H, Din) */
    attend_var *u;               /* (H, G) */
    attend_var *b;               /* (H) or NULL */
} attend_lstmn_fusion;

/* Sources to fuse with: what is done once with their words, however many calls look at them. Lives as long as a variable made now.
 * gamma (M, G), alpha (M, H), in the order of `words` */
typedef struct attend_lstmn_source attend_lstmn_source;
const attend_lstmn_source *attend_lstmn_source_new(attend_ctx *c, const attend_lstmn_fusion *fusion, attend_var *gamma,
                                                   attend_var *alpha, const attend_ragged *words);

/* The words before each sequence's first, for going on word by word: rows of the tape that earlier calls left. Constants: no derivative
 * reaches them. */
typedef struct attend_lstmn_past {
    const attend_real *const *words; /* the row of each word: those of sequence 0, oldest first, then those of 1, .. */
    const int *lengths;              /* (B): how many each has; those beyond the span may be left out */
} attend_lstmn_past;

/* What a call is given besides x, and what comes out of it besides h. All may be NULL or false. */
typedef struct attend_lstmn_io {
    const attend_lstmn_source *source; /* deep fusion with these, .. */
    const int *source_of;              /* .. sequence b with source source_of[b]; NULL: with source b */
    const attend_lstmn_past *past;
    bool want_tape, want_weights, want_source_weights;

    attend_var *c;    /* (N, H): c of every row */
    attend_var *tape; /* (N, attend_lstmn_tape_width): what a later call must know of each word (attend_lstmn_past) */
    attend_var *
        weights; /* (B, 1, T, P + T): s of every word; column 0 is the first word of the past, or of the sequence; else 0 */
    attend_var *source_weights; /* (B, 1, T, S): the same over the words of the source */
} attend_lstmn_io;

/* A whole batch of sequences as one operation. x (N, Din) in the order of `sequences` -> h of every row (N, H). A single step is a
 * call with sequences of one row. No arithmetic is done on padding. io may be NULL. */
attend_var *attend_lstmn_sequence(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                                  const attend_ragged *sequences, attend_lstmn_io *io);
/* Numbers of a row of the tape. */
int attend_lstmn_tape_width(const attend_lstmn_cell *cell, const attend_lstmn_source *source);

/* ---- losses ---- */

/* loss = scale * sum over rows of  -[(1 - smoothing) log p(target) + smoothing / V sum_v log p(v)],
 * p = softmax(logits); a negative target is a row that does not count (and gets no gradient).
 * logits (N, V), targets n = N of them -> (1).
 * It consumes the logits: their memory is turned into probabilities and then into their gradient, so that no
 * second copy of (N, V) ever exists. Any operation that would read them afterwards is refused; logits that another
 * operation read before, or whose derivative needs their value, are copied instead.
 * nll, if not NULL, receives N numbers, each row's -log p(target) (0 where it does not count). */
attend_var *attend_cross_entropy(attend_ctx *c, attend_var *logits, const int *targets, double smoothing, double scale,
                                 attend_real *nll);

/* How far attention is from known alignments: -scale sum wanted log(w + 1e-6), w the mean of the heads' weights
 * (guided alignment: Chen, Matusov, Khadivi, Peter 2016).   weights (B, H, Tq, Tk), wanted (B, Tq, Tk) >= 0, copied -> (1) */
attend_var *attend_alignment_loss(attend_ctx *c, attend_var *weights, const attend_real *wanted, double scale);

#ifdef __cplusplus
}
#endif
#endif
