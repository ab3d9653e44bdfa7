/* fused.c: attention over tiles of queries, in memory that grows with the number of keys.
 *
 * A group is one sequence and one key head with the query heads that share it. For each tile of its queries the
 * whole rows of scores exist:
 *     forward    score -> cap, bias, mask -> select -> weights -> context
 *     backward   score -> the same weights again -> dp = dcontext v' + dweights -> de -> the score's own backward
 * Groups touch different rows of everything but the score's parameters, whose gradients are kept apart by group and
 * added in order, and a bias or position that several share, which goes back on one thread; so threads can share the
 * groups without changing a bit. */
#include "attention/call.h"

#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

enum {
    TILE_NUMBERS = 96 << 10, /* of a tile of scores: some of them fit into the second cache */
    TILE_QUERIES = 96,
    FEW_ROWS = 8, /* fewer query rows than this do not repay packing the values */
};

/* What one thread needs for a tile. */
typedef struct workspace {
    real *e, *d, *w, *capped; /* (queries, keys): scores then p; dp then de; p as it met the values; e after the cap */
    real *row;                /* (keys) */
    real *values, *values_t;  /* packed: V (keys, width), and V' (width, keys) */
    real *scratch;            /* of the score */
    unsigned char *keep;      /* (keys) */
    attention_range *ranges;  /* (queries) */
    real *factors;            /* (queries): what a row's weights are still to be multiplied by */
    size_t stride;            /* of e, d, w, capped */
    int tile;                 /* queries in a tile, at most */
} workspace;

/* One group, on one thread. */
typedef struct group {
    const attention_call *a;
    workspace *s;
    int b, key_head;
    int queries, keys;
    const real *value; /* first row */
    bool packed;
    int values_known, keys_known; /* are they all numbers? 1, 0, or -1: not looked yet */
    /* backward */
    real *dquery, *dkey, *dvalue; /* whole arrays, or NULL */
    real *const *dparameters;
} group;

/* ---- memory ---- */

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Whether the weights that met the values are other numbers than p. */
static bool weights_differ(const attention_call *a)
{
    return a->dropout > 0 || a->position || a->select.selection == ATTEND_SELECT_HARD;
}

static bool workspace_new(attend_ctx *c, const attention_call *a, workspace *s, bool backward)
{
    const attend_source *src = a->source;
    const size_t keys = round_up((size_t)src->longest + 1, 64), width = (size_t)src->value_width;
    int tile = (int)((size_t)TILE_NUMBERS / keys);
    if (tile > TILE_QUERIES) tile = TILE_QUERIES;
    if (src->options.causal && tile > TILE_QUERIES / 2) tile = TILE_QUERIES / 2; /* less above the diagonal */
    if (tile < 6) tile = 6;
    if (tile > a->longest_query) tile = a->longest_query > 0 ? a->longest_query : 1;
    const size_t area = (size_t)tile * keys;
    *s = (workspace){ .stride = keys, .tile = tile };
    s->e = attend_take_reals(c, area);
    s->row = attend_take_reals(c, keys);
    s->keep = attend_take(c, keys, 1);
    s->ranges = attend_take(c, (size_t)tile, sizeof *s->ranges);
    s->factors = attend_take_reals(c, (size_t)tile);
    if (!backward) s->values = attend_take_reals(c, attend_packed_size(keys, width));
    const attend_tile largest = { .heads = src->options.heads,
                                  .all_keys = src->longest,
                                  .queries = tile,
                                  .keys = src->longest,
                                  .query_width = a->query_width,
                                  .key_width = src->key_width,
                                  .shapes = src->parameter_shapes };
    if (src->options.score->scratch_size) s->scratch = attend_take_reals(c, src->options.score->scratch_size(&largest));
    if (backward) {
        s->d = attend_take_reals(c, area);
        s->w = weights_differ(a) ? attend_take_reals(c, area) : s->e;
        s->capped = src->options.soft_cap > 0 ? attend_take_reals(c, area) : NULL;
        s->values_t = attend_take_reals(c, attend_packed_size(width, keys));
    }
    return c->status == ATTEND_OK;
}

