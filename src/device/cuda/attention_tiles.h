/* attention_tiles.h: attention over tiles of queries and keys by tensor cores, in memory that does not grow with queries times
 * keys: dot scores with soft selection, without bias, mask or weights of the caller. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_TILES_H
#define ATTEND_DEVICE_CUDA_ATTENTION_TILES_H

#include "device/cuda/attention_view.h"

/* Whether tiles can compute this call, forward or backward. */
bool cuda_tiles_serve(cuda_call *call, const cuda_attention &t);
/* False: memory ran out. */
bool cuda_tiles_forward(cuda_call *call, const cuda_attention &t);
/* `means`: (rows) numbers of scratch memory. */
bool cuda_tiles_backward(cuda_call *call, const cuda_attention &t, real *means);

#endif
