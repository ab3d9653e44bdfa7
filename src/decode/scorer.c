/* scorer.c: scores pairs of texts with attend_model_score on several threads, and turns their attention into links
 * between words. */
#include <attend/scorer.h>

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include "core/tape.h"
#include "decode/memory_limit.h"
#include "decode/non_finite.h"
#include "decode/word_links.h"
#include "model/config.h"
#include "model/model.h"
#include "text/pipeline.h"
#include "text/tokenizer.h"
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 16, GROUP_BYTES = 64 << 20 }; /* pairs that are scored together, and their memory */

/* A pair of the current run: its texts, and where its scores are. */
typedef struct scorer_pair {
    attend_encoded_text sides[2];
    size_t rows, weights; /* offsets in row_log_p and mean_maps */
    double work;          /* bytes to score it */
    const char *fault;
    bool is_non_finite;
} scorer_pair;

/* Valid pairs that are scored together. */
typedef struct scorer_group {
    int first, count, status;
    int worker; /* that scored it */
} scorer_group;

struct attend_scorer {
    const attend_model *m;
    attend_pool *pool;
    attend_ctx **contexts;
    int threads;
    bool weights, keep_maps;
    bool is_language_model;
    attend_alignment alignment; /* the weights of a result are the mean of these maps */
    attend_pipeline sides[2];
    scorer_pair *pairs;
    attend_scored_pair *results;
    int count, capacity;
    real *row_log_p, *mean_maps, *maps; /* of all valid pairs; maps: all layers and heads, if they are kept */
    attend_scored_pair other;           /* result of attend_scorer_result_for */
    real *other_weights;
    size_t other_capacity;
    int *valid; /* indices of the pairs without a fault */
    int valid_count;
    scorer_group *groups;
    int group_count;
    atomic_int next_group; /* to score */
    attend_memory_limit limit;
};

static void clear_results(attend_scorer *s)
{
    attend_memory_free(s->row_log_p);
    attend_memory_free(s->mean_maps);
    attend_memory_free(s->maps);
    s->row_log_p = s->mean_maps = s->maps = NULL;
    for (int side = 0; side < 2; side++) attend_pipeline_clear(&s->sides[side]);
    s->count = s->valid_count = s->group_count = 0;
}

static void arrays_free(attend_scorer *s)
{
    attend_memory_free(s->pairs);
    attend_memory_free(s->results);
    attend_memory_free(s->valid);
    attend_memory_free(s->groups);
}

void attend_scorer_free(attend_scorer *s)
{
    if (!s) return;
    clear_results(s);
    arrays_free(s);
    for (int i = 0; s->contexts && i < s->threads; i++) attend_ctx_free(s->contexts[i]);
    attend_memory_free(s->contexts);
    attend_pool_free(s->pool);
    for (int side = 0; side < 2; side++) attend_pipeline_free(&s->sides[side]);
    attend_memory_free(s->other_weights);
    attend_memory_free(s);
}

static int limit_memory(attend_scorer *s, size_t bytes)
{
    const attend_model *members[ATTEND_MAX_MEMBERS];
    const int count = attend_model_list_members(s->m, members);
    return attend_memory_limit_set(&s->limit, bytes, members, count, s->threads);
}

