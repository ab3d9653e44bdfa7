/* ibm1.c: IBM Model 1 (Brown et al. 1993) in both directions.
 *
 *     p(t_j | s) = 1/m sum_i T(t_j | s_i)
 *     E: c(t, s) += T(t | s_i) / sum_k T(t | s_k)
 *     M: T(t | s) = c(t, s) / sum_t' c(t', s)
 *
 * A link is a pair (i, j) with the largest T(t_j | s_i) over i and the largest T'(s_i | t_j) over j. One direction
 * alone links rare tokens to arbitrary neighbours; both directions rarely agree on such links. A token that occurs
 * twice in a sentence is not linked, because Model 1 cannot tell the occurrences apart. */
#include "decode/ibm1.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include "core/pair_table.h"
#include <attend/model.h>
#include <limits.h>
#include <string.h>

enum { ITERATIONS = 5 };

typedef struct entry {
    double probability, count; /* T and c */
} entry;

/* One direction: probabilities of tokens `to` given tokens `from`. */
typedef struct table {
    attend_pair_table index; /* (from, to) to an index of `entries` */
    entry *entries;
    size_t used, capacity;
    double max_used;
    double *total;  /* (vocabulary) sum of c over `to` */
    int vocabulary; /* of `from` */
} table;

struct attend_ibm1 {
    attend_word_link *links;
    int *starts; /* (pairs + 1) */
};

/* ---- a table ---- */

static void table_free(table *t)
{
    attend_pair_table_free(&t->index);
    attend_memory_free(t->entries);
    attend_memory_free(t->total);
}

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the word translation table of IBM Model 1");
}

static int add_pair(table *t, int from, int to)
{
    if (attend_pair_table_find(&t->index, from, to) >= 0) return ATTEND_OK;
    if ((double)t->used >= t->max_used)
        return attend_fail(ATTEND_NO_MEMORY,
                           "the word translation table of IBM Model 1 takes more than the memory limit: raise it, or "
                           "give fewer pairs (some thousands suffice) or gold links");
    if (t->used == t->capacity) {
        entry *entries = attend_grow_array(t->entries, t->used, t->used + 1, sizeof *entries, &t->capacity);
        if (!entries) return no_memory();
        t->entries = entries;
    }
    if (t->used >= INT_MAX || !attend_pair_table_add(&t->index, from, to, (int)t->used)) return no_memory();
    t->entries[t->used++] = (entry){ .probability = 1 };
    return ATTEND_OK;
}

static int table_new(table *t, const attend_ibm1_pairs *p, int side)
{
    int status = ATTEND_OK;
    const int *from = p->tokens[side], *to = p->tokens[1 - side];
    for (int i = 0; status == ATTEND_OK && i < p->count;
         from += p->lengths[side][i], to += p->lengths[1 - side][i], i++)
        for (int a = 0; status == ATTEND_OK && a < p->lengths[side][i]; a++) {
            t->vocabulary = from[a] >= t->vocabulary ? from[a] + 1 : t->vocabulary;
            for (int b = 0; status == ATTEND_OK && b < p->lengths[1 - side][i]; b++)
                status = add_pair(t, from[a], to[b]);
        }
    t->total = attend_memory_zeroed((size_t)t->vocabulary + 1, sizeof *t->total);
    return status == ATTEND_OK && !t->total ? no_memory() : status;
}

static entry *entry_of(const table *t, int from, int to)
{
    return &t->entries[attend_pair_table_find(&t->index, from, to)];
}

/* The E step for a sentence pair. */
static void count_sentence(table *t, const int *from, int froms, const int *to, int tos)
{
    for (int b = 0; b < tos; b++) {
        double sum = 0;
        for (int a = 0; a < froms; a++) sum += entry_of(t, from[a], to[b])->probability;
        for (int a = 0; a < froms; a++) {
            entry *e = entry_of(t, from[a], to[b]);
            e->count += e->probability / sum;
            t->total[from[a]] += e->probability / sum;
        }
    }
}

