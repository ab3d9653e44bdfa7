/* shared_scores.c: pairs are scored by the ranks of a job, and visited on rank 0. */
#include "score_pairs.h"

#include "array.h"
#include "job.h"
#include "memory_option.h"
#include "packed.h"
#include "pair_reader.h"
#include "shared_work.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

typedef struct shared_scores {
    attend_scorer *scorer;
    bool is_language_model;
    /* rank 0 */
    pair_reader *from;
    size_t *sizes; /* of the pairs of a batch */
    int size_capacity, visited;
    scored_pair_visitor visit;
    void *user;
    /* the part of this rank: its texts belong to the part */
    const char **sources, **targets;
    int source_capacity, target_capacity;
    /* the arrays of a result */
    int *tokens;
    attend_span *spans;
    attend_real *log_probabilities;
    int token_capacity, span_capacity, row_capacity;
} shared_scores;

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "out of memory scoring pairs");
}

/* ---- parts ---- */

static int give_part(shared_scores *x, attend_string *part, int first, int end)
{
    const pair_reader *from = x->from;
    int status = packed_add_number(part, (uint64_t)(end - first));
    for (int i = first; status == ATTEND_OK && i < end; i++) {
        status = packed_add_text(part, from->sources[i], strlen(from->sources[i]));
        if (status == ATTEND_OK) status = packed_add_text(part, from->targets[i], strlen(from->targets[i]));
    }
    return status;
}

/* A shared_work.give. */
static int give(void *user, attend_string *parts, int ranks, bool *more)
{
    shared_scores *x = user;
    pair_reader *from = x->from;
    int status = pair_reader_next(from);
    x->visited = 0;
    *more = status == ATTEND_OK && from->count > 0;
    if (!*more) return status;
    if (!array_reserve(&x->sizes, &x->size_capacity, (size_t)from->count, sizeof *x->sizes)) return no_memory();
    for (int i = 0; i < from->count; i++) x->sizes[i] = strlen(from->sources[i]) + strlen(from->targets[i]);
    for (int rank = 0; status == ATTEND_OK && rank < ranks; rank++)
        status = give_part(x, &parts[rank], shared_work_first(x->sizes, from->count, ranks, rank),
                           rank + 1 < ranks ? shared_work_first(x->sizes, from->count, ranks, rank + 1) : from->count);
    return status;
}

static int read_part(shared_scores *x, const attend_string *part, int *count)
{
    packed_reader r = packed_open(part);
    const uint64_t pairs = packed_number(&r);
    if (pairs > part->size) return shared_work_damaged();
    if (!array_reserve(&x->sources, &x->source_capacity, (size_t)pairs, sizeof *x->sources) ||
        !array_reserve(&x->targets, &x->target_capacity, (size_t)pairs, sizeof *x->targets))
        return no_memory();
    for (*count = 0; *count < (int)pairs; ++*count) {
        x->sources[*count] = packed_text(&r, NULL), x->targets[*count] = packed_text(&r, NULL);
        if (!x->sources[*count] || !x->targets[*count]) return shared_work_damaged();
    }
    return ATTEND_OK;
}

/* ---- results ---- */

static int pack_result(attend_string *to, const attend_scored_pair *p)
{
    int status = packed_add_text(to, p->fault, p->fault ? strlen(p->fault) : 0);
    if (status == ATTEND_OK) status = packed_add_number(to, p->is_non_finite);
    if (status != ATTEND_OK || p->fault) return status;
    const size_t rows = (size_t)p->rows, count = (size_t)p->target_count;
    status = packed_add_real(to, p->log_probability);
    if (status == ATTEND_OK)
        status = packed_add_text(to, (const char *)p->row_log_probability, rows * sizeof *p->row_log_probability);
    if (status == ATTEND_OK) status = packed_add_text(to, (const char *)p->target, count * sizeof *p->target);
    if (status == ATTEND_OK)
        status = packed_add_text(to, (const char *)p->target_spans, count * sizeof *p->target_spans);
    return status == ATTEND_OK ? packed_add_text(to, p->target_text, strlen(p->target_text)) : status;
}

