/* attention_flash.h: the tiles of attention_tiles.h for long sequences in bf16. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_FLASH_H
#define ATTEND_DEVICE_CUDA_ATTENTION_FLASH_H

#include "device/cuda/attention_view.h"

/* Whether this is faster than tiles; the call is one that tiles serve. */
bool cuda_flash_serves(const cuda_call *call, const cuda_attention &t);
bool cuda_flash_forward(cuda_call *call, const cuda_attention &t);
/* `means`: g o of all rows. */
bool cuda_flash_backward(cuda_call *call, const cuda_attention &t, const real *means);

#endif
