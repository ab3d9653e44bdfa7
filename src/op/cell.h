/* cell.h: the interface between a recurrent cell and the sequence operation (cell.c), which has everything that cells
 * have in common. To add a cell, write a file with a cell_spec, and add its kind to attend/op.h and to the list in
 * cell.c. */
#ifndef ATTEND_OP_CELL_H
#define ATTEND_OP_CELL_H

#include "op/ragged.h"
#include "kernel/gemm.h"

typedef struct cell_run cell_run;

/* One part of the gradient of U: rows [row, row + rows) of dU += D' S. D are columns of the derivatives (see `gates`
 * below), from `column` on; S are the states before each step, or other columns of `gates`. All in units of H. */
typedef struct cell_part {
    int row, rows, column;
    int source; /* first column of S in `gates`; -1: the state before the step */
} cell_part;

typedef struct cell_spec {
    int gates;   /* G: blocks of H rows of W and U */
    int width;   /* blocks per row of `gates` */
    bool memory; /* has a state c besides h */
    cell_part parts[2];
    /* Packs U, transposed for forward; NULL: as one matrix. Returns false if memory runs out. */
    bool (*pack)(attend_ctx *c, cell_run *r, bool transpose);
    /* Step t of the n longest sequences. Reads r->h; writes r->h, rows of y, `gates` and `cells`. */
    void (*forward)(cell_run *r, int t, int n);
    /* The backward step: replaces r->dh (and r->dc), the gradient after the step, by that before it, and `gates` by the
     * derivatives D; the first G blocks of D are those of W x + bw. */
    void (*backward)(cell_run *r, int t, int n);
} cell_spec;

/* One sequence operation: its node and its scratch memory. Rows of x, y and gates are in batch order; rows of the
 * states h, dh and dc are in order of length, so that the active sequences are the first n. */
struct cell_run {
    attend_node node;
    const cell_spec *spec;
    attend_activation activation;
    attend_var *x, *w, *u, *bw, *bu, *base, *y;
    const int *base_rows;                  /* the row of base for each row; NULL: the same row */
    attend_var *h0, *c0, *h_last, *c_last; /* c0 and c_last only with memory */
    const attend_ragged *sequences;
    bool reverse;
    size_t hidden;

    real *gates;             /* (N, width H): W x + bw, then what forward saved, then derivatives */
    real *cells;             /* (N, H): c after each row; only with memory */
    real *h;                 /* (B, H) */
    real *recurrent;         /* (B, G H): U h + bu; during backward the derivatives of U h */
    real *dh, *dc;           /* (B, H) */
    real *scratch;           /* (B, H), for the cell */
    const real *u_packed[2]; /* U for the current pass; two parts if the cell has a pack function */
    packed_matrix u_matrix;  /* U for the forward pass, if the cell has no pack function */
    activations rows;
    attend_ctx *c;
};

/* The row, in batch order, of step t of the i-th longest sequence. */
static inline size_t cell_row(const cell_run *r, int i, int t)
{
    int sequence = r->sequences->order[i];
    int at = r->reverse ? r->sequences->lengths[sequence] - 1 - t : t;
    return (size_t)r->sequences->offsets[sequence] + (size_t)at;
}

/* h before step t: y of the previous row, or the initial state. The same for c. */
const real *attend_cell_h_before(const cell_run *r, int i, int t);
const real *attend_cell_c_before(const cell_run *r, int i, int t);

/* recurrent (n, G H) = h U' + bu;   dh (n, H) = (or +=) recurrent U */
void attend_cell_recurrent(cell_run *r, int n);
void attend_cell_recurrent_backward(cell_run *r, int n, packed_start start);
/* dh += dy for the rows of step t: the gradient from later operations. */
void attend_cell_add_output_gradient(cell_run *r, int t, int n);

static inline real *cell_gates(const cell_run *r, size_t row)
{
    return r->gates + row * (size_t)r->spec->width * r->hidden;
}

extern const cell_spec attend_cell_simple, attend_cell_gru, attend_cell_gru_before, attend_cell_lstm;

#endif
