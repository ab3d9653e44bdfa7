/* op.h: differentiable operations.
 *
 * Purpose    Each operation takes the context first and returns a new variable, or NULL on failure (see tape.h).
 * Shapes     B sequences, N rows (all positions of a batch, packed without padding), D width, H hidden size, V
 *            vocabulary. Matrices are row-major; a weight is (out, in), so y = x W' + b.
 * Ownership  The context owns every variable that an operation returns.
 * Threads    As for the context (tape.h). */
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
/* op(a) op(b), where `flags` select which are transposed.   (M, K) (K, N)  ->  (M, N) */
attend_var *attend_matmul(attend_ctx *c, attend_var *a, attend_var *b, int flags);

/* ---- elementwise; a and b have the same shape, or b is a vector (D) applied to each row of a (..., D) ---- */

/* a + b, a b, and factor a. */
attend_var *attend_add(attend_ctx *c, attend_var *a, attend_var *b);
attend_var *attend_mul(attend_ctx *c, attend_var *a, attend_var *b);
attend_var *attend_scale(attend_ctx *c, attend_var *a, double factor);
/* tanh(a), 1 / (1 + exp(-a)), max(a, 0), and as stated. */
attend_var *attend_tanh(attend_ctx *c, attend_var *a);
attend_var *attend_sigmoid(attend_ctx *c, attend_var *a);
attend_var *attend_relu(attend_ctx *c, attend_var *a);
attend_var *attend_gelu(attend_ctx *c, attend_var *a); /* a (1 + erf(a / sqrt 2)) / 2 (Hendrycks, Gimpel 2016) */
attend_var *attend_sum(attend_ctx *c, attend_var *a);  /* sum of all elements -> (1) */

/* y = a sigmoid(a) b for the two halves of each row of [a, b] (SwiGLU: Shazeer 2020).   (N, 2 F) -> (N, F) */
attend_var *attend_swiglu(attend_ctx *c, attend_var *ab);

/* ---- moving rows and columns ---- */

/* Rows ids[0], ..., ids[n - 1] of `table` (V, D) -> (n, D). The backward pass touches only these rows. The table may be
 * a parameter or any other variable. `ids` is copied. */
attend_var *attend_gather(attend_ctx *c, attend_var *table, const int *ids, int n);
/* Concatenates along the last axis: (N, D1), (N, D2), ... -> (N, D1 + D2 + ...) */
attend_var *attend_concat(attend_ctx *c, attend_var *const *parts, int count);
/* Concatenates along the first axis: (N1, D), (N2, D), ... -> (N1 + N2 + ..., D) */
attend_var *attend_stack(attend_ctx *c, attend_var *const *parts, int count);
/* attend_stack with permuted rows: row i of the concatenation becomes row rows[i] of the result. `rows` is a
 * permutation; it is copied. */
attend_var *attend_stack_at(attend_ctx *c, attend_var *const *parts, int count, const int *rows);
/* Columns [first, first + count) of (N, D) -> (N, count) */
attend_var *attend_slice(attend_ctx *c, attend_var *a, int first, int count);
/* The same numbers in another shape. */
attend_var *attend_reshape(attend_ctx *c, attend_var *a, int rank, const int *shape);

/* ---- normalisation, dropout ---- */

/* y = gain (x - mean) / sqrt(variance + epsilon) + bias over the last axis (Ba, Kiros, Hinton 2016).
 * x (..., D), gain (D), bias (D) */
attend_var *attend_layer_norm(attend_ctx *c, attend_var *x, attend_var *gain, attend_var *bias, double epsilon);

/* Sets each element to zero with probability p and multiplies the others by 1 / (1 - p); the identity unless
 * training. */
attend_var *attend_dropout(attend_ctx *c, attend_var *x, double p);

/* ---- sequences of different lengths ---- */

/* B sequences, one after another: sequence b has lengths[b] >= 0 rows, starting at row offsets[b]. */
typedef struct attend_ragged attend_ragged;

/* Copies `lengths`. Owned by the context, like a variable. NULL on failure. */
const attend_ragged *attend_ragged_new(attend_ctx *c, int count, const int *lengths);
/* The number of sequences and of rows; the rows and the first row of a sequence. 0 if it does not exist. */
int attend_ragged_count(const attend_ragged *r);
int attend_ragged_rows(const attend_ragged *r);
int attend_ragged_length(const attend_ragged *r, int sequence);
int attend_ragged_offset(const attend_ragged *r, int sequence);

/* Dropout with one mask per sequence, shared by all its rows (Gal, Ghahramani 2016).   x (N, D) */
attend_var *attend_dropout_shared(attend_ctx *c, attend_var *x, const attend_ragged *sequences, double p);

