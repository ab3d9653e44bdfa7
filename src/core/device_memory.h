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
    bool has_tf32;  /* products can be in TF32 (attend/precision.h) */
    bool is_serial; /* threads of the host take turns, so that several are not faster than one */
    bool on_host;   /* the host can read and write the numbers, so that public readers return them without a copy */
    bool is_wide;   /* computing with a whole array is faster than with some of its rows: gradients are always dense */
    /* Aligned to 64 bytes. `take` does not initialise the memory, `take_zeroed` does; what is never touched of it takes
     * no memory. expect_use states that all of it will be used, so that it may have huge pages. */
    void *(*take)(size_t bytes);
    void *(*take_zeroed)(size_t bytes);
    void (*expect_use)(void *p, size_t bytes);
    void (*give)(void *p);                                      /* frees; p may be NULL */
    void (*upload)(void *to, const void *from, size_t bytes);   /* host to device */
    void (*download)(void *to, const void *from, size_t bytes); /* device to host; waits for computations */
    void (*copy)(void *to, const void *from, size_t bytes);     /* within the device */
    void (*zero)(void *p, size_t bytes);
    void (*finish)(void); /* waits for all computations */
    /* Why the device has failed (a GPU fell off its bus, a kernel faulted); NULL: it works. Afterwards all calls do
     * nothing, and what was computed is not valid. NULL as a function: such a device cannot fail. */
    const char *(*fault)(void);
} device_memory;

/* The device of this process (attend/device.h), which is then in use; NULL after a message: it does not work. The devices
 * are in src/device/, above this layer. */
const device_memory *attend_device_default(void);
/* ATTEND_OK, or ATTEND_FAILED after a message if the device has failed. To be called where results leave the device. */
int attend_device_memory_check(const device_memory *m);
/* Copies numbers from the device to host memory. ATTEND_FAILED after a message if the device has failed: they are not
 * valid. */
int attend_device_memory_read(const device_memory *m, void *to, const void *from, size_t bytes);

#endif
