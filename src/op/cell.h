/* cell.h: what a recurrent cell is to the sequence operation (cell.c), which does everything that cells share. To add a
 * cell: one file with a cell_spec, its kind in attend/op.h and its line in cell.c's list. */
#ifndef ATTEND_OP_CELL_H
#define ATTEND_OP_CELL_H

#include "op/ragged.h"
#include "kernel/gemm.h"

typedef struct cell_run cell_run;

/* Which rows of U met which columns: dU[row ..] += D[column ..]' S, where D are a row's derivatives (see
 * `gates` below) and S the states before each step or columns of D. All in units of H. */
typedef struct cell_part {
    int row, rows, column;
    int source; /* first column of S in `gates`; -1: the state before the step */
} cell_part;

typedef struct cell_spec {
    int gates;   /* G: H-wide blocks of W's and U's rows */
    int width;   /* blocks kept for each row in `gates` */
    bool memory; /* has a c beside h */
    cell_part parts[2];
    /* Packs U, transposed going forward; NULL: as one matrix. False: memory ran out. */
    bool (*pack)(attend_ctx *c, cell_run *r, bool transpose);
    /* Step t of the first n sequences of the order: from r->h to r->h, y's rows, `gates` and `cells`. */
    void (*forward)(cell_run *r, int t, int n);
    /* And back: r->dh (and r->dc) is dL/dh after the step, and becomes dL/dh before it. `gates` become
     * the derivatives D: of W x + bw in the first G blocks. */
    void (*backward)(cell_run *r, int t, int n);
} cell_spec;

/* One sequence operation: its node, and its scratch. Rows of x, y and gates are in the order of the batch;
 * rows of the states h, dh, dc in the order of length, so that the sequences still running are the first n. */
struct cell_run {
    attend_node node;
    const cell_spec *spec;
    attend_activation activation;
    attend_var *x, *w, *u, *bw, *bu, *base, *y;
    const int *base_rows;                  /* of the batch's rows; NULL: the same */
    attend_var *h0, *c0, *h_last, *c_last; /* c0 and c_last only with memory */
    const attend_ragged *sequences;
    bool reverse;
    size_t hidden;

    real *gates;             /* (N, width H): W x + bw, then what forward saved, then derivatives */
    real *cells;             /* (N, H): c after each row; only with memory */
    real *h;                 /* (B, H) */
    real *past;              /* (B, G H): U h + bu; on the way back, the derivatives that flow through U */
    real *dh, *dc;           /* (B, H) */
    real *scratch;           /* (B, H), for the cell */
    const real *u_packed[2]; /* for the way at hand; two if the cell multiplies U in parts, and .. */
    packed_matrix u_matrix;  /* .. going forward, this if it does not */
    activations rows;
    attend_ctx *c;
};

/* The batch's row of step t of sequence i of the order. */
static inline size_t cell_row(const cell_run *r, int i, int t)
{
    int sequence = r->sequences->order[i];
    int at = r->reverse ? r->sequences->lengths[sequence] - 1 - t : t;
    return (size_t)(r->sequences->offsets[sequence] + at);
}

/* h before step t: y of the row before, or the initial state. Likewise c. */
const real *attend_cell_h_before(const cell_run *r, int i, int t);
const real *attend_cell_c_before(const cell_run *r, int i, int t);

/* past (n, G H) = h U' + bu;   dh (n, H) = (or +=) past U */
void attend_cell_past(cell_run *r, int n);
void attend_cell_past_backward(cell_run *r, int n, packed_start start);
/* dh += dy for the rows of step t: what flows in from outside. */
void attend_cell_add_output_gradient(cell_run *r, int t, int n);

static inline real *cell_gates(const cell_run *r, size_t row)
{
    return r->gates + row * (size_t)r->spec->width * r->hidden;
}

extern const cell_spec attend_cell_simple, attend_cell_gru, attend_cell_gru_before, attend_cell_lstm;

#endif
