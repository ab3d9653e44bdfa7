/* rank_report.c: what the user should know about the ranks before the first update: how many threads and cores they have,
 * whether they share cores, whether there is work for all threads, and how long they will wait for the network. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include <attend/processors.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct rank_facts {
    int32_t threads, cores, allowed, online;
    uint64_t affinity; /* a hash of the processors that it may run on */
    double seconds_per_token;
} rank_facts;

static uint64_t hash_affinity(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? XXH3_64bits(&set, sizeof set) : 0;
}

static bool is_same_host(const attend_ranks *r, int a, int b)
{
    return strcmp(attend_ranks_host(r, a), attend_ranks_host(r, b)) == 0;
}

/* ---- threads and cores ---- */

/* Whether two ranks run on the same processors. */
static bool share_processors(const attend_ranks *r, const rank_facts *all, int a, int b)
{
    return is_same_host(r, a, b) && all[a].affinity == all[b].affinity;
}

/* The cores of all machines that the ranks may use, each once. */
static int count_cores(const attend_ranks *r, const rank_facts *all)
{
    int cores = 0;
    for (int i = 0; i < attend_ranks_count(r); i++) {
        bool is_counted = false;
        for (int k = 0; k < attend_ranks_count(r); k++)
            is_counted |=
                (k < i && share_processors(r, all, i, k)) ||
                /* a rank that is not bound has the cores of those that are */
                (k != i && is_same_host(r, i, k) && all[i].allowed < all[i].online && all[k].allowed == all[k].online);
        cores += is_counted ? 0 : all[i].cores;
    }
    return cores;
}

static int report_threads(training_run *run, const rank_facts *all)
{
    const attend_ranks *r = run->options.ranks;
    const int count = attend_ranks_count(r);
    int machines = 0, threads = 0;
    bool is_even = true;
    for (int i = 0; i < count; i++) {
        bool is_first = true;
        for (int k = 0; k < i; k++) is_first = is_first && !is_same_host(r, i, k);
        machines += is_first, threads += all[i].threads;
        is_even = is_even && all[i].threads == all[0].threads;
    }
    const int cores = count_cores(r, all), shown = is_even ? all[0].threads : threads;
    attend_training_notice(run, "ranks       %d on %d machine%s, %d thread%s %s, %d core%s", count, machines,
                           machines == 1 ? "" : "s", shown, shown == 1 ? "" : "s", is_even ? "each" : "in total", cores,
                           cores == 1 ? "" : "s");
    return threads;
}

/* A launcher that binds ranks to cores may give one core to several threads. */
static void report_binding(training_run *run, const rank_facts *all)
{
    const attend_ranks *r = run->options.ranks;
    for (int i = 0; i < attend_ranks_count(r); i++) {
        if (all[i].threads <= all[i].allowed) continue;
        attend_training_notice(
            run,
            "rank %d on %s has %d thread%s and may run on %d processor%s only: give each rank more "
            "(mpirun --bind-to none, or --map-by slot:PE=%d; srun --cpus-per-task=%d), or use fewer threads",
            i, attend_ranks_host(r, i), all[i].threads, all[i].threads == 1 ? "" : "s", all[i].allowed,
            all[i].allowed == 1 ? "" : "s", all[i].threads, all[i].threads);
        return; /* the others are alike */
    }
}

/* Ranks that are not bound, or are bound to the same cores, share them. */
static void report_sharing(training_run *run, const rank_facts *all)
{
    const attend_ranks *r = run->options.ranks;
    for (int i = 0; i < attend_ranks_count(r); i++) {
        int threads = 0, ranks = 0;
        for (int k = 0; k < attend_ranks_count(r); k++)
            if (share_processors(r, all, i, k)) threads += all[k].threads, ranks++;
        if (ranks < 2 || threads <= all[i].allowed) continue;
        attend_training_notice(run,
                               "%d ranks on %s run %d threads on %d processor%s%s: use fewer ranks or threads there%s",
                               ranks, attend_ranks_host(r, i), threads, all[i].allowed, all[i].allowed == 1 ? "" : "s",
                               all[i].allowed < all[i].online ? ", to which all of them are bound" : "",
                               all[i].allowed < all[i].online ? ", or bind each to others" : "");
        return;
    }
}

