/* scorer.c: pairs of texts through attend_model_score, on threads, and their attention as links between words. */
#include <attend/scorer.h>

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include "decode/word_links.h"
#include "text/buffers.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 16 }; /* pairs that run together */

typedef attend_real real;

typedef struct side {
    attend_ids ids;     /* of all pairs */
    attend_string text; /* in normal form C, each with a '\0' behind */
} side;

/* Where a pair's things begin. */
typedef struct place {
    int ids[2], counts[2];
    size_t text[2], rows, weights;
    const char *fault;
} place;

struct attend_scorer {
    const attend_model *m;
    attend_tokenizer *tokenizers[2];
    attend_pool *pool;
    attend_ctx **contexts;
    int threads;
    bool weights, keep_maps;
    bool alone;                 /* a language model: there are no sources */
    attend_alignment alignment; /* whose weights results have */
    side sides[2];
    attend_string line; /* one text in normal form */
    place *places;
    attend_scored_pair *results;
    int count, room;
    real *row_numbers, *weight_numbers, *map_numbers;
    attend_scored_pair by; /* of attend_scorer_result_for, with .. */
    real *by_numbers;      /* .. these weights */
    size_t by_room;
    int *good; /* pairs without fault */
    int good_count;
    int *statuses; /* of pieces, at their first pair */
};

static void forget(attend_scorer *s)
{
    attend_memory_free(s->row_numbers);
    attend_memory_free(s->weight_numbers);
    attend_memory_free(s->map_numbers);
    s->row_numbers = s->weight_numbers = s->map_numbers = NULL;
    for (int i = 0; i < 2; i++) s->sides[i].ids.count = 0, s->sides[i].text.size = 0;
    s->count = s->good_count = 0;
}

static void arrays_free(attend_scorer *s)
{
    attend_memory_free(s->places);
    attend_memory_free(s->results);
    attend_memory_free(s->good);
    attend_memory_free(s->statuses);
}

void attend_scorer_free(attend_scorer *s)
{
    if (!s) return;
    forget(s);
    arrays_free(s);
    for (int i = 0; s->contexts && i < s->threads; i++) attend_ctx_free(s->contexts[i]);
    attend_memory_free(s->contexts);
    attend_pool_free(s->pool);
    for (int i = 0; i < 2; i++) {
        attend_tokenizer_free(s->tokenizers[i]);
        attend_ids_free(&s->sides[i].ids);
        attend_string_free(&s->sides[i].text);
    }
    attend_string_free(&s->line);
    attend_memory_free(s->by_numbers);
    attend_memory_free(s);
}

int attend_scorer_new(attend_scorer **out, const attend_model *m, int threads, bool weights)
{
    *out = NULL;
    if (threads < 1 || threads > 1024) return attend_fail(ATTEND_BAD_USAGE, "%d threads are not 1 to 1024", threads);
    attend_scorer *s = attend_memory_zeroed(1, sizeof *s);
    if (!s) return attend_fail(ATTEND_NO_MEMORY, "no memory for a scorer");
    const attend_config *config = attend_model_config(m);
    s->m = m, s->threads = threads;
    s->weights = weights && attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) > 0;
    s->alone = config->task == ATTEND_TASK_LANGUAGE_MODEL;
    s->alignment = attend_model_alignment(m);
    int status = s->alone ? ATTEND_OK : attend_tokenizer_from_model(&s->tokenizers[0], m, "source");
    if (status == ATTEND_OK) status = attend_tokenizer_from_model(&s->tokenizers[1], m, "target");
    if (status == ATTEND_OK) status = attend_pool_new(&s->pool, threads);
    s->contexts = attend_memory_zeroed((size_t)threads, sizeof *s->contexts);
    if (status == ATTEND_OK && !s->contexts) status = attend_fail(ATTEND_NO_MEMORY, "no memory for a scorer");
    for (int i = 0; status == ATTEND_OK && i < threads; i++) status = attend_ctx_new(&s->contexts[i]);
    if (status != ATTEND_OK) {
        attend_scorer_free(s);
        return status;
    }
    *out = s;
    return ATTEND_OK;
}

