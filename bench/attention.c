/* attention.c: attention on two threads compared with PyTorch; growth of its time and memory with the sequence
 * length. */
#include "bench.h"

#include "kernel/kernel.h"
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arrays and their gradients; `backward`: measure the backward pass too. */
typedef struct problem {
    attend_runner *runner;
    attend_attention_options options;
    attend_arrays arrays;
    attend_array_gradients gradients;
    const float *parameters[4];
    float *dparameters[4];
    float *context, *dcontext;
    float *owned[16];
    int owned_count;
    bool backward;
} problem;

static float *own(problem *p, size_t n, float scale)
{
    float *x = bench_random_floats(n);
    for (size_t i = 0; i < n; i++) x[i] *= scale;
    return p->owned[p->owned_count++] = x;
}

static void run_problem(void *state)
{
    problem *p = state;
    bench_require(attend_runner_forward(p->runner, &p->options, &p->arrays, p->context, NULL, NULL));
    if (p->backward) bench_require(attend_runner_backward(p->runner, p->dcontext, NULL, &p->gradients));
}

static void problem_free(problem *p)
{
    attend_runner_free(p->runner);
    for (int i = 0; i < p->owned_count; i++) free(p->owned[i]);
}

/* The additive score for queries and keys that are already projected. */
static attend_score additive_without_projections(void)
{
    attend_score s = attend_score_additive;
    s.prepare_keys = s.prepare_queries = NULL;
    return s;
}

static void additive_new(problem *p, int threads, int batch, int queries, int keys, int width,
                         const attend_score *score)
{
    const size_t w = (size_t)width, nq = (size_t)batch * (size_t)queries * w, nk = (size_t)batch * (size_t)keys * w;
    *p = (problem){ .options = ATTEND_ATTENTION_OPTIONS_INIT, .backward = true };
    bench_require(attend_runner_new(&p->runner, threads));
    p->options.score = score;
    p->arrays = (attend_arrays){ .batch = batch,
                                 .queries = queries,
                                 .keys = keys,
                                 .query_width = width,
                                 .key_width = width,
                                 .value_width = width,
                                 .attention = width };
    p->arrays.query = own(p, nq, 1), p->arrays.key = own(p, nk, 1);
    const size_t sizes[4] = { w * w, w * w, w, w };
    for (int i = 0; i < 4; i++) {
        p->parameters[i] = own(p, sizes[i], i < 2 ? 1.7f / sqrtf((float)width) : 0.5f / sqrtf((float)width));
        p->dparameters[i] = own(p, sizes[i], 0);
    }
    p->arrays.parameters = p->parameters;
    p->gradients =
        (attend_array_gradients){ .query = own(p, nq, 0), .key = own(p, nk, 0), .parameters = p->dparameters };
    if (!score->prepare_keys) p->arrays.value = own(p, nk, 1), p->gradients.value = own(p, nk, 0);
    p->context = own(p, nq, 0), p->dcontext = own(p, nq, 1);
}

static void dot_new(problem *p, int threads, int length, bool causal, bool backward)
{
    const size_t n = (size_t)8 * 8 * 64 * (size_t)length;
    *p = (problem){ .options = ATTEND_ATTENTION_OPTIONS_INIT, .backward = backward };
    bench_require(attend_runner_new(&p->runner, threads));
    p->options.heads = 8;
    p->options.causal = causal;
    p->arrays = (attend_arrays){ .batch = 8,
                                 .queries = length,
                                 .keys = length,
                                 .query_width = 64,
                                 .key_width = 64,
                                 .value_width = 64,
                                 .heads_first = true };
    p->arrays.query = own(p, n, 1), p->arrays.key = own(p, n, 1), p->arrays.value = own(p, n, 1);
    p->context = own(p, n, 0), p->dcontext = own(p, n, 1);
    if (backward)
        p->gradients = (attend_array_gradients){ .query = own(p, n, 0), .key = own(p, n, 0), .value = own(p, n, 0) };
}

