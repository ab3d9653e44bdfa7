/* bench.c: compares attend with the limits of this machine and, if available, with PyTorch.
 *     bench [--json] [--quick|--brief] [--no-peers] [--compute PRECISION] [--only GROUP]
 * A result below its goal is reported, not an error. ATTEND_PEER_PYTHON names a Python interpreter with PyTorch. */
#include "bench.h"
#include "training_steps.h"

#include <attend/model.h>

#include "core/memory.h"
#include "kernel/gemm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RESULTS = 128 };

static const double MIN_SLICE = 30e-3; /* minimum seconds of a measurement */

struct bench {
    bool json, quick, brief, peers;
    const char *only, *compute;
    peer *torch, *ctranslate2;
    bool torch_tried, ctranslate2_tried;
    result results[MAX_RESULTS];
    int count;
};

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_require(int status)
{
    if (status == ATTEND_OK) return;
    fprintf(stderr, "bench: %s\n", attend_message());
    exit(1);
}

void bench_random_tokens(int *tokens, int count, int vocabulary)
{
    unsigned seed = 1;
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tokens[i] = ATTEND_FIRST_TOKEN + (int)(seed >> 8) % (vocabulary - ATTEND_FIRST_TOKEN);
    }
}

bool bench_quick(const bench *b)
{
    return b->quick;
}

bool bench_brief(const bench *b)
{
    return b->quick || b->brief;
}

float *bench_random_floats(size_t n)
{
    float *p = attend_memory_aligned(n * sizeof *p); /* aligned as the library's own weights and activations */
    if (!p) {
        fprintf(stderr, "bench: no memory for %zu floats\n", n);
        exit(1);
    }
    unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
    }
    return p;
}

static double time_of(work w, int repeats)
{
    double begin = bench_now();
    for (int i = 0; i < repeats; i++) w.run(w.state);
    return (bench_now() - begin) / repeats;
}

void bench_measure(const bench *b, int count, const work *works, double *seconds)
{
    enum { MAX_WORKS = 8 };
    int repeats[MAX_WORKS] = { 0 };
    for (int i = 0; i < count; i++) {
        seconds[i] = 0;
        if (!works[i].run) continue;
        time_of(works[i], 1); /* warm-up: page faults, packed copies */
        double once = time_of(works[i], 1);
        repeats[i] = b->quick ? 1 : (int)(MIN_SLICE / (once + 1e-9)) + 1;
    }
    double begin = bench_now(), budget = b->quick ? 0 : b->brief ? 1 : 4;
    for (int round = 0; round < (b->quick ? 1 : 3) || bench_now() - begin < budget; round++)
        for (int i = 0; i < count; i++) {
            if (!works[i].run) continue;
            /* the caches hold data of the previous function: warm up short ones */
            if (repeats[i] > 1) time_of(works[i], 1);
            double t = time_of(works[i], repeats[i]);
            if (seconds[i] == 0 || t < seconds[i]) seconds[i] = t;
        }
}

peer *bench_peer(bench *b)
{
    if (!b->torch_tried && b->peers) b->torch = peer_start("torch_peer.py");
    b->torch_tried = true;
    return b->torch;
}

peer *bench_ctranslate2(bench *b)
{
    if (!b->ctranslate2_tried && b->peers) b->ctranslate2 = peer_start("ctranslate2_peer.py");
    b->ctranslate2_tried = true;
    return b->ctranslate2;
}

double bench_compare_with_peer(bench *b, work ours, const char *task, const char *group, const char *name,
                               double tokens, double goal)
{
    peer *p = bench_peer(b);
    double best = 0, theirs = 0;
    for (int round = 0; round < (b->quick ? 1 : b->brief ? 2 : 4); round++) {
        double seconds;
        bench_measure(b, 1, &ours, &seconds);
        if (best == 0 || seconds < best) best = seconds;
        const double s = p ? peer_seconds(p, task) : 0;
        if (s > 0 && (theirs == 0 || s < theirs)) theirs = s;
    }
    result r = { .group = group, .goal = goal, .ratio = theirs > 0 ? theirs / best : NAN };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.measured, sizeof r.measured, "%.0f tokens/s", tokens / best);
    if (theirs > 0)
        snprintf(r.reference, sizeof r.reference, "%.0f, PyTorch %s tuned", tokens / theirs, peer_version(p));
    else
        snprintf(r.reference, sizeof r.reference, "PyTorch: %s", p ? "failed" : "not available");
    bench_report(b, &r);
    return best;
}

/* ---- memory ---- */

double bench_status_mib(const char *field)
{
    char line[128];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0) kib = strtod(line + strlen(field) + 1, NULL);
    if (f) fclose(f);
    return kib / 1024;
}

