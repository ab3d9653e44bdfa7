#include "core/plugin_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef ATTEND_PLUGIN_DIRECTORY
#define ATTEND_PLUGIN_DIRECTORY "/usr/lib/attend"
#endif

/* The directory of this program; "": unknown. */
static void find_program(char directory[PATH_MAX])
{
    const ssize_t size = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    directory[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash) *slash = '\0';
}

void *attend_plugin_open(const char *name, const char *variable, bool is_global, char path[PATH_MAX])
{
    const char *const given = getenv(variable);
    char program[PATH_MAX];
    find_program(program);
    for (int i = 0; i < 3; i++) {
        int size = 0;
        if (given)
            size = snprintf(path, PATH_MAX, "%s", given);
        else if (i == 2)
            size = snprintf(path, PATH_MAX, "%s/%s", ATTEND_PLUGIN_DIRECTORY, name);
        else
            size = snprintf(path, PATH_MAX, "%s%s/%s", program, i == 0 ? "" : "/../lib/attend", name);
        if (size >= PATH_MAX || (!given && i < 2 && (!*program || access(path, F_OK) != 0))) continue;
        return dlopen(path, RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    }
    path[0] = '\0';
    return NULL;
}