/* ---- what forward and backward share ---- */

static group group_new(const attention_call *a, workspace *s, int number)
{
    const attend_source *src = a->source;
    group g = { .a = a,
                .s = s,
                .b = number / src->options.key_heads,
                .key_head = number % src->options.key_heads,
                .values_known = -1,
                .keys_known = -1 };
    g.queries = a->query_rows.lengths[g.b];
    g.keys = src->key_rows.lengths[g.b];
    g.value = src->values->value + attention_row(&src->value_rows, g.b, g.key_head, 0);
    g.packed = (int64_t)g.queries * (src->options.heads / src->options.key_heads) >= FEW_ROWS;
    return g;
}

static const real *value_of(const group *g, int key)
{
    return g->value + (size_t)key * g->a->source->value_rows.row;
}

/* Whether no number of `rows` rows is NaN or infinite; the squares of finite floats cannot overflow a double. */
static bool rows_finite(int rows, int width, const real *x, size_t stride)
{
    for (int i = 0; i < rows; i++)
        if (!isfinite(attend_kernel()->sum_squares((size_t)width, x + (size_t)i * stride))) return false;
    return true;
}

/* Whether all of the group's values are numbers: then a weight of 0 hides any of them in a product. Looked at once. */
static bool values_finite(group *g)
{
    const attend_source *src = g->a->source;
    if (g->values_known < 0) g->values_known = rows_finite(g->keys, src->value_width, g->value, src->value_rows.row);
    return g->values_known;
}

/* The same of its keys. */
static bool keys_finite(group *g)
{
    const attend_source *src = g->a->source;
    if (g->keys_known < 0)
        g->keys_known =
            rows_finite(g->keys, src->key_width, src->keys->value + attention_row(&src->key_rows, g->b, g->key_head, 0),
                        src->key_rows.row);
    return g->keys_known;
}

/* The tile's queries and all the keys any of them may see; from a whole panel on, for scores that keep packed keys. */
static attend_tile tile_of(const group *g, int head, int first, int count)
{
    const attention_call *a = g->a;
    const attend_source *src = a->source;
    attention_range all = { g->keys, 0 };
    for (int i = 0; i < count; i++) {
        attention_range r = g->s->ranges[i] = attend_attention_visible(a, g->b, first + i);
        if (r.first < all.first) all.first = r.first;
        if (r.last > all.last) all.last = r.last;
    }
    all.first -= all.first % attend_kernel()->panel;
    if (all.last < all.first) all.last = all.first;
    attend_tile t = { .queries = count,
                      .keys = all.last - all.first,
                      .query_width = a->query_width,
                      .key_width = src->key_width,
                      .head = head,
                      .heads = src->options.heads,
                      .query = a->query->value + attention_row(&a->query_rows, g->b, head, first),
                      .query_stride = a->query_rows.row,
                      .key = src->keys->value + attention_row(&src->key_rows, g->b, g->key_head, all.first),
                      .key_stride = src->key_rows.row,
                      .first_query = first,
                      .first_key = all.first,
                      .scale = a->scale,
                      .parameters = src->parameter_values,
                      .shapes = src->parameter_shapes,
                      .all_keys = g->keys,
                      .cache = src->cache ? src->cache[g->b * src->options.key_heads + g->key_head] : NULL,
                      .scratch = g->s->scratch,
                      .score = g->s->e,
                      .score_stride = g->s->stride };
    if (a->previous) {
        t.previous_stride = (size_t)a->previous->shape[3];
        t.previous =
            a->previous->value + ((size_t)g->b * (size_t)a->previous->shape[2] + (size_t)first) * t.previous_stride;
    }
    return t;
}

/* w_j = p_j exp(-(j - pos)^2 / 2 sigma^2): the bell of local-p over keys [first, first + n). */
static double bell_position(const attention_call *a, int b, int i, int keys)
{
    return keys * (double)a->position->value[attention_position_index(a, b, i)];
}

