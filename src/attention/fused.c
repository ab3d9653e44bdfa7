/* fused.c: attention over tiles of queries, in memory that grows with the number of keys.
 *
 *     forward    score -> cap, bias, mask -> select -> weights -> context
 *     backward   score -> recomputed weights -> dp = dcontext v' + dweights -> de -> backward of the score
 *
 * In the forward pass a tile has whole rows of scores. In the backward pass a tile has only a block of keys if
 * selection is soft and there is no dweights: de then depends on the other keys of its row only through
 * sum_j p_j dp_j, which equals dcontext . context.
 *
 * fused_forward.c and fused_backward.c process a group: one sequence and one key head with the query heads that share
 * it. This file allocates memory for groups and runs them on threads.
 *
 * Groups write to different rows of all arrays, with two exceptions. Gradients of the score's parameters are stored
 * for each group and added in order. The gradient of a bias or position that groups share is computed on one thread.
 * The result is therefore bit-identical for any number of threads. */
#include "attention/fused.h"

#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

enum {
    TILE_ELEMENTS = 96 << 10, /* elements of a tile of scores; several tiles fit into the L2 cache */
    TILE_QUERIES = 96,
    KEY_BLOCK = 256, /* a multiple of every panel; packed keys and values and their gradients fit into the L2 cache */
    PAD = 16,        /* elements after each row of a block, so that a column is spread over several cache sets */
    MIN_PACKED_ROWS = 8, /* with fewer query rows, packing the values costs more than it saves */
};

/* ---- memory ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Whether the weights that multiply the values differ from p. */
static bool weights_differ(const attention_call *a)
{
    return a->dropout > 0 || a->position || a->select.selection == ATTEND_SELECT_HARD;
}

/* Whether backward can process rows in blocks of keys, with sum_j p dp computed as dcontext . context. */
static bool rows_in_blocks(const attention_call *a)
{
    return a->select.selection == ATTEND_SELECT_SOFT && a->context->grad && !(a->weights && a->weights->grad);
}

static int tile_queries(const attention_call *a, size_t stride)
{
    /* With a causal mask, smaller tiles compute fewer scores of masked keys. */
    const size_t max_tile = a->source->options.causal ? TILE_QUERIES / 2 : TILE_QUERIES;
    size_t tile = round_up(TILE_ELEMENTS / stride, 12); /* a multiple of the rows of every kernel's tile */
    if (tile > max_tile) tile = max_tile;
    if (tile > (size_t)a->max_queries) tile = (size_t)a->max_queries;
    return tile > 0 ? (int)tile : 1;
}

static bool workspace_new(attend_ctx *c, const attention_call *a, workspace *s, bool backward)
{
    const attend_source *src = a->source;
    const size_t keys = round_up((size_t)src->max_keys + 1, 64), width = (size_t)src->value_width;
    *s = (workspace){ .stride = keys, .block = (int)keys };
    if (backward && keys > KEY_BLOCK && rows_in_blocks(a)) s->block = KEY_BLOCK, s->stride = KEY_BLOCK + PAD;
    s->tile = tile_queries(a, s->stride);
    const size_t tile = (size_t)s->tile, area = tile * s->stride;
    s->e = attend_ctx_alloc_reals(c, area);
    s->row = attend_ctx_alloc_reals(c, keys);
    s->mask = attend_ctx_alloc(c, keys, 1);
    s->ranges = attend_ctx_alloc(c, tile, sizeof *s->ranges);
    s->factors = attend_ctx_alloc_reals(c, tile);
    s->values = attend_ctx_alloc_reals(c, attend_packed_size(backward ? tile : keys, width));
    const attend_tile largest = { .heads = src->options.heads,
                                  .all_keys = src->max_keys,
                                  .queries = s->tile,
                                  .keys = src->max_keys,
                                  .query_width = a->query_width,
                                  .key_width = src->key_width,
                                  .shapes = src->parameter_shapes };
    if (src->options.score->scratch_size)
        s->scratch = attend_ctx_alloc_reals(c, src->options.score->scratch_size(&largest));
    if (backward) {
        s->d = attend_ctx_alloc_reals(c, area);
        s->w = weights_differ(a) ? attend_ctx_alloc_reals(c, area) : s->e;
        s->capped = src->options.soft_cap > 0 ? attend_ctx_alloc_reals(c, area) : NULL;
        s->values_t = attend_ctx_alloc_reals(c, attend_packed_size(width, keys));
    }
    return c->status == ATTEND_OK;
}

/* ---- groups on threads ---- */

static group group_new(const attention_call *a, workspace *s, int number)
{
    const attend_source *src = a->source;
    group g = { .a = a,
                .s = s,
                .b = number / src->options.key_heads,
                .key_head = number % src->options.key_heads,
                .values_finite = -1,
                .keys_finite = -1 };
    g.queries = a->query_rows.lengths[g.b];
    g.keys = src->key_rows.lengths[g.b];
    g.value = src->values->value + attention_row(&src->value_rows, g.b, g.key_head, 0);
    g.packed = (int64_t)g.queries * (src->options.heads / src->options.key_heads) >= MIN_PACKED_ROWS;
    return g;
}

