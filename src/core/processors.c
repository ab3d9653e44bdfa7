/* processors.c: the processors that this process may use, as Linux describes them in /sys, /proc and its control
 * groups. Anything that cannot be read does not limit. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "core/processors.h"

#include <attend/parse.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024, LINE = 1024, MAX_PROCESSORS = CPU_SETSIZE };

/* The first line of a file, without its end. */
static bool first_line(const char *path, char *line)
{
    FILE *f = fopen(path, "re");
    if (!f) return false;
    const bool read = fgets(line, LINE, f) != NULL;
    fclose(f);
    if (read) line[strcspn(line, "\n")] = '\0';
    return read;
}

/* ---- cores ---- */

static bool core_id(const char *root, int processor, const char *file, long long *id)
{
    char path[PATH], line[LINE];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, processor, file);
    return first_line(path, line) && attend_parse_integer(line, NULL, id);
}

/* Two hyper-threads of a core have the same core in the same package. */
int attend_processors_cores(const char *root, const int *processors, int count)
{
    long long core[MAX_PROCESSORS], package[MAX_PROCESSORS];
    int cores = 0;
    for (int i = 0; i < count && i < MAX_PROCESSORS; i++) {
        if (!core_id(root, processors[i], "core_id", &core[cores]) ||
            !core_id(root, processors[i], "physical_package_id", &package[cores]))
            return count; /* unknown: count them all */
        int known = 0;
        while (known < cores && (core[known] != core[cores] || package[known] != package[cores])) known++;
        if (known == cores) cores++;
    }
    return cores;
}

/* ---- control groups ---- */

static double smaller_quota(double a, double b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* "QUOTA PERIOD" in microseconds, or "max PERIOD". */
static double quota_v2(const char *path)
{
    char line[LINE];
    const char *end;
    double quota, period;
    if (!first_line(path, line) || !attend_parse_real(line, &end, &quota) || !attend_parse_real(end, NULL, &period))
        return 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

static double quota_v1(const char *directory)
{
    char path[PATH + 32], line[LINE];
    long long quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
    if (!first_line(path, line) || !attend_parse_integer(line, NULL, &quota)) return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!first_line(path, line) || !attend_parse_integer(line, NULL, &period)) return 0;
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* The smallest quota of a group and its ancestors. Inside a container the path of a group may not exist; its root
 * does. */
static double quota_of_group(const char *mount, const char *group, bool v1)
{
    char path[PATH];
    double quota = 0;
    snprintf(path, sizeof path, "%s%s", mount, group);
    const size_t root = strlen(mount);
    for (;;) {
        size_t length = strlen(path);
        while (length > root && path[length - 1] == '/') path[--length] = '\0';
        char file[PATH + 32];
        snprintf(file, sizeof file, "%s/cpu.max", path);
        quota = smaller_quota(quota, v1 ? quota_v1(path) : quota_v2(file));
        if (length <= root) return quota;
        char *slash = strrchr(path, '/');
        if (!slash || slash < path + root) return quota;
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup are "ID:CONTROLLERS:PATH"; version 2 has no controllers. */
double attend_processors_quota(const char *root)
{
    char path[PATH], line[LINE], mount[PATH];
    double quota = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0', controllers++;
        char list[LINE];
        snprintf(list, sizeof list, ",%s,", controllers);
        const bool v1 = strstr(list, ",cpu,") != NULL;
        if (!v1 && *controllers) continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, v1 ? "/cpu" : "");
        quota = smaller_quota(quota, quota_of_group(mount, group, v1));
    }
    if (f) fclose(f);
    return quota;
}

/* ---- all together ---- */

attend_processors attend_processors_read(void)
{
    int list[MAX_PROCESSORS], count = 0;
    cpu_set_t set;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    attend_processors p = { .online = online > 0 ? (int)online : 1 };
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < MAX_PROCESSORS; i++)
            if (CPU_ISSET((size_t)i, &set)) list[count++] = i;
        p.allowed = count;
        p.cores = attend_processors_cores("", list, count);
    } else { /* more processors than a set can hold */
        p.allowed = p.cores = p.online;
    }
    p.quota = attend_processors_quota("");
    const double limit = p.quota > 0 ? ceil(p.quota) : p.cores;
    p.threads = limit < p.cores ? (int)limit : p.cores;
    if (p.threads < 1) p.threads = 1;
    return p;
}

int attend_processors_threads(void)
{
    return attend_processors_read().threads;
}
