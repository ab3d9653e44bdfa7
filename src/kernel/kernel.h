/* kernel.h: arithmetic on plain pointers. These functions use no tape, allocate nothing and cannot fail.
 *
 * There is one table of functions per instruction set. plain*.c is the reference: readable C that every other table is
 * tested against. vector_*.c is written once with the vector primitives of a vec_*.h header and compiled once per
 * instruction set; attend_kernel() selects the best table that the machine supports.
 *
 * A row function works on one row of n contiguous numbers. Inputs and outputs do not overlap unless the comment allows
 * the same array. Only packed weights need alignment. */
#ifndef ATTEND_KERNEL_H
#define ATTEND_KERNEL_H

#include "core/rng.h"
#include "kernel/arguments.h"
#include <attend/activation.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of queries and keys of additive attention. Its rows were prepared by additive_row and are `stride` numbers
 * apart. */
typedef struct additive_block {
    size_t queries, keys, width;
    const real *query, *key; /* a (queries, width), b (keys, width) */
    size_t stride;
    const real *u; /* (width), padded with zeros to a multiple of `panel` */
} additive_block;

/* The gradients of a block; query, key and u may be NULL. */
typedef struct additive_gradients {
    const real *score; /* de (queries, keys) */
    size_t score_stride;
    real *query; /* da (queries, width) */
    size_t query_stride;
    real *key; /* db (keys, width) */
    size_t key_stride;
    real *u; /* (width) */
} additive_gradients;

/* C (m, n) = A B + start with A and B in 8 bits (gemm.h describes the layout):
 *     c_ij = start + a_scale_i b_scale_j sum_l a_il b_lj
 * Integer sums are exact, so results do not depend on the table or on how the product is divided. */
typedef struct int8_product {
    packed_start start;
    const real *bias;
    size_t m, n, k;        /* k is a multiple of int8_depth */
    const void *a;         /* (m, k), as `quantize` writes it */
    const real *a_scales;  /* (m) */
    const int32_t *a_sums; /* (m) sum_l a_il */
    const void *b;         /* packed */
    const real *b_scales;  /* (n) */
    real *c;
    size_t ldc;
} int8_product;

/* C (m, n) = A B + start with A and B in bfloat16, or both as two halves, x = high + low (halves.h describes the layout):
 *     c_ij = start + sum_l a_il b_lj, or start + sum_l (a_il_low b_lj_high + a_il_high b_lj_high + a_il_high b_lj_low)
 * Sums are in fp32. Their order is that of the table's instruction and does not depend on m or n. Subnormal numbers may
 * be taken for 0. */
typedef struct bf16_product {
    packed_start start;
    const real *bias;
    size_t m, n, k;            /* k is a multiple of depth */
    const uint16_t *a, *a_low; /* rows of k numbers, a_row apart; a_low NULL: one half */
    size_t a_row;
    const uint16_t *b, *b_low; /* panels, panel_stride numbers apart */
    size_t panel_stride;
    real *c;
    size_t ldc;
} bf16_product;

/* Products of bfloat16 numbers. A panel of B has k / 2 rows of `panel` pairs of consecutive k. */
typedef struct bf16_kernels {
    size_t depth;     /* k is padded with zeros to a multiple of it; even */
    bool fast_halves; /* bf16x3, three products, is faster than fp32 */
    /* high = x and low = x - high, both rounded to nearest, half to even; low may be NULL. Numbers above 3.39e38 become
     * infinite. */
    void (*split)(size_t n, const real *x, uint16_t *high, uint16_t *low);
    /* The same for pairs x_i, y_i, which are written side by side. */
    void (*split_pairs)(size_t n, const real *x, const real *y, uint16_t *high, uint16_t *low);
    void (*product)(const bf16_product *p);
} bf16_kernels;

