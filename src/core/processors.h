/* processors.h: the private part of attend/processors.h, for tests. */
#ifndef ATTEND_CORE_PROCESSORS_H
#define ATTEND_CORE_PROCESSORS_H

#include <attend/processors.h>

/* The physical cores among `count` logical processors, which are described below `root`/sys. */
int attend_processors_cores(const char *root, const int *processors, int count);
/* The CPU quota of the process, from `root`/proc/self/cgroup and `root`/sys/fs/cgroup; 0: unlimited. */
double attend_processors_quota(const char *root);

#endif
