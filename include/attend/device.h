/* device.h: the device on which this process computes: the CPU, or a GPU through the CUDA plug-in (docs/cuda.md).
 *
 * Purpose    Models, operations and training run on either without a change. A process uses one device: it is chosen
 *            before the first context or model is made.
 * Plug-in    CUDA is not linked with the library. The plug-in, libattend_cuda.so, is loaded when a GPU is chosen: the file
 *            that the environment variable ATTEND_CUDA names, else one beside the program, in ../lib/attend from there,
 *            or in the directory where it is installed. libattend_double loads libattend_cuda_double.so.
 * Ownership  All texts belong to the library and stay valid until the process ends.
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_DEVICE_H
#define ATTEND_DEVICE_H

#include <attend/precision.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses the device of this process:
 *     cpu      the CPU, the default
 *     cuda     the first GPU; the environment variable CUDA_VISIBLE_DEVICES says which GPUs there are
 *     cuda:N   GPU number N, counted from 0
 *     auto     the first GPU if it works, else the CPU; attend_device_describe says why
 * Without a call, the environment variable ATTEND_DEVICE names the device. ATTEND_BAD_USAGE: there is no such device, its
 * plug-in is missing or it does not work, as the message says; or another device is in use already. The choice is then
 * unchanged. */
int attend_device_select(const char *name);

typedef struct attend_device_info {
    const char *name;     /* "cpu" or "cuda:0" */
    const char *model;    /* "NVIDIA H200"; of the CPU: the kernels in use */
    const char *fallback; /* `auto` was chosen: why the CPU is used; NULL: a GPU is used, or `auto` was not chosen */
    bool is_gpu;          /* the members below are 0 for the CPU */
    int major, minor;     /* compute capability */
    int multiprocessors;
    size_t memory, free_memory; /* bytes; free when the GPU was opened */
    int driver, runtime; /* the versions of CUDA that the driver supports and that the plug-in uses: 13000 is 13.0 */
    bool has_tf32, has_bf16; /* products in these formats are fast */
} attend_device_info;

/* The device that this process uses, or will use unless another is chosen. A device that the environment names and that does
 * not work has the model "", and attend_message() says why. */
attend_device_info attend_device_describe(void);

/* The precision of products that programs should use unless they are told otherwise: fp32 on the CPU, tf32 on a GPU that
 * has it (has_tf32). Contexts and options of the library begin with fp32. */
attend_compute_precision attend_compute_default(void);

/* Whether the device in use still works: ATTEND_FAILED if it failed, such as a GPU that fell off its bus. Nothing that was
 * computed since then is valid, functions that read results fail in the same way, and only a new process can use the
 * device again. */
int attend_device_check(void);

#ifdef __cplusplus
}
#endif
#endif