/* A shared_work.work: scores in parts whose results fit into memory. */
static int work(void *user, const attend_string *part, attend_string *result)
{
    shared_scores *x = user;
    int count = 0, status = read_part(x, part, &count);
    if (status == ATTEND_OK) status = packed_add_number(result, (uint64_t)count);
    for (int first = 0, done = 0; status == ATTEND_OK && first < count; first += done) {
        status = attend_scorer_run_some(x->scorer, count - first, x->is_language_model ? NULL : x->sources + first,
                                        x->targets + first, &done);
        for (int i = 0; status == ATTEND_OK && i < done; i++)
            status = pack_result(result, attend_scorer_result(x->scorer, i));
    }
    return status;
}

/* Copies an array, which is not aligned in a string. */
static int read_array(packed_reader *r, void *array, int *capacity, size_t element_size, int *count)
{
    size_t size;
    const char *bytes = packed_text(r, &size);
    *count = (int)(size / element_size);
    if (!bytes) return ATTEND_OK; /* NULL and empty, or damaged */
    if (!array_reserve(array, capacity, (size_t)*count + 1, element_size)) return no_memory();
    void *to;
    memcpy(&to, array, sizeof to);
    memcpy(to, bytes, size);
    return ATTEND_OK;
}

static int read_result(shared_scores *x, packed_reader *r, attend_scored_pair *p)
{
    int count;
    *p = (attend_scored_pair){ .source_text = "", .target_text = "" };
    p->fault = packed_text(r, NULL), p->is_non_finite = packed_number(r) != 0;
    if (p->fault) return ATTEND_OK;
    p->log_probability = packed_real(r);
    int status = read_array(r, &x->log_probabilities, &x->row_capacity, sizeof *x->log_probabilities, &p->rows);
    if (status == ATTEND_OK)
        status = read_array(r, &x->tokens, &x->token_capacity, sizeof *x->tokens, &p->target_count);
    if (status == ATTEND_OK) status = read_array(r, &x->spans, &x->span_capacity, sizeof *x->spans, &count);
    p->target_text = packed_text(r, NULL);
    p->row_log_probability = x->log_probabilities, p->target = x->tokens, p->target_spans = x->spans;
    if (status != ATTEND_OK) return status;
    return !r->is_damaged && p->target_text && count == p->target_count ? ATTEND_OK : shared_work_damaged();
}

/* A shared_work.take. */
static int take(void *user, const attend_string *result)
{
    shared_scores *x = user;
    packed_reader r = packed_open(result);
    int status = ATTEND_OK;
    for (uint64_t left = packed_number(&r); status == ATTEND_OK && left > 0; left--) {
        attend_scored_pair p;
        if (x->visited >= x->from->count) return shared_work_damaged();
        status = read_result(x, &r, &p);
        const int i = x->visited++;
        if (status == ATTEND_OK)
            status = x->visit(x->user, pair_reader_result(x->from, i, &p), x->from->first + (unsigned long long)i);
    }
    return status;
}

int score_pairs_shared(const attend_model *m, const pairs_list *input, const score_options *o,
                       scored_pair_visitor visit, void *user)
{
    shared_scores x = { .visit = visit, .user = user };
    const shared_work w = { .user = &x, .give = give, .work = work, .take = take };
    x.is_language_model = attend_model_config(m)->task == ATTEND_TASK_LANGUAGE_MODEL;
    int status = attend_scorer_new(&x.scorer, m, (int)o->threads, false);
    if (status == ATTEND_OK) status = attend_scorer_set_memory(x.scorer, memory_limit(o->memory));
    if (status == ATTEND_OK) status = attend_scorer_set_compute(x.scorer, (attend_compute_precision)o->compute);
    if (status == ATTEND_OK && job_speaks()) status = pair_reader_open(&x.from, input);
    if (x.from) x.from->answers = o->answers, x.from->batches = attend_ranks_count(job_ranks());
    if (status == ATTEND_OK) status = shared_work_run(job_ranks(), &w);
    pair_reader_close(x.from);
    attend_scorer_free(x.scorer);
    free(x.sizes), free(x.sources), free(x.targets);
    free(x.tokens), free(x.spans), free(x.log_probabilities);
    return status;
}