typedef struct job {
    attention_call *a;
    workspace *workspaces; /* one for each worker */
    int groups;
    real *dquery, *dkey, *dvalue, *dbias, *dposition;
    real **dparameters; /* (groups, ATTEND_SCORE_PARAMETERS) */
} job;

static void forward_worker(void *user, int worker)
{
    job *j = user;
    for (int i = worker; i < j->groups; i += j->a->workers) {
        group g = group_new(j->a, &j->workspaces[worker], i);
        attend_fused_forward(&g);
    }
}

static void backward_worker(void *user, int worker)
{
    job *j = user;
    for (int i = worker; i < j->groups; i += j->a->workers) {
        group g = group_new(j->a, &j->workspaces[worker], i);
        g.dquery = j->dquery, g.dkey = j->dkey, g.dvalue = j->dvalue, g.dbias = j->dbias, g.dposition = j->dposition;
        g.dparameters = j->dparameters + (size_t)i * ATTEND_SCORE_PARAMETERS;
        attend_fused_backward(&g);
    }
}

static bool job_new(attend_ctx *c, job *j, attention_call *a, bool backward)
{
    *j = (job){ .a = a, .groups = a->source->count * a->source->options.key_heads };
    j->workspaces = attend_ctx_alloc(c, (size_t)a->workers, sizeof *j->workspaces);
    for (int i = 0; j->workspaces && i < a->workers; i++)
        if (!workspace_new(c, a, &j->workspaces[i], backward)) return false;
    return j->workspaces != NULL;
}

static void job_run(job *j, void (*worker)(void *user, int worker))
{
    if (j->a->pool)
        attend_pool_run(j->a->pool, j->a->workers, worker, j);
    else
        worker(j, 0);
}

bool attend_attention_forward(attend_ctx *c, attention_call *a)
{
    job j;
    const attend_mark mark = attend_arena_mark(&c->arena); /* the workspaces are temporary */
    const bool ok = job_new(c, &j, a, false);
    if (ok) job_run(&j, forward_worker);
    attend_arena_rewind(&c->arena, mark);
    return ok;
}

/* Allocates a buffer for each group's part of the gradients of the score's parameters. */
static bool parameter_gradients(attend_ctx *c, job *j)
{
    const attend_source *s = j->a->source;
    j->dparameters = attend_ctx_alloc(c, (size_t)j->groups * ATTEND_SCORE_PARAMETERS, sizeof *j->dparameters);
    for (int i = 0; j->dparameters && i < j->groups; i++)
        for (int p = 0; p < ATTEND_SCORE_PARAMETERS; p++) {
            real **slot = &j->dparameters[(size_t)i * ATTEND_SCORE_PARAMETERS + (size_t)p];
            *slot = NULL;
            if (p < s->parameter_count && s->options.score->tile_parameters & 1u << p &&
                s->parameters[p]->differentiable)
                *slot = attend_ctx_alloc_zeros(c, s->parameters[p]->size);
        }
    return c->status == ATTEND_OK;
}

/* Adds the groups' parts of the parameter gradients in the order of the groups. */
static void add_parameter_gradients(attend_ctx *c, const job *j)
{
    const attend_source *s = j->a->source;
    for (int p = 0; p < s->parameter_count; p++)
        for (int i = 0; i < j->groups; i++) {
            const real *part = j->dparameters[(size_t)i * ATTEND_SCORE_PARAMETERS + (size_t)p];
            real *sum = part ? attend_grad(c, s->parameters[p]) : NULL;
            if (sum) attend_kernel()->add(s->parameters[p]->size, part, sum);
        }
}

void attend_attention_backward(attend_ctx *c, attention_call *a)
{
    /* gradients are still needed after the workspaces are freed, so they are allocated first */
    const attend_source *src = a->source;
    real *dquery = attend_grad(c, a->query), *dkey = attend_grad(c, src->keys), *dvalue = attend_grad(c, src->values);
    real *dbias = attend_grad(c, a->bias), *dposition = attend_grad(c, a->position);
    if (a->previous) attend_grad(c, a->previous);
    for (int p = 0; p < src->parameter_count; p++)
        if (src->options.score->tile_parameters & 1u << p) attend_grad(c, src->parameters[p]);
    if (c->status != ATTEND_OK) return;

    /* if several groups add to the same gradient, they run on one thread */
    const bool shared_bias = dbias && ((src->count > 1 && a->bias_strides[0] == 0) ||
                                       (src->options.key_heads > 1 && a->bias_strides[1] == 0));
    if (shared_bias || (dposition && src->options.key_heads > 1)) a->pool = NULL, a->workers = 1;

    job j;
    const attend_mark mark = attend_arena_mark(&c->arena);
    if (job_new(c, &j, a, true) && parameter_gradients(c, &j)) {
        j.dquery = dquery, j.dkey = dkey, j.dvalue = dvalue, j.dbias = dbias, j.dposition = dposition;
        job_run(&j, backward_worker);
        add_parameter_gradients(c, &j);
    }
    attend_arena_rewind(&c->arena, mark);
}
