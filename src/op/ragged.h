/* ragged.h: checks of sequences of different lengths (device/ragged.h has the members of attend_ragged). */
#ifndef ATTEND_OP_RAGGED_H
#define ATTEND_OP_RAGGED_H

#include "core/tape.h"
#include "device/ragged.h"
#include <attend/op.h>

/* Fails the context and returns false unless x is (rows, anything). */
bool attend_ragged_fits(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x);

#endif
