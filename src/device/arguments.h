/* arguments.h: the arguments of device functions that are too many for a parameter list. Pointers to numbers are device
 * memory; index arrays are host memory. */
#ifndef ATTEND_DEVICE_ARGUMENTS_H
#define ATTEND_DEVICE_ARGUMENTS_H

#include "core/rng.h"
#include "device/ragged.h"
#include "kernel/arguments.h"
#include <attend/activation.h>

/* Rows of a matrix: row i begins at data + i * stride, or, with `rows`, at data + rows[i] * stride. With stride 0 the
 * same row is used each time: it is repeated when it is read and summed up when it is added to. */
typedef struct device_input {
    const real *data;
    size_t stride;
    const int *rows; /* a negative row is read as zeros */
} device_input;

typedef struct device_output {
    real *data;
    size_t stride;
    const int *rows;
} device_output;

typedef enum device_activation { DEVICE_TANH, DEVICE_SIGMOID, DEVICE_RELU, DEVICE_GELU } device_activation;

/* Sums in double, in host memory. */
typedef struct device_sums {
    double *host;
} device_sums;

/* A matrix of any precision in its plain layout. */
typedef struct device_table {
    attend_precision precision;
    const real *value;     /* fp32 */
    const void *quantized; /* bf16, int8 */
    const float *scales;   /* int8: (rows) */
} device_table;

/* C (m, n) = op(A) op(B), or C += op(A) op(B) with PACKED_ADD; op(A) (m, k), op(B) (k, n). */
typedef struct device_gemm {
    bool transpose_a, transpose_b;
    packed_start start;
    size_t m, n, k;
    const real *a;
    size_t lda;
    const real *b;
    size_t ldb;
    real *c;
    size_t ldc;
} device_gemm;

typedef struct device_layer_norm {
    size_t rows, width;
    const real *x, *gain, *bias; /* (rows, width), (width), (width) */
    real epsilon;
    real *y;          /* forward: (rows, width) */
    real *statistics; /* (rows, 2): mean and 1 / standard deviation, written by forward */
    /* backward: dy, and the gradients to add to, each of which may be NULL */
    const real *dy;
    real *dx, *dgain, *dbias;
} device_layer_norm;

/* y = scale x where the mask is not 0, else 0 */
typedef struct device_dropout {
    size_t n, width;           /* all numbers; those of a row */
    const unsigned char *mask; /* (count, width) if there are sequences, which share it among their rows; else (n) */
    const attend_ragged *sequences; /* or NULL */
    real scale;
} device_dropout;

/* Rows of `width` numbers, divided into heads of `head` numbers, whose pairs are rotated. */
typedef struct device_rotary {
    const attend_ragged *sequences;
    size_t width, head;
    const real *cosines, *sines; /* (max_length, head) */
} device_rotary;

/* loss = scale sum_rows [lse - (1 - s) x_target - s mean(x)], s the smoothing. Rows with a negative target are left
 * out. */
typedef struct device_loss {
    size_t rows, width;
    real *logits; /* (rows, width): replaced by exp(x - max); backward: by dx */
    const int *targets;
    double smoothing, scale;
    real *inverse_sums; /* (rows) */
    real *loss;         /* (1) */
    real *nll;          /* (rows): -log p(target), or NULL */
    const real *dloss;  /* (1), backward */
} device_loss;

/* loss = -scale sum a_bij log(mean_h w_bhij + 1e-6) */
typedef struct device_alignment {
    size_t batch, heads, area; /* area: Tq Tk */
    const real *weights;       /* (batch, heads, area) */
    const real *reference;     /* (batch, area) */
    double scale;
    real *loss;
    const real *dloss; /* (1), backward */
    real *dweights;
} device_alignment;

typedef enum device_cell_kind {
    DEVICE_CELL_SIMPLE,
    DEVICE_CELL_GRU,
    DEVICE_CELL_GRU_BEFORE,
    DEVICE_CELL_LSTM
} device_cell_kind;

/* One step of the n longest sequences of a batch (op/cell.c). G is the number of gates. Rows of y, gates and cells are in
 * batch order; rows of the states h, dh and dc are in order of length, so that the active sequences are the first n. */
typedef struct device_cell {
    device_cell_kind kind;
    attend_activation activation;
    size_t hidden;
    const int *rows;     /* (n): the row of each sequence in this step */
    const int *before;   /* (n): the row of the step before; NULL: this is the first step */
    const int *order;    /* (n): the row of each sequence in h0 and c0 */
    const real *h0, *c0; /* (B, H); c0 only with memory */
    real *y;             /* (N, H) */
    real *gates;         /* (N, width H): W x + bw, then what forward saved, then derivatives */
    real *cells;         /* (N, H): c after each row; only with memory */
    real *h;             /* (B, H) */
    real *recurrent;     /* (B, G H): U h + bu; during backward the derivatives of U h */
    real *dh, *dc;       /* (B, H) */
    real *scratch;       /* (B, H) */
    const real *bu;      /* (G H) or NULL */
    packed_matrix u;     /* U' for forward, U for backward */
    const real *u_plain; /* (G H, H) */
    real *parts;         /* cell_parts_bytes bytes, or NULL; only forward */
} device_cell;

