/* kernel.h: arithmetic on plain pointers; no tape, no allocation, no failure.
 *
 * There is one table of functions for each instruction set. plain.c is the oracle: readable C that every other
 * table is tested against. vector_*.c are written once over the small vocabulary of a vec_*.h header and compiled
 * once for each instruction set, so one binary runs anywhere; attend_kernel() picks the best the machine has.
 *
 * A row function works on one row of n contiguous numbers. Inputs and outputs may be the same array
 * where it is said; otherwise they do not overlap. Nothing needs alignment but packed weights. */
#ifndef ATTEND_KERNEL_H
#define ATTEND_KERNEL_H

#include "core/rng.h"
#include <attend/activation.h>
#include <attend/real.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef attend_real real;

/* Where the product of packed weights starts from. */
typedef enum packed_start {
    PACKED_ZERO, /* C  = A B */
    PACKED_BIAS, /* C  = A B + bias, for each row */
    PACKED_ADD   /* C += A B */
} packed_start;

/* What one Adam update does to every number. 1 - beta is passed as `rest`: taken in float it would lose digits. */
typedef struct adam_numbers {
    real scale; /* of the gradient, before anything else */
    real rate, beta1, rest1, beta2, rest2;
    real correction1, correction2; /* 1 / (1 - beta^steps) */
    real epsilon, decay;
} adam_numbers;

/* Some queries and some keys of additive attention. Rows are those additive_row made ready, `stride` numbers apart. */
typedef struct additive_block {
    size_t queries, keys, width;
    const real *query, *key; /* a (queries, width), b (keys, width) */
    size_t stride;
    const real *u; /* (width), and 0 up to a multiple of `panel` */
} additive_block;

/* Of a block; what is added to may be NULL. */
typedef struct additive_gradients {
    const real *score; /* de (queries, keys) */
    size_t score_stride;
    real *query; /* da (queries, width) */
    size_t query_stride;
    real *key; /* db (keys, width) */
    size_t key_stride;
    real *u; /* (width) */
} additive_gradients;

/* C (m, n) = A B + start with A in whole numbers of 16 bits and B in whole numbers of 8 (gemm.h has the layout):
 *     c_ij = start + a_step_i b_step_j sum_l a_il b_lj
 * Sums are whole numbers and exact, so every table and every cut of the product gives the same. */
typedef struct int8_product {
    packed_start start;
    const real *bias;
    size_t m, n, k;     /* k even */
    const int16_t *a;   /* (m, k) */
    const real *a_step; /* (m) */
    const int8_t *b;    /* packed */
    const real *b_step; /* (n) */
    real *c;
    size_t ldc;
} int8_product;

