/* check.h: a gradient checker, for authors of operations and score functions.
 *
 * Purpose    Compares the gradients of attend_backward with finite differences of fourth order, for every element of
 *            every parameter. Link libattend_double (real.h): float is not precise enough for finite differences.
 * Threads    One thread at a time may use the parameters. */
#ifndef ATTEND_CHECK_H
#define ATTEND_CHECK_H

#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Builds a loss, a scalar, from the parameters. Called many times; the context is training, and its random numbers are
 * the same each time. */
typedef attend_var *(*attend_loss_fn)(attend_ctx *c, void *user);

typedef struct attend_check {
    double worst; /* largest relative error: |tape - quotient| / max(|tape|, |quotient|, the largest of all / 1000) */
    double tape;  /* the two derivatives of that element */
    double quotient;
    char where[96];  /* "name[index]" of the element */
    size_t elements; /* compared */
    double largest;  /* absolute value of a derivative; 0: the check proves nothing */
} attend_check;

/* step: of the finite differences; 0: 1e-4, which suits double precision and parameters around 1. The loss must be
 * smooth within two steps of the parameters, which are restored afterwards. */
int attend_check_gradients(attend_check *out, attend_params *params, attend_loss_fn loss, void *user, double step);

#ifdef __cplusplus
}
#endif
#endif