int attend_scorer_new(attend_scorer **out, const attend_model *m, int threads, bool weights)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && m);
    *out = NULL;
    if (threads < 1 || threads > 1024)
        return attend_fail(ATTEND_BAD_USAGE, "threads is %d; it must be from 1 to 1024", threads);
    attend_scorer *s = attend_memory_zeroed(1, sizeof *s);
    if (!s) return attend_fail(ATTEND_NO_MEMORY, "no memory for a scorer");
    const attend_config *config = attend_model_config(m);
    s->m = m, s->threads = threads;
    s->weights = weights && attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
    s->is_language_model = config->task == ATTEND_TASK_LANGUAGE_MODEL;
    s->alignment = attend_model_alignment(m);
    int status = limit_memory(s, 0);
    if (status == ATTEND_OK) status = attend_pipelines_from_model(s->sides, m);
    if (status == ATTEND_OK) status = attend_pool_new(&s->pool, threads);
    s->contexts = attend_memory_zeroed((size_t)threads, sizeof *s->contexts);
    if (status == ATTEND_OK && !s->contexts) status = attend_fail(ATTEND_NO_MEMORY, "no memory for a scorer");
    for (int i = 0; status == ATTEND_OK && i < threads; i++) {
        status = attend_ctx_new(&s->contexts[i]);
        if (status == ATTEND_OK) attend_ctx_set_pool(s->contexts[i], s->pool);
    }
    if (status != ATTEND_OK) {
        attend_scorer_free(s);
        return status;
    }
    *out = s;
    return ATTEND_OK;
}

int attend_scorer_set_alignment(attend_scorer *s, attend_alignment alignment)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    const int status = attend_alignment_check(alignment, attend_model_config(s->m));
    if (status != ATTEND_OK) return status;
    s->alignment = alignment;
    s->alignment.shifted |= attend_alignment_has_null(alignment, attend_model_config(s->m));
    return ATTEND_OK;
}

int attend_scorer_set_compute(attend_scorer *s, attend_compute_precision precision)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < s->threads; i++)
        status = attend_ctx_set_compute(s->contexts[i], precision);
    return status;
}

int attend_scorer_set_memory(attend_scorer *s, size_t bytes)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    return limit_memory(s, bytes);
}

void attend_scorer_keep_maps(attend_scorer *s)
{
    ATTEND_REQUIRE_VOID(s);
    s->keep_maps = s->weights;
}

static int reserve_pairs(attend_scorer *s, int count)
{
    if (count <= s->capacity) return ATTEND_OK;
    arrays_free(s);
    s->capacity = 0;
    s->pairs = attend_memory_zeroed((size_t)count, sizeof *s->pairs);
    s->results = attend_memory_zeroed((size_t)count, sizeof *s->results);
    s->valid = attend_memory_zeroed((size_t)count, sizeof *s->valid);
    s->groups = attend_memory_zeroed((size_t)count, sizeof *s->groups);
    if (!s->pairs || !s->results || !s->valid || !s->groups)
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    s->capacity = count;
    return ATTEND_OK;
}

/* ---- encoding ---- */

static int encode(attend_scorer *s, scorer_pair *pair, attend_side side, const char *text)
{
    attend_pipeline *p = &s->sides[side];
    attend_encoded_text *at = &pair->sides[side];
    const int status = attend_pipeline_add(p, text, strlen(text), at);
    if (status == ATTEND_BAD_DATA) {
        pair->fault = "it is not UTF-8";
        return attend_string_add(&p->text, "", 1); /* an empty text for its result */
    }
    if (status != ATTEND_OK) return status;
    if (at->count == 0) pair->fault = s->is_language_model ? "it is empty" : "a side is empty";
    /* a target needs a position for ATTEND_BEGIN as well */
    if (at->count + (side == ATTEND_TARGET) > attend_config_max_tokens(attend_model_config(s->m), side))
        pair->fault = "it has more tokens than the model has positions";
    return ATTEND_OK;
}

/* ---- a group of pairs ---- */

/* The mean of the maps of an alignment, each row of a token. `from` has all maps of a pair, each with `area` weights in
 * rows of `width`. */
static void average_maps(const attend_scorer *s, attend_alignment alignment, const real *from, size_t area,
                         size_t width, real *to)
{
    const attend_config *config = attend_model_config(s->m);
    const int layers = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
    const real maps = (real)attend_alignment_map_count(alignment, config);
    memset(to, 0, area * sizeof *to);
    for (int k = 0; k < layers * heads; k++, from += area)
        for (size_t j = 0; attend_alignment_includes(alignment, config, k / heads, k % heads) && j < area; j++)
            to[j] += from[j] / maps;
    if (alignment.shifted) memmove(to, to + width, (area - width) * sizeof *to); /* the last row stays */
}

