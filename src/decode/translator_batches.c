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

/* The tokens a line adds to its batch. The output length of a language model is unknown; assume 20 tokens. */
static int batch_tokens_of(const attend_translator *t, const translator_line *line)
{
    enum { CONTINUATION = 20 };
    return t->is_language_model ? line->prefix.count + CONTINUATION : line->source.count;
}

/* Batches have at most batch_tokens tokens and a thread's share of memory, and fewer tokens if that is needed to give
 * every thread a batch. */
static void make_batches(attend_translator *t)
{
    int64_t total = 0, tokens = 0;
    for (int i = 0; i < t->count; i++) {
        if (!t->lines[i].needs_search) continue;
        t->order[t->order_count++] = (uint64_t)batch_tokens_of(t, &t->lines[i]) << 32 | (uint32_t)i;
        total += batch_tokens_of(t, &t->lines[i]);
    }
    if (t->order_count) qsort(t->order, (size_t)t->order_count, sizeof *t->order, compare_keys);
    const int64_t share = (total + t->o.threads - 1) / t->o.threads;
    const int64_t max_tokens = share < t->o.batch_tokens ? share : t->o.batch_tokens;
    double work = 0;
    for (int i = 0; i < t->order_count; i++) {
        const int more = batch_tokens_of(t, line_at(t, i));
        if (i == 0 || tokens + more > max_tokens || work + line_at(t, i)->work > t->limit.share) {
            t->batches[t->batch_count++] = (translator_batch){ .first = i };
            tokens = 0, work = 0;
        }
        t->batches[t->batch_count - 1].count++;
        tokens += more, work += line_at(t, i)->work;
    }
}

/* ---- decoding ---- */

/* Decodes the lines [first, first + count) of the order. */
static int search(attend_translator *t, attend_ctx *const *contexts, int first, int count, attend_search_result **out)
{
    int *tokens[2] = { NULL, NULL }, *lengths = attend_memory_zeroed(2 * (size_t)count, sizeof *lengths);
    uint64_t *streams = attend_memory_zeroed((size_t)count, sizeof *streams);
    const attend_encoded_text **texts = attend_memory_zeroed((size_t)count, sizeof *texts);
    for (int side = 0; lengths && texts && side < 2; side++) {
        for (int i = 0; i < count; i++)
            texts[i] = side == ATTEND_SOURCE ? &line_at(t, first + i)->source : &line_at(t, first + i)->prefix;
        tokens[side] = attend_pipeline_join(&t->sides[side], count, texts, lengths + (size_t)side * (size_t)count);
    }
    int status = tokens[0] && tokens[1] && streams
                     ? ATTEND_OK
                     : attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", count);
    bool has_prefix = false;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        has_prefix |= lengths[count + i] > 0;
        streams[i] = line_at(t, first + i)->number;
    }
    const attend_search_sources sources = { .count = count,
                                            .tokens = tokens[0],
                                            .lengths = lengths,
                                            .prefix = has_prefix ? tokens[1] : NULL,
                                            .prefix_lengths = has_prefix ? lengths + count : NULL,
                                            .streams = streams };
    if (status == ATTEND_OK)
        status = attend_search_ensemble(out, contexts, t->models, t->model_count, &t->o.search, &sources);
    for (int side = 0; side < 2; side++) attend_memory_free(tokens[side]);
    attend_memory_free(lengths);
    attend_memory_free(streams);
    attend_memory_free(texts);
    return status;
}

/* Decodes one line of a batch that failed because of one of its lines. */
static int decode_line(attend_translator *t, attend_ctx *const *contexts, int i)
{
    translator_line *line = line_at(t, i);
    const int status = search(t, contexts, i, 1, &line->own_search);
    if (status == ATTEND_OK) return attend_translator_write(t, line, line->own_search, 0);
    if (status != ATTEND_FAILED) return status;
    line->result.fault = line->fault = "the model's probabilities for it are not finite";
    return ATTEND_OK;
}

static int decode_batch(attend_translator *t, attend_ctx *const *contexts, translator_batch *b)
{
    int status = search(t, contexts, b->first, b->count, &b->search);
    if (status == ATTEND_FAILED) {
        status = ATTEND_OK;
        for (int i = 0; status == ATTEND_OK && i < b->count; i++) status = decode_line(t, contexts, b->first + i);
        return status;
    }
    for (int i = 0; status == ATTEND_OK && i < b->count; i++)
        status = attend_translator_write(t, line_at(t, b->first + i), b->search, i);
    return status;
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
        run_batch(t, t->contexts + (size_t)worker * (size_t)t->model_count, &t->batches[i]);
}

int attend_translator_decode(attend_translator *t)
{
    make_batches(t);
    atomic_store(&t->last_batch, t->batch_count - 1);
    attend_pool_run(t->pool, t->o.threads < t->batch_count ? t->o.threads : t->batch_count, run_worker, t);
    for (int i = 0; i < t->o.threads * t->model_count; i++) attend_ctx_shrink(t->contexts[i], t->limit.share);
    for (int i = 0; i < t->batch_count; i++)
        if (t->batches[i].status != ATTEND_OK) return attend_fail(t->batches[i].status, "%s", t->batches[i].message);
    return ATTEND_OK;
}
