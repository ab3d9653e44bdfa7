/* device_memory.h: the memory of a device: where the numbers of variables, parameters and gradients lie.
 *
 * Purpose    The tape, parameters and gradients allocate numbers here and move them between host and device. Only the
 *            functions of the device (device/device.h) compute with them; the host never dereferences such a pointer.
 * Threads    All functions may be called from several threads at once.
 * Failure    NULL if memory ran out; the other functions cannot fail. */
#ifndef ATTEND_CORE_DEVICE_MEMORY_H
#define ATTEND_CORE_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct device_memory {
    const char *name;
    bool on_host; /* the host can read and write the numbers, so that public readers return them without a copy */
    /* Aligned to 64 bytes. `take` does not initialise the memory, `take_zeroed` does. */
    void *(*take)(size_t bytes);
    void *(*take_zeroed)(size_t bytes);
    void (*give)(void *p);                                      /* frees; p may be NULL */
    void (*upload)(void *to, const void *from, size_t bytes);   /* host to device */
    void (*download)(void *to, const void *from, size_t bytes); /* device to host; waits for computations */
    void (*copy)(void *to, const void *from, size_t bytes);     /* within the device */
    void (*zero)(void *p, size_t bytes);
    void (*finish)(void); /* waits for all computations */
} device_memory;

/* The device of this process: the CPU, or the one that the environment variable ATTEND_DEVICE names (tests set it to
 * `guard`). The devices are in src/device/, above this layer. */
const device_memory *attend_device_default(void);

#endif
