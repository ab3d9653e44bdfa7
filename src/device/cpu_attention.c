/* cpu_attention.c: attention over tiles of queries, in memory that grows with the number of keys.
 *
 *     forward    score -> cap, bias, mask -> select -> weights -> context
 *     backward   score -> recomputed weights -> dp = dcontext v' + dweights -> de -> backward of the score
 *
 * In the forward pass a tile has whole rows of scores. In the backward pass a tile has only a block of keys if
 * selection is soft and there is no dweights: de then depends on the other keys of its row only through
 * sum_j p_j dp_j, which equals dcontext . context.
 *
 * cpu_attention_forward.c and cpu_attention_backward.c process a group: one sequence and one key head with the query heads that share
 * it. This file allocates memory for groups and runs them on threads.
 *
 * Groups write to different rows of all arrays, with two exceptions. Gradients of the score's parameters are stored
 * for each group and added in order. The gradient of a bias or position that groups share is computed on one thread.
 * The result is therefore bit-identical for any number of threads. */
#include "device/cpu_attention.h"

#include "kernel/gemm.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    TILE_ELEMENTS = 96 << 10, /* elements of a tile of scores; several tiles fit into the L2 cache */
    TILE_QUERIES = 96,
    KEY_BLOCK = 256, /* a multiple of every panel; packed keys and values and their gradients fit into the L2 cache */
    PAD = 16,        /* elements after each row of a block, so that a column is spread over several cache sets */
    MIN_PACKED_ROWS = 8, /* with fewer query rows, packing the values costs more than it saves */
};

/* The functions of a score are called here, wherever they come from. */
bool attend_cpu_runs_score(const device_score *s)
{
    (void)s;
    return true;
}

/* ---- memory ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Whether the weights that multiply the values differ from p. */
static bool weights_differ(const device_attention *a)
{
    return a->dropout > 0 || a->position || a->select.selection == ATTEND_SELECT_HARD;
}

/* Whether backward can process rows in blocks of keys, with sum_j p dp computed as dcontext . context. */
static bool rows_in_blocks(const device_attention *a)
{
    return a->select.selection == ATTEND_SELECT_SOFT && a->dcontext && !(a->dweights);
}

static int tile_queries(const device_attention *a, size_t stride)
{
    /* With a causal mask, smaller tiles compute fewer scores of masked keys. */
    const size_t max_tile = a->source->causal ? TILE_QUERIES / 2 : TILE_QUERIES;
    size_t tile = round_up(TILE_ELEMENTS / stride, 12); /* a multiple of the rows of every kernel's tile */
    if (tile > max_tile) tile = max_tile;
    if (tile > (size_t)a->max_queries) tile = (size_t)a->max_queries;
    return tile > 0 ? (int)tile : 1;
}

static real *reals(const attend_compute *c, size_t n)
{
    return attend_arena_alloc(c->scratch, n * sizeof(real));
}

static bool workspace_new(const attend_compute *c, const device_attention *a, workspace *s, bool backward)
{
    const device_source *src = a->source;
    const size_t keys = round_up((size_t)src->max_keys + 1, 64), width = (size_t)src->value_width;
    *s = (workspace){ .stride = keys, .block = (int)keys };
    if (backward && keys > KEY_BLOCK && rows_in_blocks(a)) s->block = KEY_BLOCK, s->stride = KEY_BLOCK + PAD;
    s->tile = tile_queries(a, s->stride);
    const size_t tile = (size_t)s->tile, area = tile * s->stride;
    s->e = reals(c, area);
    s->row = reals(c, keys);
    s->mask = attend_arena_alloc(c->scratch, keys);
    s->ranges = attend_arena_alloc(c->scratch, tile * sizeof *s->ranges);
    s->factors = reals(c, tile);
    s->values = reals(c, attend_packed_size(backward ? tile : keys, width));
    const attend_tile largest = { .heads = src->heads,
                                  .all_keys = src->max_keys,
                                  .queries = s->tile,
                                  .keys = src->max_keys,
                                  .query_width = a->query_width,
                                  .key_width = src->key_width,
                                  .shapes = src->parameter_shapes };
    if (src->score.scratch_size) s->scratch = reals(c, src->score.scratch_size(&largest));
    if (backward) {
        s->d = reals(c, area);
        s->w = weights_differ(a) ? reals(c, area) : s->e;
        s->capped = src->soft_cap > 0 ? reals(c, area) : NULL;
        s->values_t = reals(c, attend_packed_size(width, keys));
    }
    return s->e && s->row && s->mask && s->ranges && s->factors && s->values &&
           (!src->score.scratch_size || s->scratch) &&
           (!backward || (s->d && s->w && s->values_t && (src->soft_cap <= 0 || s->capped)));
}

/* ---- groups on threads ---- */

static group group_new(const device_attention *a, workspace *s, int number)
{
    const device_source *src = a->source;
    group g = { .a = a,
                .s = s,
                .b = number / src->key_heads,
                .key_head = number % src->key_heads,
                .values_finite = -1,
                .keys_finite = -1 };
    g.queries = a->query_rows.lengths[g.b];
    g.keys = src->key_rows.lengths[g.b];
    g.value = src->values + attention_row(&src->value_rows, g.b, g.key_head, 0);
    g.packed = (int64_t)g.queries * (src->heads / src->key_heads) >= MIN_PACKED_ROWS;
    return g;
}