double bench_peak_memory(const char *what)
{
    char self[512], command[600], line[64] = "";
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return 0;
    self[n] = '\0';
    snprintf(command, sizeof command, "'%s' --peak %s", self, what);
    FILE *f = popen(command, "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = '\0';
    if (f) pclose(f);
    return strtod(line, NULL);
}

/* ---- results ---- */

void bench_report(bench *b, const result *r)
{
    if (b->count < MAX_RESULTS) b->results[b->count++] = *r;
    if (b->json) return;
    if (b->count == 1 || strcmp(b->results[b->count - 2].group, r->group) != 0)
        printf("\n%-58s %-20s %-38s %7s %6s\n", r->group, "ours", "peer or ceiling", "ratio", "goal");
    printf("  %-56s %-20s %-38s ", r->name, r->measured, r->reference);
    if (isnan(r->ratio))
        printf("%7s ", "-");
    else
        printf("%7.2f ", r->ratio);
    if (r->goal > 0) printf("%6.2f %s", r->goal, isnan(r->ratio) ? "" : r->ratio >= r->goal ? "met" : "SHORT");
    printf("\n");
    fflush(stdout);
}

/* The goals that were not met, together. */
static void print_summary(const bench *b)
{
    int met = 0, short_of = 0;
    for (int i = 0; i < b->count; i++) {
        const result *r = &b->results[i];
        if (r->goal <= 0 || isnan(r->ratio)) continue;
        if (r->ratio >= r->goal)
            met++;
        else
            short_of++;
    }
    printf("\n%d goals met, %d short%s\n", met, short_of, short_of ? ":" : "");
    for (int i = 0; i < b->count; i++) {
        const result *r = &b->results[i];
        if (r->goal > 0 && r->ratio < r->goal) printf("  %.2f of %.2f  %s: %s\n", r->ratio, r->goal, r->group, r->name);
    }
}

static void print_json(const bench *b)
{
    printf("{\"kernel\": \"%s\", \"ceiling_gflops\": %.2f, \"peer\": \"%s\", \"results\": [", attend_kernel_name(),
           bench_peak(), b->torch ? peer_version(b->torch) : "");
    for (int i = 0; i < b->count; i++) {
        const result *r = &b->results[i];
        printf("%s\n  {\"group\": \"%s\", \"name\": \"%s\", \"measured\": \"%s\", \"against\": \"%s\", \"ratio\": ",
               i ? "," : "", r->group, r->name, r->measured, r->reference);
        if (isnan(r->ratio))
            printf("null");
        else
            printf("%.4f", r->ratio);
        printf(", \"goal\": %.2f}", r->goal);
    }
    printf("\n]}\n");
}

static const struct {
    const char *name;
    void (*run)(bench *b);
} groups[] = { { "elementary", bench_elementary },
               { "products", bench_products },
               { "cells", bench_cells },
               { "training", bench_training },
               { "attention", bench_attention },
               { "models", bench_models },
               { "threads", bench_threads },
               { "transformer", bench_transformer },
               { "ranks", bench_ranks },
               { "rank-model", bench_rank_model },
               { "decoding", bench_decoding },
               { "transformer-decoding", bench_transformer_decoding },
               { "gpu", bench_gpu } };
enum { GROUPS = sizeof groups / sizeof *groups };

static int usage(FILE *to)
{
    fprintf(to, "usage: bench [--json] [--quick|--brief] [--no-peers] [--compute PRECISION] [--only GROUP]\n"
                "  --json      print one JSON object instead of the table\n"
                "  --quick     run every benchmark once, to check that it works; the times are not meaningful\n"
                "  --brief     less time for each measurement, and only one kind of batch for each model\n"
                "  --no-peers  do not compare with PyTorch and CTranslate2 (ATTEND_PEER_PYTHON names their Python "
                "interpreter)\n"
                "  --compute   precision of the products of training: fp32, bf16x3 or bf16 (PyTorch: autocast)\n"
                "  --only      run one group:");
    for (int i = 0; i < GROUPS; i++) fprintf(to, " %s", groups[i].name);
    fprintf(to, "\n");
    return to == stdout ? 0 : 2;
}

static bool is_group(const char *name)
{
    for (int i = 0; i < GROUPS; i++)
        if (strcmp(groups[i].name, name) == 0) return true;
    return false;
}

static bool use_compute(const char *name)
{
    for (int i = 0; attend_compute_names[i]; i++)
        if (strcmp(name, attend_compute_names[i]) == 0) {
            steps_use_compute((attend_compute_precision)i);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    static bench b = { .peers = true, .compute = "fp32" };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            b.json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            b.quick = true;
        else if (strcmp(argv[i], "--brief") == 0)
            b.brief = true;
        else if (strcmp(argv[i], "--peak") == 0 && i + 1 < argc) /* internal: see bench_peak_memory */
            return strcmp(argv[i + 1], "training") == 0 ? bench_print_training_peak()
                                                        : bench_print_decoding_peak(argv[i + 1]),
                   0;
        else if (strcmp(argv[i], "--no-peers") == 0)
            b.peers = false;
        else if (strcmp(argv[i], "--compute") == 0 && i + 1 < argc && use_compute(argv[i + 1]))
            b.compute = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc && is_group(argv[i + 1]))
            b.only = argv[++i];
        else
            return usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
    }
    if (!b.json) bench_print_machine(b.compute), bench_print_ceilings();
    for (int i = 0; i < GROUPS; i++)
        if (!b.only || strcmp(b.only, groups[i].name) == 0) groups[i].run(&b);
    if (b.json)
        print_json(&b);
    else
        print_summary(&b);
    peer_stop(b.torch);
    peer_stop(b.ctranslate2);
    return 0;
}
