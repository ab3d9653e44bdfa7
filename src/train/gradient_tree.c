#include "train/gradient_tree.h"

#include "core/memory.h"
#include "train/gradient_sum.h"
#include <string.h>

/* ---- the shape of the tree ---- */

static int middle(shard_range r)
{
    return r.first + (r.end - r.first + 1) / 2;
}

shard_range attend_shard_range_left(shard_range node)
{
    return (shard_range){ node.first, middle(node) };
}

shard_range attend_shard_range_right(shard_range node)
{
    return (shard_range){ middle(node), node.end };
}

/* The parent of a node that is not the root, and its sibling. */
static shard_range parent_of(const gradient_tree *t, shard_range node, shard_range *sibling)
{
    shard_range r = { 0, t->shards };
    for (;;) {
        const shard_range left = { r.first, middle(r) }, right = { middle(r), r.end };
        if (node.first == left.first && node.end == left.end) {
            *sibling = right;
            return r;
        }
        if (node.first == right.first && node.end == right.end) {
            *sibling = left;
            return r;
        }
        r = node.first < right.first ? left : right;
    }
}

static int depth_of(int shards)
{
    int depth = 0;
    while (depth < 30 && 1 << depth < shards) depth++;
    return depth;
}

/* While no shard runs, the complete nodes that wait cover a prefix of the shards, which is at most one node for each
 * level, and two if the shards do not begin with the first. So with one set more there is always a set for the next
 * shard. */
int attend_gradient_tree_sets(int shards, int threads, bool all)
{
    const int sets = threads + depth_of(shards) * (all ? 1 : 2);
    return sets < shards ? sets : shards;
}

/* ---- ranks ---- */

/* The shard before which `index` of the 2^depth nodes at this depth lie. A leaf that is less deep is on the side of the
 * boundary on which the larger part of it lies. */
static int boundary(shard_range node, int depth, int index)
{
    while (depth > 0 && node.end - node.first > 1) {
        const int half = 1 << --depth;
        node = index < half ? attend_shard_range_left(node) : attend_shard_range_right(node);
        if (index >= half) index -= half;
    }
    return 2 * index >= 1 << depth ? node.end : node.first;
}

shard_range attend_gradient_tree_own(int shards, int ranks, int rank)
{
    enum { FINER = 3 }; /* levels: a rank has at most an eighth more than an even share, and few nodes */
    const shard_range all = { 0, shards };
    const int even = depth_of(ranks), depth = 1 << even == ranks ? even : even + FINER;
    const int64_t nodes = (int64_t)1 << depth, twice = (int64_t)2 * ranks;
    const int first = (int)((2 * nodes * rank + ranks) / twice),
              end = (int)((2 * nodes * (rank + 1) + ranks) / twice); /* rounded */
    return (shard_range){ boundary(all, depth, first), boundary(all, depth, end) };
}

static int cover(shard_range node, shard_range range, shard_range *nodes, int count)
{
    if (node.end <= range.first || node.first >= range.end) return count;
    if (node.first >= range.first && node.end <= range.end) {
        nodes[count] = node;
        return count + 1;
    }
    count = cover(attend_shard_range_left(node), range, nodes, count);
    return cover(attend_shard_range_right(node), range, nodes, count);
}

/* A range has at most two nodes at each of the 20 levels. */
int attend_gradient_tree_cover(int shards, shard_range range, shard_range nodes[MAX_COVER])
{
    return cover((shard_range){ 0, shards }, range, nodes, 0);
}

/* ---- memory ---- */

void attend_gradient_tree_init(gradient_tree *t)
{
    *t = (gradient_tree){ 0 };
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->freed, NULL);
}

void attend_gradient_tree_free(gradient_tree *t)
{
    for (int i = 0; i < t->free_count; i++) attend_grads_free(t->free[i]);
    attend_memory_free(t->free);
    attend_memory_free(t->nodes);
    pthread_cond_destroy(&t->freed);
    pthread_mutex_destroy(&t->lock);
    *t = (gradient_tree){ 0 };
}

static bool list_fits(gradient_tree *t, int sets)
{
    if (sets <= t->capacity) return true;
    attend_grads **larger = attend_memory_zeroed((size_t)sets, sizeof *larger);
    if (!larger) return false;
    if (t->free_count) memcpy(larger, t->free, (size_t)t->free_count * sizeof *larger);
    attend_memory_free(t->free);
    t->free = larger, t->capacity = sets;
    return true;
}

static bool nodes_fit(gradient_tree *t, int shards)
{
    if (shards <= t->node_capacity) return true;
    gradient_node *larger = attend_memory_zeroed((size_t)shards, sizeof *larger);
    if (!larger) return false;
    attend_memory_free(t->nodes);
    t->nodes = larger, t->node_capacity = shards;
    return true;
}

