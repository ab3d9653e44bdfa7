#include "core/machine_memory.h"

#include <attend/processors.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of a version of control groups. */
typedef struct group_files {
    const char *directory, *limit, *used, *stat, *cached; /* cached: the line of `stat` with the pages of files */
} group_files;

static const group_files versions[2] = {
    { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_cache " },
    { "/sys/fs/cgroup", "memory.max", "memory.current", "memory.stat", "file " },
};

static atomic_size_t size_for_tests;

/* The number after `name` at the beginning of a line; SIZE_MAX: the file or the line does not exist, or it has no
 * number ("max"). */
static size_t number_in(const char *path, const char *name)
{
    char line[512], *end;
    size_t number = SIZE_MAX;
    FILE *f = fopen(path, "r");
    while (f && number == SIZE_MAX && fgets(line, sizeof line, f)) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        const unsigned long long n = strtoull(line + strlen(name), &end, 10);
        if (end != line + strlen(name) && n < SIZE_MAX) number = (size_t)n;
    }
    if (f) fclose(f);
    return number;
}

/* all: not only what is available. */
static size_t machine_memory(const char *root, bool all)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (all) {
        const size_t total = number_in(path, "MemTotal:");
        return total > SIZE_MAX >> 11 ? SIZE_MAX : total << 10;
    }
    const size_t available = number_in(path, "MemAvailable:"), swap = number_in(path, "SwapFree:"); /* kB */
    if (available > SIZE_MAX >> 11) return SIZE_MAX;
    return (available + (swap > SIZE_MAX >> 11 ? 0 : swap)) << 10;
}

/* What one control group leaves or, if `all`, allows. */
static size_t group_memory(const char *root, const group_files *files, const char *group, bool all)
{
    char path[PATH_MAX];
    size_t numbers[3];
    const char *const names[3][2] = { { files->limit, "" }, { files->used, "" }, { files->stat, files->cached } };
    for (int i = 0; i < 3; i++) {
        const int length = snprintf(path, sizeof path, "%s%s%s/%s", root, files->directory, group, names[i][0]);
        numbers[i] = length < (int)sizeof path ? number_in(path, names[i][1]) : SIZE_MAX;
    }
    const size_t limit = numbers[0], used = numbers[1] == SIZE_MAX ? 0 : numbers[1];
    const size_t cached = numbers[2] == SIZE_MAX ? 0 : numbers[2], held = used > cached ? used - cached : 0;
    if (limit == SIZE_MAX || all) return limit;
    return limit > held ? limit - held : 0;
}

/* The least of a group and its parents. `group` is changed. */
static size_t groups_memory(const char *root, const group_files *files, char *group, bool all)
{
    size_t least = SIZE_MAX;
    for (;;) {
        const size_t left = group_memory(root, files, group, all);
        if (left < least) least = left;
        char *parent = strrchr(group, '/');
        if (!parent) return least;
        *parent = '\0';
    }
}

static size_t least_memory(const char *root, bool all)
{
    char line[PATH_MAX];
    size_t least = machine_memory(root, all);
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f)) { /* "0::/GROUP", or "NUMBER:CONTROLLER,CONTROLLER:/GROUP" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        const bool unified = strcmp(line, "0:") == 0;
        if (!unified && !strstr(controllers, "memory")) continue;
        const size_t left = groups_memory(root, &versions[unified], group, all);
        if (left < least) least = left;
    }
    if (f) fclose(f);
    return least;
}

size_t attend_machine_memory(const char *root)
{
    return least_memory(root, false);
}

size_t attend_machine_memory_total(const char *root)
{
    return least_memory(root, true);
}

size_t attend_memory_total(void)
{
    const size_t set = atomic_load_explicit(&size_for_tests, memory_order_relaxed);
    const size_t total = set ? set : attend_machine_memory_total("");
    return total == SIZE_MAX ? 0 : total;
}

bool attend_machine_has_memory(size_t bytes, size_t *available)
{
    enum { SMALL = 64 << 20 };
    const size_t set = atomic_load_explicit(&size_for_tests, memory_order_relaxed);
    if (!set && bytes <= SMALL) return true;
    const size_t memory = set ? set : attend_machine_memory("");
    if (available) *available = memory;
    return bytes <= memory;
}

void attend_machine_memory_set(size_t bytes)
{
    atomic_store(&size_for_tests, bytes);
}
