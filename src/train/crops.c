#include "train/crops.h"

#include "core/memory.h"
#include "core/pair_table.h"
#include "core/rng.h"
#include "core/status.h"
#include <string.h>

enum { MAX = ATTEND_MAX_CROPPED, ROUNDS = 8, MOVES = 4, NO_TOKEN = 0, USE_CROPS = 0x63726f70 };

/* The tokens of a segment; the probability of each kind before the first round, up to a factor. */
static const struct {
    int source, target;
    double start;
} moves[MOVES] = { { 1, 1, 1 }, { 1, 0, 0.1 }, { 1, 2, 0.1 }, { 2, 1, 0.1 } };

/* The beginning of a segment, in tokens from the beginning of the pair. */
typedef struct cut {
    unsigned char source, target;
} cut;

struct attend_crops {
    double probability, epochs;
    uint64_t seed, pairs;
    uint64_t *first; /* (pairs + 1) the first cut of each pair */
    cut *cuts;       /* the beginning of the pair is not listed */
};

/* One pair, and the sums of the forward and the backward pass. */
typedef struct lattice {
    int source[MAX], target[MAX], n, m;
    double forward[MAX + 1][MAX + 1], backward[MAX + 1][MAX + 1];
    int best[MAX + 1][MAX + 1]; /* the move by which the best path comes here */
    int entry[MAX + 1][MAX + 1][MOVES];
} lattice;

/* Segments and their probabilities. */
typedef struct segment_table {
    attend_pair_table sides[2]; /* one or two tokens of a side, to a number */
    attend_pair_table segments; /* a pair of such numbers, to an index of the arrays */
    double *probability, *count;
    size_t room;
} segment_table;

static void table_free(segment_table *t)
{
    attend_pair_table_free(&t->sides[0]);
    attend_pair_table_free(&t->sides[1]);
    attend_pair_table_free(&t->segments);
    attend_memory_free(t->probability);
    attend_memory_free(t->count);
}

/* The number of a pair of ints, which is added if it is new; -1: no memory. */
static int number_of(attend_pair_table *t, int left, int right)
{
    const int known = attend_pair_table_find(t, left, right);
    if (known >= 0) return known;
    const int number = (int)t->count;
    return attend_pair_table_add(t, left, right, number) ? number : -1;
}

static bool make_room(segment_table *t, size_t index)
{
    if (index < t->room) return true;
    const size_t room = 2 * index + 1024;
    double *probability = attend_memory_zeroed(room, sizeof *probability);
    double *count = attend_memory_zeroed(room, sizeof *count);
    if (probability && count) {
        if (t->room) memcpy(probability, t->probability, t->room * sizeof *probability);
        if (t->room) memcpy(count, t->count, t->room * sizeof *count);
        attend_memory_free(t->probability);
        attend_memory_free(t->count);
        t->probability = probability, t->count = count, t->room = room;
        return true;
    }
    attend_memory_free(probability);
    attend_memory_free(count);
    return false;
}

/* Tokens are numbered from 1, so that 0 stands for none. */
static int side_number(attend_pair_table *t, const int *tokens, int count)
{
    return number_of(t, count > 0 ? tokens[0] + 1 : NO_TOKEN, count > 1 ? tokens[1] + 1 : NO_TOKEN);
}

static bool fits(const lattice *l, int i, int j, int move)
{
    return i + moves[move].source <= l->n && j + moves[move].target <= l->m;
}

/* Finds the segments of a pair in the table; false: no memory. In the first round they are added, with a probability
 * that depends on the kind of segment only. */
static bool find_segments(segment_table *t, lattice *l)
{
    for (int i = 0; i <= l->n; i++)
        for (int j = 0; j <= l->m; j++)
            for (int k = 0; k < MOVES; k++) {
                if (!fits(l, i, j, k)) continue;
                const int source = side_number(&t->sides[0], l->source + i, moves[k].source);
                const int target = side_number(&t->sides[1], l->target + j, moves[k].target);
                const size_t before = t->segments.count;
                const int index = source < 0 || target < 0 ? -1 : number_of(&t->segments, source, target);
                if (index < 0 || !make_room(t, (size_t)index)) return false;
                if (t->segments.count > before) t->probability[index] = moves[k].start;
                l->entry[i][j][k] = index;
            }
    return true;
}

/* Adds the expected number of each segment of a pair. */
static void count_segments(segment_table *t, lattice *l)
{
    memset(l->forward, 0, sizeof l->forward);
    memset(l->backward, 0, sizeof l->backward);
    l->forward[0][0] = l->backward[l->n][l->m] = 1;
    for (int i = 0; i <= l->n; i++)
        for (int j = 0; j <= l->m; j++)
            for (int k = 0; k < MOVES; k++)
                if (fits(l, i, j, k))
                    l->forward[i + moves[k].source][j + moves[k].target] +=
                        l->forward[i][j] * t->probability[l->entry[i][j][k]];
    const double all = l->forward[l->n][l->m];
    if (!(all > 0)) return;
    for (int i = l->n; i >= 0; i--)
        for (int j = l->m; j >= 0; j--)
            for (int k = 0; k < MOVES; k++) {
                if (!fits(l, i, j, k)) continue;
                const int index = l->entry[i][j][k];
                const double rest = t->probability[index] * l->backward[i + moves[k].source][j + moves[k].target];
                l->backward[i][j] += rest;
                t->count[index] += l->forward[i][j] * rest / all;
            }
}

