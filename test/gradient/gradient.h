/* gradient.h: helpers for the derivative tests. Each test creates parameters, builds a loss from them and calls
 * attend_check_gradients; the largest relative error must be below BOUND. */
#ifndef ATTEND_TEST_GRADIENT_H
#define ATTEND_TEST_GRADIENT_H

#include <attend/attend.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"

#define BOUND 1e-6

/* A parameter of random numbers in [-1, 1], fixed by its name. */
static inline attend_param *parameter(attend_params *set, const char *name, int rank, int a, int b, int c)
{
    attend_param *p = NULL;
    int shape[] = { a, b, c };
    assert_int_equal(attend_params_add(&p, set, name, rank, shape), ATTEND_OK);
    attend_param_fill_uniform(p, 7, 1.0);
    return p;
}

static inline attend_param *matrix(attend_params *set, const char *name, int rows, int columns)
{
    return parameter(set, name, 2, rows, columns, 0);
}

static inline attend_param *vector(attend_params *set, const char *name, int size)
{
    return parameter(set, name, 1, size, 0, 0);
}

/* sum of y times fixed random numbers: a loss with a different derivative for every element of y */
static inline attend_var *weighted_sum(attend_ctx *c, attend_var *y, uint64_t stream)
{
    if (!y) return NULL;
    int shape[ATTEND_MAX_RANK];
    for (int i = 0; i < attend_rank(y); i++) shape[i] = attend_dim(y, i);
    static attend_real numbers[4096];
    assert_true(attend_size(y) <= 4096);
    const attend_rng rng = { .seed = 99, .stream = stream };
    for (size_t i = 0; i < attend_size(y); i++) numbers[i] = (attend_real)(2 * attend_rng_uniform(&rng, i) - 1);
    return attend_sum(c, attend_mul(c, y, attend_constant(c, attend_rank(y), shape, numbers)));
}

/* Asserts that the derivatives of `fn` are correct, and that not all of them are 0. */
static inline void assert_gradients(const char *name, attend_params *set, attend_loss_fn fn, void *user)
{
    attend_check check;
    int status = attend_check_gradients(&check, set, fn, user, 0);
    if (status != ATTEND_OK) fail_msg("%s: %s", name, attend_message());
    if (!(check.worst < BOUND) || check.largest == 0)
        fail_msg("%s: worst error %g at %s: tape %.12g, quotient %.12g; largest derivative %g", name, check.worst,
                 check.where, check.tape, check.quotient, check.largest);
    printf("%-60s %zu elements, worst %.1e\n", name, check.elements, check.worst);
}

#endif