/* The number of maps of a pair: layers * heads. */
static size_t map_count(const attend_scorer *s)
{
    const attend_config *config = attend_model_config(s->m);
    return (size_t)attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) *
           (size_t)attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
}

/* The size of a map of a pair: (target tokens and end, source tokens). */
static size_t area_of(const scorer_pair *p)
{
    return (size_t)(p->sides[1].count + 1) * (size_t)p->sides[0].count;
}

static scorer_pair *valid_pair(const attend_scorer *s, int i)
{
    return &s->pairs[s->valid[i]];
}

/* The tokens of one side of the valid pairs [first, first + count); NULL: no memory. */
static int *join_side(const attend_scorer *s, attend_side side, int first, int count, int *lengths)
{
    const attend_encoded_text *texts[GROUP] = { NULL };
    for (int i = 0; i < count; i++) texts[i] = &valid_pair(s, first + i)->sides[side];
    return attend_pipeline_join(&s->sides[side], count, texts, lengths);
}

/* Scores the valid pairs [first, first + count), whose scores and weights are contiguous. */
static int score_group(attend_scorer *s, attend_ctx *c, int first, int count)
{
    int lengths[2][GROUP];
    double sums[GROUP];
    int *source = join_side(s, ATTEND_SOURCE, first, count, lengths[0]),
        *target = join_side(s, ATTEND_TARGET, first, count, lengths[1]);
    const scorer_pair *begin = valid_pair(s, first);
    const attend_pairs pairs = {
        .count = count, .source = source, .source_lengths = lengths[0], .target = target, .target_lengths = lengths[1]
    };
    const size_t numbers = attend_pairs_weight_count(&pairs, attend_model_config(s->m), ATTEND_ATTENTION_CROSS);
    real *own = s->weights && !s->keep_maps ? attend_memory_zeroed(numbers, sizeof *own) : NULL,
         *maps = s->keep_maps ? s->maps + map_count(s) * begin->weights : own;
    int status =
        source && target && (maps || !s->weights)
            ? attend_model_score(c, s->m, &pairs, sums, s->row_log_p + begin->rows, ATTEND_ATTENTION_CROSS, maps)
            : attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    const real *from = maps;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        scorer_pair *p = valid_pair(s, first + i);
        p->is_non_finite = !isfinite(sums[i]);
        if (p->is_non_finite) p->fault = attend_non_finite_fault;
        s->results[s->valid[first + i]].log_probability = p->is_non_finite ? 0 : sums[i];
        if (!s->weights) continue;
        average_maps(s, s->alignment, from, area_of(p), (size_t)p->sides[0].count, s->mean_maps + p->weights);
        from += map_count(s) * area_of(p);
    }
    attend_memory_free(source);
    attend_memory_free(target);
    attend_memory_free(own);
    return status;
}

/* Groups have few pairs, and fewer long ones. */
static void make_groups(attend_scorer *s)
{
    const double max_bytes = s->limit.share < GROUP_BYTES ? s->limit.share : GROUP_BYTES;
    double bytes = 0;
    for (int i = 0; i < s->valid_count; i++) {
        scorer_group *last = s->group_count ? &s->groups[s->group_count - 1] : NULL;
        bytes += valid_pair(s, i)->work;
        if (!last || last->count == GROUP || bytes > max_bytes) {
            s->groups[s->group_count++] = (scorer_group){ .first = i, .count = 1 };
            bytes = valid_pair(s, i)->work;
        } else {
            last->count++;
        }
    }
}

/* One thread: one group after another, until one fails, whose message the context then keeps. Threads that find none
 * help with the others' operations. */
