/* attention_rows.h: the passes of the general path of attention, which serves every combination of scores, windows, masks
 * and selections (attention.cu). Backward works on chunks of rows, of which it holds the weights and the gradients of the
 * scores. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_ROWS_H
#define ATTEND_DEVICE_CUDA_ATTENTION_ROWS_H

#include "device/cuda/attention_view.h"

/* Rows [first, last), and arrays (last - first, keys), zero where a key is not visible. */
struct cuda_chunk {
    size_t first, last;
    real *p;         /* the weights */
    real *w;         /* those that multiplied the values; may be p */
    real *de;        /* dL/de, before the cap was applied */
    real *dcapped;   /* dL/de after the cap: the gradient of the bias; NULL: not needed */
    real *dposition; /* (rows): the part of each row; NULL: not needed */
};

/* Scores, selection, weights and context of all rows. */
bool cuda_rows_forward(cuda_call *call, const cuda_attention &t);
/* Fills the arrays of a chunk. `prepared`: p holds scores, unless the weights are stored, and de holds g . v. */
void cuda_rows_backward(const cuda_attention &t, const cuda_chunk &c, bool prepared);

/* Additive scores of many queries and keys, all of which are visible (attention_additive.cu): the passes of forward and
 * backward as products of matrices. */
bool cuda_additive_serves(const cuda_attention &t);
bool cuda_additive_forward(cuda_call *call, const cuda_attention &t, const cuda_chunk &c);
/* p, w, de, and the gradients of queries, keys, values; `parts` (cuda_additive_parts, heads, query width) of du or NULL. */
bool cuda_additive_backward(cuda_call *call, const cuda_attention &t, const cuda_chunk &c, real *parts);
size_t cuda_additive_parts(const cuda_attention &t);
/* Turns the scores p of a chunk into the weights that multiply the values. */
void cuda_rows_select(const cuda_attention &t, const cuda_chunk &c);

/* dL/dkey, dL/dvalue, and unless the score is location-sensitive dL/dquery and the partial sums of dL/du: `parts`
 * (cuda_u_parts, heads, query width) or NULL. */
void cuda_row_gradients(const cuda_attention &t, const cuda_chunk &c, real *parts);
size_t cuda_u_parts(const cuda_attention &t);
/* dL/dbias and dL/dposition. */
void cuda_bias_gradient(const cuda_attention &t, const cuda_chunk &c);
void cuda_position_gradient(const cuda_attention &t, const cuda_chunk &c);
/* All gradients of location-sensitive scores except that of the key; `memory` has cuda_location_space numbers. */
void cuda_location_gradients(const cuda_attention &t, const cuda_chunk &c, real *memory);
size_t cuda_location_space(const cuda_attention &t);

/* sum[i] += parts[0][i] + parts[1][i] + ... */
void cuda_add_parts(size_t parts, size_t n, const real *from, real *sum);

#endif