/* ---- work and network ---- */

/* Seconds for a small message, and bytes per second, to the next rank. */
static int measure_network(attend_ranks *r, double *latency, double *bandwidth)
{
    enum { SMALL = 64, LARGE = 1 << 20, REPEATS = 4 };
    const int count = attend_ranks_count(r), rank = attend_ranks_rank(r);
    char *memory = attend_memory_zeroed(2, LARGE);
    double seconds[2] = { 0, 0 };
    int status = memory ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to measure the network");
    for (int large = 0; large < 2; large++)
        for (int i = 0; status == ATTEND_OK && i < REPEATS; i++) {
            const size_t size = large ? LARGE : SMALL;
            const rank_transfer list[] = { { (rank + 1) % count, true, memory, size },
                                           { (rank + count - 1) % count, false, memory + LARGE, size } };
            const double start = attend_training_time();
            status = attend_ranks_exchange(r, list, 2);
            const double time = attend_training_time() - start;
            if (i == 1 || (i > 1 && time < seconds[large])) seconds[large] = time; /* the first one waits for others */
        }
    attend_memory_free(memory);
    *latency = seconds[0];
    *bandwidth = LARGE / (seconds[1] > 1e-9 ? seconds[1] : 1e-9);
    return status;
}

static void report_work(training_run *run, const rank_facts *all, int threads, double latency, double bandwidth)
{
    enum { EXCHANGES = 4 }; /* of an update: outcome, gradients, norm, weights */
    const int count = attend_ranks_count(run->options.ranks);
    double slowest = 0;
    for (int i = 0; i < count; i++)
        if (all[i].seconds_per_token > slowest) slowest = all[i].seconds_per_token;
    const attend_corpus_counts n = attend_corpus_count(run->train);
    /* batches count the longer side of a pair, shards both */
    const double longer = (double)(n.source_ids > n.target_ids + n.pairs ? n.source_ids : n.target_ids + n.pairs);
    const double tokens = (double)run->options.batch_tokens * run->options.accumulate *
                          ((double)n.source_ids + (double)n.target_ids + (double)n.pairs) / longer;
    const double shards = tokens / run->options.shard_tokens;
    const double compute = slowest * tokens / (shards < threads ? (shards < 1 ? 1 : shards) : threads);
    const double bytes = 2.0 * (count - 1) / count * (double)attend_params_size(run->model->params) * sizeof(real);
    const double exchange = bytes / bandwidth + EXCHANGES * latency;
    if (shards < threads)
        attend_training_notice(run,
                               "an update has about %.0f shard%s for %d threads, so that some have no work: use larger "
                               "batches or accumulate more of them",
                               shards < 1 ? 1 : shards, shards < 1.5 ? "" : "s", threads);
    attend_training_notice(run, "exchange    %.1f MB by each rank in an update, about %.0f %% of its time",
                           bytes * 1e-6, 100 * exchange / (exchange + compute));
}

int attend_training_report_ranks(training_run *run, double seconds_per_token)
{
    attend_ranks *r = run->options.ranks;
    const int count = attend_ranks_count(r);
    const attend_processors p = attend_processors_read();
    rank_facts *all = attend_memory_zeroed((size_t)count, sizeof *all);
    size_t *offsets = attend_memory_zeroed((size_t)count + 1, sizeof *offsets);
    double latency = 0, bandwidth = 1;
    int status = all && offsets ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to compare %d ranks", count);
    if (status == ATTEND_OK) {
        all[attend_ranks_rank(r)] =
            (rank_facts){ run->options.threads, p.cores, p.allowed, p.online, hash_affinity(), seconds_per_token };
        for (int i = 0; i <= count; i++) offsets[i] = (size_t)i * sizeof *all;
        status = attend_ranks_all_gather(r, all, offsets);
    }
    if (status == ATTEND_OK) status = measure_network(r, &latency, &bandwidth);
    if (status == ATTEND_OK) {
        const int threads = report_threads(run, all);
        report_binding(run, all);
        report_sharing(run, all);
        report_work(run, all, threads, latency, bandwidth);
    }
    attend_memory_free(all);
    attend_memory_free(offsets);
    return status;
}
