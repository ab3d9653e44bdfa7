/* bench.h: measuring two things in turn, and the table of what came out.
 *
 * On a shared machine absolute times mean little, so everything is a ratio: the work and what it is held against run
 * alternately, several rounds of each, and the best of each counts. */
#ifndef ATTEND_BENCH_H
#define ATTEND_BENCH_H

#include <attend/attend.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bench bench;

/* Something that can be run once; `state` is its own. */
typedef struct work {
    void (*run)(void *state);
    void *state;
} work;

double bench_now(void); /* seconds */

/* Best time of one run of each of the `count` works, run in turn for a few seconds; short ones are repeated within
 * their turn. A work whose `run` is NULL gives 0. */
void bench_race(const bench *b, int count, const work *works, double *seconds);

/* A line of the table. goal 0: none. `ratio` is what the goal speaks of. */
typedef struct result {
    const char *group;
    char name[96];
    char measured[48]; /* "87.1 GFLOP/s" */
    char against[64];  /* "90.3 GFLOP/s, sgemm 2048" */
    double ratio;      /* NAN: could not be measured; `against` says why */
    double goal;
} result;

void bench_report(bench *b, const result *r);

/* Ends the program with the library's message unless all is well. */
void bench_must(int status);

/* `count` words of a vocabulary, the same ones each time. */
void bench_words(int *words, int count, int vocabulary);

/* What the caller asked for. */
bool bench_quick(const bench *b);

/* Best large CBLAS product of one thread so far, GFLOP/s; each call measures once more. */
double bench_ceiling(bench *b);

/* ---- PyTorch in a child process (peer.c); NULL when there is none ---- */
typedef struct peer peer;
peer *bench_peer(bench *b);
/* Asks for the best seconds of a few runs of `task` (peers/torch_peer.py lists them); 0 if it failed. */
double peer_seconds(peer *p, const char *task);
/* Best time of our work, which PyTorch's `task` took turns with; reported as tokens a second. */
double bench_against_peer(bench *b, work ours, const char *task, const char *group, const char *name, double tokens,
                          double goal);
const char *peer_version(const peer *p);
peer *peer_start(void);
void peer_stop(peer *p);

/* ---- real sentences (lengths.c) ---- */

/* Words and an end each. */
typedef struct pair_lengths {
    int source, target;
} pair_lengths;

/* The lengths of the first pairs of a corpus (Multi30k en-de, in the folder ATTEND_DATA); returns how many there are. */
int bench_lengths(pair_lengths *to, int most);
void bench_sort_lengths(pair_lengths *lengths, int count); /* by target, then by source */

/* ---- the groups; each is one file ---- */
void bench_elementary(bench *b);
void bench_products(bench *b);
void bench_cells(bench *b);
void bench_training(bench *b);
void bench_attention(bench *b);
void bench_models(bench *b);
void bench_transformer(bench *b);
void bench_decoding(bench *b);
void bench_transformer_decoding(bench *b);

/* ---- memory ---- */
double bench_status_mib(const char *field); /* of this process: "VmHWM" */
/* What a second bench, which does one thing alone, prints of its peak: this one holds what other groups took. 0: it failed. */
double bench_peak_of(const char *what);
void bench_training_peak(void);             /* "training": trains a little; MiB */
void bench_decoding_peak(const char *what); /* a precision: decodes; MiB over the size of the model file */

/* Numbers in [-1, 1], 64-byte aligned; the program ends if there is no memory. */
float *bench_numbers(size_t n);

#endif
