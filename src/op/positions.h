/* positions.h: what operations share that look at where in its sequence a row stands. */
#ifndef ATTEND_OP_POSITIONS_H
#define ATTEND_OP_POSITIONS_H

#include "op/ragged.h"

/* attend_ragged_fits, and places from `first` on are numbers that an int holds. */
bool attend_positions_fit(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x, int first);

/* 10000^(-2i / width), by which place p is multiplied for the angle of pair i. */
double attend_positions_frequency(size_t i, size_t width);

#endif
