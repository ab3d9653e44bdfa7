/* plain_attention.h: attention in double precision, one pair of query and key at a time; shares no code with the
 * library.
 *
 *     e_ij = scale score(q_i, k_j)     e = cap tanh(e / cap)     e += bias
 *     p_i = select(e_i, over the keys visible to query i)
 *     local-p: p_ij *= exp(-(j - pos_i)^2 / 2 sigma^2)      o_i = sum_j p_ij v_j
 *
 * Shapes, lengths, masks and layout are those of attend_arrays; the inputs are doubles, for difference quotients with
 * small steps. Dropout and sampling are not supported. */
#ifndef ATTEND_TEST_PLAIN_ATTENTION_H
#define ATTEND_TEST_PLAIN_ATTENTION_H

#include <attend/attention.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The differentiable arrays of a problem. */
enum {
    PLAIN_QUERY,
    PLAIN_KEY,
    PLAIN_VALUE, /* NULL: the keys */
    PLAIN_BIAS,
    PLAIN_POSITION,
    PLAIN_PREVIOUS, /* NULL: zeros */
    PLAIN_PARAMETERS,
    PLAIN_SLOTS = PLAIN_PARAMETERS + ATTEND_SCORE_PARAMETERS
};

typedef struct plain_problem {
    const attend_attention_options *o; /* score, heads and key_heads are set */
    const attend_arrays *a;            /* all but the arrays */
    const double *data[PLAIN_SLOTS];
} plain_problem;

/* ---- indices ---- */

/* Row t of head h of sequence b. */
static inline const double *plain_row(const plain_problem *p, const double *all, int rows, int heads, int width, int b,
                                      int h, int t)
{
    if (p->a->heads_first)
        return all + (((size_t)b * (size_t)heads + (size_t)h) * (size_t)rows + (size_t)t) * (size_t)width;
    return all + (((size_t)b * (size_t)rows + (size_t)t) * (size_t)heads + (size_t)h) * (size_t)width;
}

/* The index of element (b, h, i, j) of a mask; an axis of length 1 is broadcast. */
static inline size_t plain_mask_index(const int shape[4], int b, int h, int i, int j)
{
    const int at[4] = { b, h, i, j };
    size_t index = 0;
    for (int axis = 0; axis < 4; axis++)
        index = index * (size_t)shape[axis] + (size_t)(shape[axis] == 1 ? 0 : at[axis]);
    return index;
}

static inline int plain_length(const int *lengths, int b, int all)
{
    return lengths ? lengths[b] : all;
}

/* y = W x + bias for n rows of W (rows, width) from row `first` */
static inline void plain_map(const double *w, const double *bias, int first, int n, int width, const double *x,
                             double *y)
{
    for (int r = 0; r < n; r++) {
        double sum = bias ? bias[first + r] : 0;
        for (int l = 0; l < width; l++) sum += w[(size_t)(first + r) * (size_t)width + (size_t)l] * x[l];
        y[r] = sum;
    }
}

/* ---- scores ---- */

static inline bool plain_is(const plain_problem *p, const char *name)
{
    return strcmp(p->o->score->name, name) == 0;
}

/* The width of a head of query and key after the mapping of the score. */
static inline int plain_inner(const plain_problem *p)
{
    const int all = p->a->attention > 0 ? p->a->attention : p->o->heads * p->a->query_width;
    if (plain_is(p, "location")) return p->a->max_keys;
    if (plain_is(p, "additive") || plain_is(p, "projected") || plain_is(p, "location-sensitive"))
        return all / p->o->heads;
    return p->a->query_width;
}

static inline int plain_value_width(const plain_problem *p)
{
    if (plain_is(p, "projected")) return plain_inner(p);
    return p->data[PLAIN_VALUE] ? p->a->value_width : p->a->key_width;
}

/* The width of the context, all heads together. */
static inline int plain_context_width(const plain_problem *p)
{
    return p->o->heads * (plain_is(p, "projected") ? p->a->query_width : plain_value_width(p));
}

/* A head of a query after the mapping: q (inner). */
static inline void plain_query(const plain_problem *p, int b, int h, int i, double *q)
{
    const int width = p->a->query_width, n = plain_inner(p);
    const double *row = plain_row(p, p->data[PLAIN_QUERY], p->a->queries, p->o->heads, width, b, h, i);
    const double *whole = plain_row(p, p->data[PLAIN_QUERY], p->a->queries, p->o->heads, width, b, 0, i);
    if (plain_is(p, "additive") || plain_is(p, "projected") || plain_is(p, "location") ||
        plain_is(p, "location-sensitive"))
        plain_map(p->data[PLAIN_PARAMETERS], NULL, h * n, n, p->o->heads * width, whole, q);
    else
        memcpy(q, row, (size_t)width * sizeof *q);
}

