/* map_selection.c: the alignment error of every attention map, against gold links between words or links of the
 * statistical aligner (align/alignment_model.h) between tokens. */
#include <attend/map_selection.h>

#include "align/alignment_model.h"
#include "core/memory.h"
#include "core/status.h"
#include "decode/memory_limit.h"
#include "text/pipeline.h"
#include "text/token_ids.h"
#include <attend/scorer.h>
#include <limits.h>

/* A growable array. */
typedef struct numbers {
    int *list;
    size_t used, capacity;
} numbers;

struct attend_map_selection {
    const attend_model *m;
    attend_scorer *scorer;
    attend_memory_limit limit;
    attend_map_score *scores; /* (count) */
    int count;
    enum {
        NOTHING,
        GOLD,
        ALIGNER,
        ENDED,
        FAILED
    } state;                 /* the kind of links; FAILED: maps may have counted different pairs */
    attend_word_link *links; /* of one map of one pair */
    size_t link_capacity;
    /* the aligner is estimated from all pairs, so they are kept; tokens are numbered from 1 there */
    numbers tokens[2], lengths[2];
    int threads;
    numbers attended; /* (pairs, maps, target tokens) the source token with the largest weight; -1: none */
};

/* ---- the maps ---- */

/* The alignment head is read shifted only. */
static void add_map(attend_map_selection *s, const attend_config *c, int layer, int head, bool shifted)
{
    const attend_alignment map = { .layer = layer, .head = head, .shifted = shifted };
    if (shifted || !attend_alignment_has_null(map, c)) s->scores[s->count++].map = map;
}

static int list_maps(attend_map_selection *s, const attend_config *c)
{
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS);
    if (layers == 0) return attend_fail(ATTEND_BAD_USAGE, "the model has no attention to align by");
    s->scores = attend_memory_zeroed(2 * (1 + (size_t)layers * ((size_t)heads + 1)), sizeof *s->scores);
    if (!s->scores) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d maps", layers * heads);
    for (int shift = 0; shift < 2; shift++) {
        const bool shifted = shift == 1;
        if (layers - (c->alignment_head ? 1 : 0) > 1) add_map(s, c, -1, -1, shifted);
        for (int l = 0; l < layers; l++) add_map(s, c, l, -1, shifted);
        for (int l = 0; heads > 1 && l < layers; l++)
            for (int h = 0; h < heads; h++) add_map(s, c, l, h, shifted);
    }
    return ATTEND_OK;
}

int attend_map_selection_new(attend_map_selection **out, const attend_model *m, int threads)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && m);
    *out = NULL;
    attend_map_selection *s = attend_memory_zeroed(1, sizeof *s);
    if (!s) return attend_fail(ATTEND_NO_MEMORY, "no memory to select an attention map");
    s->m = m, s->threads = threads;
    int status = list_maps(s, attend_model_config(m));
    if (status == ATTEND_OK) status = attend_scorer_new(&s->scorer, m, threads, true); /* checks `threads` */
    if (status == ATTEND_OK) status = attend_memory_limit_set(&s->limit, 0, &m, 1, threads);
    if (status == ATTEND_OK) {
        attend_scorer_keep_maps(s->scorer);
        *out = s;
    } else {
        attend_map_selection_free(s);
    }
    return status;
}

int attend_map_selection_set_memory(attend_map_selection *s, size_t bytes)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    const int status = attend_memory_limit_set(&s->limit, bytes, &s->m, 1, 1);
    /* half for what is kept, and for the aligner afterwards */
    return status == ATTEND_OK ? attend_scorer_set_memory(s->scorer, bytes ? bytes - (size_t)(s->limit.all / 2) : 0)
                               : status;
}

int attend_map_selection_set_compute(attend_map_selection *s, attend_compute_precision precision)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s);
    return attend_scorer_set_compute(s->scorer, precision);
}

void attend_map_selection_free(attend_map_selection *s)
{
    if (!s) return;
    attend_scorer_free(s->scorer);
    attend_memory_free(s->scores);
    attend_memory_free(s->links);
    for (int side = 0; side < 2; side++) {
        attend_memory_free(s->tokens[side].list);
        attend_memory_free(s->lengths[side].list);
    }
    attend_memory_free(s->attended.list);
    attend_memory_free(s);
}

/* ---- pairs ---- */

/* Appends `more` numbers, which the caller fills in; NULL: no memory. */
static int *grow(numbers *n, size_t more)
{
    if (more > n->capacity - n->used) {
        int *list = attend_grow_array(n->list, n->used, n->used + more, sizeof *list, &n->capacity);
        if (!list) return NULL;
        n->list = list;
    }
    n->used += more;
    return n->list + n->used - more;
}

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the pairs of a map selection");
}

