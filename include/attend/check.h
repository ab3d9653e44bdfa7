/* check.h: is a derivative right? For whoever writes an operation or a score.
 *
 * Compares what attend_backward says with a difference quotient of fourth order, for every element of every
 * parameter. Link libattend_double (see real.h): float has too few digits for the quotient. */
#ifndef ATTEND_CHECK_H
#define ATTEND_CHECK_H

#include <attend/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Builds a loss (one number) from the parameters. Called many times; the context is training and its random numbers
 * are the same each time. */
typedef attend_var *(*attend_loss_fn)(attend_ctx *c, void *user);

typedef struct attend_check {
    double worst; /* largest relative error: |tape - quotient| / max(|tape|, |quotient|, the largest of all / 1000) */
    double tape;  /* the two derivatives where it was found */
    double quotient;
    char where[96];  /* "name[index]" of the element */
    size_t elements; /* how many were compared */
    double largest;  /* absolute value of any derivative: 0 means that nothing was tested */
} attend_check;

/* step: how far elements are moved; 0 takes 1e-4, right for double and parameters around 1. Parameters are as before
 * afterwards. The loss must be smooth within two steps of where the parameters are. */
int attend_check_gradients(attend_check *out, attend_params *params, attend_loss_fn loss, void *user, double step);

#ifdef __cplusplus
}
#endif
#endif