/* Measures our time and the peer's alternately, and returns the best of ours. */
static double compare(bench *b, problem *p, const char *group, const char *name, const char *task, double goal)
{
    peer *other = bench_peer(b);
    double ours = 0, theirs = 0;
    for (int round = 0; round < (bench_quick(b) ? 1 : other ? 3 : 2); round++) {
        double begin = bench_now();
        for (int i = 0; i < 1 || (!bench_quick(b) && bench_now() - begin < 1.5); i++) {
            double start = bench_now();
            run_problem(p);
            double seconds = bench_now() - start;
            if (ours == 0 || seconds < ours) ours = seconds;
        }
        double seconds = other ? peer_seconds(other, task) : 0;
        if (seconds > 0 && (theirs == 0 || seconds < theirs)) theirs = seconds;
    }
    result r = { .group = group, .goal = goal, .ratio = theirs > 0 ? theirs / ours : NAN };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.measured, sizeof r.measured, "%.2f ms", ours * 1e3);
    if (theirs > 0)
        snprintf(r.reference, sizeof r.reference, "%.2f ms, PyTorch %s tuned", theirs * 1e3, peer_version(other));
    else
        snprintf(r.reference, sizeof r.reference, "%s", other ? "PyTorch: failed" : "PyTorch: not available");
    bench_report(b, &r);
    return ours;
}

static void bench_additive(bench *b)
{
    static const char group[] = "additive attention, d 512, forward+backward, 2 threads";
    static const struct {
        int batch, length;
        double goal, unprojected_goal;
    } sizes[] = { { 64, 25, 2.5, 12 }, { 4, 200, 7, 0 }, { 4, 1000, 12, 0 } };
    const attend_score unprojected = additive_without_projections();
    for (size_t i = 0; i < (bench_quick(b) ? 1 : sizeof sizes / sizeof *sizes); i++)
        for (int projected = 1; projected >= 0; projected--) {
            problem p;
            char name[96], task[96];
            const int n = sizes[i].batch, t = sizes[i].length;
            additive_new(&p, 2, n, t, t, 512, projected ? &attend_score_additive : &unprojected);
            snprintf(name, sizeof name, "B %d, T %d x %d, %s", n, t, t,
                     projected ? "with projections" : "score, softmax, context");
            snprintf(task, sizeof task, "additive %d %d %d 512 %s", n, t, t, projected ? "projected" : "unprojected");
            compare(b, &p, group, name, task, projected ? sizes[i].goal : sizes[i].unprojected_goal);
            problem_free(&p);
        }
}

static void bench_dot(bench *b)
{
    static const char group[] = "scaled dot, B 8, H 8, d 64, 2 threads";
    for (int length = 512; length <= (bench_quick(b) ? 512 : 4096); length *= length == 512 ? 4 : 2)
        for (int backward = 0; backward < 2; backward++) {
            double seconds[2];
            for (int causal = 0; causal < 2; causal++) {
                problem p;
                char name[96], task[96];
                dot_new(&p, 2, length, causal, backward);
                snprintf(name, sizeof name, "T %d, %s, %s", length, backward ? "forward+backward" : "forward",
                         causal ? "causal" : "full");
                snprintf(task, sizeof task, "dot %d %s %s", length, causal ? "causal" : "full",
                         backward ? "both" : "forward");
                seconds[causal] = compare(b, &p, group, name, task, 1.2);
                problem_free(&p);
            }
            result r = { .group = group, .goal = 1 / 0.6, .ratio = seconds[0] / seconds[1] };
            snprintf(r.name, sizeof r.name, "T %d, %s, causal vs full", length,
                     backward ? "forward+backward" : "forward");
            snprintf(r.measured, sizeof r.measured, "%.2f ms", seconds[1] * 1e3);
            snprintf(r.reference, sizeof r.reference, "%.2f ms, full", seconds[0] * 1e3);
            bench_report(b, &r);
        }
}

