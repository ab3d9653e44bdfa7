/* machine_memory.h: how much memory the process can still use.
 *
 * Purpose    Linux grants more memory than there is and ends a process that uses it. Whatever is about to fill much
 *            memory asks here first, so that it fails with a message instead.
 * Method     The available memory and the free swap space of the machine (/proc/meminfo), and what the control groups
 *            of the process and their parents leave (versions 1 and 2; pages of files do not count as used, because
 *            the system can drop them). Where nothing of this can be read, memory is taken to be unlimited.
 * Threads    Any thread may call these functions, except the one for tests. */
#ifndef ATTEND_CORE_MACHINE_MEMORY_H
#define ATTEND_CORE_MACHINE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are available; SIZE_MAX: unknown. The files are read in the directory `root`, normally "". */
size_t attend_machine_memory(const char *root);
/* The same, whether it is in use or not, and without swap space. */
size_t attend_machine_memory_total(const char *root);
/* Whether `bytes` more fit. *available (may be NULL) is set if they do not. Small amounts always fit: nothing is read
 * for them. */
bool attend_machine_has_memory(size_t bytes, size_t *available);

/* For tests: the machine has so many bytes; 0: what it really has. */
void attend_machine_memory_set(size_t bytes);

#endif
