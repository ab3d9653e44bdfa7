/* ragged.h: the members of attend_ragged, a batch of sequences of different lengths. */
#ifndef ATTEND_OP_RAGGED_H
#define ATTEND_OP_RAGGED_H

#include "core/tape.h"
#include <attend/op.h>

struct attend_ragged {
    int count, rows, max_length;
    const int *lengths; /* (count) */
    const int *offsets; /* (count): the first row of each sequence */
    const int *order;   /* (count): the sequences by descending length, equal ones in batch order */
    const int *active;  /* (max_length): the number of sequences that have a row at step t: the first of `order` */
};

/* Fails the context and returns false unless x is (rows, anything). */
bool attend_ragged_fits(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x);

#endif