int attend_gradient_tree_begin(gradient_tree *t, const attend_params *params, int shards, shard_range own, int threads)
{
    const int count = own.end - own.first, max = attend_gradient_tree_sets(shards, threads, count == shards);
    const int sets = max < count ? max : count;
    if (!nodes_fit(t, shards) || !list_fits(t, sets > t->sets ? sets : t->sets))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for the sum of %d shards", shards);
    while (t->sets < sets) {
        const int status = attend_grads_new(&t->free[t->free_count], params);
        if (status != ATTEND_OK) return status;
        t->free_count++, t->sets++;
    }
    t->shards = shards, t->next = own.first, t->end = own.end, t->stopped = false;
    return ATTEND_OK;
}

static void give_zeroed(gradient_tree *t, attend_grads *grads)
{
    t->free[t->free_count++] = grads;
    pthread_cond_signal(&t->freed);
}

void attend_gradient_tree_give(gradient_tree *t, attend_grads *grads)
{
    attend_grads_zero(grads);
    pthread_mutex_lock(&t->lock);
    give_zeroed(t, grads);
    pthread_mutex_unlock(&t->lock);
}

/* ---- shards ---- */

bool attend_gradient_tree_take(gradient_tree *t, int *shard, attend_grads **grads)
{
    pthread_mutex_lock(&t->lock);
    while (t->next < t->end && !t->stopped && t->free_count == 0) pthread_cond_wait(&t->freed, &t->lock);
    const bool taken = t->next < t->end && !t->stopped;
    if (taken) {
        *shard = t->next++;
        *grads = t->free[--t->free_count];
    }
    /* who waits for a set must learn that there is nothing left to run */
    if (t->next >= t->end) pthread_cond_broadcast(&t->freed);
    pthread_mutex_unlock(&t->lock);
    return taken;
}

void attend_gradient_tree_stop(gradient_tree *t)
{
    pthread_mutex_lock(&t->lock);
    t->stopped = true;
    pthread_cond_broadcast(&t->freed);
    pthread_mutex_unlock(&t->lock);
}

/* Stores a complete node, or, if its sibling waits and other threads are still busy with shards, takes the sibling out
 * to be added by the caller. */
static attend_grads *store_or_join(gradient_tree *t, shard_range *node, attend_grads *grads, bool *is_left)
{
    attend_grads *other = NULL;
    pthread_mutex_lock(&t->lock);
    if (t->next < t->end && node->end - node->first < t->shards) {
        shard_range sibling;
        const shard_range parent = parent_of(t, *node, &sibling);
        gradient_node *waiting = &t->nodes[sibling.first];
        if (waiting->end == sibling.end) {
            other = waiting->grads;
            *waiting = (gradient_node){ 0 };
            *is_left = node->first == parent.first;
            *node = parent;
        }
    }
    if (!other) t->nodes[node->first] = (gradient_node){ .end = node->end, .grads = grads };
    pthread_mutex_unlock(&t->lock);
    return other;
}

void attend_gradient_tree_finish(gradient_tree *t, int shard, attend_grads *grads, attend_pool *pool)
{
    shard_range node = { shard, shard + 1 };
    bool is_left = false;
    for (attend_grads *other; (other = store_or_join(t, &node, grads, &is_left));) {
        attend_grads *to = is_left ? grads : other, *from = is_left ? other : grads;
        attend_gradient_add(pool, to, from);
        pthread_mutex_lock(&t->lock);
        give_zeroed(t, from);
        pthread_mutex_unlock(&t->lock);
        grads = to;
    }
}

/* ---- the rest ---- */

/* The sum of a node, in the gradients of its leftmost waiting node. */
static attend_grads *sum_of(gradient_tree *t, shard_range node, attend_pool *pool)
{
    gradient_node *waiting = &t->nodes[node.first];
    if (waiting->end == node.end) {
        attend_grads *grads = waiting->grads;
        *waiting = (gradient_node){ 0 };
        return grads;
    }
    attend_grads *left = sum_of(t, (shard_range){ node.first, middle(node) }, pool);
    attend_grads *right = sum_of(t, (shard_range){ middle(node), node.end }, pool);
    attend_gradient_add(pool, left, right);
    give_zeroed(t, right);
    return left;
}

attend_grads *attend_gradient_tree_node(gradient_tree *t, shard_range node, attend_pool *pool)
{
    return sum_of(t, node, pool);
}

void attend_gradient_tree_discard(gradient_tree *t)
{
    for (int i = 0; i < t->end; i++) {
        if (t->nodes[i].end) attend_gradient_tree_give(t, t->nodes[i].grads);
        t->nodes[i] = (gradient_node){ 0 };
    }
}

attend_grads *attend_gradient_tree_end(gradient_tree *t, attend_pool *pool)
{
    if (!t->stopped) return sum_of(t, (shard_range){ 0, t->shards }, pool);
    attend_gradient_tree_discard(t);
    return t->free[--t->free_count];
}
