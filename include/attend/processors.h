/* processors.h: the processors and the memory that this process may use, and the kernel tables that are supported.
 *
 * Purpose    The default number of threads: one for each physical core, also in a container with a CPU quota. The default
 *            limit of memory. And which kernels were chosen, and why.
 * Ownership  All texts are constant.
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_PROCESSORS_H
#define ATTEND_PROCESSORS_H

#include <attend/precision.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_processors {
    int online;   /* logical processors of the machine */
    int allowed;  /* logical processors that this process may run on (its affinity mask) */
    int cores;    /* physical cores of these */
    double quota; /* CPU seconds per second that the control groups (cgroups) of the process allow; 0: unlimited */
    int threads;  /* cores, but not more than the quota, rounded up; at least 1 */
} attend_processors;

/* Reads what the operating system says now. */
attend_processors attend_processors_read(void);
/* The default number of threads: `threads` of attend_processors. */
int attend_processors_threads(void);

/* Bytes of memory that this process may have altogether: those of the machine, or fewer if its control groups allow only
 * that. Does not depend on what is in use. 0: unknown. */
size_t attend_memory_total(void);

typedef struct attend_kernel_info {
    const char *name;  /* "avx512" */
    const char *needs; /* instruction sets: "AVX-512 F and BW" */
    bool supported;    /* by this machine */
    bool in_use;
    bool refused; /* the processor has them, and the operating system does not permit their use */
} attend_kernel_info;

/* The i-th kernel table of the library, slowest first. False: there are not so many. */
bool attend_kernel_at(int i, attend_kernel_info *info);

/* Whether products of this precision are at least as fast as those of fp32 on the device in use (attend/device.h). On the
 * CPU, the others give results of the same precision and are slower: bf16x3 is faster than fp32 with AMX alone; there is no
 * tf32. */
bool attend_compute_is_fast(attend_compute_precision precision);

#ifdef __cplusplus
}
#endif
#endif