/* The rows that one row of an LSTMN attends to: rows of the past, followed by rows [first, first + count) of this call. */
typedef struct device_lstmn_view {
    const real *const *past; /* rows of a tape, in device memory */
    int past_count, count;
    size_t first;
} device_lstmn_view;

/* The attention of an LSTMN to previous rows, or to a source (op/lstmn.c): widths A, K and H. */
typedef struct device_lstmn {
    size_t attention_width, width, hidden;
    size_t past_memory, past_key, past_prepared; /* offsets in a row of the past; k is first */
    const real *k, *m;                           /* rows of this call: (..., K), (..., H) */
    const real *key, *prepared;                  /* Wk k, and the same prepared */
    const real *v;                               /* (A), padded with zeros to additive_width */
    size_t max_count;                            /* rows that a row attends to */

    real *query;                  /* (N, A): Wx x + b + Wt kt'; during backward its derivative */
    real *kt, *mt;                /* (N, K), (N, H) */
    real *weights;                /* s of all rows, one after another */
    const size_t *weight_offsets; /* (N + 1): where the weights of row i begin in `weights` */
    const size_t *output_offsets; /* (N): where they begin in `outputs` */
    real *outputs;                /* the weights as a variable, or NULL */
    const real *doutputs;         /* its gradient, or NULL */
    real *dk, *dm, *dkey;         /* of the rows of this call; any may be NULL */
    real *dv;                     /* (A), padded */
} device_lstmn;

/* The gates of a step: of rows `rows`, in batch order; rows of `recurrent` and `da` are 0, 1, ... */
typedef struct device_lstmn_gates {
    size_t hidden, blocks; /* H; number of gates: i, f, g, o and, with fusion, r */
    real *gates;           /* (N, blocks H): W x + b, then the gates, then their derivatives */
    real *recurrent;       /* (B, blocks H); backward: a copy of the derivatives */
    const real *ct, *at;   /* (N, H); at NULL: no fusion */
    real *memory, *h;      /* (N, H) */
    const real *dh;        /* (N, H) */
    real *dc, *da;         /* (N, H), (B, H) */
} device_lstmn_gates;

/* Attention of each hypothesis's query over its own tokens, in every head:
 *     w = softmax(scale q . k_j)     context = sum_j w_j v_j
 * Row r of the tokens is row r % block of blocks[r / block]; rows are row_stride apart. */
typedef struct device_beam {
    size_t count, max_length;  /* hypotheses; tokens of the longest one */
    const real *const *blocks; /* host array of device memory */
    size_t block, row_stride;  /* rows per block */
    const int *rows, *lengths; /* (count, list_stride): the rows of each hypothesis, oldest first; (count) */
    size_t list_stride;
    const real *query; /* (count, heads D), rows `query_stride` apart */
    size_t query_stride, heads, width;
    size_t key, value; /* offsets in a row of the keys and of the values of all heads */
    real scale;
    real *context; /* (count, heads D), rows `context_stride` apart */
    size_t context_stride;
    real *weights; /* (count, heads, max_length), 0 after a hypothesis's last token; or NULL */
} device_beam;

/* Columns of an output layer for a list of tokens. */
typedef struct device_shortlist {
    const int *tokens; /* in ascending order */
    int count;
    size_t end; /* the index of the token that ends a sequence */
    packed_matrix w;
    const real *b;
    const real *outside; /* (tail): 1 for tail tokens that are not on the shortlist, 0 for the others */
    real represented;    /* unlisted tokens of the vocabulary per unlisted tail token */
} device_shortlist;

/* log p of the next token for each row: of all tokens, of those on the shortlist of the row's source, or of the k best.
 * Results are host memory. */
typedef struct device_tokens {
    size_t rows;
    const real *x;                      /* (rows, w.k) */
    packed_matrix w;                    /* the output layer: all tokens */
    const real *b;                      /* (tokens) */
    int excluded, end;                  /* a token that is never among the best; the token that ends a sequence */
    const device_shortlist *shortlists; /* (sources); NULL: all tokens */
    const int *source_of;               /* (rows): the source of each row; rows of one source are adjacent */
    packed_matrix tail_w; /* of the tail: some tokens of the vocabulary, for an estimate of the unlisted ones */
    const real *tail_b;
    size_t tail_count;
    size_t width;                  /* of log_p: the vocabulary, or the length of the longest list */
    int top_k;                     /* 0: all tokens */
    real *log_p;                   /* (rows, width), if top_k is 0 */
    int *best_tokens, *best_count; /* (rows, top_k), (rows) */
    real *best_log_p;              /* (rows, top_k), best first */
    real *end_log_p;               /* (rows) */
} device_tokens;

#endif