int attend_scorer_set_alignment(attend_scorer *s, attend_alignment alignment)
{
    const int status = attend_alignment_check(alignment, attend_model_config(s->m));
    if (status == ATTEND_OK) s->alignment = alignment;
    return status;
}

void attend_scorer_keep_maps(attend_scorer *s)
{
    s->keep_maps = s->weights;
}

static int take_room(attend_scorer *s, int count)
{
    if (count <= s->room) return ATTEND_OK;
    arrays_free(s);
    s->room = 0;
    s->places = attend_memory_zeroed((size_t)count, sizeof *s->places);
    s->results = attend_memory_zeroed((size_t)count, sizeof *s->results);
    s->good = attend_memory_zeroed((size_t)count, sizeof *s->good);
    s->statuses = attend_memory_zeroed((size_t)count, sizeof *s->statuses);
    if (!s->places || !s->results || !s->good || !s->statuses)
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    s->room = count;
    return ATTEND_OK;
}

/* ---- texts to numbers ---- */

static int encode(attend_scorer *s, place *p, int which, const char *text)
{
    side *x = &s->sides[which];
    p->ids[which] = x->ids.count;
    p->text[which] = x->text.size;
    int status = attend_normalize(&s->line, text, strlen(text));
    if (status == ATTEND_BAD_DATA) {
        p->fault = "it is not UTF-8";
        return attend_string_add(&x->text, "", 1);
    }
    if (status == ATTEND_OK) status = attend_string_add(&x->text, s->line.text ? s->line.text : "", s->line.size);
    if (status == ATTEND_OK) status = attend_string_add(&x->text, "", 1);
    if (status == ATTEND_OK)
        status = attend_tokenizer_encode(s->tokenizers[which], s->line.text ? s->line.text : "", s->line.size, &x->ids,
                                         0, 0, 0);
    if (status == ATTEND_OK && x->ids.count == p->ids[which]) p->fault = s->alone ? "it is empty" : "a side is empty";
    if (status == ATTEND_OK && which == 0) status = attend_ids_add(&x->ids, ATTEND_END, s->line.size, s->line.size);
    p->counts[which] = x->ids.count - p->ids[which];
    if (p->counts[which] + which > attend_config_max_tokens(attend_model_config(s->m), which))
        p->fault = "it is longer than the model can take";
    return status;
}

/* ---- a piece ---- */

/* The mean of some of a pair's maps, each of `area` numbers. */
static void add_maps(const attend_scorer *s, attend_alignment alignment, const real *from, size_t area, real *to)
{
    const attend_config *config = attend_model_config(s->m);
    const int layers = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
    const real maps = (real)attend_alignment_map_count(alignment, config);
    memset(to, 0, area * sizeof *to);
    for (int k = 0; k < layers * heads; k++, from += area)
        for (size_t j = 0; attend_alignment_includes(alignment, k / heads, k % heads) && j < area; j++)
            to[j] += from[j] / maps;
}

/* How many maps the model makes of a pair. */
static size_t maps_of(const attend_scorer *s)
{
    const attend_config *config = attend_model_config(s->m);
    return (size_t)attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) *
           (size_t)attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
}

/* How many numbers one of a pair's maps has. */
static size_t area_of(const place *p)
{
    return (size_t)(p->counts[1] + 1) * (size_t)p->counts[0];
}

