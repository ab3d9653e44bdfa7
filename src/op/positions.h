/* positions.h: shared by the operations that encode positions. */
#ifndef ATTEND_OP_POSITIONS_H
#define ATTEND_OP_POSITIONS_H

#include "op/ragged.h"

/* attend_ragged_fits, and checks that all positions, starting at `first`, fit in an int. */
bool attend_positions_fit(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x, int first);

#endif
