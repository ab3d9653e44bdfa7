/* table.c: the table of the CUDA device, and the entry of the plug-in. In C, because the types of contexts are. */
#include "device/cuda/runtime.h"
#include "device/device.h"

#define ATTEND_PROTOTYPE(name, parameters, arguments)              void attend_cuda_##name parameters;
#define ATTEND_RESULT_PROTOTYPE(type, name, parameters, arguments) type attend_cuda_##name parameters;
ATTEND_DEVICE_FUNCTIONS(ATTEND_PROTOTYPE, ATTEND_RESULT_PROTOTYPE)
ATTEND_DEVICE_QUERIES(ATTEND_RESULT_PROTOTYPE)

#define ATTEND_ENTRY(name, parameters, arguments)              .name = attend_cuda_##name,
#define ATTEND_RESULT_ENTRY(type, name, parameters, arguments) .name = attend_cuda_##name,
static const attend_device table = { .memory = { .name = "cuda",
                                                 .has_tf32 = true,
                                                 .is_serial = true,
                                                 .is_wide = true,
                                                 .take = cuda_memory_take,
                                                 .take_zeroed = cuda_memory_take_zeroed,
                                                 .expect_use = cuda_memory_expect_use,
                                                 .give = cuda_memory_give,
                                                 .upload = cuda_memory_upload,
                                                 .download = cuda_memory_download,
                                                 .copy = cuda_memory_copy,
                                                 .zero = cuda_memory_zero,
                                                 .finish = cuda_memory_finish,
                                                 .fault = cuda_fault },
                                     ATTEND_DEVICE_FUNCTIONS(ATTEND_ENTRY, ATTEND_RESULT_ENTRY)
                                         ATTEND_DEVICE_QUERIES(ATTEND_RESULT_ENTRY) };

static const struct attend_device *open_device(const cuda_host *host, cuda_description *description,
                                               char text[CUDA_TEXT])
{
    return cuda_open(host, description, text) ? &table : NULL;
}

__attribute__((visibility("default"))) const cuda_plugin attend_cuda_plugin;
const cuda_plugin attend_cuda_plugin = {
    .version = CUDA_PLUGIN_VERSION, .real_size = sizeof(real), .device_size = sizeof(attend_device), .open = open_device
};
