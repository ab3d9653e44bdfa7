/* ragged.h: the inside of a batch of sequences of different lengths. */
#ifndef ATTEND_OP_RAGGED_H
#define ATTEND_OP_RAGGED_H

#include "core/tape.h"
#include <attend/op.h>

struct attend_ragged {
    int count, rows, longest;
    const int *lengths; /* (count) */
    const int *offsets; /* (count): first row of each */
    const int *order;   /* (count): the sequences, longest first; equal ones as they came */
    const int *active;  /* (longest): how many sequences have a row at step t; the first of `order` */
};

/* Fails the context and returns false unless x is (rows, anything). */
bool attend_ragged_fits(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x);

#endif
