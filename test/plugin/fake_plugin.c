/* fake_plugin.c: plug-ins for test_device, in place of libattend_cuda.so. FAKE_VERSION, FAKE_REAL_SIZE and FAKE_WHY (why there
 * is no GPU; NULL: there is one, without functions) say what is wrong with it. */
#include "device/cuda/plugin.h"
#include "device/device.h"
#include <stdio.h>
#include <stdlib.h>

static const attend_device table = { .memory = { .name = "cuda", .give = free, .take = malloc } };

static const struct attend_device *open_device(const cuda_host *host, cuda_description *d, char text[CUDA_TEXT])
{
    static const char *const why = FAKE_WHY;
    if (why) {
        snprintf(text, CUDA_TEXT, "%s", why);
        return NULL;
    }
    if (!host->scores.dot || !host->must_refuse) abort();
    snprintf(d->name, sizeof d->name, "fake GPU %d", host->device);
    d->major = 9, d->memory = 1000, d->driver = 13000, d->has_tf32 = true;
    return &table;
}

__attribute__((visibility("default"))) const cuda_plugin attend_cuda_plugin;
const cuda_plugin attend_cuda_plugin = {
    .version = FAKE_VERSION, .real_size = FAKE_REAL_SIZE, .device_size = sizeof(attend_device), .open = open_device
};
