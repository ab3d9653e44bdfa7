/* map_selection.c: every map of a model against links, gold ones between words or silver ones (ibm1.h) between pieces. */
#include <attend/map_selection.h>

#include "core/memory.h"
#include "core/status.h"
#include "decode/ibm1.h"
#include "text/buffers.h"
#include <attend/scorer.h>

enum { TOGETHER = 64 }; /* pairs that run together: all their maps are in memory */

typedef struct numbers {
    int *list;
    size_t used, room;
} numbers;

struct attend_map_selection {
    attend_scorer *scorer;
    attend_map_score *scores; /* (count) */
    int count;
    enum { NOTHING, GOLD, SILVER, ENDED, FAILED } against; /* FAILED: some maps have counted a pair, others not */
    attend_word_link *links;                               /* found in one pair */
    size_t link_room;
    /* silver: all pairs, since links come of all of them */
    numbers words[2], lengths[2];
    numbers looked; /* pair after pair, map after map: of each piece of the target the source's it looks at */
};

/* ---- the maps ---- */

static int list_maps(attend_map_selection *t, const attend_config *c)
{
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS);
    if (layers == 0) return attend_fail(ATTEND_BAD_USAGE, "the model has no attention to align by");
    t->scores = attend_memory_zeroed((size_t)(1 + layers * (heads + 1)), sizeof *t->scores);
    if (!t->scores) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d maps", layers * heads);
    if (layers > 1) t->scores[t->count++].map = (attend_alignment){ .layer = -1, .head = -1 };
    for (int l = 0; l < layers; l++) t->scores[t->count++].map = (attend_alignment){ .layer = l, .head = -1 };
    for (int l = 0; heads > 1 && l < layers; l++)
        for (int h = 0; h < heads; h++) t->scores[t->count++].map = (attend_alignment){ .layer = l, .head = h };
    return ATTEND_OK;
}

int attend_map_selection_new(attend_map_selection **out, const attend_model *m, int threads)
{
    *out = NULL;
    attend_map_selection *t = attend_memory_zeroed(1, sizeof *t);
    if (!t) return attend_fail(ATTEND_NO_MEMORY, "no memory to try maps");
    int status = list_maps(t, attend_model_config(m));
    if (status == ATTEND_OK) status = attend_scorer_new(&t->scorer, m, threads, true);
    if (status == ATTEND_OK) {
        attend_scorer_keep_maps(t->scorer);
        *out = t;
    } else {
        attend_map_selection_free(t);
    }
    return status;
}

void attend_map_selection_free(attend_map_selection *t)
{
    if (!t) return;
    attend_scorer_free(t->scorer);
    attend_memory_free(t->scores);
    attend_memory_free(t->links);
    for (int side = 0; side < 2; side++) {
        attend_memory_free(t->words[side].list);
        attend_memory_free(t->lengths[side].list);
    }
    attend_memory_free(t->looked.list);
    attend_memory_free(t);
}

/* ---- pairs ---- */

/* Room for `more`, which the caller fills; NULL: no memory. */
static int *grow(numbers *n, size_t more)
{
    if (more > n->room - n->used) {
        int *list = attend_grow_array(n->list, n->used, n->used + more, sizeof *list, &n->room);
        if (!list) return NULL;
        n->list = list;
    }
    n->used += more;
    return n->list + n->used - more;
}

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the pairs of a trial");
}

static int take_links(attend_map_selection *t, size_t most)
{
    if (most < t->link_room) return ATTEND_OK;
    attend_word_link *links = attend_grow_array(t->links, 0, most + 1, sizeof *links, &t->link_room);
    if (!links) return no_memory();
    t->links = links;
    return ATTEND_OK;
}

static int add_gold(attend_map_selection *t, int pair, const attend_pair_links *gold)
{
    int status = ATTEND_OK;
    for (int k = 0; status == ATTEND_OK && k < t->count; k++) {
        const attend_scored_pair *r;
        status = attend_scorer_result_for(t->scorer, pair, t->scores[k].map, &r);
        if (status == ATTEND_OK) status = take_links(t, (size_t)r->target_count);
        const int found = status == ATTEND_OK ? attend_scorer_links(r, t->links, r->target_count) : 0;
        if (status == ATTEND_OK) status = attend_aer_add(&t->scores[k].sums, t->links, found, gold->links, gold->count);
    }
    return status;
}

/* The piece that a row of weights looks at most. As for links between words, the source's end, which is the last, does not count. */
static int most_of(const attend_real *row, int count)
{
    int best = 0;
    for (int j = 1; j < count - 1; j++)
        if (row[j] > row[best]) best = j;
    return best;
}

