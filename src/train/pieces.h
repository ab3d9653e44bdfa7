/* pieces.h: the numbers of all parameters, cut into pieces, and which rank owns which.
 *
 * A piece is as many whole rows of a parameter as have at most PIECE numbers, and at least one row. The cut depends on the
 * shapes alone. The norm of a gradient is the sum over the pieces in order; a rank owns pieces that follow each other, about
 * as many numbers as every other rank. */
#ifndef ATTEND_TRAIN_PIECES_H
#define ATTEND_TRAIN_PIECES_H

#include "core/tape.h"

enum { PIECE = 1 << 16 };

/* Elements of a parameter. */
typedef struct element_range {
    size_t first, last;
} element_range;

typedef struct parameter_piece {
    int parameter;
    element_range elements;
} parameter_piece;

/* { 0 } is empty. */
typedef struct parameter_pieces {
    int count, parameters;
    parameter_piece *list;
    int ranks, rank;       /* 1 and 0 if the process is alone */
    int *begin;            /* (ranks + 1): the first piece of each rank */
    element_range *ranges; /* (ranks, parameters): what a rank owns of a parameter */
    size_t *numbers;       /* (ranks + 1): numbers before those of a rank */
} parameter_pieces;

int attend_pieces_new(parameter_pieces *p, const attend_params *params);
/* Divides the pieces among ranks. */
int attend_pieces_divide(parameter_pieces *p, int ranks, int rank);
void attend_pieces_free(parameter_pieces *p);

/* What a rank owns of a parameter, and what this rank owns. */
static inline element_range attend_pieces_of(const parameter_pieces *p, int rank, int parameter)
{
    return p->ranges[rank * p->parameters + parameter];
}

static inline element_range attend_pieces_own(const parameter_pieces *p, int parameter)
{
    return attend_pieces_of(p, p->rank, parameter);
}

#endif
