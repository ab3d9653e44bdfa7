/* translator.c: lines to batches of similar length, batches to threads, results back in the order of the lines. */
#include <attend/translator.h>

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include "text/arrays.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line, and what became of it. */
typedef struct job {
    int first, count; /* of its words among all; count 0: nothing to do */
    const char *fault;
    attend_found *found; /* its batch's */
    int place;           /* in its batch */
    attend_hypothesis *list;
    attend_string text; /* of all hypotheses, one after another */
    attend_line_result result;
} job;

typedef struct batch {
    int first, count; /* of `order` */
    attend_found *found;
    int status;
    char message[256];
} batch;

struct attend_translator {
    const attend_model *m;
    attend_translator_options o;
    attend_tokenizer *tokenizers[2];
    attend_pool *pool;
    attend_ctx **contexts;
    attend_ids words; /* of all lines */
    job *jobs;
    int count, room;
    uint64_t *order; /* lines with words, short ones first: see by_key */
    int ordered;
    batch *batches;
    int batch_count;
};

/* ---- memory ---- */

static void forget(attend_translator *t)
{
    for (int i = 0; i < t->count; i++) {
        attend_memory_free(t->jobs[i].list);
        attend_string_free(&t->jobs[i].text);
    }
    for (int i = 0; i < t->batch_count; i++) attend_found_free(t->batches[i].found);
    t->count = t->ordered = t->batch_count = t->words.count = 0;
}

void attend_translator_free(attend_translator *t)
{
    if (!t) return;
    forget(t);
    for (int i = 0; t->contexts && i < t->o.threads; i++) attend_ctx_free(t->contexts[i]);
    attend_memory_free(t->contexts);
    attend_pool_free(t->pool);
    attend_tokenizer_free(t->tokenizers[0]);
    attend_tokenizer_free(t->tokenizers[1]);
    attend_ids_free(&t->words);
    attend_memory_free(t->jobs);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    attend_memory_free(t);
}

int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options)
{
    *out = NULL;
    if (options->threads < 1 || options->threads > 1024 || options->batch_tokens < 1 || options->max_words < 1)
        return attend_fail(ATTEND_BAD_USAGE,
                           "threads %d (1 to 1024), batch tokens %d and most words %d (1 and more) make no sense",
                           options->threads, options->batch_tokens, options->max_words);
    attend_translator *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    t->m = m, t->o = *options;
    int status = attend_tokenizer_of(&t->tokenizers[0], m, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_of(&t->tokenizers[1], m, "target");
    if (status == ATTEND_OK) status = attend_pool_new(&t->pool, options->threads);
    t->contexts = attend_memory_zeroed((size_t)options->threads, sizeof *t->contexts);
    if (status == ATTEND_OK && !t->contexts) status = attend_fail(ATTEND_NO_MEMORY, "no memory for a translator");
    for (int i = 0; status == ATTEND_OK && i < options->threads; i++) status = attend_ctx_new(&t->contexts[i]);
    if (status != ATTEND_OK) {
        attend_translator_free(t);
        return status;
    }
    *out = t;
    return ATTEND_OK;
}

static bool room_for(attend_translator *t, int count)
{
    if (count <= t->room) return true;
    job *jobs = attend_memory_zeroed((size_t)count, sizeof *jobs);
    uint64_t *order = attend_memory_zeroed((size_t)count, sizeof *order);
    batch *batches = attend_memory_zeroed((size_t)count, sizeof *batches);
    if (!jobs || !order || !batches) {
        attend_memory_free(jobs);
        attend_memory_free(order);
        attend_memory_free(batches);
        return false;
    }
    attend_memory_free(t->jobs);
    attend_memory_free(t->order);
    attend_memory_free(t->batches);
    t->jobs = jobs, t->order = order, t->batches = batches, t->room = count;
    return true;
}

/* ---- lines to batches ---- */

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t') return false;
    return true;
}

static int encode(attend_translator *t, job *j, const char *text, size_t size)
{
    *j = (job){ .first = t->words.count };
    if (is_blank(text, size)) return ATTEND_OK;
    int status = attend_tokenizer_encode(t->tokenizers[0], text, size, &t->words, 0, 0, 0);
    if (status == ATTEND_OK) status = attend_ids_add(&t->words, ATTEND_END, size, size);
    const int words = t->words.count - j->first;
    if (status == ATTEND_BAD_DATA)
        j->fault = "it is not UTF-8", status = ATTEND_OK;
    else if (status == ATTEND_OK && words > t->o.max_words + 1)
        j->fault = "it is too long";
    else if (status == ATTEND_OK && words > 1)
        j->count = words;
    if (j->count == 0) t->words.count = j->first; /* what was added is not wanted */
    return status;
}

/* A length above a line number: sorted, short lines come first, and of equal ones the earlier. */
static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int line_of(const attend_translator *t, int i)
{
    return (int)(t->order[i] & UINT32_MAX);
}

