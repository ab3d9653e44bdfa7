/* gradient_tree.h: the sum of the gradients of shards, in an order that does not depend on who adds them.
 *
 * Purpose    Shards [0, S) are the leaves of a balanced tree: a node [a, b) splits at a + ceil((b - a) / 2). The gradient
 *            of a node is the sum of those of its two children, element by element. So any number of threads gives the
 *            same bits, and no thread waits for a wave of others to end. A rank of several runs the shards of a few nodes
 *            only, and computes the gradients of these.
 * Ownership  A tree owns the gradients that are not in use; attend_gradient_tree_take lends one, and _finish takes it
 *            back.
 * Threads    take and finish may be called from many threads at once. */
#ifndef ATTEND_TRAIN_GRADIENT_TREE_H
#define ATTEND_TRAIN_GRADIENT_TREE_H

#include "core/pool.h"
#include "core/tape.h"
#include <pthread.h>

/* Shards [first, end). */
typedef struct shard_range {
    int first, end;
} shard_range;

typedef struct gradient_node {
    int end;             /* the node [i, end) that is complete and waits for its sibling; 0: none begins at i */
    attend_grads *grads; /* its gradients */
} gradient_node;

typedef struct gradient_tree {
    pthread_mutex_t lock;
    pthread_cond_t freed; /* a set of gradients became free */
    attend_grads **free;  /* (capacity) sets that are zero */
    int free_count, capacity, sets;
    gradient_node *nodes; /* (node_capacity) by first shard */
    int node_capacity;
    int shards, next; /* of this sum; the next shard to run */
    int end;          /* of the shards that this rank runs */
    bool stopped;     /* no further shard is run */
} gradient_tree;

void attend_gradient_tree_init(gradient_tree *t);
void attend_gradient_tree_free(gradient_tree *t);

/* The number of sets of gradients that `threads` threads need for a sum of `shards`: one each, and one for each level of
 * the tree, or two if only some of the shards are run. */
int attend_gradient_tree_sets(int shards, int threads, bool all);

/* ---- ranks ---- */

/* The children of a node. */
shard_range attend_shard_range_left(shard_range node);
shard_range attend_shard_range_right(shard_range node);
/* The shards that a rank runs. With 2^k ranks they are those of one node at depth k. With other numbers, the shards of the
 * nodes at a deeper level are divided evenly. */
shard_range attend_gradient_tree_own(int shards, int ranks, int rank);
/* The largest nodes that have shards of a range only, in order: at most MAX_COVER. Returns their number. */
enum { MAX_COVER = 64 };
int attend_gradient_tree_cover(int shards, shard_range range, shard_range nodes[MAX_COVER]);

/* ---- a sum ---- */

/* Begins the sum of `shards` >= 1 shards, of which those of `own` are run, and allocates what is missing.
 * ATTEND_NO_MEMORY. */
int attend_gradient_tree_begin(gradient_tree *t, const attend_params *params, int shards, shard_range own, int threads);
/* The next shard to run and gradients for it, which are zero. False: there are no more. */
bool attend_gradient_tree_take(gradient_tree *t, int *shard, attend_grads **grads);
/* Hands in the gradients of a shard. If its sibling is there and there are still shards to run, adds the two, and so on
 * towards the root, with the help of threads of the pool that are without work. */
void attend_gradient_tree_finish(gradient_tree *t, int shard, attend_grads *grads, attend_pool *pool);
/* After a failure: no further shard is run. */
void attend_gradient_tree_stop(gradient_tree *t);
/* Adds what remains, on the threads of the pool, and returns the sum, which the caller gives back at the next begin. If
 * the sum was stopped, zeros. */
attend_grads *attend_gradient_tree_end(gradient_tree *t, attend_pool *pool);
/* The same for a node of the cover of the shards that are run, if the sum was not stopped. */
attend_grads *attend_gradient_tree_node(gradient_tree *t, shard_range node, attend_pool *pool);
/* Gives back what has been added so far. */
void attend_gradient_tree_discard(gradient_tree *t);
/* Gives back a set of gradients, which is zeroed. */
void attend_gradient_tree_give(gradient_tree *t, attend_grads *grads);

#endif
