/* plugin.h: what the library and the CUDA plug-in, libattend_cuda.so, tell each other when the library loads it. The plug-in is
 * compiled from the same headers but not linked with the library, so that one command serves machines with and without
 * CUDA. */
#ifndef ATTEND_DEVICE_CUDA_PLUGIN_H
#define ATTEND_DEVICE_CUDA_PLUGIN_H

#include "device/attention.h"
#include <stdbool.h>
#include <stddef.h>

/* Changes with every change of the functions or structs of a device. */
enum { CUDA_PLUGIN_VERSION = 1 };
enum { CUDA_TEXT = 256 };

/* The built-in scores, which the plug-in recognises by their tile functions. */
typedef struct cuda_scores {
    void (*dot)(const attend_tile *t);
    void (*additive)(const attend_tile *t);
    void (*location)(const attend_tile *t);
    void (*location_sensitive)(const attend_tile *t);
} cuda_scores;

/* What the library passes to `open`. */
typedef struct cuda_host {
    cuda_scores scores;
    int device;               /* the number of the GPU */
    int (*must_refuse)(void); /* counts a request for memory; nonzero: it must fail (attend_memory_refused) */
} cuda_host;

/* What the plug-in knows of the GPU it has opened. */
typedef struct cuda_description {
    char name[CUDA_TEXT]; /* such as "NVIDIA H200" */
    int major, minor;     /* compute capability */
    int multiprocessors;
    size_t memory, free_memory; /* bytes */
    int driver, runtime;        /* versions, as 13000 for 13.0 */
    bool has_tf32, has_bf16;
    bool is_emulated;
} cuda_description;

struct attend_device;

/* What the plug-in exports under the name "attend_cuda_plugin". */
typedef struct cuda_plugin {
    unsigned version;              /* CUDA_PLUGIN_VERSION: first in every version */
    size_t real_size, device_size; /* sizeof(real), sizeof(attend_device): those of the library must be equal */
    /* Opens a GPU once per process; NULL: `text` says why not. */
    const struct attend_device *(*open)(const cuda_host *host, cuda_description *description, char text[CUDA_TEXT]);
} cuda_plugin;

#endif