static void bell(const attention_call *a, double at, int first, size_t n, real *values)
{
    const double sigma = a->source->options.window_size / 2.0;
    for (size_t j = 0; j < n; j++) {
        double x = ((double)first + (double)j - at) / sigma;
        values[j] = (real)exp(-x * x / 2);
    }
}

/* Which weights dropout keeps, and by what it multiplies them. */
static real dropout_row(const attention_call *a, int b, int head, int i, int first, size_t n, unsigned char *keep)
{
    uint64_t place = (uint64_t)attention_query_index(a, b, head, i) * (uint64_t)a->source->longest + (uint64_t)first;
    attend_rng_keep(&a->dropout_random, place, n, a->dropout, keep);
    return (real)(1 / (1 - a->dropout));
}

static uint64_t place_of(const attention_call *a, int b, int head, int i)
{
    return (uint64_t)attention_query_index(a, b, head, i) * (uint64_t)a->source->longest;
}

/* Rows of the tile are zero outside what their query may see, so that products can run over all of it. */
static void zero_outside(real *row, const attend_tile *t, attention_range r)
{
    size_t before = (size_t)(r.first - t->first_key), after = (size_t)(t->first_key + t->keys - r.last);
    if (r.first >= r.last) before = (size_t)t->keys, after = 0;
    memset(row, 0, before * sizeof *row);
    memset(row + (size_t)t->keys - after, 0, after * sizeof *row);
}

/* ---- forward ---- */

/* Scores to weights for row i of the tile; returns whether something in the tile's range is hidden from it. */
static bool weigh_row(group *g, const attend_tile *t, int i)
{
    const attention_call *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first);
    real *row = g->s->e + (size_t)i * g->s->stride, *e = row + (r.first - t->first_key);
    bool hidden = attend_attention_mask_row(a, g->b, t->head, query, r.first, n, e, NULL);
    const size_t index = attention_query_index(a, g->b, t->head, query);
    if (a->scores) memcpy(a->scores + index * (size_t)a->source->longest + r.first, e, n * sizeof *e);
    real factor;
    a->kept[index] = attend_attention_select(&a->select, n, e, place_of(a, g->b, t->head, query), g->s->row, &factor);
    zero_outside(row, t, r);
    /* a sum of values can be scaled afterwards; the weights themselves only if somebody wants them */
    g->s->factors[i] = factor;
    if (factor != 1 && (a->weights || a->position || a->dropout > 0)) {
        attend_kernel()->scale(n, factor, e);
        g->s->factors[i] = 1;
    }
    if (a->stored) {
        real *p = a->stored + index * (size_t)a->source->longest + r.first;
        memcpy(p, e, n * sizeof *e);
        if (g->s->factors[i] != 1) attend_kernel()->scale(n, g->s->factors[i], p);
    }
    if (a->position) {
        bell(a, bell_position(a, g->b, query, g->keys), r.first, n, g->s->row);
        attend_kernel()->mul(n, e, g->s->row, e);
    }
    if (a->weights) memcpy(a->weights->value + index * (size_t)a->source->longest + r.first, e, n * sizeof *e);
    if (a->dropout > 0) {
        real scale = dropout_row(a, g->b, t->head, query, r.first, n, g->s->keep);
        for (size_t j = 0; j < n; j++) e[j] = g->s->keep[j] ? e[j] * scale : 0;
    }
    return hidden || r.first > t->first_key || r.last < t->first_key + t->keys;
}

static real *context_of(const attention_call *a, const group *g, int head, int query, real *whole)
{
    return whole + attention_row(&a->context_rows, g->b, head, query);
}

/* o_i = sum_j w_ij v_j, leaving out what weighs nothing */
static void context_row(const group *g, const attend_tile *t, const real *w, real *o)
{
    const size_t width = (size_t)g->a->source->value_width;
    memset(o, 0, width * sizeof *o);
    for (int j = 0; j < t->keys; j++)
        if (w[j] != 0) attend_kernel()->axpy(width, w[j], value_of(g, t->first_key + j), o);
}

