/* cell.h: what the sequence operation (cell.c) knows about a recurrent cell. Its steps are functions of the device. To add
 * a cell, write its steps (device/cpu_cell.h), and add its kind to attend/op.h and to the list in cell.c. */
#ifndef ATTEND_OP_CELL_H
#define ATTEND_OP_CELL_H

#include "device/device.h"
#include "op/ragged.h"

/* One part of the gradient of U: rows [row, row + rows) of dU += D' S. D are columns of the derivatives (device_cell.gates
 * after backward), from `column` on; S are the states before each step, or other columns of `gates`. All in units of H. */
typedef struct cell_part {
    int row, rows, column;
    int source; /* first column of S in `gates`; -1: the state before the step */
} cell_part;

typedef struct cell_spec {
    device_cell_kind kind;
    int gates;           /* G: blocks of H rows of W and U */
    int width;           /* blocks per row of `gates` */
    bool memory;         /* has a state c besides h */
    bool full_precision; /* U must not be quantised */
    cell_part parts[2];
} cell_spec;

/* One sequence operation: its node, and the arguments of its steps. */
typedef struct cell_run {
    attend_node node;
    const cell_spec *spec;
    attend_var *x, *w, *u, *bw, *bu, *base, *y;
    const int *base_rows;                  /* the row of base for each row; NULL: the same row */
    attend_var *h0, *c0, *h_last, *c_last; /* c0 and c_last only with memory */
    const attend_ragged *sequences;
    bool reverse;
    size_t hidden;
    device_cell step;
    int *rows[2]; /* (B): buffers for step.rows and step.before */
} cell_run;

#endif
