/* devices.c: the device of this process. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

const device_memory *attend_device_default(void)
{
    const char *name = getenv("ATTEND_DEVICE");
    return name && strcmp(name, "guard") == 0 ? &attend_device_guard.memory : &attend_device_cpu.memory;
}
