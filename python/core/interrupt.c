#include "interrupt.h"

#include <time.h>

static const double interval = 0.05; /* between two checks, in seconds */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void core_interrupt_begin(core_interrupt *i)
{
    i->caller = pthread_self();
    i->checked = now();
    atomic_store(&i->stops, false);
    i->state = PyEval_SaveThread();
}

bool core_interrupt_end(core_interrupt *i)
{
    PyEval_RestoreThread(i->state);
    return atomic_load(&i->stops) && PyErr_Occurred();
}

bool core_interrupted(void *user)
{
    core_interrupt *i = user;
    if (atomic_load_explicit(&i->stops, memory_order_relaxed)) return true;
    if (!pthread_equal(pthread_self(), i->caller)) return false;
    const double time = now();
    if (time - i->checked < interval) return false;
    PyEval_RestoreThread(i->state);
    if (PyErr_CheckSignals() < 0) atomic_store(&i->stops, true);
    i->state = PyEval_SaveThread();
    i->checked = now();
    return atomic_load(&i->stops);
}
