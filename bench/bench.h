/* bench.h: alternating measurements, and the table of results.
 *
 * On a shared machine absolute times vary, so every result is a ratio: the code under test and its reference run
 * alternately for several rounds, and the best time of each is used. */
#ifndef ATTEND_BENCH_H
#define ATTEND_BENCH_H

#include <attend/attend.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bench bench;

/* A function to measure and its argument. */
typedef struct work {
    void (*run)(void *state);
    void *state;
} work;

double bench_now(void); /* seconds */

/* Measures `count` functions alternately for a few seconds and stores the best time of one run of each. Short ones
 * are repeated within a round. A function that is NULL gives 0. */
void bench_measure(const bench *b, int count, const work *works, double *seconds);

/* A line of the table. The goal is a minimum for `ratio`; 0: no goal (see bench_goal). */
typedef struct result {
    const char *group;
    char name[96];
    char measured[48];  /* "87.1 GFLOP/s" */
    char reference[64]; /* "118.1 GFLOP/s, peak" */
    double ratio;       /* NAN: not measured; `reference` holds the reason */
    double goal;
} result;

void bench_report(bench *b, const result *r);

/* Exits with the library's message unless the status is ATTEND_OK. */
void bench_require(int status);

/* Writes `count` pseudorandom tokens of a vocabulary, the same in each call. */
void bench_random_tokens(int *tokens, int count, int vocabulary);

/* Whether --quick was given. */
bool bench_quick(const bench *b);
/* Whether --quick or --brief was given. */
bool bench_brief(const bench *b);

/* ---- the machine (machine.c) and its ceilings (ceiling.c) ---- */

bool bench_has(const char *feature); /* a feature of the processor, as /proc/cpuinfo names it: "avx512_vnni" */
bool bench_has_amx(void);
/* The goal for this class of machine. */
double bench_goal(double without_amx, double with_amx);
void bench_print_machine(const char *compute); /* the precision of training */
/* GFLOP/s of independent multiply-adds of the kernel table in use, on one thread; the best so far. Each call measures
 * again for a millisecond. */
double bench_peak(void);
/* The share of the peak that `w` reaches on one thread, in which it computes `operations`: the median of many rounds, each
 * of which measures the peak immediately before and after `w`. Clocks change within seconds, on shared machines by a
 * third, so that the best times of the two can belong to different clocks. Stores the medians of both speeds in G
 * operations per second. */
double bench_share_of_peak(const bench *b, work w, double operations, double *speed, double *peak);
void bench_print_ceilings(void); /* of all instruction sets of the processor */

/* ---- PyTorch and CTranslate2, each in a child process (peer.c); NULL: not available ---- */
typedef struct peer peer;
peer *bench_peer(bench *b); /* PyTorch */
peer *bench_ctranslate2(bench *b);
/* The best time in seconds of a few runs of `task` (listed in peers/torch_peer.py and ctranslate2_peer.py); 0 if it failed. */
double peer_seconds(peer *p, const char *task);
/* Measures `ours` and PyTorch's `task` alternately, reports both in tokens per second, and returns our best time. */
double bench_compare_with_peer(bench *b, work ours, const char *task, const char *group, const char *name,
                               double tokens, double goal);
const char *peer_version(const peer *p);
peer *peer_start(const char *script); /* the name of a file in bench/peers */
void peer_stop(peer *p);

/* ---- lengths of real sentences (sentence_lengths.c) ---- */

/* Tokens of a sentence pair, including the end tokens. */
typedef struct pair_lengths {
    int source, target;
} pair_lengths;

/* Reads the lengths of up to `max_count` first pairs of Multi30k en-de in the directory ATTEND_DATA; returns their
 * number. */
int bench_sentence_lengths(pair_lengths *lengths, int max_count);
void bench_sort_sentence_lengths(pair_lengths *lengths, int count); /* by target, then by source */

/* ---- the groups of results ---- */
void bench_elementary(bench *b);
void bench_products(bench *b);
void bench_cells(bench *b);
void bench_training(bench *b);
void bench_attention(bench *b);
void bench_models(bench *b);
void bench_threads(bench *b);
void bench_ranks(bench *b);
void bench_rank_model(bench *b); /* in ranks.c */
void bench_transformer(bench *b);
void bench_decoding(bench *b);
void bench_transformer_decoding(bench *b);
void bench_gpu(bench *b); /* only with ATTEND_DEVICE=cuda */

/* ---- memory ---- */
double bench_status_mib(const char *field); /* a field of /proc/self/status, such as "VmHWM", in MiB */
/* Runs a second bench process with --peak and returns the number it prints, since the peak of this process includes
 * other groups. 0: it failed. */
double bench_peak_memory(const char *what);
void bench_print_training_peak(void);             /* --peak training: trains for a few steps; MiB */
void bench_print_decoding_peak(const char *what); /* --peak PRECISION: decodes; MiB minus the model file */

/* n pseudorandom numbers in [-1, 1], 64-byte aligned, to be freed by the caller. Exits if memory runs out. */
float *bench_random_floats(size_t n);

#endif