static void run_worker(void *user, int worker)
{
    attend_scorer *s = user;
    for (int i; (i = atomic_fetch_add(&s->next_group, 1)) < s->group_count;) {
        scorer_group *g = &s->groups[i];
        g->worker = worker;
        g->status = score_group(s, s->contexts[worker], g->first, g->count);
        if (g->status != ATTEND_OK) return;
    }
}

/* Scores the groups on all threads. */
static int score_groups(attend_scorer *s)
{
    make_groups(s);
    atomic_store(&s->next_group, 0);
    attend_pool_run(s->pool, s->threads < s->group_count ? s->threads : s->group_count, run_worker, s);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < s->group_count; i++) {
        const char *why = attend_ctx_message(s->contexts[s->groups[i].worker]);
        status = s->groups[i].status;
        if (status != ATTEND_OK) attend_fail(status, "%s", *why ? why : "no memory to score");
    }
    for (int i = 0; i < s->threads; i++) attend_ctx_shrink(s->contexts[i], s->limit.share);
    return status;
}

/* ---- all pairs ---- */

static int reserve_scores(attend_scorer *s)
{
    size_t rows = 0, weights = 0;
    for (int i = 0; i < s->count; i++) {
        scorer_pair *p = &s->pairs[i];
        if (p->fault) continue;
        s->valid[s->valid_count++] = i;
        p->rows = rows, p->weights = weights;
        rows += (size_t)p->sides[1].count + 1;
        weights += area_of(p);
    }
    s->row_log_p = attend_memory_zeroed(rows + 1, sizeof *s->row_log_p);
    s->mean_maps = s->weights ? attend_memory_zeroed(weights + 1, sizeof *s->mean_maps) : NULL;
    s->maps = s->keep_maps ? attend_memory_zeroed(map_count(s) * weights + 1, sizeof *s->maps) : NULL;
    if (!s->row_log_p || (s->weights && !s->mean_maps) || (s->keep_maps && !s->maps))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the scores of %d pairs", s->count);
    return ATTEND_OK;
}

static void fill_result(const attend_scorer *s, const scorer_pair *p, attend_scored_pair *r)
{
    const attend_pipeline *source = &s->sides[ATTEND_SOURCE], *target = &s->sides[ATTEND_TARGET];
    *r = (attend_scored_pair){ .log_probability = r->log_probability,
                               .source_unit = source->unit,
                               .target_unit = target->unit,
                               .fault = p->fault,
                               .is_non_finite = p->is_non_finite };
    r->source_text = s->is_language_model ? "" : attend_pipeline_text(source, &p->sides[0]);
    r->target_text = attend_pipeline_text(target, &p->sides[1]);
    if (p->fault) return;
    r->rows = p->sides[1].count + 1;
    r->row_log_probability = s->row_log_p + p->rows;
    r->weights = s->weights ? s->mean_maps + p->weights : NULL;
    r->has_null = s->weights && attend_alignment_has_null(s->alignment, attend_model_config(s->m));
    r->target = attend_pipeline_ids(target, &p->sides[1]), r->target_count = p->sides[1].count;
    r->target_spans = attend_pipeline_spans(target, &p->sides[1]);
    if (s->is_language_model) return;
    r->source = attend_pipeline_ids(source, &p->sides[0]), r->source_count = p->sides[0].count;
    r->source_spans = attend_pipeline_spans(source, &p->sides[0]);
}

/* Why a pair of at least so many tokens is left out; NULL: it is not, as far as that is known. */
static const char *limit_fault(const attend_scorer *s, size_t sources, size_t targets, double kept)
{
    const int source = sources < INT_MAX ? (int)sources : INT_MAX, target = targets < INT_MAX ? (int)targets : INT_MAX;
    if (!attend_config_can_attend(attend_model_config(s->m), source, target)) return attend_attention_limit_fault;
    return kept + attend_model_score_bytes(s->m, source, target, s->weights) > s->limit.all ? attend_memory_limit_fault
                                                                                            : NULL;
}