static inline void plain_key(const plain_problem *p, int b, int head, int j, double *k)
{
    const int width = p->a->key_width, n = plain_inner(p), all = p->o->key_heads * width;
    const double *row = plain_row(p, p->data[PLAIN_KEY], p->a->keys, p->o->key_heads, width, b, head, j);
    const double *whole = plain_row(p, p->data[PLAIN_KEY], p->a->keys, p->o->key_heads, width, b, 0, j);
    const double *const *w = p->data + PLAIN_PARAMETERS;
    if (plain_is(p, "bilinear"))
        plain_map(w[0], NULL, head * n, n, all, whole, k);
    else if (plain_is(p, "projected"))
        plain_map(w[1], NULL, head * n, n, all, whole, k);
    else if (plain_is(p, "additive") || plain_is(p, "location-sensitive"))
        plain_map(w[1], w[2], head * n, n, all, whole, k);
    else if (!plain_is(p, "location"))
        memcpy(k, row, (size_t)width * sizeof *k);
}

static inline void plain_value(const plain_problem *p, int b, int head, int j, double *v)
{
    const double *all = p->data[PLAIN_VALUE] ? p->data[PLAIN_VALUE] : p->data[PLAIN_KEY];
    const int width = p->data[PLAIN_VALUE] ? p->a->value_width : p->a->key_width;
    const double *whole = plain_row(p, all, p->a->keys, p->o->key_heads, width, b, 0, j);
    const int n = plain_value_width(p);
    if (plain_is(p, "projected"))
        plain_map(p->data[PLAIN_PARAMETERS + 2], NULL, head * n, n, p->o->key_heads * width, whole, v);
    else
        memcpy(v, plain_row(p, all, p->a->keys, p->o->key_heads, width, b, head, j), (size_t)width * sizeof *v);
}

/* Element l of Uf f_j, the term of the previous weights inside the tanh. */
static inline double plain_location_term(const plain_problem *p, int b, int i, int j, int l, int keys)
{
    const double *uf = p->data[PLAIN_PARAMETERS + 4], *f = p->data[PLAIN_PARAMETERS + 5];
    const int filters = p->a->filters, size = p->a->filter_size;
    double sum = 0;
    for (int c = 0; p->data[PLAIN_PREVIOUS] && c < filters; c++)
        for (int s = 0; s < size; s++) {
            const int from = j + s - size / 2;
            const size_t at = ((size_t)b * (size_t)p->a->queries + (size_t)i) * (size_t)p->a->keys;
            if (from >= 0 && from < keys)
                sum += uf[l * filters + c] * f[c * size + s] * p->data[PLAIN_PREVIOUS][at + (size_t)from];
        }
    return sum;
}

static inline double plain_score(const plain_problem *p, int b, int h, int i, int j, int keys, const double *q,
                                 const double *k)
{
    const int n = plain_inner(p);
    const double *u = p->data[PLAIN_PARAMETERS + 3];
    double e = 0, scale = p->o->scale;
    if (plain_is(p, "location"))
        e = q[j];
    else if (plain_is(p, "additive"))
        for (int l = 0; l < n; l++) e += u[h * n + l] * tanh(q[l] + k[l]);
    else if (plain_is(p, "location-sensitive"))
        for (int l = 0; l < n; l++) e += u[l] * tanh(q[l] + k[l] + plain_location_term(p, b, i, j, l, keys));
    else
        for (int l = 0; l < n; l++) e += q[l] * k[l];
    if (scale == 0) scale = plain_is(p, "scaled-dot") || plain_is(p, "projected") ? 1 / sqrt(n) : 1;
    return scale * e;
}

/* ---- visible keys and selection ---- */

static inline double plain_center(const plain_problem *p, int b, int i, int keys)
{
    return keys * p->data[PLAIN_POSITION][(size_t)b * (size_t)p->a->queries + (size_t)i];
}

static inline bool plain_visible(const plain_problem *p, int b, int h, int i, int j)
{
    const int keys = plain_length(p->a->key_lengths, b, p->a->keys),
              queries = plain_length(p->a->query_lengths, b, p->a->queries);
    if (j >= keys || (p->o->causal && j > i + keys - queries)) return false;
    if (p->o->window == ATTEND_WINDOW_LOCAL_M && abs(j - i - p->a->first_position) > p->o->window_size) return false;
    if (p->o->window == ATTEND_WINDOW_LOCAL_P && fabs(j - plain_center(p, b, i, keys)) > p->o->window_size)
        return false;
    if (p->data[PLAIN_BIAS] && p->data[PLAIN_BIAS][plain_mask_index(p->a->bias_shape, b, h, i, j)] == -INFINITY)
        return false;
    return !p->a->allowed || p->a->allowed[plain_mask_index(p->a->allowed_shape, b, h, i, j)];
}

/* The weight of a sparse selection for threshold tau. */
static inline double plain_above(attend_selection selection, double e, double tau)
{
    const double x = selection == ATTEND_SELECT_SPARSEMAX ? e - tau : e / 2 - tau;
    if (!(x > 0)) return 0;
    return selection == ATTEND_SELECT_SPARSEMAX ? x : x * x;
}

