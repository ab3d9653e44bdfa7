#include "device/cuda_plugin.h"

#include "core/memory.h"
#include "core/plugin_file.h"
#include "core/status.h"
#include "device/scores.h"
#include <dlfcn.h>

#ifdef ATTEND_DOUBLE
static const char file_name[] = "libattend_cuda_double.so";
#else
static const char file_name[] = "libattend_cuda.so";
#endif

static const cuda_plugin *plugin; /* NULL: not loaded */
static const attend_device *opened;
static cuda_description description_of_opened;
static int opened_number;

/* Loads the plug-in, which then stays in memory: the CUDA runtime cannot be unloaded. */
static bool load(void)
{
    char path[PATH_MAX];
    if (plugin) return true;
    void *handle = attend_plugin_open(file_name, "ATTEND_CUDA", false, path);
    if (!handle) {
        const char *why = dlerror();
        attend_fail(
            ATTEND_BAD_USAGE,
            "the CUDA plug-in cannot be loaded (%.250s): install the package attend-cuda, or build attend where "
            "nvcc is installed (make CUDA=1)",
            why ? why : file_name);
        return false;
    }
    const cuda_plugin *found = dlsym(handle, "attend_cuda_plugin");
    if (found && found->version == CUDA_PLUGIN_VERSION && found->device_size == sizeof(attend_device) &&
        found->real_size == sizeof(real)) {
        plugin = found;
        return true;
    }
    if (found && found->version == CUDA_PLUGIN_VERSION && found->real_size != sizeof(real))
        attend_fail(ATTEND_BAD_USAGE, "%.250s computes in %s precision, and this program in %s: it needs %s", path,
                    found->real_size == sizeof(float) ? "single" : "double",
                    sizeof(real) == sizeof(float) ? "single" : "double", file_name);
    else
        attend_fail(
            ATTEND_BAD_USAGE,
            "%.250s is not a CUDA plug-in of this version of attend: install the package attend-cuda of the same "
            "version, or build both together",
            path);
    dlclose(handle);
    return false;
}

const attend_device *attend_cuda_open(int number, cuda_description *description)
{
    char why[CUDA_TEXT] = "";
    if (opened && number != opened_number) {
        attend_fail(ATTEND_BAD_USAGE, "this process has opened GPU %d already, and can use no other one",
                    opened_number);
        return NULL;
    }
    if (!opened) {
        const cuda_host host = { .scores = { attend_dot_tile, attend_additive_tile, attend_location_tile,
                                             attend_location_sensitive_tile },
                                 .device = number,
                                 .must_refuse = attend_memory_refused };
        if (!load()) return NULL;
        opened = plugin->open(&host, &description_of_opened, why);
        opened_number = number;
        if (!opened) attend_fail(ATTEND_BAD_USAGE, "GPU %d cannot be used: %s", number, why);
    }
    *description = description_of_opened;
    return opened;
}
