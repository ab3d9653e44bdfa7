/* dlpack.h: the structs of DLPack, the interface by which array libraries share memory (https://dmlc.github.io/dlpack,
 * version 0.8, which all of them read). */
#ifndef ATTEND_PYTHON_DLPACK_H
#define ATTEND_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1 };
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BOOL = 6 };

typedef struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t rank;
    uint8_t type, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: contiguous */
    uint64_t byte_offset;
} dlpack_tensor;

typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

#define DLPACK_NAME "dltensor" /* of a capsule; one whose content was taken over is "used_dltensor" */

#endif