static void estimate(segment_table *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->segments.count; i++) sum += t->count[i];
    for (size_t i = 0; i < t->segments.count; i++) {
        t->probability[i] = sum > 0 ? t->count[i] / sum : 0;
        t->count[i] = 0;
    }
}

/* The cuts of the most probable segmentation; returns their number, 0 if there is none. */
static int best_cuts(const segment_table *t, lattice *l, cut cuts[MAX])
{
    memset(l->forward, 0, sizeof l->forward);
    l->forward[0][0] = 1;
    for (int i = 0; i <= l->n; i++)
        for (int j = 0; j <= l->m; j++)
            for (int k = 0; k < MOVES; k++) {
                if (!fits(l, i, j, k)) continue;
                const double x = l->forward[i][j] * t->probability[l->entry[i][j][k]];
                double *to = &l->forward[i + moves[k].source][j + moves[k].target];
                if (x <= *to) continue;
                *to = x;
                l->best[i + moves[k].source][j + moves[k].target] = k;
            }
    if (!(l->forward[l->n][l->m] > 0)) return 0;
    int count = 0;
    for (int i = l->n, j = l->m;;) {
        const int k = l->best[i][j];
        i -= moves[k].source, j -= moves[k].target;
        if (i == 0) break;
        cuts[count++] = (cut){ (unsigned char)i, (unsigned char)j };
    }
    return count;
}

/* ---- all pairs ---- */

/* Reads a pair without the end token of its source; false: it is too long, or the status is not ATTEND_OK. */
static bool read_pair(const attend_corpus *corpus, uint64_t i, lattice *l, int *status)
{
    int source[MAX + 1], n = 0, m = 0;
    *status = attend_corpus_lengths(corpus, i, &n, &m);
    if (*status != ATTEND_OK || n < 2 || n > MAX + 1 || m > MAX) return false;
    *status = attend_corpus_ids(corpus, i, source, l->target);
    memcpy(l->source, source, sizeof l->source);
    l->n = n - 1, l->m = m;
    return *status == ATTEND_OK;
}

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory to align pairs for crops");
}

static int learn(const attend_corpus *corpus, uint64_t pairs, segment_table *t, lattice *l)
{
    int status = ATTEND_OK;
    for (int round = 0; round < ROUNDS && status == ATTEND_OK; round++) {
        for (uint64_t i = 0; i < pairs && status == ATTEND_OK; i++) {
            if (!read_pair(corpus, i, l, &status)) continue;
            if (!find_segments(t, l)) return no_memory();
            count_segments(t, l);
        }
        estimate(t);
    }
    return status;
}

/* A cut leaves at least two segments: the last one of a word alone says little. */
static int keep_cuts(attend_crops *c, const attend_corpus *corpus, segment_table *t, lattice *l)
{
    uint64_t used = 0;
    int status = ATTEND_OK;
    for (uint64_t i = 0; i < c->pairs && status == ATTEND_OK; i++) {
        cut cuts[MAX];
        c->first[i] = used;
        if (!read_pair(corpus, i, l, &status)) continue;
        if (!find_segments(t, l)) return no_memory();
        const int count = best_cuts(t, l, cuts); /* the last one first */
        for (int k = 1; k < count; k++)
            if (cuts[k].target < l->m) c->cuts[used++] = cuts[k];
    }
    c->first[c->pairs] = used;
    return status;
}

int attend_crops_new(attend_crops **out, const attend_corpus *corpus, double probability, uint64_t seed)
{
    const attend_corpus_counts n = attend_corpus_count(corpus);
    segment_table t = { .room = 0 };
    attend_crops *c = attend_memory_zeroed(1, sizeof *c);
    lattice *l = attend_memory_zeroed(1, sizeof *l);
    *out = NULL;
    if (c) {
        *c = (attend_crops){ .probability = probability, .seed = seed, .pairs = n.pairs };
        c->first = attend_memory_zeroed((size_t)n.pairs + 1, sizeof *c->first);
        c->cuts = attend_memory_zeroed((size_t)n.source_ids + 1, sizeof *c->cuts);
    }
    int status = c && l && c->first && c->cuts ? learn(corpus, n.pairs, &t, l) : no_memory();
    if (status == ATTEND_OK) status = keep_cuts(c, corpus, &t, l);
    table_free(&t);
    attend_memory_free(l);
    if (status == ATTEND_OK)
        *out = c;
    else
        attend_crops_free(c);
    return status;
}

void attend_crops_free(attend_crops *c)
{
    if (!c) return;
    attend_memory_free(c->first);
    attend_memory_free(c->cuts);
    attend_memory_free(c);
}

void attend_crops_set_epochs(attend_crops *c, double epochs)
{
    c->epochs = epochs;
}

/* The probability in an epoch. */
static double probability_in(const attend_crops *c, uint64_t epoch)
{
    if (c->epochs <= 0) return c->probability;
    const double left = 1 - (double)epoch / c->epochs;
    return left > 0 ? left * c->probability : 0;
}

void attend_crops_at(const attend_crops *c, uint64_t epoch, uint64_t pair, int *source, int *target)
{
    const attend_rng r = { c->seed, epoch, USE_CROPS };
    const uint64_t count = c->first[pair + 1] - c->first[pair];
    *source = *target = 0;
    if (count == 0 || attend_rng_uniform(&r, 2 * pair) >= probability_in(c, epoch)) return;
    const uint64_t at = (uint64_t)(attend_rng_uniform(&r, 2 * pair + 1) * (double)count);
    const cut chosen = c->cuts[c->first[pair] + (at < count ? at : count - 1)];
    *source = chosen.source, *target = chosen.target;
}
