/* batcher_worker.c: decodes the batches of a batcher. */
#include "decode/batcher.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/tape.h"
#include "decode/search.h"
#include <stdio.h>

/* Memory that a context keeps between batches. */
enum { MAX_KEPT_BYTES = 64 << 20 };

/* ---- contexts ---- */

static int reserve_contexts(attend_batcher *b, batcher_worker *w, int count)
{
    if (count <= w->context_count) return ATTEND_OK;
    attend_ctx **contexts = attend_memory_zeroed((size_t)count, sizeof *contexts);
    if (!contexts) return attend_fail(ATTEND_NO_MEMORY, "no memory for an ensemble of %d models", count);
    for (int i = 0; i < w->context_count; i++) contexts[i] = w->contexts[i];
    attend_memory_free(w->contexts);
    w->contexts = contexts;
    while (w->context_count < count) {
        const int status = attend_ctx_new(&contexts[w->context_count]);
        if (status != ATTEND_OK) return status;
        attend_ctx_set_pool(contexts[w->context_count++], b->pool);
    }
    return ATTEND_OK;
}

static int prepare_contexts(attend_batcher *b, batcher_worker *w, const translator_setup *s)
{
    int status = reserve_contexts(b, w, s->model_count);
    for (int i = 0; status == ATTEND_OK && i < s->model_count; i++)
        status = attend_ctx_set_compute(w->contexts[i], s->o.compute);
    return status;
}

/* ---- decoding ---- */

/* The requests of a search. */
typedef struct stops {
    attend_batcher *batcher;
    batcher_worker *worker;
    attend_future *const *futures;
} stops;

/* Also ends what was cancelled or expired in the queue, so that this does not wait for the end of a batch. */
static bool must_stop(void *user, int source)
{
    const stops *s = user;
    attend_batcher_queue_sweep(s->batcher, s->worker);
    return attend_future_verdict(s->futures[source], attend_batcher_clock()) != ATTEND_FUTURE_RUNNING;
}

static void report(void *user, int source, int step, const attend_search_branch *branches, int count)
{
    const stops *s = user;
    const attend_future *f = s->futures[source];
    if (f->branches) f->branches(f->user, 0, step, branches, count);
}

/* Ends a request that was decoded, or stopped. */
static void end(attend_future *f, int status, bool is_stopped)
{
    if (status == ATTEND_OK && !is_stopped) {
        attend_future_end(f, ATTEND_FUTURE_DONE);
        return;
    }
    if (is_stopped) {
        const attend_future_state verdict = attend_future_verdict(f, INT64_MAX);
        attend_future_end(f, verdict);
        return;
    }
    f->status = status;
    snprintf(f->message, sizeof f->message, "%s", attend_message());
    attend_future_end(f, ATTEND_FUTURE_FAILED);
}

/* A request keeps a copy of its part of the search, so that it does not depend on the others of its batch. */
static int write_result(attend_future *f, const attend_search_result *r, int index)
{
    attend_search_result **own = &f->line.own_search;
    const int status = attend_search_result_extract(own, r, index, f->search.weights);
    return status == ATTEND_OK ? attend_translator_write(&f->line, *own, 0) : status;
}

static void count_tokens(attend_batcher *b, const attend_future *f)
{
    pthread_mutex_lock(&b->lock);
    b->statistics.source_tokens += (uint64_t)f->line.source.count;
    b->statistics.target_tokens += (uint64_t)f->line.result.hypotheses[0].count;
    pthread_mutex_unlock(&b->lock);
}

/* Decodes a batch that failed because of one of its lines, line by line. */
static void decode_each(attend_batcher *b, batcher_worker *w, const translator_setup *setup)
{
    for (int i = 0; i < w->batch_count; i++) {
        attend_future *f = w->batch[i];
        stops s = { b, w, &w->batch[i] };
        const translator_hooks hooks = { must_stop, f->branches ? report : NULL, &s };
        const int status = attend_translator_decode_line(w->contexts, setup, &f->search, &f->line, &hooks);
        const bool is_stopped =
            status == ATTEND_OK && !f->line.fault && attend_search_result_count(f->line.own_search, 0) == 0;
        end(f, status, is_stopped);
    }
}