/* Whether the tokens of all pairs take too much memory. */
static int check_memory(const attend_map_selection *s)
{
    double bytes = (double)s->attended.capacity * sizeof *s->attended.list;
    for (int side = 0; side < 2; side++)
        bytes += (double)s->tokens[side].capacity * sizeof *s->tokens[side].list +
                 (double)s->lengths[side].capacity * sizeof *s->lengths[side].list;
    if (bytes <= s->limit.all / 4) return ATTEND_OK;
    return attend_fail(ATTEND_NO_MEMORY,
                       "%zu pairs of a map selection take more than the memory limit: raise it, or give fewer pairs "
                       "(some thousands suffice) or gold links",
                       s->lengths[0].used);
}

static int reserve_links(attend_map_selection *s, size_t count)
{
    if (count < s->link_capacity) return ATTEND_OK;
    attend_word_link *links = attend_grow_array(s->links, 0, count + 1, sizeof *links, &s->link_capacity);
    if (!links) return no_memory();
    s->links = links;
    return ATTEND_OK;
}

static int add_gold(attend_map_selection *s, int pair, const attend_pair_links *gold)
{
    int status = ATTEND_OK;
    for (int k = 0; status == ATTEND_OK && k < s->count; k++) {
        const attend_scored_pair *r;
        status = attend_scorer_result_for(s->scorer, pair, s->scores[k].map, &r);
        if (status == ATTEND_OK) status = reserve_links(s, (size_t)r->target_count);
        const int count = status == ATTEND_OK ? attend_scorer_links(r, s->links, r->target_count) : 0;
        if (status == ATTEND_OK) status = attend_aer_add(&s->scores[k].sums, s->links, count, gold->links, gold->count);
    }
    return status;
}

/* The source token with the largest weight. As for links between words, the source's end does not count, but with
 * has_null a larger weight there means that there is no link: -1. */
static int most_attended(const attend_real *row, int count, bool has_null)
{
    int best = 0;
    for (int j = 1; j < attend_pipeline_source_length(count); j++)
        if (row[j] > row[best]) best = j;
    return has_null && row[count - 1] > row[best] ? -1 : best;
}

static int add_tokens(numbers *tokens, numbers *lengths, const int *ids, int count)
{
    int *to = grow(tokens, (size_t)count), *length = grow(lengths, 1);
    if (!to || !length) return no_memory();
    for (int i = 0; i < count; i++) to[i] = ids[i] + 1;
    *length = count;
    return ATTEND_OK;
}

/* Keeps a pair for the aligner. */
static int add_pair(attend_map_selection *s, int pair)
{
    const attend_scored_pair *r = attend_scorer_result(s->scorer, pair);
    if (r->fault) return ATTEND_OK;
    int status = check_memory(s);
    if (status == ATTEND_OK)
        status = add_tokens(&s->tokens[0], &s->lengths[0], r->source, attend_pipeline_source_length(r->source_count));
    if (status == ATTEND_OK) status = add_tokens(&s->tokens[1], &s->lengths[1], r->target, r->target_count);
    for (int k = 0; status == ATTEND_OK && k < s->count; k++) {
        status = attend_scorer_result_for(s->scorer, pair, s->scores[k].map, &r);
        int *to = status == ATTEND_OK ? grow(&s->attended, (size_t)r->target_count) : NULL;
        if (status == ATTEND_OK && !to) status = no_memory();
        for (int i = 0; status == ATTEND_OK && i < r->target_count; i++)
            to[i] = most_attended(r->weights + (size_t)i * (size_t)r->source_count, r->source_count, r->has_null);
    }
    return status;
}

static int has_failed(void)
{
    return attend_fail(ATTEND_BAD_USAGE, "this map selection has failed before; start a new one");
}

int attend_map_selection_add(attend_map_selection *s, int count, const char *const *sources, const char *const *targets,
                             const attend_pair_links *gold)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && ((sources && targets) || count < 1));
    if (s->state == FAILED) return has_failed();
    if (s->state == ENDED || s->state == (gold ? ALIGNER : GOLD))
        return attend_fail(ATTEND_BAD_USAGE, "the map selection has ended, or only some of its pairs have gold links");
    s->state = gold ? GOLD : ALIGNER;
    int status = ATTEND_OK;
    for (int first = 0, done = 0; status == ATTEND_OK && first < count; first += done) {
        status = attend_scorer_run_some(s->scorer, count - first, sources + first, targets + first, &done);
        for (int i = 0; status == ATTEND_OK && i < done; i++)
            status = gold ? add_gold(s, i, &gold[first + i]) : add_pair(s, i);
    }
    if (status != ATTEND_OK) s->state = FAILED;
    return status;
}