typedef struct attend_kernel_table {
    const char *name;

    /* y = f(x); x and y may be the same. Within 4 ulp for every float; NaN stays NaN. */
    void (*exp)(size_t n, const real *x, real *y);
    void (*tanh)(size_t n, const real *x, real *y);
    void (*sigmoid)(size_t n, const real *x, real *y);

    /* Largest element; -inf if n is 0. A NaN anywhere gives NaN. */
    real (*max)(size_t n, const real *x);
    /* y = exp(x - shift), shift finite and no x more than 88 above it; returns the sum of y; x and y may be the same. What is
     * below the least normal number may come out as 0. */
    real (*exp_sum)(size_t n, const real *x, real shift, real *y);
    real (*sum)(size_t n, const real *x);
    real (*dot)(size_t n, const real *x, const real *y);
    double (*sum_squares)(size_t n, const real *x); /* added in double */

    void (*add)(size_t n, const real *x, real *y);          /* y += x */
    void (*axpy)(size_t n, real a, const real *x, real *y); /* y += a x */
    /* y = sum_j w_j x_j over `rows` rows `stride` apart, from the first on; those that weigh 0 are not read. As axpy would add them, to the bit. */
    void (*weigh)(size_t n, size_t rows, const real *w, const real *x, size_t stride, real *y);
    void (*scale)(size_t n, real a, real *x);                         /* x *= a */
    void (*mul)(size_t n, const real *a, const real *b, real *y);     /* y = a b; y may be a or b */
    void (*mul_add)(size_t n, const real *a, const real *b, real *y); /* y += a b */
    /* y = a + scale x */
    void (*scale_shift)(size_t n, real a, real scale, const real *x, real *y); /* x and y may be the same */

    /* e_j = q . x_j and y = sum_j w_j x_j over `rows` rows of n numbers, row j from x[j] + first on; as dot and axpy would, to the bit. */
    void (*dot_rows)(size_t n, size_t rows, const real *q, const real *const *x, size_t first, real *e);
    void (*weigh_rows)(size_t n, size_t rows, const real *w, const real *const *x, size_t first, real *y);

    /* Pairs of numbers as points of a plane, n even: y = c x + s x', where x' is x with the two of each pair exchanged. To turn pair i
     * by an angle, c_2i = c_2i+1 = cos, -s_2i = s_2i+1 = sin; `turn_back` adds what turns back. */
    void (*turn)(size_t n, const real *x, const real *c, const real *s, real *y);
    void (*turn_back)(size_t n, const real *x, const real *c, const real *s, real *y); /* y += c x - s x' */

    /* y = max(x, 0); NaN stays NaN. dx += dy where y > 0. */
    void (*relu)(size_t n, const real *x, real *y);
    void (*relu_backward)(size_t n, const real *dy, const real *y, real *dx);
    /* y = x P(x), P the normal distribution (1 + erf(x / sqrt 2)) / 2, within 3e-7 max(1, |x|), and at infinity 0 or inf.
     * dx += dy (P(x) + x P'(x)) */
    void (*gelu)(size_t n, const real *x, real *y);
    void (*gelu_backward)(size_t n, const real *dy, const real *x, real *dx);
    /* y = a s(a) b, s = sigmoid.  da += dy b s(a) (1 + a (1 - s(a))), db += dy a s(a) */
    void (*swiglu)(size_t n, const real *a, const real *b, real *y);
    void (*swiglu_backward)(size_t n, const real *dy, const real *a, const real *b, real *da, real *db);

    /* attend_rng_dropout_mask, to the bit */
    void (*keep)(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *keep);
    /* y = scale x where keep is not 0, else 0; and the same added to y */
    void (*drop)(size_t n, const unsigned char *keep, real scale, const real *x, real *y);
    void (*drop_add)(size_t n, const unsigned char *keep, real scale, const real *x, real *y);

    /* y = gain (x - mean) rstd + bias; mean and rstd of this row are left for backward */
    void (*layer_norm)(size_t n, const real *x, const real *gain, const real *bias, real epsilon, real *y, real *mean,
                       real *rstd);
    /* Given dy: dx += ..., dgain += dy xhat, dbias += dy; any of the three may be NULL */
    void (*layer_norm_backward)(size_t n, const real *dy, const real *x, const real *gain, real mean, real rstd,
                                real *dx, real *dgain, real *dbias);

    /* Cell gates on one row of hidden size h. gx: what the input brings (W x + bw), gh: what the past brings
     * (U h + bu); both (G h), gates in the order of op.h. What backward needs is left in `saved`, which may be gx. */

    /* h' = f(gx + gh); h_new may be gx */
    void (*simple)(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new);
    /* dgates = dh f'(.) from h'; dgates may be dh */
    void (*simple_backward)(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates);

    /* Reset after. saved (4 h): r, z, n, and Un h + bun. h_old and h_new may be the same. */
    void (*gru)(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                real *saved);
    /* dgx, dgh (3 h); dh_old += dh z (what flows past the gates). dgx may be `saved`. */
    void (*gru_backward)(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved, real *dgx,
                         real *dgh, real *dh_old);

    /* saved (4 h): i, f, g, o; c_new is kept too. c_old and c_new may be the same. */
    void (*lstm)(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                 real *h_new, real *saved);
    /* dgates (4 h) may be `saved`; dc in: dL/dc' from later steps, out: dL/dc. */
    void (*lstm_backward)(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                          const real *saved, real *dgates, real *dc);

    /* The same with tanh and something more for the memory: c' = f c + i g + r a. gx, gh, saved, dgates (5 h): i, f, g, o, r. */
    void (*lstm_fused)(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                       real *h_new, real *saved);
    /* da is set, not added to */
    void (*lstm_fused_backward)(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                const real *saved, real *dgates, real *dc, real *da);

    /* Makes a row of n numbers ready for the two below, which look at it once a pair; `ready` has room for n rounded up
     * to a multiple of `panel`, and what it holds is the table's own affair. false: it cannot be made ready, for a
     * number in it is too large or NaN. Every row with |x| <= 20 can. */
    bool (*additive_row)(size_t n, const real *x, real *ready);
    /* e_ij = u . tanh(a_i + b_j), within 1e-6 sum |u|; the same to the bit whatever block the pair is in. */
    void (*additive)(const additive_block *t, real *e, size_t e_stride);
    /* With y = tanh(a_i + b_j) of each channel and d = de u (1 - y^2): da_i += sum_j d, db_j += sum_i d, du += sum de y.
     * A query's da does not depend on which other queries are in the block. A pair whose de is 0 changes nothing. */
    void (*additive_backward)(const additive_block *t, const additive_gradients *g);

    /* One Adam update of n numbers:
     * m = beta1 m + rest1 g, v = beta2 v + rest2 g g, x -= rate (m correction1 / (sqrt(v correction2) + epsilon) + decay x) */
    void (*adam)(size_t n, const adam_numbers *k, const real *g, real *m, real *v, real *x);

    /* Packed weights (gemm.h): columns in a panel, and the product
     * C (m, n) = A (m, k) B (k, n) with B packed; every element is added over k from 0 up, whatever m is, so a
     * row's result does not depend on its neighbours. Rows of A are a_row numbers apart, its columns a_step: 1, or A' is
     * read. Panels are panel_stride numbers apart. */
    int panel;
    void (*packed)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                   size_t a_step, const real *b, size_t panel_stride, real *c, size_t ldc);
    /* The same with weights in bfloat16: the upper half of a float. Rows of A are contiguous. */
    void (*packed_bf16)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                        const uint16_t *b, real *c, size_t ldc);
    /* q = x / step to the nearest whole number, of two as near the even one; step = max |x| / limit is returned, so that |q| <= limit
     * (at most 32767). NaN if a number is not finite; 0, and all q 0, if all are so small that step would be 0. */
    real (*quantize)(size_t n, const real *x, int limit, int16_t *q);
    void (*packed_int8)(const int8_product *p);
} attend_kernel_table;

/* The table in use, chosen on first use (see attend_kernel_name). Never NULL. */
const attend_kernel_table *attend_kernel(void);

/* Every table this machine can run, plain first; NULL ends it. For tests and benchmarks. */
const attend_kernel_table *const *attend_kernels(void);
/* For tests: use this one from now on. Not while other threads compute. */
void attend_kernel_use(const attend_kernel_table *table);

#endif
