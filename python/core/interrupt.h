/* interrupt.h: Ctrl-C while the library works without the GIL. */
#ifndef ATTEND_PYTHON_INTERRUPT_H
#define ATTEND_PYTHON_INTERRUPT_H

#include "core.h"

#include <pthread.h>
#include <stdatomic.h>

/* Between begin and end the GIL is released. The library asks `core_interrupted` whether to stop, on any of its threads;
 * the one that called looks for signals, whose handlers may raise an exception. */
typedef struct core_interrupt {
    PyThreadState *state;
    pthread_t caller;
    double checked; /* when the signals were checked last, in seconds */
    atomic_bool stops;
} core_interrupt;

void core_interrupt_begin(core_interrupt *i);
/* Takes the GIL. True: an exception is set. */
bool core_interrupt_end(core_interrupt *i);
/* `user` is a core_interrupt. */
bool core_interrupted(void *user);

#endif