/* The pairs [first, first + count) of the good ones, whose numbers lie one behind another. */
static int run_piece(attend_scorer *s, attend_ctx *c, int first, int count)
{
    int lengths[2][PIECE], *words[2] = { NULL, NULL };
    double sums[PIECE];
    size_t sizes[2] = { 0, 0 };
    for (int i = 0; i < count; i++) {
        const place *p = &s->places[s->good[first + i]];
        for (int k = 0; k < 2; k++) lengths[k][i] = p->counts[k], sizes[k] += (size_t)p->counts[k];
    }
    for (int k = 0; k < 2; k++) words[k] = attend_memory_zeroed(sizes[k], sizeof(int));
    const place *begin = &s->places[s->good[first]];
    const attend_pairs sized = { .count = count, .source_lengths = lengths[0], .target_lengths = lengths[1] };
    const size_t numbers = attend_pairs_weight_count(&sized, attend_model_config(s->m), ATTEND_ATTENTION_CROSS);
    real *own = s->weights && !s->keep_maps ? attend_memory_zeroed(numbers, sizeof *own) : NULL,
         *all = s->keep_maps ? s->map_numbers + maps_of(s) * begin->weights : own;
    int status = words[0] && words[1] && (all || !s->weights)
                     ? ATTEND_OK
                     : attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    size_t at[2] = { 0, 0 };
    for (int i = 0; status == ATTEND_OK && i < count; i++)
        for (int k = 0; k < 2; k++) {
            const place *p = &s->places[s->good[first + i]];
            if (p->counts[k] == 0) continue;
            memcpy(words[k] + at[k], s->sides[k].ids.ids + p->ids[k], (size_t)p->counts[k] * sizeof(int));
            at[k] += (size_t)p->counts[k];
        }
    const attend_pairs pairs = { .count = count,
                                 .source = words[0],
                                 .source_lengths = lengths[0],
                                 .target = words[1],
                                 .target_lengths = lengths[1] };
    if (status == ATTEND_OK)
        status = attend_model_score(c, s->m, &pairs, sums, s->row_numbers + begin->rows, ATTEND_ATTENTION_CROSS, all);
    const real *from = all;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const int pair = s->good[first + i];
        const place *p = &s->places[pair];
        s->results[pair].log_probability = sums[i];
        if (s->weights) add_maps(s, s->alignment, from, area_of(p), s->weight_numbers + p->weights);
        if (s->weights) from += maps_of(s) * area_of(p);
    }
    for (int k = 0; k < 2; k++) attend_memory_free(words[k]);
    attend_memory_free(own);
    return status;
}

static void run_worker(void *user, int worker)
{
    attend_scorer *s = user;
    for (int first = worker * PIECE; first < s->good_count; first += s->threads * PIECE) {
        const int left = s->good_count - first;
        s->statuses[first] = run_piece(s, s->contexts[worker], first, left < PIECE ? left : PIECE);
    }
}

/* ---- all pairs ---- */

static int take_numbers(attend_scorer *s)
{
    size_t rows = 0, weights = 0;
    for (int i = 0; i < s->count; i++) {
        place *p = &s->places[i];
        if (p->fault) continue;
        s->good[s->good_count++] = i;
        p->rows = rows, p->weights = weights;
        rows += (size_t)p->counts[1] + 1;
        weights += area_of(p);
    }
    s->row_numbers = attend_memory_zeroed(rows + 1, sizeof *s->row_numbers);
    s->weight_numbers = s->weights ? attend_memory_zeroed(weights + 1, sizeof *s->weight_numbers) : NULL;
    s->map_numbers = s->keep_maps ? attend_memory_zeroed(maps_of(s) * weights + 1, sizeof *s->map_numbers) : NULL;
    if (!s->row_numbers || (s->weights && !s->weight_numbers) || (s->keep_maps && !s->map_numbers))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the scores of %d pairs", s->count);
    return ATTEND_OK;
}

static void fill_results(attend_scorer *s)
{
    for (int i = 0; i < s->count; i++) {
        const place *p = &s->places[i];
        attend_scored_pair *r = &s->results[i];
        *r = (attend_scored_pair){ .log_probability = r->log_probability, .fault = p->fault };
        r->source_text = s->alone ? "" : s->sides[0].text.text + p->text[0];
        r->target_text = s->sides[1].text.text + p->text[1];
        if (p->fault) continue;
        r->rows = p->counts[1] + 1;
        r->row_log_probability = s->row_numbers + p->rows;
        r->weights = s->weights ? s->weight_numbers + p->weights : NULL;
        r->target = s->sides[1].ids.ids + p->ids[1], r->target_count = p->counts[1];
        r->target_spans = s->sides[1].ids.spans + p->ids[1];
        if (s->alone) continue;
        r->source = s->sides[0].ids.ids + p->ids[0], r->source_count = p->counts[0];
        r->source_spans = s->sides[0].ids.spans + p->ids[0];
    }
}

