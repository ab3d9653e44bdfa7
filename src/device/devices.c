/* devices.c: the device of this process, and what all devices share. */
#include "device/device.h"

#include "core/fork_lock.h"
#include "core/status.h"
#include "device/cuda_plugin.h"
#include "kernel/kernel.h"
#include <attend/device.h>
#include <attend/processors.h>
#include <attend/version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 32, FALLBACK = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static const device_memory *chosen;                      /* NULL: none yet */
static char name_of_chosen[NAME], fallback[FALLBACK];
static cuda_description gpu;
static const device_memory *_Atomic in_use; /* set by the first context or parameter set; it does not change */

static int unknown(const char *name)
{
    return attend_fail(ATTEND_BAD_USAGE, "unknown device '%.40s': expected cpu, cuda, cuda:N or auto", name);
}

/* The number of a GPU: "cuda" is 0, "cuda:N" is N; -1: another name. */
static int gpu_number(const char *name)
{
    if (strcmp(name, "cuda") == 0) return 0;
    if (strncmp(name, "cuda:", 5) != 0) return -1;
    char *end;
    const long number = strtol(name + 5, &end, 10);
    return name[5] >= '0' && name[5] <= '9' && *end == '\0' && number < 1024 ? (int)number : -1;
}

static void choose(const device_memory *memory, const char *name)
{
    chosen = memory;
    snprintf(name_of_chosen, sizeof name_of_chosen, "%s", name);
}

static int choose_gpu(int number)
{
    char name[NAME];
    cuda_description d;
    const attend_device *device = attend_cuda_open(number, &d);
    if (!device) return ATTEND_BAD_USAGE;
    snprintf(name, sizeof name, "cuda:%d", number);
    gpu = d;
    choose(&device->memory, name);
    return ATTEND_OK;
}

/* Chooses a device, with the lock. */
static int choose_named(const char *name)
{
    const int number = gpu_number(name);
    fallback[0] = '\0';
    if (number >= 0) return choose_gpu(number);
    if (strcmp(name, "auto") == 0) {
        if (choose_gpu(0) == ATTEND_OK) return ATTEND_OK;
        snprintf(fallback, sizeof fallback, "%s", attend_message());
        choose(&attend_device_cpu.memory, "cpu");
    } else if (strcmp(name, "cpu") == 0) {
        choose(&attend_device_cpu.memory, "cpu");
    } else if (strcmp(name, "guard") == 0) {
        choose(&attend_device_guard.memory, "guard");
    } else {
        return unknown(name);
    }
    return ATTEND_OK;
}

/* Chooses the device that the environment names, unless one was chosen, with the lock. */
static int choose_default(void)
{
    if (chosen) return ATTEND_OK;
    const char *name = getenv("ATTEND_DEVICE");
    return choose_named(name && *name ? name : "cpu");
}

/* Whether a name means the device in use, with the lock. */
static bool is_in_use(const char *name)
{
    char number[NAME];
    snprintf(number, sizeof number, "cuda:%d", gpu_number(name));
    return strcmp(name, name_of_chosen) == 0 || strcmp(number, name_of_chosen) == 0;
}

int attend_device_select(const char *name)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, name);
    attend_fork_lock(&lock);
    int status = ATTEND_OK;
    if (!in_use)
        status = choose_named(name);
    else if (!is_in_use(name))
        status = attend_fail(ATTEND_BAD_USAGE,
                             "this process computes on %s already: choose the device before the first context or model",
                             name_of_chosen);
    attend_fork_unlock(&lock);
    return status;
}

const device_memory *attend_device_default(void)
{
    if (in_use) return in_use;
    attend_fork_lock(&lock);
    if (choose_default() == ATTEND_OK) in_use = chosen;
    attend_fork_unlock(&lock);
    return in_use;
}

attend_device_info attend_device_describe(void)
{
    attend_fork_lock(&lock);
    attend_device_info info = { .name = getenv("ATTEND_DEVICE"), .model = "" };
    if (choose_default() == ATTEND_OK) {
        info = (attend_device_info){ .name = name_of_chosen, .model = attend_kernel_name() };
        if (fallback[0]) info.fallback = fallback;
        if (gpu_number(name_of_chosen) >= 0)
            info = (attend_device_info){ .name = name_of_chosen,
                                         .model = gpu.name,
                                         .is_gpu = true,
                                         .major = gpu.major,
                                         .minor = gpu.minor,
                                         .multiprocessors = gpu.multiprocessors,
                                         .memory = gpu.memory,
                                         .free_memory = gpu.free_memory,
                                         .driver = gpu.driver,
                                         .runtime = gpu.runtime,
                                         .has_tf32 = gpu.has_tf32,
                                         .has_bf16 = gpu.has_bf16 };
    }
    attend_fork_unlock(&lock);
    return info;
}

int attend_device_memory_check(const device_memory *m)
{
    const char *fault = m->fault ? m->fault() : NULL;
    if (!fault) return ATTEND_OK;
    return attend_fail(
        ATTEND_FAILED,
        "%s (%.100s) has failed: %.200s. Nothing that it computed since is valid or was saved; start the "
        "program again to continue from what is saved",
        name_of_chosen, gpu.name, fault);
}

int attend_device_memory_read(const device_memory *m, void *to, const void *from, size_t bytes)
{
    m->download(to, from, bytes);
    return attend_device_memory_check(m);
}

int attend_device_check(void)
{
    return in_use ? attend_device_memory_check(in_use) : ATTEND_OK;
}

/* ---- precision of products ---- */

bool attend_compute_is_fast(attend_compute_precision precision)
{
    ATTEND_REQUIRE(false, (unsigned)precision <= ATTEND_COMPUTE_TF32);
    const attend_device_info d = attend_device_describe();
    if (!d.is_gpu) return precision != ATTEND_COMPUTE_TF32 && attend_kernels_are_fast(precision);
    return precision == ATTEND_COMPUTE_FP32 || (precision == ATTEND_COMPUTE_TF32 && d.has_tf32) ||
           (precision == ATTEND_COMPUTE_BF16 && d.has_bf16);
}

attend_compute_precision attend_compute_default(void)
{
    const attend_device_info d = attend_device_describe();
    return d.is_gpu && d.has_tf32 ? ATTEND_COMPUTE_TF32 : ATTEND_COMPUTE_FP32;
}

attend_compute_precision attend_product_precision(attend_precision weights, attend_compute_precision compute)
{
    if (weights == ATTEND_INT8 || (weights == ATTEND_BFLOAT16 && compute == ATTEND_COMPUTE_BF16X3))
        return ATTEND_COMPUTE_FP32;
    return compute;
}