static void decode(attend_batcher *b, batcher_worker *w)
{
    const translator_setup *setup = &w->batch[0]->model->setup;
    attend_search_options options = w->batch[0]->search;
    translator_line **lines = attend_memory_zeroed((size_t)w->batch_count, sizeof *lines);
    attend_search_result *result = NULL;
    stops s = { b, w, w->batch };
    translator_hooks hooks = { must_stop, NULL, &s };
    int status = lines ? prepare_contexts(b, w, setup)
                       : attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", w->batch_count);
    for (int i = 0; lines && i < w->batch_count; i++) {
        lines[i] = &w->batch[i]->line;
        options.weights |= w->batch[i]->search.weights;
        if (w->batch[i]->branches) hooks.branches = report;
    }
    if (status == ATTEND_OK)
        status = attend_translator_search(&result, w->contexts, setup, &options, lines, w->batch_count, &hooks);
    attend_memory_free(lines);
    if (status == ATTEND_FAILED) {
        decode_each(b, w, setup);
        return;
    }
    for (int i = 0; i < w->batch_count; i++) {
        attend_future *f = w->batch[i];
        const bool is_stopped = status == ATTEND_OK && attend_search_result_count(result, i) == 0;
        const int written = status == ATTEND_OK && !is_stopped ? write_result(f, result, i) : status;
        if (written == ATTEND_OK && !is_stopped) count_tokens(b, f);
        end(f, written, is_stopped);
    }
    attend_search_result_free(result);
}

/* ---- workers ---- */

static bool has_work(void *user)
{
    attend_batcher *b = user;
    return atomic_load(&b->closing) || (atomic_load(&b->waiting) > 0 && !atomic_load(&b->is_exclusive));
}

static bool is_alone(void *user)
{
    attend_batcher *b = user;
    return atomic_load(&b->busy) == 1;
}

static void begin(attend_batcher *b, const batcher_worker *w, int64_t now)
{
    pthread_mutex_lock(&b->lock);
    for (int i = 0; i < w->batch_count; i++)
        b->statistics.waiting_seconds += (double)(now - w->batch[i]->submitted) * 1e-9;
    b->statistics.batches++;
    b->statistics.batch_lines += (uint64_t)w->batch_count;
    pthread_mutex_unlock(&b->lock);
}

static void finish(attend_batcher *b, const batcher_worker *w, bool is_exclusive, int64_t began)
{
    pthread_mutex_lock(&b->lock);
    b->statistics.decoding_seconds += (double)(attend_batcher_clock() - began) * 1e-9;
    b->statistics.running -= w->batch_count;
    b->running_workers--;
    atomic_fetch_sub(&b->busy, 1);
    if (is_exclusive) atomic_store(&b->is_exclusive, false);
    pthread_mutex_unlock(&b->lock);
    if (is_exclusive || atomic_load(&b->is_exclusive)) attend_pool_wake(b->pool);
}

static void run_batch(attend_batcher *b, batcher_worker *w)
{
    const translator_setup *setup = &w->batch[0]->model->setup;
    const double share = setup->limit.share;
    const bool is_exclusive = w->batch[0]->line.work > share;
    if (is_exclusive) attend_pool_help_until(b->pool, is_alone, b);
    const int64_t began = attend_batcher_clock();
    begin(b, w, began);
    if (w->batch[0]->tokens > 0)
        decode(b, w);
    else
        attend_future_end(w->batch[0], ATTEND_FUTURE_DONE); /* empty or faulty */
    for (int i = 0; i < w->context_count; i++)
        attend_ctx_shrink(w->contexts[i], share < MAX_KEPT_BYTES ? share : MAX_KEPT_BYTES);
    finish(b, w, is_exclusive, began);
}

void attend_batcher_work(void *batcher, int number)
{
    attend_batcher *b = batcher;
    batcher_worker *w = &b->workers[number];
    for (;;) {
        attend_pool_help_until(b->pool, has_work, b);
        const bool is_closing = atomic_load(&b->closing); /* before the sweep, which then ends all that wait */
        attend_batcher_queue_sweep(b, w);
        if (is_closing) return;
        if (attend_batcher_queue_take(b, w)) run_batch(b, w);
    }
}