/* Why a long pair is left out, known without encoding it; NULL: it is encoded. */
static const char *find_fault(const attend_scorer *s, const char *source, const char *target)
{
    enum { SHORT = 64 << 10 };
    const size_t size[2] = { source ? strlen(source) : 0, strlen(target) };
    if (size[0] + size[1] <= SHORT) return NULL;
    const size_t sources = source ? attend_tokenizer_min_tokens(s->sides[0].tokenizer, source, size[0]) : 0,
                 targets = attend_tokenizer_min_tokens(s->sides[1].tokenizer, target, size[1]);
    return limit_fault(s, sources, targets, 0);
}

/* Encodes a pair, and estimates its memory: sets pair->work and *kept, the bytes of its result. */
static int add_pair(attend_scorer *s, scorer_pair *pair, const char *source, const char *target, double *kept)
{
    *pair = (scorer_pair){ .fault = find_fault(s, source, target) };
    *kept = 0;
    if (pair->fault) {
        const int status = source ? attend_pipeline_add_nothing(&s->sides[0], &pair->sides[0]) : ATTEND_OK;
        return status == ATTEND_OK ? attend_pipeline_add_nothing(&s->sides[1], &pair->sides[1]) : status;
    }
    int status = source ? encode(s, pair, ATTEND_SOURCE, source) : ATTEND_OK;
    if (status == ATTEND_OK) status = encode(s, pair, ATTEND_TARGET, target);
    if (status != ATTEND_OK || pair->fault) return status;
    enum { TOKEN_BYTES = 24 }; /* number, span, text and log p */
    const double area = (double)pair->sides[0].count * (pair->sides[1].count + 1.0);
    const double maps = (s->weights ? 1.0 : 0) + (s->keep_maps ? (double)map_count(s) : 0);
    *kept = maps * area * sizeof(real) + TOKEN_BYTES * ((double)pair->sides[0].count + pair->sides[1].count);
    pair->work = attend_model_score_bytes(s->m, pair->sides[0].count, pair->sides[1].count, s->weights);
    pair->fault = limit_fault(s, (size_t)pair->sides[0].count, (size_t)pair->sides[1].count, *kept);
    if (pair->fault) *kept = pair->work = 0;
    return ATTEND_OK;
}

/* Encodes all pairs, or, if `some`, as many as fit into memory together, but at least one. */
static int add_pairs(attend_scorer *s, int count, const char *const *sources, const char *const *targets, bool some)
{
    double kept = 0, more = 0;
    int status = reserve_pairs(s, count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        scorer_pair *pair = &s->pairs[i];
        status = add_pair(s, pair, sources ? sources[i] : NULL, targets[i], &more);
        kept += more;
        if (some && i > 0 && (kept > s->limit.results || pair->work > s->limit.share)) break; /* for the next run */
        s->results[i].log_probability = 0;
        s->count = i + 1;
        if (some && pair->work > s->limit.share) break; /* alone */
    }
    return status == ATTEND_OK ? reserve_scores(s) : status;
}

static int run(attend_scorer *s, int count, const char *const *sources, const char *const *targets, bool some)
{
    clear_results(s);
    if (!sources != s->is_language_model)
        return attend_fail(ATTEND_BAD_USAGE, s->is_language_model
                                                 ? "a language model scores texts without sources; sources must be NULL"
                                                 : "a translation model scores pairs; sources must not be NULL");
    int status = add_pairs(s, count, sources, targets, some);
    if (status == ATTEND_OK) status = score_groups(s);
    for (int i = 0; status == ATTEND_OK && i < s->count; i++) fill_result(s, &s->pairs[i], &s->results[i]);
    if (status != ATTEND_OK) s->count = 0;
    return status;
}