/* ---- positional encodings: row t of a sequence has position first_position + t ---- */

/* scale x + P with P(p, 2i) = sin(p / 10000^(2i / D)), P(p, 2i + 1) = cos of the same (Vaswani et al. 2017).
 * x (N, D) */
attend_var *attend_add_sinusoids(attend_ctx *c, attend_var *x, double scale, const attend_ragged *sequences,
                                 int first_position);
/* scale x + row p of a learned table (Gehring et al. 2017).   x (N, D), table (P, D): positions must be below P */
attend_var *attend_add_learned_positions(attend_ctx *c, attend_var *x, double scale, attend_var *table,
                                         const attend_ragged *sequences, int first_position);
/* Rotates each pair (2i, 2i + 1) of a head's D numbers by the angle p 10000^(-2i / D), so that the dot product of a
 * query and a key depends on their relative position only (RoPE: Su et al. 2021).   x (N, heads D), D even */
attend_var *attend_rotary(attend_ctx *c, attend_var *x, const attend_ragged *sequences, int heads, int first_position);

/* ---- recurrent cells ---- */

typedef enum attend_cell_kind {
    ATTEND_CELL_SIMPLE, /* h' = f(W x + bw + U h + bu) */
    /* [r; z] = sigmoid(W x + bw + U h + bu),  h' = (1 - z) n + z h,  with (reset after, as in cuDNN and PyTorch)
     *     n = f(Wn x + bwn + r * (Un h + bun))
     * or (reset before, Cho et al. 2014, Bahdanau et al. 2015)
     *     n = f(Wn x + bwn + Un (r * h) + bun).          Rows of W, U: r, z, n. */
    ATTEND_CELL_GRU,
    ATTEND_CELL_GRU_RESET_BEFORE,
    /* With a = W x + bw + U h + bu, rows of W and U in the order i, k, g, o, and k the forget gate:
     * [i; k; o] = sigmoid(a),  g = f(a),  c' = k * c + i * g,  h' = o * f(c') */
    ATTEND_CELL_LSTM
} attend_cell_kind;

/* A cell with its weights; it has G = 1 (simple), 3 (GRU) or 4 (LSTM) gates. */
typedef struct attend_cell {
    attend_cell_kind kind;
    attend_activation activation; /* f above; the gates stay sigmoid */
    attend_var *w;                /* (G H, Din); NULL: x (N, G H) is already W x + bw, and bw and base are NULL */
    attend_var *u;                /* (G H, H) */
    attend_var *bw;               /* (G H) or NULL */
    attend_var *bu;               /* (G H) or NULL */
    attend_var *base;             /* (M, G H) or NULL: added to W x instead of bw, which is NULL then */
    const int *base_rows;         /* the row of base for each row of x (copied); NULL: the same row */
} attend_cell;

/* The state of a cell. As an input, NULL means zeros. */
typedef struct attend_state {
    attend_var *h; /* (B, H) */
    attend_var *c; /* (B, H), LSTM only */
} attend_state;

int attend_cell_gates(attend_cell_kind kind); /* G, or 0 for an unknown kind */

/* Runs the cell over a batch of sequences as one operation: x (N, Din), in the order of `sequences` -> h of every row
 * (N, H). Starts from *state (NULL: zeros) and replaces it by the state after the last row of each sequence (the first
 * row, if `reverse`); an empty sequence keeps its state. */
attend_var *attend_cell_sequence(attend_ctx *c, const attend_cell *cell, attend_var *x, const attend_ragged *sequences,
                                 bool reverse, attend_state *state);

/* One step of B sequences: x (B, Din). Starts from *state (NULL: zeros), replaces it and returns the new h. */
attend_var *attend_cell_step(attend_ctx *c, const attend_cell *cell, attend_var *x, attend_state *state);

/* ---- LSTMN: a recurrent cell with attention over its own past (Cheng, Dong, Lapata 2016) ---- */

/* Attention over the rows k_j of a hidden tape and m_j of a memory tape (the states of earlier positions, not the tape
 * of tape.h), for the input x:
 *     e_j = v . tanh(Wk k_j + Wx x + b + Wt kt'),  s = softmax(e),  kt = sum_j s_j k_j,  mt = sum_j s_j m_j
 * where kt' is the kt of the previous position (0 at the first). Without any rows, kt = mt = 0. */
typedef struct attend_lstmn_attention {
    attend_var *wk; /* (A, K) */
    attend_var *wx; /* (A, Din) */
    attend_var *wt; /* (A, K) */
    attend_var *b;  /* (A) or NULL */
    attend_var *v;  /* (A) */
} attend_lstmn_attention;

