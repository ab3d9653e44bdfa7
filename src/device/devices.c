/* devices.c: the device of this process, and what all devices share. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

const device_memory *attend_device_default(void)
{
    const char *name = getenv("ATTEND_DEVICE");
    return name && strcmp(name, "guard") == 0 ? &attend_device_guard.memory : &attend_device_cpu.memory;
}

attend_compute_precision attend_product_precision(attend_precision weights, attend_compute_precision compute)
{
    if (weights == ATTEND_INT8 || (weights == ATTEND_BFLOAT16 && compute == ATTEND_COMPUTE_BF16X3))
        return ATTEND_COMPUTE_FP32;
    return compute;
}