static int add_words(numbers *words, numbers *lengths, const int *ids, int count, bool end)
{
    int *to = grow(words, (size_t)count + end), *length = grow(lengths, 1);
    if (!to || !length) return no_memory();
    for (int i = 0; i < count; i++) to[i] = ids[i];
    if (end) to[count] = ATTEND_END;
    *length = count + end;
    return ATTEND_OK;
}

static int add_silver(attend_map_selection *t, int pair)
{
    const attend_scored_pair *r = attend_scorer_result(t->scorer, pair);
    if (r->fault) return ATTEND_OK;
    int status = add_words(&t->words[0], &t->lengths[0], r->source, r->source_count, false);
    if (status == ATTEND_OK) status = add_words(&t->words[1], &t->lengths[1], r->target, r->target_count, true);
    for (int k = 0; status == ATTEND_OK && k < t->count; k++) {
        status = attend_scorer_result_for(t->scorer, pair, t->scores[k].map, &r);
        int *to = status == ATTEND_OK ? grow(&t->looked, (size_t)r->target_count) : NULL;
        if (status == ATTEND_OK && !to) status = no_memory();
        for (int i = 0; status == ATTEND_OK && i < r->target_count; i++)
            to[i] = most_of(r->weights + (size_t)i * (size_t)r->source_count, r->source_count);
    }
    return status;
}

static int has_failed(void)
{
    return attend_fail(ATTEND_BAD_USAGE, "this trial of maps has failed before: begin a new one");
}

int attend_map_selection_add(attend_map_selection *t, int count, const char *const *sources, const char *const *targets,
                             const attend_pair_links *gold)
{
    if (t->against == FAILED) return has_failed();
    if (t->against == ENDED || t->against == (gold ? SILVER : GOLD))
        return attend_fail(ATTEND_BAD_USAGE, "a trial has ended, or has gold links of some pairs and not of others");
    t->against = gold ? GOLD : SILVER;
    int status = ATTEND_OK;
    for (int first = 0; status == ATTEND_OK && first < count; first += TOGETHER) {
        const int some = count - first < TOGETHER ? count - first : TOGETHER;
        status = attend_scorer_run(t->scorer, some, sources + first, targets + first);
        for (int i = 0; status == ATTEND_OK && i < some; i++)
            status = gold ? add_gold(t, i, &gold[first + i]) : add_silver(t, i);
    }
    if (status != ATTEND_OK) t->against = FAILED;
    return status;
}

/* ---- the end ---- */

static int count_silver(attend_map_selection *t, const attend_ibm1 *silver, int pairs)
{
    const int *looked = t->looked.list;
    int status = ATTEND_OK;
    for (int pair = 0; status == ATTEND_OK && pair < pairs; pair++) {
        const attend_word_link *gold;
        const int golds = attend_ibm1_links(silver, pair, &gold), targets = t->lengths[1].list[pair] - 1;
        status = take_links(t, (size_t)targets);
        for (int k = 0; status == ATTEND_OK && k < t->count; k++, looked += targets) {
            for (int i = 0; i < targets; i++) t->links[i] = (attend_word_link){ .source = looked[i], .target = i };
            status = attend_aer_add(&t->scores[k].sums, t->links, targets, gold, golds);
        }
    }
    return status;
}

static int try_silver(attend_map_selection *t)
{
    const attend_ibm1_pairs pairs = { .count = (int)t->lengths[0].used,
                                      .words = { t->words[0].list, t->words[1].list },
                                      .lengths = { t->lengths[0].list, t->lengths[1].list } };
    attend_ibm1 *silver = NULL;
    int status = attend_ibm1_new(&silver, &pairs);
    if (status == ATTEND_OK) status = count_silver(t, silver, pairs.count);
    attend_ibm1_free(silver);
    return status;
}

int attend_map_selection_end(attend_map_selection *t, const attend_map_score **scores, int *count, int *best)
{
    if (t->against == FAILED) return has_failed();
    const int status = t->against == SILVER ? try_silver(t) : ATTEND_OK;
    t->against = status == ATTEND_OK ? ENDED : FAILED;
    if (status != ATTEND_OK) return status;
    *scores = t->scores, *count = t->count, *best = 0;
    for (int k = 0; k < t->count; k++) {
        t->scores[k].error = attend_aer(&t->scores[k].sums);
        if (t->scores[k].error < t->scores[*best].error) *best = k;
    }
    return ATTEND_OK;
}