/* (ht, ct) = attention over (h, c) of the previous positions;  a = W x + U ht + b, with rows in the order
 * i, f, g, o;  [i; f; o] = sigmoid(a),  g = tanh(a),  c = f * ct + i * g,  h = o * tanh(c) */
typedef struct attend_lstmn_cell {
    attend_lstmn_attention attention; /* K = H */
    attend_var *w;                    /* (4 H, Din) */
    attend_var *u;                    /* (4 H, H) */
    attend_var *b;                    /* (4 H) or NULL */
    int span;                         /* number of previous positions to attend to; 0: all */
} attend_lstmn_cell;

/* Deep fusion: (gt, at) = attention over the hidden and memory tapes (gamma, alpha) of a source;
 * r = sigmoid(Wr x + Ur gt + br),  c = r * at + f * ct + i * g */
typedef struct attend_lstmn_fusion {
    attend_lstmn_attention attention; /* K = G */
    attend_var *w;                    /* (H, Din) */
    attend_var *u;                    /* (H, G) */
    attend_var *b;                    /* (H) or NULL */
} attend_lstmn_fusion;

/* The sources for deep fusion: their keys are computed once for all calls. Owned by the context, like a variable.
 * gamma (M, G), alpha (M, H), in the order of `sequences` */
typedef struct attend_lstmn_source attend_lstmn_source;
const attend_lstmn_source *attend_lstmn_source_new(attend_ctx *c, const attend_lstmn_fusion *fusion, attend_var *gamma,
                                                   attend_var *alpha, const attend_ragged *sequences);

/* The positions before the first row of each sequence, for decoding step by step: rows of attend_lstmn_io.tape of
 * earlier calls, as attend_value returns them (host memory).
 * They are constants: no gradient is computed for them. */
typedef struct attend_lstmn_past {
    const attend_real *const
        *rows;          /* a pointer per position: those of sequence 0, oldest first, then those of sequence 1, ... */
    const int *lengths; /* (B): positions of each sequence; those outside the span may be omitted */
} attend_lstmn_past;

/* Optional inputs and outputs besides x and h. */
typedef struct attend_lstmn_io {
    const attend_lstmn_source *source; /* deep fusion with these sources, or NULL */
    const int *source_of;              /* (B): the source of each sequence; NULL: sequence b has source b */
    const attend_lstmn_past *past;     /* or NULL */
    bool want_tape, want_weights, want_source_weights;

    attend_var *c;    /* (N, H): c of every row */
    attend_var *tape; /* (N, attend_lstmn_tape_width): the rows for attend_lstmn_past in later calls */
    /* (B, 1, T, P + T): s of every position. Column 0 is the first position of the past or, without one, of the
     * sequence. Other entries are 0. */
    attend_var *weights;
    attend_var *source_weights; /* (B, 1, T, S): the same over the positions of the source */
} attend_lstmn_io;

/* Runs the cell over a batch of sequences as one operation: x (N, Din), in the order of `sequences` -> h of every row
 * (N, H). A single step is a call with sequences of one row. io may be NULL. */
attend_var *attend_lstmn_sequence(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x,
                                  const attend_ragged *sequences, attend_lstmn_io *io);
/* Numbers in a row of the tape. */
int attend_lstmn_tape_width(const attend_lstmn_cell *cell, const attend_lstmn_source *source);

/* ---- losses ---- */

/* loss = scale * sum over rows of  -[(1 - smoothing) log p(target) + smoothing / V sum_v log p(v)],
 * p = softmax(logits). Rows with a negative target are ignored.   logits (N, V), targets (N) -> (1)
 * Consumes the logits: their memory is reused for the probabilities and then for their gradient, so that (N, V) exists
 * only once. A later operation that reads the logits fails. If an earlier operation has read them, or the operation
 * that produced them needs their value for its gradient, they are copied instead.
 * nll, if not NULL, receives N numbers: -log p(target) of each row, 0 for ignored rows. */
attend_var *attend_cross_entropy(attend_ctx *c, attend_var *logits, const int *targets, double smoothing, double scale,
                                 attend_real *nll);

/* Guided alignment (Chen, Matusov, Khadivi, Peter 2016): -scale sum reference log(w + 1e-6), where w is the mean of the
 * weights over the heads.   weights (B, H, Tq, Tk), reference (B, Tq, Tk) >= 0, copied -> (1) */
attend_var *attend_alignment_loss(attend_ctx *c, attend_var *weights, const attend_real *reference, double scale);

#ifdef __cplusplus
}
#endif
#endif
