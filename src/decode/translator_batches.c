/* translator_batches.c: lines to batches of similar length, and batches to threads. */
#include "decode/translator.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/tape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- batches ---- */

/* Orders lines by length, then by line number. */
static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static translator_line *line_at(const attend_translator *t, int i)
{
    return &t->lines[t->order[i] & UINT32_MAX];
}

/* Batches have at most batch_tokens tokens and a thread's share of memory, and fewer tokens if that is needed to give
 * every thread a batch. */
static void make_batches(attend_translator *t)
{
    int64_t total = 0, tokens = 0;
    for (int i = 0; i < t->count; i++) {
        if (!t->lines[i].needs_search) continue;
        t->order[t->order_count++] = (uint64_t)attend_translator_line_tokens(&t->lines[i]) << 32 | (uint32_t)i;
        total += attend_translator_line_tokens(&t->lines[i]);
    }
    if (t->order_count) qsort(t->order, (size_t)t->order_count, sizeof *t->order, compare_keys);
    const int64_t share = (total + t->threads - 1) / t->threads;
    const int64_t max_tokens = share < t->setup.o.batch_tokens ? share : t->setup.o.batch_tokens;
    double work = 0;
    for (int i = 0; i < t->order_count; i++) {
        const int more = attend_translator_line_tokens(line_at(t, i));
        if (i == 0 || tokens + more > max_tokens || work + line_at(t, i)->work > t->setup.limit.share) {
            t->batches[t->batch_count++] = (translator_batch){ .first = i };
            tokens = 0, work = 0;
        }
        t->batches[t->batch_count - 1].count++;
        tokens += more, work += line_at(t, i)->work;
    }
}

/* ---- decoding ---- */

static const char stopped[] = "translating was stopped";

static bool must_stop(void *user, int source)
{
    const attend_translator_options *o = user;
    (void)source;
    return o->stop(o->user);
}

static int decode_batch(attend_translator *t, attend_ctx *const *contexts, translator_batch *b)
{
    attend_translator_options *o = &t->setup.o;
    const attend_search_options *options = &o->search;
    if (o->stop && o->stop(o->user)) return attend_fail(ATTEND_FAILED, stopped);
    translator_line **lines = attend_memory_zeroed((size_t)b->count, sizeof *lines);
    if (!lines) return attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", b->count);
    for (int i = 0; i < b->count; i++) lines[i] = line_at(t, b->first + i);
    const translator_hooks hooks = { .stop = o->stop ? must_stop : NULL, .user = o };
    int status = attend_translator_search(&b->search, contexts, &t->setup, options, lines, b->count, &hooks);
    const bool one_by_one = status == ATTEND_FAILED, is_stopped = o->stop && o->stop(o->user);
    if (is_stopped) status = attend_fail(ATTEND_FAILED, stopped);
    if (one_by_one && !is_stopped) status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < b->count; i++)
        status = one_by_one ? attend_translator_decode_line(contexts, &t->setup, options, lines[i], &hooks)
                            : attend_translator_write(lines[i], b->search, i);
    attend_memory_free(lines);
    return o->stop && o->stop(o->user) ? attend_fail(ATTEND_FAILED, stopped) : status;
}

/* Keeps the status and the message, which belongs to this thread. */
static void run_batch(attend_translator *t, attend_ctx *const *contexts, translator_batch *b)
{
    b->status = decode_batch(t, contexts, b);
    if (b->status != ATTEND_OK) snprintf(b->message, sizeof b->message, "%s", attend_message());
}

/* One thread: one batch after another, long ones first, so that no thread is left with the longest one at the end.
 * Threads that find none help with the others' operations, so that a single batch uses all threads. */
static void run_worker(void *user, int worker)
{
    attend_translator *t = user;
    for (int i; (i = atomic_fetch_sub(&t->last_batch, 1)) >= 0;)
        run_batch(t, t->contexts + (size_t)worker * (size_t)t->setup.model_count, &t->batches[i]);
}

int attend_translator_decode(attend_translator *t)
{
    make_batches(t);
    atomic_store(&t->last_batch, t->batch_count - 1);
    attend_pool_run(t->pool, t->threads < t->batch_count ? t->threads : t->batch_count, run_worker, t);
    for (int i = 0; i < t->threads * t->setup.model_count; i++) attend_ctx_shrink(t->contexts[i], t->setup.limit.share);
    for (int i = 0; i < t->batch_count; i++)
        if (t->batches[i].status != ATTEND_OK) return attend_fail(t->batches[i].status, "%s", t->batches[i].message);
    return ATTEND_OK;
}