/* ---- the end ---- */

/* Compares the maps of a pair with the links of the aligner. `attended`: (maps, targets). */
static int count_pair(attend_map_selection *s, const alignment_space *space, int sources, int targets,
                      const int *attended)
{
    int status = reserve_links(s, (size_t)targets);
    const int gold_count =
        space ? attend_alignment_agreed(space, sources, targets, ATTEND_ALIGNER_THRESHOLD, NULL, INT_MAX) : 0;
    attend_word_link *gold = attend_memory_zeroed((size_t)gold_count + 1, sizeof *gold);
    if (status == ATTEND_OK && !gold) status = no_memory();
    if (status == ATTEND_OK && space)
        attend_alignment_agreed(space, sources, targets, ATTEND_ALIGNER_THRESHOLD, gold, gold_count);
    for (int k = 0; status == ATTEND_OK && k < s->count; k++, attended += targets) {
        int links = 0;
        for (int i = 0; i < targets; i++)
            if (attended[i] >= 0) s->links[links++] = (attend_word_link){ .source = attended[i], .target = i };
        status = attend_aer_add(&s->scores[k].sums, s->links, links, gold, gold_count);
    }
    attend_memory_free(gold);
    return status;
}

static int count_all(attend_map_selection *s, const alignment_model *m, size_t pairs)
{
    const int *source = s->tokens[0].list, *target = s->tokens[1].list, *attended = s->attended.list;
    alignment_space space = { 0 };
    int status = ATTEND_OK;
    for (size_t pair = 0; status == ATTEND_OK && pair < pairs; pair++) {
        const int sources = s->lengths[0].list[pair], targets = s->lengths[1].list[pair];
        const bool has_links = attend_alignment_can_align(sources, targets);
        if (has_links) status = attend_alignment_posteriors(m, &space, source, sources, target, targets);
        if (status == ATTEND_OK) status = count_pair(s, has_links ? &space : NULL, sources, targets, attended);
        source += sources, target += targets;
        attended += (size_t)targets * (size_t)s->count;
    }
    attend_alignment_space_free(&space);
    return status;
}

static int score_by_aligner(attend_map_selection *s)
{
    const size_t count = s->lengths[0].used;
    size_t *starts[2] = { NULL, NULL };
    int status = ATTEND_OK;
    bool any = false;
    for (size_t pair = 0; pair < count; pair++)
        any |= attend_alignment_can_align(s->lengths[0].list[pair], s->lengths[1].list[pair]);
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        starts[side] = attend_memory_zeroed(count + 1, sizeof *starts[side]);
        if (!starts[side]) status = no_memory();
        for (size_t pair = 0; status == ATTEND_OK && pair < count; pair++)
            starts[side][pair + 1] = starts[side][pair] + (size_t)s->lengths[side].list[pair];
    }
    const alignment_pairs pairs = { .count = count,
                                    .words = { s->tokens[0].list, s->tokens[1].list },
                                    .starts = { starts[0], starts[1] },
                                    .lengths = { s->lengths[0].list, s->lengths[1].list } };
    const alignment_training how = { .threads = s->threads,
                                     .model1_iterations = ATTEND_ALIGNER_ITERATIONS,
                                     .hmm_iterations = ATTEND_ALIGNER_ITERATIONS,
                                     .max_bytes = s->limit.all / 2 };
    alignment_model m = { 0 };
    if (status == ATTEND_OK && any) status = attend_alignment_model_train(&m, &pairs, &how);
    if (status == ATTEND_OK && any) status = count_all(s, &m, count);
    attend_alignment_model_free(&m);
    for (int side = 0; side < 2; side++) attend_memory_free(starts[side]);
    return status;
}

int attend_map_selection_end(attend_map_selection *s, const attend_map_score **scores, int *count, int *best)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && scores && count && best);
    if (s->state == FAILED) return has_failed();
    const int status = s->state == ALIGNER ? score_by_aligner(s) : ATTEND_OK;
    s->state = status == ATTEND_OK ? ENDED : FAILED;
    if (status != ATTEND_OK) return status;
    *scores = s->scores, *count = s->count, *best = 0;
    for (int k = 0; k < s->count; k++) {
        s->scores[k].error = attend_aer(&s->scores[k].sums);
        if (s->scores[k].error < s->scores[*best].error) *best = k;
    }
    return ATTEND_OK;
}
