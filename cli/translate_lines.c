#include "translate_lines.h"

#include "array.h"
#include "job.h"
#include "packed.h"
#include "search_options.h"
#include "shared_work.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1024 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take_one(const verb *v, const char *text, size_t size, int tokens, const char *fault, bool is_non_finite,
                    const text_lines *sources, text_lines *to, translate_cost *cost)
{
    char place[TEXT_PLACE];
    if (fault && v)
        attend_print(stderr, "attend %s: %s is not translated: %s; its translation is an empty line\n", v->name,
                     text_lines_place(sources, to->count, place), fault);
    cost->tokens += (unsigned long long)tokens + 1;
    cost->translated += !fault && size > 0, cost->non_finite += is_non_finite;
    return text_lines_add(to, text, size);
}

static int take_results(const verb *v, const attend_translator *t, int max_tokens, int count, const text_lines *sources,
                        text_lines *to, translate_cost *cost)
{
    int status = ATTEND_OK;
    char why[LINE_FAULT];
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_line_result *r = attend_translator_result(t, i);
        const attend_hypothesis *h = &r->hypotheses[0];
        status =
            take_one(v, h->text, strlen(h->text), h->count, line_fault(v, why, r->fault, r->is_too_long, max_tokens),
                     r->is_non_finite, sources, to, cost);
    }
    return status;
}

static int translate_alone(const verb *v, attend_translator *t, int max_tokens, const text_lines *sources,
                           bool (*stop)(void *), text_lines *to, translate_cost *cost)
{
    size_t *sizes = calloc(BATCH, sizeof *sizes);
    int status = sizes ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory translating");
    for (int first = 0, done = 0; status == ATTEND_OK && first < sources->count; first += done) {
        const int left = sources->count - first, count = left < BATCH ? left : BATCH;
        cost->stopped = stop && stop(NULL);
        if (cost->stopped) break;
        for (int i = 0; i < count; i++) sizes[i] = strlen(sources->items[first + i]);
        status =
            attend_translator_run_some(t, count, (const char *const *)sources->items + first, sizes, NULL, NULL, &done);
        if (status == ATTEND_OK) status = take_results(v, t, max_tokens, done, sources, to, cost);
    }
    free(sizes);
    return status;
}

/* ---- on the ranks of a job ---- */

typedef struct shared_lines {
    const verb *v;
    attend_translator *t;
    int max_tokens;
    const text_lines *sources; /* rank 0; likewise stop, to and cost */
    int next;
    bool (*stop)(void *);
    text_lines *to;
    translate_cost *cost;
    size_t *sizes; /* of lines that are given, or of the own part */
    const char **lines;
    int size_capacity, line_capacity;
} shared_lines;

/* A shared_work.give. */
static int give(void *user, attend_string *parts, int ranks, bool *more)
{
    shared_lines *x = user;
    const int left = x->sources->count - x->next, count = left < BATCH * ranks ? left : BATCH * ranks;
    int status = ATTEND_OK;
    x->cost->stopped = count > 0 && x->stop && x->stop(NULL);
    *more = count > 0 && !x->cost->stopped;
    if (!*more) return ATTEND_OK;
    if (!array_reserve(&x->sizes, &x->size_capacity, (size_t)count, sizeof *x->sizes))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory translating");
    for (int i = 0; i < count; i++) x->sizes[i] = strlen(x->sources->items[x->next + i]);
    for (int rank = 0, i = 0; rank < ranks; rank++) {
        const int end = rank + 1 < ranks ? shared_work_first(x->sizes, count, ranks, rank + 1) : count;
        status = packed_add_number(&parts[rank], (uint64_t)(end - i));
        for (; status == ATTEND_OK && i < end; i++)
            status = packed_add_text(&parts[rank], x->sources->items[x->next + i], x->sizes[i]);
        if (status != ATTEND_OK) break;
    }
    x->next += count;
    return status;
}

static int read_part(shared_lines *x, const attend_string *part, int *count)
{
    packed_reader r = packed_open(part);
    const uint64_t lines = packed_number(&r);
    if (lines > part->size) return shared_work_damaged();
    if (!array_reserve(&x->sizes, &x->size_capacity, (size_t)lines, sizeof *x->sizes) ||
        !array_reserve(&x->lines, &x->line_capacity, (size_t)lines, sizeof *x->lines))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory translating");
    for (*count = 0; *count < (int)lines; ++*count) {
        x->lines[*count] = packed_text(&r, &x->sizes[*count]);
        if (!x->lines[*count]) return shared_work_damaged();
    }
    return ATTEND_OK;
}

/* A shared_work.work: the translation, the number of tokens and the fault of each line. */
static int work(void *user, const attend_string *part, attend_string *result)
{
    shared_lines *x = user;
    char why[LINE_FAULT];
    int count = 0, status = read_part(x, part, &count);
    if (status == ATTEND_OK) status = packed_add_number(result, (uint64_t)count);
    for (int first = 0, done = 0; status == ATTEND_OK && first < count; first += done) {
        status = attend_translator_run_some(x->t, count - first, x->lines + first, x->sizes + first, NULL, NULL, &done);
        for (int i = 0; status == ATTEND_OK && i < done; i++) {
            const attend_line_result *r = attend_translator_result(x->t, i);
            const attend_hypothesis *h = &r->hypotheses[0];
            const char *fault = line_fault(x->v, why, r->fault, r->is_too_long, x->max_tokens);
            status = packed_add_text(result, h->text, strlen(h->text));
            if (status == ATTEND_OK) status = packed_add_number(result, (uint64_t)h->count);
            if (status == ATTEND_OK) status = packed_add_text(result, fault, fault ? strlen(fault) : 0);
            if (status == ATTEND_OK) status = packed_add_number(result, r->is_non_finite);
        }
    }
    return status;
}

/* A shared_work.take. */
static int take(void *user, const attend_string *result)
{
    shared_lines *x = user;
    packed_reader r = packed_open(result);
    int status = ATTEND_OK;
    for (uint64_t left = packed_number(&r); status == ATTEND_OK && left > 0; left--) {
        size_t size;
        const char *text = packed_text(&r, &size);
        const int tokens = (int)packed_number(&r);
        const char *fault = packed_text(&r, NULL);
        const bool is_non_finite = packed_number(&r) != 0;
        if (!text || r.is_damaged) return shared_work_damaged();
        status = take_one(x->v, text, size, tokens, fault, is_non_finite, x->sources, x->to, x->cost);
    }
    return status;
}

static int translate_shared(shared_lines *x)
{
    const shared_work w = { .user = x, .give = give, .work = work, .take = take };
    const int status = shared_work_run(job_ranks(), &w);
    free(x->sizes), free(x->lines);
    return status;
}

int translate_lines(const verb *v, const char *model, const attend_model *m, const attend_translator_options *o,
                    const text_lines *sources, bool (*stop)(void *), text_lines *to, translate_cost *cost)
{
    attend_translator *t = NULL;
    *cost = (translate_cost){ 0 };
    shared_lines x = { .v = v, .max_tokens = o->max_tokens, .sources = sources, .stop = stop, .to = to, .cost = cost };
    int status = attend_translator_new(&t, m, o);
    x.t = t;
    const double began = now();
    if (status == ATTEND_OK)
        status = attend_ranks_count(job_ranks()) > 1 ? translate_shared(&x)
                                                     : translate_alone(v, t, o->max_tokens, sources, stop, to, cost);
    cost->seconds = now() - began;
    attend_translator_free(t);
    if (status == ATTEND_OK && cost->translated == 0)
        status = attend_check_finite(model, cost->non_finite, cost->non_finite);
    return status;
}