static void forward_tile(group *g, int head, int first, int count)
{
    const attention_call *a = g->a;
    attend_tile t = tile_of(g, head, first, count);
    a->source->options.score->tile(&t);

    bool hidden = false;
    for (int i = 0; i < count; i++) hidden |= weigh_row(g, &t, i);
    real *o = context_of(a, g, head, first, a->context->value);
    if (g->packed && (!hidden || values_finite(g))) {
        attend_gemm_packed_rows(PACKED_ZERO, (size_t)count, (size_t)a->source->value_width, (size_t)t.first_key,
                                (size_t)t.keys, (size_t)g->keys, g->s->e, g->s->stride, g->s->values, o,
                                a->context_rows.row);
    } else {
        for (int i = 0; i < count; i++)
            context_row(g, &t, g->s->e + (size_t)i * g->s->stride, o + (size_t)i * a->context_rows.row);
    }
    for (int i = 0; i < count; i++)
        if (g->s->factors[i] != 1)
            attend_kernel()->scale((size_t)a->source->value_width, g->s->factors[i],
                                   o + (size_t)i * a->context_rows.row);
}

static void forward_group(group *g)
{
    const attend_attention_options *o = &g->a->source->options;
    const int share = o->heads / o->key_heads;
    if (g->packed)
        attend_pack(false, (size_t)g->keys, (size_t)g->a->source->value_width, g->value, g->a->source->value_rows.row,
                    g->s->values);
    for (int head = g->key_head * share; head < (g->key_head + 1) * share; head++)
        for (int first = 0; first < g->queries; first += g->s->tile)
            forward_tile(g, head, first, g->queries - first < g->s->tile ? g->queries - first : g->s->tile);
}

/* ---- backward ---- */

/* Weights again: e becomes p, w the weights as they met the values. Returns whether something is hidden. */
static bool weigh_row_again(group *g, const attend_tile *t, int i)
{
    const attention_call *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first), at = (size_t)(r.first - t->first_key), row = (size_t)i * g->s->stride;
    real *e = g->s->e + row + at, *w = g->s->w + row + at;
    const size_t index = attention_query_index(a, g->b, t->head, query);
    const selected kept = a->kept[index];
    bool hidden = a->allowed || a->bias; /* perhaps */
    if (a->stored) {
        memcpy(e, a->stored + index * (size_t)a->source->longest + r.first, n * sizeof *e);
    } else {
        hidden = attend_attention_mask_row(a, g->b, t->head, query, r.first, n, e,
                                           g->s->capped ? g->s->capped + row + at : NULL);
        attend_attention_select_again(&a->select, n, e, kept, place_of(a, g->b, t->head, query));
    }
    zero_outside(g->s->e + row, t, r);
    zero_outside(g->s->w + row, t, r);
    if (a->select.selection == ATTEND_SELECT_HARD) {
        memset(w, 0, n * sizeof *w);
        if (kept.choice >= 0) w[kept.choice] = 1;
    } else if (w != e) {
        memcpy(w, e, n * sizeof *w);
    }
    if (a->position) {
        bell(a, bell_position(a, g->b, query, g->keys), r.first, n, g->s->row);
        attend_kernel()->mul(n, w, g->s->row, w);
    }
    if (a->dropout > 0) {
        real scale = dropout_row(a, g->b, t->head, query, r.first, n, g->s->keep);
        for (size_t j = 0; j < n; j++) w[j] = g->s->keep[j] ? w[j] * scale : 0;
    }
    return hidden || r.first > t->first_key || r.last < t->first_key + t->keys;
}