int attend_scorer_run(attend_scorer *s, int count, const char *const *sources, const char *const *targets)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && (targets || count < 1));
    return run(s, count, sources, targets, false);
}

int attend_scorer_run_some(attend_scorer *s, int count, const char *const *sources, const char *const *targets,
                           int *done)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && (targets || count < 1) && done);
    *done = 0;
    const int status = run(s, count, sources, targets, true);
    *done = s->count;
    return status;
}

const attend_scored_pair *attend_scorer_result(const attend_scorer *s, int pair)
{
    ATTEND_REQUIRE(NULL, s);
    return pair >= 0 && pair < s->count ? &s->results[pair] : NULL;
}

int attend_scorer_result_for(attend_scorer *s, int pair, attend_alignment alignment, const attend_scored_pair **result)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && result);
    const attend_scored_pair *r = *result = attend_scorer_result(s, pair);
    if (!r || !s->maps)
        return attend_fail(ATTEND_BAD_USAGE, "pair %d does not exist, or maps are not kept (attend_scorer_keep_maps)",
                           pair);
    const int status = attend_alignment_check(alignment, attend_model_config(s->m));
    if (status != ATTEND_OK || r->fault) return status;
    const size_t area = area_of(&s->pairs[pair]);
    if (area > s->other_capacity) {
        attend_memory_free(s->other_weights);
        s->other_weights = attend_memory_zeroed(area, sizeof *s->other_weights);
        s->other_capacity = s->other_weights ? area : 0;
        if (!s->other_weights) return attend_fail(ATTEND_NO_MEMORY, "no memory for a map of %zu weights", area);
    }
    alignment.shifted |= attend_alignment_has_null(alignment, attend_model_config(s->m));
    average_maps(s, alignment, s->maps + map_count(s) * s->pairs[pair].weights, area,
                 (size_t)s->pairs[pair].sides[0].count, s->other_weights);
    s->other = *r, s->other.weights = s->other_weights;
    s->other.has_null = attend_alignment_has_null(alignment, attend_model_config(s->m));
    *result = &s->other;
    return ATTEND_OK;
}

/* ---- links ---- */

static attend_tokenized_text source_of(const attend_scored_pair *r)
{
    return (attend_tokenized_text){ .text = r->source_text,
                                    .spans = r->source_spans,
                                    .count = attend_pipeline_source_length(r->source_count),
                                    .unit = r->source_unit };
}

static attend_tokenized_text target_of(const attend_scored_pair *r)
{
    return (attend_tokenized_text){
        .text = r->target_text, .spans = r->target_spans, .count = r->target_count, .unit = r->target_unit
    };
}

int attend_scorer_set_unit(attend_scorer *s, attend_unit unit)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && attend_unit_name(unit));
    attend_pipelines_set_unit(s->sides, unit);
    return ATTEND_OK;
}

int attend_scorer_links(const attend_scored_pair *r, attend_word_link *links, int capacity)
{
    ATTEND_REQUIRE(0, r && (links || capacity < 1));
    if (r->fault || !r->weights) return 0;
    const attend_tokenized_text source = source_of(r), target = target_of(r);
    return attend_word_links(&source, &target, r->weights, r->source_count, r->has_null, links, capacity);
}

void attend_scorer_word_counts(const attend_scored_pair *r, int *sources, int *targets)
{
    ATTEND_REQUIRE_VOID(r && sources && targets);
    const attend_tokenized_text source = source_of(r), target = target_of(r);
    *sources = r->fault ? 0 : attend_tokenized_count(&source);
    *targets = r->fault ? 0 : attend_tokenized_count(&target);
}

void attend_scorer_word_weights(const attend_scored_pair *r, double *weights)
{
    ATTEND_REQUIRE_VOID(r && weights);
    if (!r->weights || r->fault) return;
    const attend_tokenized_text source = source_of(r), target = target_of(r);
    attend_word_weights(&source, &target, r->weights, r->source_count, weights);
}
