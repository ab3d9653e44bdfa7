/* functions.h: the functions of a device, as lists from which tables, prototypes and wrappers are made. Only types that C++
 * can read: CUDA sources include it, so that the compiler checks their functions against the lists. */
#ifndef ATTEND_DEVICE_FUNCTIONS_H
#define ATTEND_DEVICE_FUNCTIONS_H

#include "core/compute.h"
#include "device/arguments.h"
#include "device/attention.h"

/* The functions: V(name, parameters, arguments) without a result, R(type, name, parameters, arguments) with one.
 *
 * copy, add                 y = x, y += x for n rows of `width` numbers, given by strides and indices
 * fill                      y = value
 * mul, mul_add              y = a b, y += a b for rows
 * scale, axpy               y = a x, y += a x
 * activate(_backward)       y = f(x); dx += dy f'(x), given y too
 * sum, add_number           *sum = sum x; y += *number
 *
 * pack                      weights in the layout of the device's product: op(B) (k, n) of w, which with `transpose` is
 *                           (n, k), of this precision, for products of the precision c->precision; only fp32 can be
 *                           packed without transposition
 * product                   Y (m, n) = X W' with packed weights, plus a bias (n) or the previous Y
 * widen                     y = x, from float to real: the scales of quantised weights
 * gemm                      a product of two arbitrary matrices, in the precision c->precision
 * gather                    y[i] = table[ids[i]], dequantised
 *
 * layer_norm(_backward), dropout_mask, dropout, swiglu(_backward)
 *                           see the operations of the same names; dropout with `add` adds to y
 * rotary_angles, rotary     cosines and sines of positions first, first + 1, ...; rotates, or with `backward` adds the
 *                           opposite rotation
 * sinusoids                 rows of the sinusoidal encoding of positions first, first + 1, ...
 * add_positions(_backward)  y = scale x + rows[t] for row t of each sequence; drows[t] += dy
 * cell_forward             one step of n sequences: reads r->h; writes r->h, rows of y, `gates` and `cells`
 * cell_backward            replaces r->dh (and r->dc), the gradient after the step, by that before it, and `gates` by the
 *                           derivatives D; the first G blocks of D are those of W x + bw
 * copy_from                 y = *x[i] for n rows given by pointers; NULL: zeros
 * additive_keys             prepares rows of keys for the scores of an LSTMN's attention
 * lstmn_attention           kt, mt and the weights of n rows, in batch order
 * lstmn_attention_backward  given dkt (n, K) and dmt: adds to dk, dm, dkey and dv; replaces queries by derivatives
 * lstmn_gates(_backward)    the gates of n rows
 * cache_keys                fills the caches of the keys of a source
 * attention(_backward)      fused attention: scores, masks, selection, weighted sum, and their gradients
 * beam_attention            attention of hypotheses to the rows of their tokens
 * pack_columns              packed weights of n columns of packed weights
 * next_tokens               log p of the next tokens, or of the best of them; the only function with results in host
 *                           memory, because the search reads them
 * sum_squares               sums[i] = sum x x over sizes[i] numbers x[i], in double; all arrays are in host memory
 * merge                     sum += x, and x = 0: adds the gradients of a shard
 * adam, sgd                 updates of an optimizer; velocity may be NULL
 * average                   y = decay y + (1 - decay) x
 * swap                      exchanges x and y
 * cross_entropy(_backward), alignment_loss(_backward)
 *                           losses and their gradients */