/* d_ij = do_i . v_j for the whole tile, and dv_j += sum_i w_ij do_i */
static void value_gradients(group *g, const attend_tile *t, const real *dout, bool products)
{
    const attention_call *a = g->a;
    const attend_kernel_table *k = attend_kernel();
    const size_t width = (size_t)a->source->value_width, stride = g->s->stride, keys = (size_t)t->keys;
    const size_t ldo = a->context_rows.row, ldv = a->source->value_rows.row, count = (size_t)t->queries;
    real *dvalue =
        g->dvalue ? g->dvalue + attention_row(&a->source->value_rows, g->b, g->key_head, t->first_key) : NULL;
    if (products) {
        const size_t skip = (size_t)t->first_key * width; /* whole panels of V' */
        attend_gemm_packed(PACKED_ZERO, NULL, count, keys, width, dout, ldo, g->s->values_t + skip, g->s->d, stride);
        if (dvalue) attend_gemm(true, false, keys, width, count, g->s->w, stride, dout, ldo, 1, dvalue, ldv);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < keys; j++) {
            const real p = g->s->e[i * stride + j], w = g->s->w[i * stride + j];
            const real *v = value_of(g, t->first_key + (int)j);
            g->s->d[i * stride + j] = p != 0 || w != 0 ? k->dot(width, dout + i * ldo, v) : 0;
            if (dvalue && w != 0) k->axpy(width, w, dout + i * ldo, dvalue + j * ldv);
        }
}

/* dL/dw of row i, which is in d, becomes dL/dp: back through dropout, dL/dweights from outside, and the bell. */
static void weights_gradient(group *g, const attend_tile *t, int i, real *dposition)
{
    const attention_call *a = g->a;
    const attention_range r = g->s->ranges[i];
    const int query = t->first_query + i;
    const size_t n = (size_t)(r.last - r.first), at = (size_t)i * g->s->stride + (size_t)(r.first - t->first_key);
    real *d = g->s->d + at, *p = g->s->e + at;
    if (a->dropout > 0) {
        real scale = dropout_row(a, g->b, t->head, query, r.first, n, g->s->keep);
        for (size_t j = 0; j < n; j++) d[j] = g->s->keep[j] ? d[j] * scale : 0;
    }
    if (a->weights && a->weights->grad) {
        size_t index = attention_query_index(a, g->b, t->head, query);
        attend_kernel()->add(n, a->weights->grad + index * (size_t)a->source->longest + r.first, d);
    }
    if (!a->position) return;
    const double center = bell_position(a, g->b, query, g->keys), sigma = a->source->options.window_size / 2.0;
    bell(a, center, r.first, n, g->s->row);
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        sum += (double)d[j] * (double)p[j] * (double)g->s->row[j] * (r.first + (double)j - center) / (sigma * sigma);
        d[j] *= g->s->row[j];
    }
    if (dposition) dposition[attention_position_index(a, g->b, query)] += (real)(sum * g->keys);
}

/* d, now de after cap and bias, goes on: to the bias, and back through the cap. */
static void score_gradient_row(group *g, const attend_tile *t, int i, real *dbias)
{
    const attention_call *a = g->a;
    const attention_range r = g->s->ranges[i];
    const size_t n = (size_t)(r.last - r.first), at = (size_t)i * g->s->stride + (size_t)(r.first - t->first_key);
    real *d = g->s->d + at;
    if (dbias) {
        const size_t *s = a->bias_strides;
        real *to = dbias + (size_t)g->b * s[0] + (size_t)t->head * s[1] + (size_t)(t->first_query + i) * s[2] +
                   (size_t)r.first * s[3];
        for (size_t j = 0; j < n; j++) to[j * s[3]] += d[j];
    }
    if (g->s->capped) {
        const real cap = (real)a->source->options.soft_cap;
        for (size_t j = 0; j < n; j++) {
            const real y = g->s->capped[at + j] / cap;
            d[j] = d[j] != 0 ? d[j] * (1 - y * y) : 0;
        }
    }
    zero_outside(g->s->d + (size_t)i * g->s->stride, t, r);
}

/* The score's own backward. Where something is hidden and something is not a number, each query meets only the runs of keys
 * that weigh something: 0 times NaN is NaN. */
