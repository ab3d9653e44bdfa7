/* plugin_file.h: finds and opens a plug-in of the library: a shared object that needs software which attend is not linked
 * with, such as MPI or CUDA. */
#ifndef ATTEND_CORE_PLUGIN_FILE_H
#define ATTEND_CORE_PLUGIN_FILE_H

#include <limits.h>
#include <stdbool.h>

/* Opens the file that the environment variable `variable` names, else `name` in the first of these directories that has
 * it: that of the program, ../lib/attend from there, the installed one. is_global: other libraries look for its symbols
 * among the global ones. Returns the handle of dlopen and the path; NULL: dlerror says why. */
void *attend_plugin_open(const char *name, const char *variable, bool is_global, char path[PATH_MAX]);

#endif
