/* tables.h: all kernel tables, and their functions that are defined in other files. */
#ifndef ATTEND_TABLES_H
#define ATTEND_TABLES_H

#include "kernel/kernel.h"

extern const attend_kernel_table attend_plain_table;
#if defined(ATTEND_X86)
extern const attend_kernel_table attend_avx2_table;
extern const attend_kernel_table attend_avx512_table;
extern const attend_kernel_table attend_avx512vnni_table;
extern const attend_kernel_table attend_avx512bf16_table;
extern const attend_kernel_table attend_amx_table;
#elif defined(ATTEND_NEON)
extern const attend_kernel_table attend_neon_table;
extern const attend_kernel_table attend_neondot_table;
#endif

/* plain_cells.c */
void attend_plain_simple(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new);
void attend_plain_simple_backward(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates);
void attend_plain_gru(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                      real *saved);
void attend_plain_gru_backward(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved,
                               real *dgx, real *dgh, real *dh_old);
void attend_plain_lstm(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                       real *h_new, real *saved);
void attend_plain_lstm_backward(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                                const real *saved, real *dgates, real *dc);
void attend_plain_lstm_fused(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                             real *h_new, real *saved);
void attend_plain_lstm_fused_backward(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                      const real *saved, real *dgates, real *dc, real *da);
/* plain_additive.c */
bool attend_plain_additive_row(size_t n, const real *x, real *prepared);
void attend_plain_additive(const additive_block *t, real *e, size_t e_stride);
void attend_plain_additive_backward(const additive_block *t, const additive_gradients *g);
/* plain_activations.c */
void attend_plain_relu(size_t n, const real *x, real *y);
void attend_plain_relu_backward(size_t n, const real *dy, const real *y, real *dx);
void attend_plain_gelu(size_t n, const real *x, real *y);
void attend_plain_gelu_backward(size_t n, const real *dy, const real *x, real *dx);
void attend_plain_swiglu(size_t n, const real *a, const real *b, real *y);
void attend_plain_swiglu_backward(size_t n, const real *dy, const real *a, const real *b, real *da, real *db);
void attend_plain_apply_dropout(size_t n, const unsigned char *mask, real scale, const real *x, real *y);
void attend_plain_apply_dropout_add(size_t n, const unsigned char *mask, real scale, const real *x, real *y);
/* plain_packed.c */
void attend_plain_packed(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a,
                         size_t a_row, size_t a_step, const real *b, size_t panel_stride, real *c, size_t ldc);
void attend_plain_packed_tiles(packed_start start, size_t m, size_t n, size_t k, const real *a, const real *b, real *c,
                               size_t ldc);
void attend_plain_packed_bf16(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a,
                              size_t a_row, const uint16_t *b, real *c, size_t ldc);
/* plain_int8.c */
real attend_plain_quantize(size_t n, const real *x, int limit, void *q, int32_t *sum);
void attend_plain_packed_int8(const int8_product *p);

#ifdef VNAME /* inside vector_*.c */
extern const attend_kernel_table VNAME(table), VINT8(table);

