/* Two alignments become one (Och, Ney 2003; Koehn, Och, Marcu 2003). The links of either, sorted by target and then source, each know who has them;
 * growing goes over them in that order until nothing is added, and looks at the eight neighbours of each link that is in:
 *   grow-diag   + a neighbour that one of the models has, if its source or its target has no link yet
 *   final       + what the first model has, then the second, if its source or its target has no link yet
 *   final-and   the same, if neither has
 * Links beyond the union are never looked at, so the work grows with the links and not with the words' product. */
#include "core/memory.h"
#include "core/status.h"

#include <attend/metric.h>
#include <stdlib.h>

enum { THERE = 1, BACK = 2, BOTH = THERE | BACK, MOST_WORDS = 1 << 24 };

typedef struct point {
    int source, target;
    int from; /* THERE, BACK or BOTH */
    bool in;
} point;

typedef struct points {
    point *list; /* (count), sorted */
    int count;
    int *sources, *targets; /* how many links a word has */
} points;

static const char *const names[] = { "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and" };
enum { NAMES = sizeof names / sizeof *names };

const char *attend_symmetrization_name(attend_symmetrization how)
{
    return (size_t)how < NAMES ? names[how] : NULL;
}

static int by_target(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->target != y->target) return (x->target > y->target) - (x->target < y->target);
    return (x->source > y->source) - (x->source < y->source);
}

static int take(points *p, const attend_word_link *links, int count, int from)
{
    for (int i = 0; i < count; i++) {
        const attend_word_link *l = &links[i];
        if (l->source < 0 || l->target < 0 || l->source >= MOST_WORDS || l->target >= MOST_WORDS)
            return attend_fail(ATTEND_BAD_DATA, "a link %d-%d: places are 0 to %d", l->source, l->target,
                               MOST_WORDS - 1);
        p->list[p->count++] = (point){ .source = links[i].source, .target = links[i].target, .from = from };
    }
    return ATTEND_OK;
}

/* Each link once. */
static void unite(points *p)
{
    qsort(p->list, (size_t)p->count, sizeof *p->list, by_target);
    int kept = 0;
    for (int i = 0; i < p->count; i++)
        if (kept > 0 && by_target(&p->list[kept - 1], &p->list[i]) == 0)
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

static void put_in(points *p, point *x)
{
    x->in = true;
    p->sources[x->source]++;
    p->targets[x->target]++;
}

static bool aligns_one(const points *p, const point *x)
{
    return p->sources[x->source] == 0 || p->targets[x->target] == 0;
}

static bool aligns_two(const points *p, const point *x)
{
    return p->sources[x->source] == 0 && p->targets[x->target] == 0;
}

static void grow(points *p)
{
    static const int beside[8][2] = { { -1, 0 },  { 0, -1 }, { 1, 0 },  { 0, 1 },
                                      { -1, -1 }, { -1, 1 }, { 1, -1 }, { 1, 1 } };
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < p->count; i++)
            for (int k = 0; p->list[i].in && k < 8; k++) {
                const point wanted = { .source = p->list[i].source + beside[k][1],
                                       .target = p->list[i].target + beside[k][0] };
                point *x = bsearch(&wanted, p->list, (size_t)p->count, sizeof *p->list, by_target);
                if (!x || x->in || !aligns_one(p, x)) continue;
                put_in(p, x);
                more = true;
            }
    }
}

static void finish(points *p, int from, bool (*fits)(const points *p, const point *x))
{
    for (int i = 0; i < p->count; i++)
        if ((p->list[i].from & from) && !p->list[i].in && fits(p, &p->list[i])) put_in(p, &p->list[i]);
}

int attend_symmetrize(attend_symmetrization how, const attend_word_link *there, int there_count,
                      const attend_word_link *back, int back_count, attend_word_link *out, int *out_count)
{
    if (!attend_symmetrization_name(how) || there_count < 0 || back_count < 0 || (there_count && !there) ||
        (back_count && !back) || (there_count + back_count > 0 && !out) || !out_count)
        return attend_fail(ATTEND_BAD_USAGE, "two alignments become one by a rule there is, from two lists of links");
    points p = { .list = attend_memory_zeroed((size_t)there_count + (size_t)back_count + 1, sizeof *p.list) };
    int status = p.list ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for the links of a sentence");
    if (status == ATTEND_OK) status = take(&p, there, there_count, THERE);
    if (status == ATTEND_OK) status = take(&p, back, back_count, BACK);
    if (status == ATTEND_OK) unite(&p), status = count_words(&p);
    if (status == ATTEND_OK) {
        for (int i = 0; i < p.count; i++)
            if (p.list[i].from == BOTH || how == ATTEND_UNION) put_in(&p, &p.list[i]);
        if (how >= ATTEND_GROW_DIAG) grow(&p);
        if (how >= ATTEND_GROW_DIAG_FINAL) {
            bool (*const fits)(const points *, const point *) = how == ATTEND_GROW_DIAG_FINAL ? aligns_one : aligns_two;
            finish(&p, THERE, fits);
            finish(&p, BACK, fits);
        }
        *out_count = 0;
        for (int i = 0; i < p.count; i++)
            if (p.list[i].in)
                out[(*out_count)++] =
                    (attend_word_link){ .source = p.list[i].source, .target = p.list[i].target, .sure = true };
    }
    attend_memory_free(p.list);
    attend_memory_free(p.sources);
    attend_memory_free(p.targets);
    return status;
}