#define ATTEND_DEVICE_FUNCTIONS(V, R)                                                                                  \
    V(copy, (const attend_compute *c, size_t n, size_t width, device_input x, device_output y), (c, n, width, x, y))   \
    V(add, (const attend_compute *c, size_t n, size_t width, device_input x, device_output y), (c, n, width, x, y))    \
    V(fill, (const attend_compute *c, size_t n, real value, real *y), (c, n, value, y))                                \
    V(mul, (const attend_compute *c, size_t n, size_t width, device_input a, device_input b, device_output y),         \
      (c, n, width, a, b, y))                                                                                          \
    V(mul_add, (const attend_compute *c, size_t n, size_t width, device_input a, device_input b, device_output y),     \
      (c, n, width, a, b, y))                                                                                          \
    V(scale, (const attend_compute *c, size_t n, real a, const real *x, real *y), (c, n, a, x, y))                     \
    V(axpy, (const attend_compute *c, size_t n, real a, const real *x, real *y), (c, n, a, x, y))                      \
    V(activate, (const attend_compute *c, device_activation f, size_t n, const real *x, real *y), (c, f, n, x, y))     \
    V(activate_backward,                                                                                               \
      (const attend_compute *c, device_activation f, size_t n, const real *dy, const real *x, const real *y,           \
       real *dx),                                                                                                      \
      (c, f, n, dy, x, y, dx))                                                                                         \
    V(sum, (const attend_compute *c, size_t n, const real *x, real *sum), (c, n, x, sum))                              \
    V(add_number, (const attend_compute *c, size_t n, const real *number, real *y), (c, n, number, y))                 \
    V(pack,                                                                                                            \
      (const attend_compute *c, attend_precision precision, bool transpose, size_t k, size_t n, const void *w,         \
       void *packed),                                                                                                  \
      (c, precision, transpose, k, n, w, packed))                                                                      \
    R(bool, product,                                                                                                   \
      (const attend_compute *c, packed_start start, const real *bias, size_t m, const real *x, size_t ldx,             \
       const packed_matrix *w, real *y, size_t ldy),                                                                   \
      (c, start, bias, m, x, ldx, w, y, ldy))                                                                          \
    V(widen, (const attend_compute *c, size_t n, const float *x, real *y), (c, n, x, y))                               \
    R(bool, gemm, (const attend_compute *c, const device_gemm *g), (c, g))                                             \
    V(gather, (const attend_compute *c, size_t n, const int *ids, const device_table *table, size_t width, real *y),   \
      (c, n, ids, table, width, y))                                                                                    \
    V(layer_norm, (const attend_compute *c, const device_layer_norm *l), (c, l))                                       \
    V(layer_norm_backward, (const attend_compute *c, const device_layer_norm *l), (c, l))                              \
    V(dropout_mask, (const attend_compute *c, const attend_rng *r, size_t n, double p, unsigned char *mask),           \
      (c, r, n, p, mask))                                                                                              \
    V(dropout, (const attend_compute *c, const device_dropout *d, const real *x, real *y, bool add),                   \
      (c, d, x, y, add))                                                                                               \
    V(swiglu, (const attend_compute *c, size_t rows, size_t width, const real *ab, real *y), (c, rows, width, ab, y))  \
    V(swiglu_backward,                                                                                                 \
      (const attend_compute *c, size_t rows, size_t width, const real *dy, const real *ab, real *dab),                 \
      (c, rows, width, dy, ab, dab))                                                                                   \
    V(rotary_angles, (const attend_compute *c, size_t positions, size_t width, int first, real *cosines, real *sines), \
      (c, positions, width, first, cosines, sines))                                                                    \
    V(rotary, (const attend_compute *c, const device_rotary *r, const real *x, real *y, bool backward),                \
      (c, r, x, y, backward))                                                                                          \
    V(sinusoids, (const attend_compute *c, size_t positions, size_t width, int first, real *rows),                     \
      (c, positions, width, first, rows))                                                                              \
    V(add_positions,                                                                                                   \
      (const attend_compute *c, const attend_ragged *s, size_t width, real scale, const real *rows, const real *x,     \
       real *y),                                                                                                       \
      (c, s, width, scale, rows, x, y))                                                                                \
    V(add_positions_backward,                                                                                          \
      (const attend_compute *c, const attend_ragged *s, size_t width, const real *dy, real *drows),                    \
      (c, s, width, dy, drows))                                                                                        \
    R(bool, cell_forward, (const attend_compute *c, const device_cell *r, size_t n), (c, r, n))                        \
    R(bool, cell_backward, (const attend_compute *c, const device_cell *r, size_t n), (c, r, n))                       \
    V(copy_from, (const attend_compute *c, size_t n, size_t width, const real *const *x, device_output y),             \
      (c, n, width, x, y))                                                                                             \
    V(additive_keys, (const attend_compute *c, size_t n, size_t width, device_input x, device_output prepared),        \
      (c, n, width, x, prepared))                                                                                      \
    R(bool, lstmn_attention,                                                                                           \
      (const attend_compute *c, const device_lstmn *l, size_t n, const int *rows, const device_lstmn_view *views),     \
      (c, l, n, rows, views))                                                                                          \
    R(bool, lstmn_attention_backward,                                                                                  \
      (const attend_compute *c, const device_lstmn *l, size_t n, const int *rows, const device_lstmn_view *views,      \
       const real *dkt, device_input dmt),                                                                             \
      (c, l, n, rows, views, dkt, dmt))                                                                                \
    V(lstmn_gates, (const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows), (c, g, n, rows)) \
    V(lstmn_gates_backward, (const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows),         \
      (c, g, n, rows))                                                                                                 \
    R(bool, beam_attention, (const attend_compute *c, const device_beam *b), (c, b))                                   \
    V(pack_columns, (const attend_compute *c, const packed_matrix *from, size_t n, const int *columns, void *packed),  \
      (c, from, n, columns, packed))                                                                                   \
    R(bool, next_tokens, (const attend_compute *c, const device_tokens *t), (c, t))                                    \
    V(cache_keys, (const attend_compute *c, const device_source *s), (c, s))                                           \
    R(bool, attention, (const attend_compute *c, const device_attention *a), (c, a))                                   \
    R(bool, attention_backward, (const attend_compute *c, const device_attention *a), (c, a))                          \
    V(sum_squares, (const attend_compute *c, size_t n, const real *const *x, const size_t *sizes, device_sums sums),   \
      (c, n, x, sizes, sums))                                                                                          \
    V(merge, (const attend_compute *c, size_t n, real *x, real *sum), (c, n, x, sum))                                  \
    V(adam, (const attend_compute *c, size_t n, const adam_settings *s, const real *g, real *m, real *v, real *x),     \
      (c, n, s, g, m, v, x))                                                                                           \
    V(sgd,                                                                                                             \
      (const attend_compute *c, size_t n, const adam_settings *s, real momentum, const real *g, real *velocity,        \
       real *x),                                                                                                       \
      (c, n, s, momentum, g, velocity, x))                                                                             \
    V(average, (const attend_compute *c, size_t n, real decay, const real *x, real *y), (c, n, decay, x, y))           \
    V(swap, (const attend_compute *c, size_t n, real *x, real *y), (c, n, x, y))                                       \
    V(cross_entropy, (const attend_compute *c, const device_loss *l), (c, l))                                          \
    V(cross_entropy_backward, (const attend_compute *c, const device_loss *l), (c, l))                                 \
    V(alignment_loss, (const attend_compute *c, const device_alignment *l), (c, l))                                    \
    V(alignment_loss_backward, (const attend_compute *c, const device_alignment *l), (c, l))

/* What an operation asks before it allocates memory. These functions see no numbers: R(type, name, parameters, arguments).
 *
 * packed_layout      identifies the layout of packed weights. Weights must be packed again when it changes.
 * packed_bytes       the size of packed weights, for products of the precision c->precision
 * cell_parts_bytes   the size of device_cell.parts; 0: not needed
 * additive_width     the size of device_lstmn.v, which is padded with zeros
 * additive_row       the size of a row that additive_keys prepares
 * runs_score         whether `attention` can compute this score, which may be one of the user's */
#define ATTEND_DEVICE_QUERIES(R)                                                                                       \
    R(const void *, packed_layout, (void), ())                                                                         \
    R(size_t, packed_bytes, (const attend_compute *c, attend_precision precision, size_t k, size_t n),                 \
      (c, precision, k, n))                                                                                            \
    R(size_t, cell_parts_bytes, (device_cell_kind kind, size_t hidden), (kind, hidden))                                \
    R(size_t, additive_width, (size_t width), (width))                                                                 \
    R(size_t, additive_row, (size_t width), (width))                                                                   \
    R(bool, runs_score, (const device_score *s), (s))

#endif
