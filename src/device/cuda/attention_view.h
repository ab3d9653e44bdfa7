/* attention_view.h: a call of attention as its kernels see it: the arguments of the call with index arrays in device memory,
 * and what every kernel asks of them. A row is one query of one head: row r of (B, H, Tq). */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_VIEW_H
#define ATTEND_DEVICE_CUDA_ATTENTION_VIEW_H

#include "device/cuda/random.h"

enum cuda_score { CUDA_DOT, CUDA_ADDITIVE, CUDA_LOCATION, CUDA_LOCATION_SENSITIVE };
/* The parameters that tiles read (device/scores.h). */
enum { CUDA_U = 3, CUDA_UF, CUDA_F };

/* One sequence: the offsets of its first rows, in elements, for head 0. */
struct cuda_sequence {
    size_t query, key, value, context;
    size_t position; /* index of its first position */
    double advantage;
    int queries, keys;
};

struct cuda_attention {
    device_attention a;   /* a.allowed is device memory */
    device_source source; /* a.source is not used */
    const cuda_sequence *sequences;
    cuda_score score;
    int share;   /* query heads of a key head */
    size_t rows; /* B H Tq */
    size_t keys; /* the distance of rows of (B, H, Tq, Tk) */
};

/* The keys of a row that are visible by causal mask and window: [first, last). */
struct cuda_range {
    int first, last;
};

/* Fills `t` and uploads index arrays in one piece. Returns false if memory runs out. */
bool cuda_attention_new(cuda_call *call, const device_attention *a, cuda_attention *t);
/* Whether the weights that multiply the values differ from p. */
static inline bool cuda_weights_differ(const device_attention *a)
{
    return a->dropout > 0 || a->position || a->select.selection == ATTEND_SELECT_HARD;
}

/* Where a row is. */
struct cuda_place {
    int b, head, key_head, i;
    __device__ cuda_place(const cuda_attention &t, size_t row)
    {
        const size_t queries = (size_t)t.a.max_queries, heads = (size_t)t.source.heads;
        i = (int)(row % queries), head = (int)(row / queries % heads), b = (int)(row / queries / heads);
        key_head = head / t.share;
    }
};

static __device__ __forceinline__ const real *cuda_query(const cuda_attention &t, const cuda_sequence &s, int head,
                                                         int i)
{
    return t.a.query + s.query + (size_t)head * t.a.query_rows.head + (size_t)i * t.a.query_rows.row;
}

static __device__ __forceinline__ const real *cuda_key(const cuda_attention &t, const cuda_sequence &s, int head, int j)
{
    return t.source.keys + s.key + (size_t)head * t.source.key_rows.head + (size_t)j * t.source.key_rows.row;
}

static __device__ __forceinline__ const real *cuda_value(const cuda_attention &t, const cuda_sequence &s, int head,
                                                         int j)
{
    return t.source.values + s.value + (size_t)head * t.source.value_rows.head + (size_t)j * t.source.value_rows.row;
}

static __device__ __forceinline__ size_t cuda_context(const cuda_attention &t, const cuda_sequence &s, int head, int i)
{
    return s.context + (size_t)head * t.a.context_rows.head + (size_t)i * t.a.context_rows.row;
}

/* ---- visible keys ---- */

/* x as an integer, clamped to [low, high]; `if_nan` if x is NaN. */
static __device__ inline int cuda_clamp(double x, int low, int high, int if_nan)
{
    if (x != x) return if_nan;
    return x < low ? low : x > high ? high : (int)x;
}

static __device__ inline double cuda_center(const cuda_attention &t, const cuda_sequence &s, int i)
{
    return s.keys * (double)t.a.position[s.position + (size_t)i];
}

static __device__ inline cuda_range cuda_key_range(const cuda_attention &t, const cuda_sequence &s, int i)
{
    cuda_range r = { 0, s.keys };
    if (t.source.causal) {
        r.last = i + s.keys - s.queries + 1;
        r.last = r.last < 0 ? 0 : r.last < s.keys ? r.last : s.keys;
    }
    if (t.source.window != ATTEND_WINDOW_GLOBAL) {
        double at = (t.a.one_position ? 0.0 : (double)i) + t.a.first_position;
        if (t.source.window == ATTEND_WINDOW_LOCAL_P) at = cuda_center(t, s, i);
        /* with a NaN position all keys are visible, so that the context becomes NaN too */
        r.first = cuda_clamp(ceil(at - t.source.window_size), 0, s.keys, 0);
        r.last = cuda_clamp(floor(at + t.source.window_size) + 1, 0, r.last, r.last);
    }
    if (r.last < r.first) r.last = r.first;
    return r;
}

/* The score of key j after cap, bias and mask. `capped` receives it after the cap. */
static __device__ __forceinline__ real cuda_masked_score(const cuda_attention &t, int b, int head, int i, int j, real e,
                                                         real *capped)
{
    const device_attention &a = t.a;
    if (t.source.soft_cap > 0) e = (real)t.source.soft_cap * tanh(e * (real)(1 / t.source.soft_cap));
    if (capped) *capped = e;
    if (a.bias) {
        const size_t *s = a.bias_strides;
        const real add = a.bias[(size_t)b * s[0] + (size_t)head * s[1] + (size_t)i * s[2] + (size_t)j * s[3]];
        e = add == (real)-INFINITY ? add : e + add;
    }
    if (a.allowed) {
        const size_t *s = a.allowed_strides;
        if (!a.allowed[(size_t)b * s[0] + (size_t)head * s[1] + (size_t)i * s[2] + (size_t)j * s[3]])
            e = (real)-INFINITY;
    }
    return e;
}

/* The Gaussian window of local-p. */
static __device__ inline real cuda_gaussian(const cuda_attention &t, double center, int j)
{
    const double x = ((double)j - center) / (t.source.window_size / 2.0);
    return (real)exp(-x * x / 2);
}

/* ---- dropout ---- */

/* The factor of a weight by dropout, which is 0 if it is dropped. `index` is that of the weight among all of the call. */
static __device__ inline real cuda_dropout_factor(const device_attention &a, uint64_t index)
{
    const uint64_t dropped = (uint64_t)(a.dropout * 4294967296.0);
    return cuda_random_bits(a.dropout_random, index) >= dropped ? (real)(1 / (1 - a.dropout)) : 0;
}

#endif
