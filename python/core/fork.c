/* fork.c: a child process has none of the threads of its parent. */
#include "core.h"

#include <pthread.h>

unsigned core_generation = 0;

static void in_child(void)
{
    core_generation++;
}

int core_fork_watch(void)
{
    if (pthread_atfork(NULL, NULL, in_child) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}
