/* machine.c: the processor as the kernel describes it, and the class of machine by which goals are chosen. */
#include "bench.h"

#include <attend/processors.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 8192 };

/* Copies the value of the first line of /proc/cpuinfo with this name; empty if there is none. */
static void processor_field(const char *name, char *value, size_t size)
{
    static char line[MAX_TEXT];
    FILE *f = fopen("/proc/cpuinfo", "r");
    *value = '\0';
    while (f && !*value && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0) continue;
        colon += strspn(colon, ": \t");
        snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (f) fclose(f);
}

bool bench_has(const char *feature)
{
    static char features[MAX_TEXT];
    if (!*features) processor_field("flags", features, sizeof features);
    if (!*features) processor_field("Features", features, sizeof features); /* aarch64 */
    const size_t length = strlen(feature);
    for (const char *at = features; (at = strstr(at, feature)) != NULL; at += length)
        if ((at == features || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    return false;
}

bool bench_has_amx(void)
{
    return bench_has("amx_bf16");
}

double bench_goal(double without_amx, double with_amx)
{
    return bench_has_amx() ? with_amx : without_amx;
}

void bench_print_machine(const char *compute)
{
    /* those that kernels are chosen by */
    static const char *const features[] = { "avx2",        "fma",         "avx512f",  "avx512bw",
                                            "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16",
                                            "amx_int8",    "asimd",       "asimddp" };
    char model[256];
    processor_field("model name", model, sizeof model);
    printf("machine: %s, %d cores;", *model ? model : "unknown model", attend_processors_read().cores);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (bench_has(features[i])) printf(" %s", features[i]);
    printf("\nkernels: %s; training computes in %s; goals: machines %s AMX\n", attend_kernel_name(), compute,
           bench_has_amx() ? "with" : "without");
}
