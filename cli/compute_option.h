/* compute_option.h: --compute, the same option for every verb that multiplies matrices (docs/speed.md). */
#ifndef ATTEND_CLI_COMPUTE_OPTION_H
#define ATTEND_CLI_COMPUTE_OPTION_H

#include "options.h"

#include <attend/precision.h>

/* The entry of an option table. The member is an int, an attend_compute_precision. */
#define COMPUTE_OPTION(offset)                                                                                         \
    {                                                                                                                  \
        "compute", NULL,                                                                                               \
            "precision of matrix products; see docs/speed.md and docs/cuda.md (default: fp32; on a GPU, tf32 if it "   \
            "has it)",                                                                                                 \
            OPTION_CHOICE, offset, 0, 0, attend_compute_names                                                          \
    }

/* Says on standard error that this precision is slower than fp32 with the kernels of this machine, if it is. */
void compute_option_note(const verb *v, int compute);

#endif