static void score_backward(group *g, attend_tile t, bool products)
{
    const attention_call *a = g->a;
    const attend_score *score = a->source->options.score;
    attend_tile_gradients grads = { .score = g->s->d, .parameters = g->dparameters };
    real *dquery = g->dquery ? g->dquery + attention_row(&a->query_rows, g->b, t.head, t.first_query) : NULL;
    real *dkey = g->dkey ? g->dkey + attention_row(&a->source->key_rows, g->b, g->key_head, t.first_key) : NULL;
    real *dprevious = a->previous && a->previous->grad ? a->previous->grad + (t.previous - a->previous->value) : NULL;
    if (products) {
        grads.query = dquery, grads.key = dkey, grads.previous = dprevious;
        score->tile_backward(&t, &grads);
        return;
    }
    const attend_tile whole = t;
    for (int i = 0; i < whole.queries; i++) {
        const real *d = g->s->d + (size_t)i * g->s->stride;
        for (int j = 0, last; j < whole.keys; j = last) {
            for (last = j; last < whole.keys && (d[last] != 0) == (d[j] != 0);) last++;
            if (d[j] == 0) continue;
            t.queries = 1, t.keys = last - j;
            t.query = whole.query + (size_t)i * whole.query_stride;
            t.key = whole.key + (size_t)j * whole.key_stride;
            t.first_query = whole.first_query + i, t.first_key = whole.first_key + j;
            t.cache = NULL;
            t.score = whole.score + (size_t)i * whole.score_stride + j;
            if (whole.previous) t.previous = whole.previous + (size_t)i * whole.previous_stride;
            grads.score = d + j;
            grads.query = dquery ? dquery + (size_t)i * whole.query_stride : NULL;
            grads.key = dkey ? dkey + (size_t)j * whole.key_stride : NULL;
            grads.previous = dprevious ? dprevious + (size_t)i * whole.previous_stride : NULL;
            score->tile_backward(&t, &grads);
        }
    }
}

static void backward_tile(group *g, int head, int first, int count, real *dbias, real *dposition)
{
    const attention_call *a = g->a;
    attend_tile t = tile_of(g, head, first, count);
    if (!a->stored) a->source->options.score->tile(&t);

    bool hidden = false;
    for (int i = 0; i < count; i++) hidden |= weigh_row_again(g, &t, i);
    if (a->context->grad)
        value_gradients(g, &t, context_of(a, g, head, first, a->context->grad),
                        g->packed && (!hidden || values_finite(g)));
    else
        for (int i = 0; i < count; i++) memset(g->s->d + (size_t)i * g->s->stride, 0, (size_t)t.keys * sizeof(real));

    for (int i = 0; i < count; i++) {
        const attention_range r = g->s->ranges[i];
        const size_t at = (size_t)i * g->s->stride + (size_t)(r.first - t.first_key);
        weights_gradient(g, &t, i, dposition);
        attend_attention_select_backward(&a->select, (size_t)(r.last - r.first), g->s->e + at,
                                         a->kept[attention_query_index(a, g->b, head, first + i)],
                                         a->advantage ? a->advantage[g->b] : 0, g->s->d + at);
        score_gradient_row(g, &t, i, dbias);
    }
    /* a query that sees nothing may be anything */
    score_backward(g, t, !hidden || (keys_finite(g) && rows_finite(count, t.query_width, t.query, t.query_stride)));
}

static void backward_group(group *g, real *dbias, real *dposition)
{
    const attend_source *src = g->a->source;
    const int share = src->options.heads / src->options.key_heads;
    if (g->packed)
        attend_pack(true, (size_t)src->value_width, (size_t)g->keys, g->value, src->value_rows.row, g->s->values_t);
    for (int head = g->key_head * share; head < (g->key_head + 1) * share; head++)
        for (int first = 0; first < g->queries; first += g->s->tile)
            backward_tile(g, head, first, g->queries - first < g->s->tile ? g->queries - first : g->s->tile, dbias,
                          dposition);
}

/* ---- groups on threads ---- */

typedef struct job {
    attention_call *a;
    workspace *spaces; /* one a worker */
    int groups;
    real *dquery, *dkey, *dvalue, *dbias, *dposition;
    real **dparameters; /* (groups, ATTEND_SCORE_PARAMETERS) */
} job;

static void forward_worker(void *user, int worker)
{
    job *j = user;
    for (int i = worker; i < j->groups; i += j->a->workers) {
        group g = group_new(j->a, &j->spaces[worker], i);
        forward_group(&g);
    }
}