static void cut(attend_translator *t)
{
    for (int i = 0; i < t->count; i++)
        if (t->jobs[i].count > 0) t->order[t->ordered++] = (uint64_t)t->jobs[i].count << 32 | (uint32_t)i;
    if (t->ordered) qsort(t->order, (size_t)t->ordered, sizeof *t->order, by_key);
    for (int i = 0, tokens = 0; i < t->ordered; i++) {
        const int more = t->jobs[line_of(t, i)].count;
        if (i == 0 || tokens + more > t->o.batch_tokens) {
            t->batches[t->batch_count++] = (batch){ .first = i };
            tokens = 0;
        }
        t->batches[t->batch_count - 1].count++;
        tokens += more;
    }
}

/* ---- a batch ---- */

/* The texts of a line's translations. */
static int spell(attend_translator *t, job *j)
{
    const int count = attend_found_count(j->found, j->place);
    j->list = attend_memory_zeroed((size_t)count, sizeof *j->list);
    size_t *starts = attend_memory_zeroed((size_t)count, sizeof *starts);
    int status = j->list && starts ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for %d translations", count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_translation *x = attend_found_at(j->found, j->place, i);
        starts[i] = j->text.size;
        status = attend_tokenizer_decode(t->tokenizers[1], x->words, x->count, &j->text);
        for (size_t k = starts[i]; status == ATTEND_OK && k < j->text.size;
             k++) /* a line stays one, whatever bytes a model makes */
            if (j->text.text[k] == '\n' || j->text.text[k] == '\0') j->text.text[k] = ' ';
        if (status == ATTEND_OK) status = attend_string_add(&j->text, "", 1); /* the end of this one */
        j->list[i] = (attend_hypothesis){ .score = x->score,
                                          .log_probability = x->log_probability,
                                          .words = x->words,
                                          .count = x->count,
                                          .weights = x->weights };
    }
    for (int i = 0; status == ATTEND_OK && i < count; i++)
        j->list[i].text = j->text.text + starts[i]; /* it moves no more */
    attend_memory_free(starts);
    j->result = (attend_line_result){
        .list = j->list, .count = count, .source = t->words.ids + j->first, .source_count = j->count
    };
    return status;
}

static int run_batch(attend_translator *t, attend_ctx *c, batch *b)
{
    int *words = NULL, *lengths = attend_memory_zeroed((size_t)b->count, sizeof *lengths), total = 0;
    for (int i = 0; i < b->count; i++) total += t->jobs[line_of(t, b->first + i)].count;
    words = attend_memory_zeroed((size_t)total, sizeof *words);
    int status =
        words && lengths ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d lines", b->count);
    for (int i = 0, at = 0; status == ATTEND_OK && i < b->count; i++) {
        const job *j = &t->jobs[line_of(t, b->first + i)];
        memcpy(words + at, t->words.ids + j->first, (size_t)j->count * sizeof *words);
        lengths[i] = j->count;
        at += j->count;
    }
    if (status == ATTEND_OK) status = attend_search(&b->found, c, t->m, &t->o.search, b->count, words, lengths);
    for (int i = 0; status == ATTEND_OK && i < b->count; i++) {
        job *j = &t->jobs[line_of(t, b->first + i)];
        j->found = b->found, j->place = i;
        status = spell(t, j);
    }
    attend_memory_free(words);
    attend_memory_free(lengths);
    return status;
}

/* Long batches first, so that no thread ends up with the longest alone. */
static void run_worker(void *user, int worker)
{
    attend_translator *t = user;
    for (int i = t->batch_count - 1 - worker; i >= 0; i -= t->o.threads) {
        batch *b = &t->batches[i];
        b->status = run_batch(t, t->contexts[worker], b);
        if (b->status != ATTEND_OK) snprintf(b->message, sizeof b->message, "%s", attend_message());
    }
}

/* ---- all lines ---- */

int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes)
{
    static const attend_hypothesis nothing = { .text = "" };
    forget(t);
    if (!room_for(t, count)) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d lines", count);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        status = encode(t, &t->jobs[i], lines[i], sizes[i]);
        t->jobs[i].result = (attend_line_result){ .list = &nothing, .count = 1, .fault = t->jobs[i].fault };
        t->count = i + 1;
    }
    if (status != ATTEND_OK) return status;
    cut(t);
    attend_pool_run(t->pool, t->o.threads, run_worker, t);
    for (int i = 0; i < t->batch_count; i++)
        if (t->batches[i].status != ATTEND_OK) return attend_fail(t->batches[i].status, "%s", t->batches[i].message);
    return ATTEND_OK;
}

const attend_line_result *attend_translator_result(const attend_translator *t, int line)
{
    return line >= 0 && line < t->count ? &t->jobs[line].result : NULL;
}

const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t, bool target)
{
    return t->tokenizers[target];
}