/* vector_rows.c */
void VNAME(exp)(size_t n, const real *x, real *y);
void VNAME(tanh)(size_t n, const real *x, real *y);
void VNAME(sigmoid)(size_t n, const real *x, real *y);
real VNAME(max)(size_t n, const real *x);
real VNAME(exp_sum)(size_t n, const real *x, real shift, real *y);
real VNAME(sum)(size_t n, const real *x);
real VNAME(dot)(size_t n, const real *x, const real *y);
double VNAME(sum_squares)(size_t n, const real *x);
void VNAME(add)(size_t n, const real *x, real *y);
void VNAME(axpy)(size_t n, real a, const real *x, real *y);
void VNAME(weighted_sum)(size_t n, size_t rows, const real *w, const real *x, size_t stride, real *y);
void VNAME(dot_rows)(size_t n, size_t rows, const real *q, const real *const *x, size_t first, real *e);
void VNAME(weighted_sum_rows)(size_t n, size_t rows, const real *w, const real *const *x, size_t first, real *y);
void VNAME(scale)(size_t n, real a, real *x);
void VNAME(mul)(size_t n, const real *a, const real *b, real *y);
void VNAME(mul_add)(size_t n, const real *a, const real *b, real *y);
void VNAME(scale_shift)(size_t n, real a, real scale, const real *x, real *y);
void VNAME(rotate_pairs)(size_t n, const real *x, const real *c, const real *s, real *y);
void VNAME(rotate_pairs_backward)(size_t n, const real *x, const real *c, const real *s, real *y);
void VNAME(layer_norm)(size_t n, const real *x, const real *gain, const real *bias, real epsilon, real *y, real *mean,
                       real *rstd);
void VNAME(layer_norm_backward)(size_t n, const real *dy, const real *x, const real *gain, real mean, real rstd,
                                real *dx, real *dgain, real *dbias);
void VNAME(adam)(size_t n, const adam_settings *k, const real *g, real *m, real *v, real *x);
/* vector_cells.c */
void VNAME(simple)(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new);
void VNAME(simple_backward)(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates);
void VNAME(gru)(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                real *saved);
void VNAME(gru_backward)(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved, real *dgx,
                         real *dgh, real *dh_old);
void VNAME(lstm)(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                 real *h_new, real *saved);
void VNAME(lstm_backward)(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                          const real *saved, real *dgates, real *dc);
void VNAME(lstm_fused)(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                       real *h_new, real *saved);
void VNAME(lstm_fused_backward)(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                const real *saved, real *dgates, real *dc, real *da);
/* vector_additive.c */
bool VNAME(additive_row)(size_t n, const real *x, real *prepared);
void VNAME(additive)(const additive_block *t, real *e, size_t e_stride);
void VNAME(additive_backward)(const additive_block *t, const additive_gradients *g);
/* vector_activations.c */
void VNAME(relu)(size_t n, const real *x, real *y);
void VNAME(relu_backward)(size_t n, const real *dy, const real *y, real *dx);
void VNAME(gelu)(size_t n, const real *x, real *y);
void VNAME(gelu_backward)(size_t n, const real *dy, const real *x, real *dx);
void VNAME(swiglu)(size_t n, const real *a, const real *b, real *y);
void VNAME(swiglu_backward)(size_t n, const real *dy, const real *a, const real *b, real *da, real *db);
void VNAME(apply_dropout)(size_t n, const unsigned char *mask, real scale, const real *x, real *y);
void VNAME(apply_dropout_add)(size_t n, const unsigned char *mask, real scale, const real *x, real *y);
void VNAME(dropout_mask)(const attend_rng *r, uint64_t i, size_t n, double p, unsigned char *mask);
/* vector_packed.c */
void VNAME(packed)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                   size_t a_step, const real *b, size_t panel_stride, real *c, size_t ldc);
void VNAME(packed_tiles)(packed_start start, size_t m, size_t n, size_t k, const real *a, const real *b, real *c,
                         size_t ldc);
void VNAME(packed_bf16)(packed_start start, const real *bias, size_t m, size_t n, size_t k, const real *a, size_t a_row,
                        const uint16_t *b, real *c, size_t ldc);
/* vector_int8.c */
real VINT8(quantize)(size_t n, const real *x, int limit, void *q, int32_t *sum);
void VINT8(packed_int8)(const int8_product *p);
#ifdef VBF16
extern const attend_kernel_table VBF16(table);
/* vector_bf16.c */
extern const bf16_kernels VBF16(kernels);
void VBF16(split)(size_t n, const real *x, uint16_t *high, uint16_t *low);
void VBF16(split_pairs)(size_t n, const real *x, const real *y, uint16_t *high, uint16_t *low);
#endif
#endif

#endif