static void backward_worker(void *user, int worker)
{
    job *j = user;
    for (int i = worker; i < j->groups; i += j->a->workers) {
        group g = group_new(j->a, &j->spaces[worker], i);
        g.dquery = j->dquery, g.dkey = j->dkey, g.dvalue = j->dvalue;
        g.dparameters = j->dparameters + (size_t)i * ATTEND_SCORE_PARAMETERS;
        backward_group(&g, j->dbias, j->dposition);
    }
}

static bool job_new(attend_ctx *c, job *j, attention_call *a, bool backward)
{
    *j = (job){ .a = a, .groups = a->source->count * a->source->options.key_heads };
    j->spaces = attend_take(c, (size_t)a->workers, sizeof *j->spaces);
    for (int i = 0; j->spaces && i < a->workers; i++)
        if (!workspace_new(c, a, &j->spaces[i], backward)) return false;
    return j->spaces != NULL;
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
    const attend_mark mark = attend_arena_mark(&c->arena); /* the workspaces are not needed any longer than this */
    const bool ok = job_new(c, &j, a, false);
    if (ok) job_run(&j, forward_worker);
    attend_arena_rewind(&c->arena, mark);
    return ok;
}

/* Room for each group's share of the gradients of the score's parameters. */
static bool parameter_gradients(attend_ctx *c, job *j)
{
    const attend_source *s = j->a->source;
    j->dparameters = attend_take(c, (size_t)j->groups * ATTEND_SCORE_PARAMETERS, sizeof *j->dparameters);
    for (int i = 0; j->dparameters && i < j->groups; i++)
        for (int p = 0; p < ATTEND_SCORE_PARAMETERS; p++) {
            real **slot = &j->dparameters[i * ATTEND_SCORE_PARAMETERS + p];
            *slot = NULL;
            if (p < s->parameter_count && s->options.score->in_tile & 1u << p && s->parameters[p]->differentiable)
                *slot = attend_take_zeros(c, s->parameters[p]->size);
        }
    return c->status == ATTEND_OK;
}

/* Each group's share of the parameters' gradients, added in the order of the groups. */
static void add_parameter_gradients(attend_ctx *c, const job *j)
{
    const attend_source *s = j->a->source;
    for (int p = 0; p < s->parameter_count; p++)
        for (int i = 0; i < j->groups; i++) {
            const real *share = j->dparameters[i * ATTEND_SCORE_PARAMETERS + p];
            real *whole = share ? attend_grad(c, s->parameters[p]) : NULL;
            if (whole) attend_kernel()->add(s->parameters[p]->size, share, whole);
        }
}

void attend_attention_backward(attend_ctx *c, attention_call *a)
{
    /* gradients outlive the workspaces, so they are taken first */
    const attend_source *src = a->source;
    real *dquery = attend_grad(c, a->query), *dkey = attend_grad(c, src->keys), *dvalue = attend_grad(c, src->values);
    real *dbias = attend_grad(c, a->bias), *dposition = attend_grad(c, a->position);
    if (a->previous) attend_grad(c, a->previous);
    for (int p = 0; p < src->parameter_count; p++)
        if (src->options.score->in_tile & 1u << p) attend_grad(c, src->parameters[p]);
    if (c->status != ATTEND_OK) return;

    /* a number that several groups add to is added to by one thread */
    const bool one_bias = dbias && ((src->count > 1 && a->bias_strides[0] == 0) ||
                                    (src->options.key_heads > 1 && a->bias_strides[1] == 0));
    if (one_bias || (dposition && src->options.key_heads > 1)) a->pool = NULL, a->workers = 1;

    job j;
    const attend_mark mark = attend_arena_mark(&c->arena);
    if (job_new(c, &j, a, true) && parameter_gradients(c, &j)) {
        j.dquery = dquery, j.dkey = dkey, j.dvalue = dvalue, j.dbias = dbias, j.dposition = dposition;
        job_run(&j, backward_worker);
        add_parameter_gradients(c, &j);
    }
    attend_arena_rewind(&c->arena, mark);
}