int attend_scorer_run(attend_scorer *s, int count, const char *const *sources, const char *const *targets)
{
    forget(s);
    if (!sources != s->alone)
        return attend_fail(ATTEND_BAD_USAGE, s->alone ? "a language model scores lines alone, without sources"
                                                      : "pairs are scored, and there are no sources");
    int status = take_room(s, count);
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        s->places[i] = (place){ .fault = NULL };
        s->results[i].log_probability = 0;
        if (sources) status = encode(s, &s->places[i], 0, sources[i]);
        if (status == ATTEND_OK) status = encode(s, &s->places[i], 1, targets[i]);
        s->count = i + 1;
    }
    if (status == ATTEND_OK) status = take_numbers(s);
    if (status != ATTEND_OK) {
        s->count = 0;
        return status;
    }
    attend_pool_run(s->pool, s->threads, run_worker, s);
    for (int first = 0; first < s->good_count; first += PIECE)
        if (s->statuses[first] != ATTEND_OK) {
            s->count = 0;
            const char *why = attend_ctx_message(s->contexts[first / PIECE % s->threads]);
            return attend_fail(s->statuses[first], "%s", *why ? why : "no memory to score");
        }
    fill_results(s);
    return ATTEND_OK;
}

const attend_scored_pair *attend_scorer_result(const attend_scorer *s, int pair)
{
    return pair >= 0 && pair < s->count ? &s->results[pair] : NULL;
}

int attend_scorer_result_for(attend_scorer *s, int pair, attend_alignment alignment, const attend_scored_pair **result)
{
    const attend_scored_pair *r = *result = attend_scorer_result(s, pair);
    if (!r || !s->map_numbers)
        return attend_fail(ATTEND_BAD_USAGE, "the scorer has no pair %d, or kept no maps of it", pair);
    const int status = attend_alignment_check(alignment, attend_model_config(s->m));
    if (status != ATTEND_OK || r->fault) return status;
    const size_t area = area_of(&s->places[pair]);
    if (area > s->by_room) {
        attend_memory_free(s->by_numbers);
        s->by_numbers = attend_memory_zeroed(area, sizeof *s->by_numbers);
        s->by_room = s->by_numbers ? area : 0;
        if (!s->by_numbers) return attend_fail(ATTEND_NO_MEMORY, "no memory for a map of %zu numbers", area);
    }
    add_maps(s, alignment, s->map_numbers + maps_of(s) * s->places[pair].weights, area, s->by_numbers);
    s->by = *r, s->by.weights = s->by_numbers;
    *result = &s->by;
    return ATTEND_OK;
}

/* ---- links ---- */

int attend_scorer_links(const attend_scored_pair *r, attend_word_link *links, int room)
{
    if (r->fault || !r->weights) return 0;
    const attend_tokenized_text source = { r->source_text, r->source_spans,
                                           r->source_count - 1 }; /* its end is no word */
    const attend_tokenized_text target = { r->target_text, r->target_spans, r->target_count };
    return attend_word_links(&source, &target, r->weights, r->source_count, links, room);
}

void attend_scorer_word_counts(const attend_scored_pair *r, int *sources, int *targets)
{
    *sources = r->fault ? 0 : attend_word_count(r->source_text);
    *targets = r->fault ? 0 : attend_word_count(r->target_text);
}

void attend_scorer_word_weights(const attend_scored_pair *r, double *weights)
{
    if (!r->weights || r->fault) return;
    const attend_tokenized_text source = { r->source_text, r->source_spans, r->source_count - 1 };
    const attend_tokenized_text target = { r->target_text, r->target_spans, r->target_count };
    attend_word_weights(&source, &target, r->weights, r->source_count, weights);
}