/* One query and 50 keys of width 512: the attention of a decoding step, on one thread. */
typedef struct decoding {
    attend_tile tile;
    float *cache, *score, *scratch, *query, *key;
    const float *parameters[4];
} decoding;

static void run_decoding(void *state)
{
    attend_score_additive.tile(&((decoding *)state)->tile);
}

static void bench_one_step(bench *b)
{
    enum { KEYS = 50, WIDTH = 512 };
    decoding d = { .query = bench_random_floats(WIDTH),
                   .key = bench_random_floats(KEYS * WIDTH),
                   .score = bench_random_floats(KEYS),
                   .cache = bench_random_floats(1 << 20),
                   .scratch = bench_random_floats(1 << 20) };
    float *u = bench_random_floats(WIDTH);
    d.parameters[3] = u;
    if (attend_score_additive.cache_keys) attend_score_additive.cache_keys(KEYS, WIDTH, d.key, WIDTH, d.cache);
    d.tile = (attend_tile){ .queries = 1,
                            .keys = KEYS,
                            .query_width = WIDTH,
                            .key_width = WIDTH,
                            .query = d.query,
                            .query_stride = WIDTH,
                            .key = d.key,
                            .key_stride = WIDTH,
                            .scale = 1,
                            .parameters = d.parameters,
                            .all_keys = KEYS,
                            .scratch = d.scratch,
                            .score = d.score,
                            .cache = attend_score_additive.cache_keys ? d.cache : NULL,
                            .score_stride = KEYS };
    double seconds;
    bench_measure(b, 1, (const work[]){ { run_decoding, &d } }, &seconds);
    result r = { .group = "one decoding step", .goal = 1, .ratio = 20e-6 / seconds };
    snprintf(r.name, sizeof r.name, "additive, 1 query, 50 keys, d 512, 1 thread");
    snprintf(r.measured, sizeof r.measured, "%.2f us", seconds * 1e6);
    snprintf(r.reference, sizeof r.reference, "20 us");
    bench_report(b, &r);
    free(d.query), free(d.key), free(d.score), free(d.cache), free(d.scratch), free(u);
}

/* Resident bytes of this process. The runner keeps its memory, so the growth during a call is its peak. */
static double resident(void)
{
    long pages = 0, unused;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &unused, &pages) != 2) pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Growth of time and memory: additive, B 1, m keys and m queries. */
static void bench_growth(bench *b)
{
    static const char group[] = "growth: additive, B 1, d 512, forward+backward, 2 threads";
    double first_time = 0, first_bytes = 0;
    for (int m = 128; m <= (bench_quick(b) ? 128 : 4096); m *= 2) {
        problem p;
        additive_new(&p, 2, 1, m, m, 512, &attend_score_additive);
        malloc_trim(0); /* memory freed earlier must not hide what this call allocates */
        double begin = bench_now(), before = resident();
        run_problem(&p);
        double seconds = bench_now() - begin, bytes = resident() - before;
        if (first_time == 0) first_time = seconds, first_bytes = bytes;
        result r = { .group = group, .ratio = 64.0 * 1048576 / bytes, .goal = m == 4096 ? 1 : 0 };
        int stars = (int)(3 * log2(seconds / first_time) + 1), dots = (int)(3 * log2(bytes / first_bytes) + 1);
        snprintf(r.name, sizeof r.name, "m = t = %4d  time %-*.*s", m, 31, stars < 0 ? 0 : stars,
                 "*******************************");
        snprintf(r.measured, sizeof r.measured, "%.1f ms, %.1f MiB", seconds * 1e3, bytes / 1048576);
        snprintf(r.reference, sizeof r.reference, "64 MiB %-*.*s", 24, dots < 0 ? 0 : dots, "........................");
        bench_report(b, &r);
        problem_free(&p);
    }
}

void bench_attention(bench *b)
{
    bench_one_step(b);
    bench_additive(b);
    bench_dot(b);
    bench_growth(b);
}
