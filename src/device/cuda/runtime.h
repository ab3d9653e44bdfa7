/* runtime.h: the parts of runtime.cu and product.cu from which table.c makes the device. */
#ifndef ATTEND_DEVICE_CUDA_RUNTIME_H
#define ATTEND_DEVICE_CUDA_RUNTIME_H

#include "device/cuda/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

bool cuda_open(const cuda_host *host, cuda_description *d, char *text);
bool cuda_products_open(void);
/* What the GPU or its driver reported; NULL: nothing. After a fault no number is valid, and calls do nothing. */
const char *cuda_fault(void);

void *cuda_memory_take(size_t bytes);
void *cuda_memory_take_zeroed(size_t bytes);
void cuda_memory_expect_use(void *p, size_t bytes);
void cuda_memory_give(void *p);
void cuda_memory_upload(void *to, const void *from, size_t bytes);
void cuda_memory_download(void *to, const void *from, size_t bytes);
void cuda_memory_copy(void *to, const void *from, size_t bytes);
void cuda_memory_zero(void *p, size_t bytes);
void cuda_memory_finish(void);

#ifdef __cplusplus
}
#endif
#endif