typedef struct job {
    const device_attention *a;
    workspace *workspaces; /* one for each worker */
    int groups, workers;
    atomic_int next;    /* group */
    real **dparameters; /* (groups, DEVICE_SCORE_PARAMETERS) */
} job;

static void forward_worker(void *user, int worker)
{
    job *j = user;
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->groups;) {
        group g = group_new(j->a, &j->workspaces[worker], i);
        attend_fused_forward(&g);
    }
}

static void backward_worker(void *user, int worker)
{
    job *j = user;
    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->groups;) {
        group g = group_new(j->a, &j->workspaces[worker], i);
        g.dparameters = j->dparameters + (size_t)i * DEVICE_SCORE_PARAMETERS;
        attend_fused_backward(&g);
    }
}

/* Waking threads for less work than that of a small product costs more than it saves. */
static int worker_count(const attend_compute *c, const device_attention *a, int groups)
{
    const device_source *s = a->source;
    size_t pairs = 0;
    for (int b = 0; c->pool && b < s->count; b++)
        pairs += (size_t)s->key_rows.lengths[b] * (size_t)a->query_rows.lengths[b];
    const size_t width = (size_t)s->heads * ((size_t)s->key_width + (size_t)s->value_width);
    const int threads = attend_cpu_product_threads(c, pairs * width);
    return threads < groups ? threads : groups > 0 ? groups : 1;
}

static bool job_new(const attend_compute *c, job *j, const device_attention *a, bool backward)
{
    *j = (job){ .a = a, .groups = a->source->count * a->source->key_heads };
    j->workers = worker_count(c, a, j->groups);
    j->workspaces = attend_arena_alloc(c->scratch, (size_t)j->workers * sizeof *j->workspaces);
    for (int i = 0; j->workspaces && i < j->workers; i++)
        if (!workspace_new(c, a, &j->workspaces[i], backward)) return false;
    return j->workspaces != NULL;
}

bool attend_cpu_attention(const attend_compute *c, const device_attention *a)
{
    job j;
    const arena_mark mark = attend_arena_mark(c->scratch);
    const bool ok = job_new(c, &j, a, false);
    if (ok) attend_pool_run(c->pool, j.workers, forward_worker, &j);
    attend_arena_rewind(c->scratch, mark);
    return ok;
}

/* Allocates a buffer for each group's part of the gradients of the score's parameters. */
static bool parameter_gradients(const attend_compute *c, job *j)
{
    const device_source *s = j->a->source;
    const size_t slots = (size_t)j->groups * DEVICE_SCORE_PARAMETERS;
    j->dparameters = attend_arena_alloc(c->scratch, slots * sizeof *j->dparameters);
    for (size_t i = 0; j->dparameters && i < slots; i++) {
        const size_t p = i % DEVICE_SCORE_PARAMETERS;
        j->dparameters[i] = NULL;
        if (p >= (size_t)s->parameter_count || !j->a->dparameters[p]) continue;
        j->dparameters[i] = reals(c, s->parameter_sizes[p]);
        if (!j->dparameters[i]) return false;
        memset(j->dparameters[i], 0, s->parameter_sizes[p] * sizeof(real));
    }
    return j->dparameters != NULL;
}

/* Adds the groups' parts of the parameter gradients in the order of the groups. */
static void add_parameter_gradients(const job *j)
{
    const device_source *s = j->a->source;
    for (int p = 0; p < s->parameter_count; p++)
        for (int i = 0; i < j->groups; i++) {
            const real *part = j->dparameters[(size_t)i * DEVICE_SCORE_PARAMETERS + (size_t)p];
            if (part) attend_kernel()->add(s->parameter_sizes[p], part, j->a->dparameters[p]);
        }
}

bool attend_cpu_attention_backward(const attend_compute *c, const device_attention *a)
{
    /* if several groups add to the same gradient, they run on one thread */
    const device_source *src = a->source;
    const bool shared_bias =
        a->dbias && ((src->count > 1 && a->bias_strides[0] == 0) || (src->key_heads > 1 && a->bias_strides[1] == 0));
    attend_compute compute = *c;
    if (shared_bias || (a->dposition && src->key_heads > 1)) compute.pool = NULL;

    job j;
    const arena_mark mark = attend_arena_mark(c->scratch);
    const bool ok = job_new(&compute, &j, a, true) && parameter_gradients(&compute, &j);
    if (ok) {
        attend_pool_run(compute.pool, j.workers, backward_worker, &j);
        add_parameter_gradients(&j);
    }
    attend_arena_rewind(c->scratch, mark);
    return ok;
}

/* ---- caches of keys ---- */

static void cache_group(void *user, int i)
{
    const device_source *s = user;
    const int b = i / s->key_heads, head = i % s->key_heads;
    s->score.cache_keys(s->key_rows.lengths[b], s->key_width, s->keys + attention_row(&s->key_rows, b, head, 0),
                        s->key_rows.row, s->cache[i]);
}

void attend_cpu_cache_keys(const attend_compute *c, const device_source *s)
{
    const int groups = s->count * s->key_heads;
    size_t keys = 0;
    for (int b = 0; c->pool && b < s->count; b++) keys += (size_t)s->key_rows.lengths[b];
    device_source copy = *s; /* the pool takes a pointer to a variable */
    const size_t numbers = keys * (size_t)(s->key_heads * s->key_width);
    if (attend_cpu_product_threads(c, 16 * numbers) > 1)
        attend_pool_run(c->pool, groups, cache_group, &copy);
    else
        for (int i = 0; i < groups; i++) cache_group(&copy, i);
}