typedef struct attend_kernel_table {
    const char *name;

    /* y = f(x); x and y may be the same. The error is below 4 ulp for every float; NaN stays NaN. */
    void (*exp)(size_t n, const real *x, real *y);
    void (*tanh)(size_t n, const real *x, real *y);
    void (*sigmoid)(size_t n, const real *x, real *y);

    /* The largest element; -inf if n is 0, NaN if any element is NaN. */
    real (*max)(size_t n, const real *x);
    /* y = exp(x - shift), shift finite and x <= shift + 88; returns the sum of y; x and y may be the same. Subnormal
     * results may be 0. */
    real (*exp_sum)(size_t n, const real *x, real shift, real *y);
    real (*sum)(size_t n, const real *x);
    real (*dot)(size_t n, const real *x, const real *y);
    double (*sum_squares)(size_t n, const real *x); /* accumulated in double */

    void (*add)(size_t n, const real *x, real *y);          /* y += x */
    void (*axpy)(size_t n, real a, const real *x, real *y); /* y += a x */
    /* y = sum_j w_j x_j over `rows` rows, `stride` apart. Rows with weight 0 are not read. Bit-identical to a sequence
     * of axpy. */
    void (*weighted_sum)(size_t n, size_t rows, const real *w, const real *x, size_t stride, real *y);
    void (*scale)(size_t n, real a, real *x);                         /* x *= a */
    void (*mul)(size_t n, const real *a, const real *b, real *y);     /* y = a b; y may be a or b */
    void (*mul_add)(size_t n, const real *a, const real *b, real *y); /* y += a b */
    /* y = a + scale x */
    void (*scale_shift)(size_t n, real a, real scale, const real *x, real *y); /* x and y may be the same */

    /* e_j = q . x_j and y = sum_j w_j x_j over `rows` rows of n numbers, where row j starts at x[j] + first.
     * Bit-identical to dot and axpy. */
    void (*dot_rows)(size_t n, size_t rows, const real *q, const real *const *x, size_t first, real *e);
    void (*weighted_sum_rows)(size_t n, size_t rows, const real *w, const real *const *x, size_t first, real *y);

    /* Rotates pairs of numbers, n even: y = c x + s x', where x' is x with the two numbers of each pair exchanged. To
     * rotate pair i by an angle, c_2i = c_2i+1 = cos and -s_2i = s_2i+1 = sin. The backward function adds the opposite
     * rotation: y += c x - s x'. */
    void (*rotate_pairs)(size_t n, const real *x, const real *c, const real *s, real *y);
    void (*rotate_pairs_backward)(size_t n, const real *x, const real *c, const real *s, real *y);

    /* y = max(x, 0); NaN stays NaN. dx += dy where y > 0. */
    void (*relu)(size_t n, const real *x, real *y);
    void (*relu_backward)(size_t n, const real *dy, const real *y, real *dx);
    /* y = x P(x), P the normal distribution (1 + erf(x / sqrt 2)) / 2, with an error below 3e-7 max(1, |x|); 0 or inf
     * at infinity.  dx += dy (P(x) + x P'(x)) */
    void (*gelu)(size_t n, const real *x, real *y);
    void (*gelu_backward)(size_t n, const real *dy, const real *x, real *dx);
    /* y = a s(a) b, s = sigmoid.  da += dy b s(a) (1 + a (1 - s(a))), db += dy a s(a) */
    void (*swiglu)(size_t n, const real *a, const real *b, real *y);
    void (*swiglu_backward)(size_t n, const real *dy, const real *a, const real *b, real *da, real *db);

    /* Bit-identical to attend_rng_dropout_mask. */
    void (*dropout_mask)(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *mask);
    /* y = scale x where the mask is not 0, else 0; apply_dropout_add adds it to y. */
    void (*apply_dropout)(size_t n, const unsigned char *mask, real scale, const real *x, real *y);
    void (*apply_dropout_add)(size_t n, const unsigned char *mask, real scale, const real *x, real *y);

    /* y = gain (x - mean) rstd + bias; returns mean and rstd of the row for backward. */
    void (*layer_norm)(size_t n, const real *x, const real *gain, const real *bias, real epsilon, real *y, real *mean,
                       real *rstd);
    /* Given dy: dx += ..., dgain += dy xhat, dbias += dy; any of the three may be NULL */
    void (*layer_norm_backward)(size_t n, const real *dy, const real *x, const real *gain, real mean, real rstd,
                                real *dx, real *dgain, real *dbias);

    /* Cell gates on one row of hidden size h. gx = W x + bw is the contribution of the input, gh = U h + bu that of the
     * previous state; both (G h), gates in the order of op.h. `saved` receives what backward needs; it may be gx. */

    /* h' = f(gx + gh); h_new may be gx */
    void (*simple)(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new);
    /* dgates = dh f'(.) from h'; dgates may be dh */
    void (*simple_backward)(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates);

    /* Reset after. saved (4 h): r, z, n, and Un h + bun. h_old and h_new may be the same. */
    void (*gru)(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                real *saved);
    /* dgx, dgh (3 h); dh_old += dh z, the gradient that bypasses the gates. dgx may be `saved`. */
    void (*gru_backward)(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved, real *dgx,
                         real *dgh, real *dh_old);

    /* saved (4 h): i, f, g, o; c_new is kept too. c_old and c_new may be the same. */
    void (*lstm)(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                 real *h_new, real *saved);
    /* dgates (4 h) may be `saved`; dc in: dL/dc' from later steps, out: dL/dc. */
    void (*lstm_backward)(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                          const real *saved, real *dgates, real *dc);

    /* LSTM with tanh and deep fusion: c' = f c + i g + r a. gx, gh, saved, dgates (5 h): i, f, g, o, r. */
    void (*lstm_fused)(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                       real *h_new, real *saved);
    /* da is set, not added to */
    void (*lstm_fused_backward)(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                const real *saved, real *dgates, real *dc, real *da);

    /* Prepares a row of n numbers for the two functions below. `prepared` has n numbers, rounded up to a multiple of
     * `panel`; its content is private to the table. Returns false if the row cannot be prepared because a number is too
     * large or NaN; every row with |x| <= 20 can be. */
    bool (*additive_row)(size_t n, const real *x, real *prepared);
    /* e_ij = u . tanh(a_i + b_j), with an error below 1e-6 sum |u|; bit-identical whatever block the pair is in. */
    void (*additive)(const additive_block *t, real *e, size_t e_stride);
    /* With y = tanh(a_i + b_j) of each channel and d = de u (1 - y^2): da_i += sum_j d, db_j += sum_i d, du +=
     * sum de y. A query's da does not depend on the other queries of the block. A pair whose de is 0 is skipped. */
    void (*additive_backward)(const additive_block *t, const additive_gradients *g);

    /* One Adam update of n numbers:
     *     m = beta1 m + rest1 g,  v = beta2 v + rest2 g g,
     *     x -= rate (m correction1 / (sqrt(v correction2) + epsilon) + decay x) */
    void (*adam)(size_t n, const adam_settings *k, const real *g, real *m, real *v, real *x);

    /* Packed weights (gemm.h): the number of columns in a panel, and the product C (m, n) = A (m, k) B (k, n) with B
     * packed; every element is summed over k in ascending order, whatever m is, so a row's result does not depend on
     * the other rows. Rows of A are a_row numbers apart, its columns a_step (1, unless A is read transposed). Panels
     * are panel_stride numbers apart. */
    int panel;
    void (*packed)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                   size_t a_step, const real *b, size_t panel_stride, real *c, size_t ldc);
    /* The same where A is packed too: tiles of tile_rows rows, one after another; within a tile, the tile_rows numbers
     * of each k. The last tile is padded with zeros. k is small enough for a tile and a panel to stay in the cache. */
    int tile_rows;
    void (*packed_tiles)(packed_start start, size_t m, size_t n, size_t k, const real *a, const real *b, real *c,
                         size_t ldc);
    /* `packed` with bfloat16 weights. Rows of A are contiguous. */
    void (*packed_bf16)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                        const uint16_t *b, real *c, size_t ldc);
    /* Products of 8-bit numbers: the consecutive k of a column that lie side by side in packed weights, the bytes of a
     * quantised activation (an int8_t or int16_t), and whether packed weights are stored as unsigned numbers, 128 larger.
     * These follow from the multiply-add instruction of the table. k is padded with zeros to a multiple of int8_depth. */
    unsigned char int8_group, int8_bytes, int8_depth;
    bool int8_unsigned;
    /* q = x / scale rounded to nearest, half to even, where scale = max |x| / limit, so that |q| <= limit (at most 127).
     * Stores the sum of q. Returns the scale; NaN if a number is not finite; 0, with all q 0, if the scale would
     * underflow. */
    real (*quantize)(size_t n, const real *x, int limit, void *q, int32_t *sum);
    void (*packed_int8)(const int8_product *p);
    /* NULL: the instruction set has no products of bfloat16 numbers; halves.c multiplies them in fp32. */
    const bf16_kernels *bf16;
} attend_kernel_table;

/* attend_compute_is_fast (attend/processors.h) for the kernels in use; tf32 is none of theirs. */
bool attend_kernels_are_fast(attend_compute_precision precision);
/* The table in use, selected at first use (see attend_kernel_name). Never NULL. */
const attend_kernel_table *attend_kernel(void);

/* All tables that this machine supports, plain first, NULL-terminated. For tests and benchmarks. */
const attend_kernel_table *const *attend_kernels(void);
/* For tests: selects a table. Not while other threads compute. */
void attend_kernel_select(const attend_kernel_table *table);

#endif