/* The M step: probabilities from counts, which become zero. */
static void normalize(table *t)
{
    for (size_t i = 0; i < t->index.slot_count; i++) {
        const struct attend_pair_slot *slot = &t->index.slots[i];
        if (slot->value == 0) continue;
        entry *e = &t->entries[slot->value - 1];
        *e = (entry){ .probability = e->count / t->total[slot->left] };
    }
    memset(t->total, 0, (size_t)t->vocabulary * sizeof *t->total);
}

static void estimate(table *t, const attend_ibm1_pairs *p, int side)
{
    for (int iteration = 0; iteration < ITERATIONS; iteration++) {
        const int *from = p->tokens[side], *to = p->tokens[1 - side];
        for (int i = 0; i < p->count; from += p->lengths[side][i], to += p->lengths[1 - side][i], i++)
            count_sentence(t, from, p->lengths[side][i], to, p->lengths[1 - side][i]);
        normalize(t);
    }
}

/* ---- links ---- */

/* The position of the most probable origin of a token; -1: none, or it is ambiguous because it occurs twice. */
static int origin(const table *t, const int *from, int froms, int to)
{
    int best = 0;
    for (int a = 1; a < froms; a++)
        if (entry_of(t, from[a], to)->probability > entry_of(t, from[best], to)->probability) best = a;
    for (int a = best + 1; a < froms; a++)
        if (from[a] == from[best]) return -1;
    return from[best] == ATTEND_END ? -1 : best;
}

static int link_sentence(const table tables[2], const int *source, int sources, const int *target, int targets,
                         attend_word_link *links)
{
    int count = 0;
    for (int j = 0; j < targets; j++) {
        const int i = target[j] == ATTEND_END ? -1 : origin(&tables[0], source, sources, target[j]);
        if (i >= 0 && origin(&tables[1], target, targets, source[i]) == j)
            links[count++] = (attend_word_link){ .source = i, .target = j, .sure = true };
    }
    return count;
}

static int link_all(attend_ibm1 *s, const table tables[2], const attend_ibm1_pairs *p)
{
    size_t tokens = 0;
    for (int i = 0; i < p->count; i++) tokens += (size_t)p->lengths[1][i];
    s->starts = attend_memory_zeroed((size_t)p->count + 1, sizeof *s->starts);
    s->links = attend_memory_zeroed(tokens + 1, sizeof *s->links);
    if (!s->starts || !s->links) return no_memory();
    const int *source = p->tokens[0], *target = p->tokens[1];
    for (int i = 0; i < p->count; source += p->lengths[0][i], target += p->lengths[1][i], i++)
        s->starts[i + 1] = s->starts[i] + link_sentence(tables, source, p->lengths[0][i], target, p->lengths[1][i],
                                                        s->links + s->starts[i]);
    return ATTEND_OK;
}

int attend_ibm1_new(attend_ibm1 **out, const attend_ibm1_pairs *pairs, double max_bytes)
{
    enum { ENTRY_BYTES = 96 }; /* of a table that has just grown, with its index */
    table tables[2] = { { .max_used = max_bytes / 2 / ENTRY_BYTES }, { .max_used = max_bytes / 2 / ENTRY_BYTES } };
    attend_ibm1 *s = attend_memory_zeroed(1, sizeof *s);
    int status = s ? ATTEND_OK : no_memory();
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        status = table_new(&tables[side], pairs, side);
        if (status == ATTEND_OK) estimate(&tables[side], pairs, side);
    }
    if (status == ATTEND_OK) status = link_all(s, tables, pairs);
    for (int side = 0; side < 2; side++) table_free(&tables[side]);
    if (status != ATTEND_OK) attend_ibm1_free(s);
    *out = status == ATTEND_OK ? s : NULL;
    return status;
}

void attend_ibm1_free(attend_ibm1 *s)
{
    if (!s) return;
    attend_memory_free(s->links);
    attend_memory_free(s->starts);
    attend_memory_free(s);
}

int attend_ibm1_links(const attend_ibm1 *s, int pair, const attend_word_link **links)
{
    *links = s->links + s->starts[pair];
    return s->starts[pair + 1] - s->starts[pair];
}