/* Weights w of the scores e (n), -inf for masked keys. Sparse thresholds are found by bisection, not by sorting. */
static inline void plain_select(attend_selection selection, int n, const double *e, double *w)
{
    double max = -INFINITY, sum = 0;
    int best = 0;
    for (int j = 0; j < n; j++) {
        w[j] = 0;
        if (e[j] > max) max = e[j], best = j;
    }
    if (max == -INFINITY) return;
    if (selection == ATTEND_SELECT_HARD) {
        w[best] = 1;
    } else if (selection == ATTEND_SELECT_SOFT) {
        for (int j = 0; j < n; j++) sum += w[j] = exp(e[j] - max);
        for (int j = 0; j < n; j++) w[j] /= sum;
    } else {
        double low = -1, high = 0; /* tau of e - max */
        for (int step = 0; step < 60; step++) {
            const double tau = (low + high) / 2;
            sum = 0;
            for (int j = 0; j < n; j++) sum += plain_above(selection, e[j] - max, tau);
            if (sum > 1)
                low = tau;
            else
                high = tau;
        }
        for (int j = 0; j < n; j++) w[j] = plain_above(selection, e[j] - max, (low + high) / 2);
    }
}

/* ---- one call ---- */

/* The maximum width of a vector of one head. */
static inline int plain_wide(const plain_problem *p)
{
    int wide = plain_inner(p);
    if (wide < p->a->key_width) wide = p->a->key_width;
    return wide < plain_value_width(p) ? plain_value_width(p) : wide;
}

/* One query: e and w (Tk) and its context o (value width). Rows of mapped keys and values are `wide` apart. */
static inline void plain_attend(const plain_problem *p, int b, int h, int i, int wide, const double *keys,
                                const double *values, double *e, double *w, double *o)
{
    const int n = plain_length(p->a->key_lengths, b, p->a->keys), width = plain_value_width(p);
    double q[1024];
    plain_query(p, b, h, i, q);
    for (int j = 0; j < p->a->keys; j++) {
        e[j] = -INFINITY;
        if (!plain_visible(p, b, h, i, j)) continue;
        e[j] = plain_score(p, b, h, i, j, n, q, keys + (size_t)j * (size_t)wide);
        if (p->o->soft_cap > 0) e[j] = p->o->soft_cap * tanh(e[j] / p->o->soft_cap);
        if (p->data[PLAIN_BIAS]) e[j] += p->data[PLAIN_BIAS][plain_mask_index(p->a->bias_shape, b, h, i, j)];
    }
    plain_select(p->o->selection, p->a->keys, e, w);
    for (int j = 0; p->o->window == ATTEND_WINDOW_LOCAL_P && j < p->a->keys; j++) {
        const double x = (j - plain_center(p, b, i, n)) / (p->o->window_size / 2.0);
        w[j] *= exp(-x * x / 2);
    }
    for (int l = 0; l < width; l++) o[l] = 0;
    for (int j = 0; j < p->a->keys; j++)
        for (int l = 0; w[j] != 0 && l < width; l++) o[l] += w[j] * values[(size_t)j * (size_t)wide + (size_t)l];
}

/* context in the layout of the runner; weights and scores (B, H, Tq, Tk). Returns false if memory runs out. */
static inline bool plain_attention(const plain_problem *p, double *context, double *weights, double *scores)
{
    const attend_arrays *a = p->a;
    const int heads = p->o->heads, wide = plain_wide(p), width = plain_value_width(p), out = plain_context_width(p);
    const size_t rows = (size_t)a->keys + 1, area = (size_t)a->batch * (size_t)heads * (size_t)a->queries;
    double *keys = calloc(2 * rows * (size_t)wide, sizeof *keys), *values = keys ? keys + rows * (size_t)wide : NULL;
    double *joined = calloc(area * (size_t)width + 1, sizeof *joined); /* (B, Tq, H, width), or (B, H, Tq, width) */
    bool ok = keys && joined;
    for (size_t i = 0; i < area * (size_t)a->keys; i++) weights[i] = 0, scores[i] = -INFINITY;
    for (int b = 0; ok && b < a->batch; b++)
        for (int h = 0; h < heads; h++) {
            const int from = h / (heads / p->o->key_heads), n = plain_length(a->key_lengths, b, a->keys);
            for (int j = 0; j < n; j++) {
                plain_key(p, b, from, j, keys + (size_t)j * (size_t)wide);
                plain_value(p, b, from, j, values + (size_t)j * (size_t)wide);
            }
            for (int i = 0; i < plain_length(a->query_lengths, b, a->queries); i++) {
                const size_t row =
                    (((size_t)b * (size_t)heads + (size_t)h) * (size_t)a->queries + (size_t)i) * (size_t)a->keys;
                plain_attend(p, b, h, i, wide, keys, values, scores + row, weights + row,
                             (double *)plain_row(p, joined, a->queries, heads, width, b, h, i));
            }
        }
    for (int row = 0; ok && row < a->batch * a->queries; row++) {
        double *to = context + (size_t)row * (size_t)out, *of = joined + (size_t)row * (size_t)(heads * width);
        if (plain_is(p, "projected"))
            plain_map(p->data[PLAIN_PARAMETERS + 3], NULL, 0, out, heads * width, of, to);
        else
            memcpy(to, of, (size_t)out * sizeof *to);
    }
    free(keys);
    free(joined);
    return ok;
}

#endif
