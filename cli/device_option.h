/* device_option.h: --device, the same option for every verb that computes with a model (docs/cuda.md). */
#ifndef ATTEND_CLI_DEVICE_OPTION_H
#define ATTEND_CLI_DEVICE_OPTION_H

#include "options.h"

/* The entry of an option table. The member is a const char *; NULL: not given. */
#define DEVICE_OPTION(offset)                                                                                          \
    {                                                                                                                  \
        "device", "cpu|cuda|cuda:N|auto",                                                                              \
            "device to compute on: the CPU; the first GPU, or GPU number N, from 0; or auto, the first GPU if it "     \
            "works, else the CPU; see docs/cuda.md (default: cpu)",                                                    \
            OPTION_TEXT, offset, 0, 0, NULL                                                                            \
    }

/* What depends on the device if its option is not given. */
typedef struct device_choice {
    const char *device;      /* NULL: not given */
    int *compute;            /* --compute; NULL: the verb does not have it */
    long long *threads;      /* --threads: one drives a GPU */
    long long *batch_tokens; /* --batch-tokens of searches, which a GPU needs larger; NULL: the verb does not have it */
    bool quiet;
} device_choice;

/* Chooses the device, before any model is loaded, and says which GPU it is, or why `auto` chose the CPU. Returns 0, or an exit
 * code after a message. */
int device_option_use(const verb *v, const parsed *p, const device_choice *d);

#endif
