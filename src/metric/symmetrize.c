/* symmetrize.c: combines the alignments of two directions (Och, Ney 2003; Koehn, Och, Marcu 2003). The union of the
 * links is sorted by target, then source. Growing visits it in that order until nothing is added, and considers the
 * eight neighbours of each accepted link:
 *   grow-diag   + a neighbour in the union whose source or target word has no link yet
 *   final       + links of the first direction, then of the second, whose source or target word has no link yet
 *   final-and   + the same, if neither word has a link yet
 * Only links of the union are considered, so the work grows with the number of links, not with the product of the
 * sentence lengths. */
#include "core/memory.h"
#include "core/status.h"

#include <attend/metric.h>
#include <stdlib.h>

enum { FORWARD = 1, BACKWARD = 2, BOTH = FORWARD | BACKWARD, MAX_WORDS = 1 << 24 };

typedef struct point {
    int source, target;
    int from; /* FORWARD, BACKWARD or BOTH */
    bool accepted;
} point;

typedef struct points {
    point *list; /* (count), sorted */
    int count;
    int *sources, *targets; /* accepted links of each word */
} points;

const char *const attend_symmetrization_names[] = { "intersection",        "union", "grow-diag", "grow-diag-final",
                                                    "grow-diag-final-and", NULL };

const char *attend_symmetrization_name(attend_symmetrization how)
{
    return (unsigned)how <= ATTEND_GROW_DIAG_FINAL_AND ? attend_symmetrization_names[how] : NULL;
}

static int compare_links(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->target != y->target) return (x->target > y->target) - (x->target < y->target);
    return (x->source > y->source) - (x->source < y->source);
}

static int add_links(points *p, const attend_word_link *links, int count, int from)
{
    for (int i = 0; i < count; i++) {
        const attend_word_link *l = &links[i];
        if (l->source < 0 || l->target < 0 || l->source >= MAX_WORDS || l->target >= MAX_WORDS)
            return attend_fail(ATTEND_BAD_DATA, "invalid link %d-%d: word positions are 0 to %d", l->source, l->target,
                               MAX_WORDS - 1);
        p->list[p->count++] = (point){ .source = links[i].source, .target = links[i].target, .from = from };
    }
    return ATTEND_OK;
}

/* Sorts the links and merges equal ones. */
static void merge_duplicates(points *p)
{
    qsort(p->list, (size_t)p->count, sizeof *p->list, compare_links);
    int kept = 0;
    for (int i = 0; i < p->count; i++)
        if (kept > 0 && compare_links(&p->list[kept - 1], &p->list[i]) == 0)
            p->list[kept - 1].from |= p->list[i].from;
        else
            p->list[kept++] = p->list[i];
    p->count = kept;
}

static int count_words(points *p)
{
    int sources = 0, targets = 0;
    for (int i = 0; i < p->count; i++) {
        if (p->list[i].source >= sources) sources = p->list[i].source + 1;
        if (p->list[i].target >= targets) targets = p->list[i].target + 1;
    }
    p->sources = attend_memory_zeroed((size_t)sources + 1, sizeof(int));
    p->targets = attend_memory_zeroed((size_t)targets + 1, sizeof(int));
    if (!p->sources || !p->targets) return attend_fail(ATTEND_NO_MEMORY, "no memory for the links of a sentence");
    return ATTEND_OK;
}

static void accept(points *p, point *x)
{
    x->accepted = true;
    p->sources[x->source]++;
    p->targets[x->target]++;
}

static bool aligns_a_new_word(const points *p, const point *x)
{
    return p->sources[x->source] == 0 || p->targets[x->target] == 0;
}

static bool aligns_two_new_words(const points *p, const point *x)
{
    return p->sources[x->source] == 0 && p->targets[x->target] == 0;
}

static void grow(points *p)
{
    static const int neighbours[8][2] = { { -1, 0 },  { 0, -1 }, { 1, 0 },  { 0, 1 },
                                          { -1, -1 }, { -1, 1 }, { 1, -1 }, { 1, 1 } };
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < p->count; i++)
            for (int k = 0; p->list[i].accepted && k < 8; k++) {
                const point neighbour = { .source = p->list[i].source + neighbours[k][1],
                                          .target = p->list[i].target + neighbours[k][0] };
                point *x = bsearch(&neighbour, p->list, (size_t)p->count, sizeof *p->list, compare_links);
                if (!x || x->accepted || !aligns_a_new_word(p, x)) continue;
                accept(p, x);
                more = true;
            }
    }
}

static void finish(points *p, int from, bool (*fits)(const points *p, const point *x))
{
    for (int i = 0; i < p->count; i++)
        if ((p->list[i].from & from) && !p->list[i].accepted && fits(p, &p->list[i])) accept(p, &p->list[i]);
}

int attend_symmetrize(attend_symmetrization how, const attend_word_link *forward, int forward_count,
                      const attend_word_link *backward, int backward_count, attend_word_link *out, int *out_count)
{
    if (!attend_symmetrization_name(how) || forward_count < 0 || backward_count < 0 || (forward_count && !forward) ||
        (backward_count && !backward) || (forward_count + backward_count > 0 && !out) || !out_count)
        return attend_fail(ATTEND_BAD_USAGE, "symmetrisation needs a known heuristic and two lists of links");
    points p = { .list = attend_memory_zeroed((size_t)forward_count + (size_t)backward_count + 1, sizeof *p.list) };
    int status = p.list ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for the links of a sentence");
    if (status == ATTEND_OK) status = add_links(&p, forward, forward_count, FORWARD);
    if (status == ATTEND_OK) status = add_links(&p, backward, backward_count, BACKWARD);
    if (status == ATTEND_OK) merge_duplicates(&p), status = count_words(&p);
    if (status == ATTEND_OK) {
        for (int i = 0; i < p.count; i++)
            if (p.list[i].from == BOTH || how == ATTEND_UNION) accept(&p, &p.list[i]);
        if (how >= ATTEND_GROW_DIAG) grow(&p);
        if (how >= ATTEND_GROW_DIAG_FINAL) {
            bool (*const fits)(const points *, const point *) =
                how == ATTEND_GROW_DIAG_FINAL ? aligns_a_new_word : aligns_two_new_words;
            finish(&p, FORWARD, fits);
            finish(&p, BACKWARD, fits);
        }
        *out_count = 0;
        for (int i = 0; i < p.count; i++)
            if (p.list[i].accepted)
                out[(*out_count)++] =
                    (attend_word_link){ .source = p.list[i].source, .target = p.list[i].target, .sure = true };
    }
    attend_memory_free(p.list);
    attend_memory_free(p.sources);
    attend_memory_free(p.targets);
    return status;
}
