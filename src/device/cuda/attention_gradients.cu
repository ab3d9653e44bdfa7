/* attention_gradients.cu: from the gradients of the scores of a chunk to those of queries, keys, values, u, bias and
 * positions. Each number of a gradient belongs to one thread, which adds its terms in a fixed order. */
#include "device/cuda/attention_rows.h"
#include "device/cuda/attention_score.h"

enum { THREADS = 128, QUERIES = 16 };

/* ---- queries and u ---- */

static size_t query_groups(const cuda_attention &t)
{
    return ((size_t)t.a.max_queries + QUERIES - 1) / QUERIES;
}

size_t cuda_u_parts(const cuda_attention &t)
{
    return (size_t)t.source.count * query_groups(t);
}

/* The work of the blocks: first the keys, then groups of queries, each in `pieces` of THREADS channels. */
struct gradient_work {
    size_t keys, groups, first_group, end_group, pieces;
};

/* Up to QUERIES queries of one head and THREADS channels; part b * groups + group of `parts` is theirs. */
static __device__ void query_gradients(const cuda_attention &t, const cuda_chunk &c, const gradient_work &g, size_t x,
                                       real *parts)
{
    const size_t group = (g.first_group + x / g.pieces) % g.groups, bh = (g.first_group + x / g.pieces) / g.groups;
    const size_t queries = (size_t)t.a.max_queries, row0 = bh * queries + group * QUERIES;
    const cuda_place at(t, row0);
    const cuda_sequence s = t.sequences[at.b];
    const bool starts = c.first <= row0;
    const size_t begin = starts ? row0 : c.first;
    size_t end = bh * queries + (size_t)(at.i + QUERIES < s.queries ? at.i + QUERIES : s.queries);
    if (end > c.last) end = c.last;
    const int n = t.score == CUDA_LOCATION ? s.keys : t.a.query_width;
    const real scale = (real)t.a.scale;
    for (int l = (int)(x % g.pieces) * THREADS + (int)threadIdx.x; l < n; l += (int)g.pieces * THREADS) {
        const real u = t.score == CUDA_ADDITIVE ? t.source.parameters[CUDA_U][(size_t)at.head * (size_t)n + l] : 0;
        real du = 0;
        for (size_t row = begin; row < end; row++) {
            const int i = (int)(row % queries);
            const real *de = c.de + (row - c.first) * t.keys;
            real *dq = t.a.dquery ? t.a.dquery + (cuda_query(t, s, at.head, i) - t.a.query) : nullptr;
            real sum = 0;
            if (t.score == CUDA_LOCATION) {
                sum = de[l];
            } else if (t.score == CUDA_DOT) {
                for (int j = 0; j < s.keys; j++) {
                    const real k = cuda_key(t, s, at.key_head, j)[l], e = de[j];
                    sum += e != 0 ? e * k : 0; /* a key that is not visible may be NaN */
                }
            } else {
                const real a = cuda_query(t, s, at.head, i)[l];
                for (int j = 0; j < s.keys; j++) {
                    const real y = cuda_tanh(a + cuda_key(t, s, at.key_head, j)[l]), e = de[j];
                    sum += e != 0 ? e * (1 - y * y) : 0, du += e != 0 ? e * y : 0;
                }
                sum *= u;
            }
            if (dq) dq[l] += scale * sum;
        }
        if (!parts) continue;
        real *part = parts + (((size_t)at.b * g.groups + group) * (size_t)t.source.heads + at.head) * (size_t)n + l;
        *part = scale * du + (starts ? 0 : *part);
    }
}

/* ---- keys and values ---- */

/* dv_jc = sum w_ij g_ic over the rows of the chunk */
static __device__ void value_gradient(const cuda_attention &t, const cuda_chunk &c, const cuda_sequence &s, int b,
                                      int key_head, int j)
{
    real *dv = t.a.dvalue + (cuda_value(t, s, key_head, j) - t.source.values);
    for (int l = (int)threadIdx.x; l < t.source.value_width; l += (int)blockDim.x) {
        real sum = 0;
        for (int head = key_head * t.share; head < (key_head + 1) * t.share; head++)
            for (int i = 0; i < s.queries; i++) {
                const size_t row = ((size_t)b * t.source.heads + head) * (size_t)t.a.max_queries + i;
                if (row < c.first || row >= c.last) continue;
                const real w = c.w[(row - c.first) * t.keys + j], g = t.a.dcontext[cuda_context(t, s, head, i) + l];
                sum += w != 0 ? w * g : 0;
            }
        dv[l] += sum;
    }
}

/* The gradient of element l of a key by one query of which de is not 0. All threads of the block call it; features is
 * shared memory for location-sensitive scores. */
static __device__ __forceinline__ real key_term(const cuda_attention &t, const real *query, const real *key, int head,
                                                int l, const real *features)
{
    if (t.score == CUDA_DOT) return query[l];
    real x = query[l] + key[l];
    if (t.score == CUDA_LOCATION_SENSITIVE) {
        const int filters = t.source.parameter_shapes[CUDA_F][0];
        const real *uf = t.source.parameters[CUDA_UF] + (size_t)l * (size_t)filters;
        for (int c = 0; c < filters; c++) x += uf[c] * features[c];
    }
    x = cuda_tanh(x);
    return t.source.parameters[CUDA_U][(size_t)head * (size_t)t.a.query_width + l] * (1 - x * x);
}

static __device__ void key_gradient(const cuda_attention &t, const cuda_chunk &c, const cuda_sequence &s, int b,
                                    int key_head, int j, real *features)
{
    const real *key = cuda_key(t, s, key_head, j);
    real *dk = t.a.dkey + (key - t.source.keys);
    const int n = t.source.key_width;
    for (int from = 0; from < n; from += (int)blockDim.x) {
        const int l = from + (int)threadIdx.x;
        real sum = 0;
        for (int head = key_head * t.share; head < (key_head + 1) * t.share; head++)
            for (int i = 0; i < s.queries; i++) {
                const size_t row = ((size_t)b * t.source.heads + head) * (size_t)t.a.max_queries + i;
                if (row < c.first || row >= c.last) continue;
                const real de = c.de[(row - c.first) * t.keys + j];
                if (de == 0) continue;
                if (t.score == CUDA_LOCATION_SENSITIVE) {
                    __syncthreads();
                    for (int f = (int)threadIdx.x; f < t.source.parameter_shapes[CUDA_F][0]; f += (int)blockDim.x)
                        features[f] = cuda_location_feature(t, s, cuda_previous(t, b, i), j, f, 0, 1);
                    __syncthreads();
                }
                if (l < n) sum += de * key_term(t, cuda_query(t, s, head, i), key, head, l, features);
            }
        if (l < n) dk[l] += (real)t.a.scale * sum;
    }
}

/* One key of one sequence. */
static __device__ void key_gradients(const cuda_attention &t, const cuda_chunk &c, size_t x, real *features)
{
    const size_t key_heads = (size_t)t.source.key_heads;
    const int j = (int)(x % t.keys), key_head = (int)(x / t.keys % key_heads), b = (int)(x / t.keys / key_heads);
    const cuda_sequence s = t.sequences[b];
    const size_t rows = (size_t)t.share * (size_t)t.a.max_queries, row = (x / t.keys) * rows;
    if (j >= s.keys || row >= c.last || row + rows <= c.first) return;
    if (t.a.dvalue && t.a.dcontext) value_gradient(t, c, s, b, key_head, j);
    if (t.a.dkey && t.score != CUDA_LOCATION) key_gradient(t, c, s, b, key_head, j, features);
}

__global__ void __launch_bounds__(THREADS)
    row_gradients(const cuda_attention t, const cuda_chunk c, const gradient_work g, real *parts)
{
    CUDA_SHARED(real, features);
    CUDA_EACH_BLOCK(x, g.keys + (g.end_group - g.first_group) * g.pieces)
    {
        if (x < g.keys)
            key_gradients(t, c, x, features);
        else
            query_gradients(t, c, g, x - g.keys, parts);
    }
}

/* Whether the queries are the keys or the values: their gradients must then be added one after another. */
static bool same_array(const cuda_attention &t)
{
    const real *const dquery = t.a.dquery;
    const size_t first = t.a.query_rows.first;
    return dquery && ((dquery == t.a.dkey && first == t.source.key_rows.first) ||
                      (dquery == t.a.dvalue && first == t.source.value_rows.first));
}

void cuda_row_gradients(const cuda_attention &t, const cuda_chunk &c, real *parts)
{
    const size_t queries = (size_t)t.a.max_queries, last = c.last - 1;
    const bool by_location = t.score == CUDA_LOCATION_SENSITIVE;
    const size_t width = t.score == CUDA_LOCATION ? t.keys : (size_t)t.a.query_width;
    gradient_work g = { 0, query_groups(t), 0, 0, (width + THREADS - 1) / THREADS };
    if ((t.a.dvalue && t.a.dcontext) || (t.a.dkey && t.score != CUDA_LOCATION))
        g.keys = (size_t)t.source.count * (size_t)t.source.key_heads * t.keys;
    if (!by_location && (t.a.dquery || parts)) {
        g.first_group = c.first / queries * g.groups + c.first % queries / QUERIES;
        g.end_group = last / queries * g.groups + last % queries / QUERIES + 1;
    }
    const size_t shared = by_location ? (size_t)t.source.parameter_shapes[CUDA_F][0] * sizeof(real) : 0;
    gradient_work only_keys = g;
    only_keys.end_group = g.first_group;
    if (g.keys > 0 && same_array(t)) {
        CUDA_LAUNCH(row_gradients, cuda_blocks(g.keys, 1), THREADS, shared, t, c, only_keys, parts);
        g.keys = 0;
    }
    const size_t blocks = g.keys + (g.end_group - g.first_group) * g.pieces;
    if (blocks > 0) CUDA_LAUNCH(row_gradients, cuda_blocks(blocks, 1), THREADS, shared, t, c, g, parts);
}

/* ---- bias and positions ---- */

struct axes {
    size_t n[4], steps[4]; /* lengths and strides of the bias; steps of the loops over broadcast axes */
};

/* Each element of the bias adds up the rows and keys that it was added to. */
__global__ void bias_gradient(const cuda_attention t, const cuda_chunk c, const axes x)
{
    const size_t *strides = t.a.bias_strides;
    CUDA_EACH(element, x.n[0] * x.n[1] * x.n[2] * x.n[3])
    {
        size_t at[4], rest = element;
        for (int i = 3; i >= 0; i--) at[i] = rest % x.n[i], rest /= x.n[i];
        const size_t heads = (size_t)t.source.heads, queries = (size_t)t.a.max_queries;
        real sum = 0;
        for (size_t b = at[0]; b < (size_t)t.source.count; b += x.steps[0])
            for (size_t h = at[1]; h < heads; h += x.steps[1])
                for (size_t i = at[2]; i < queries; i += x.steps[2]) {
                    const size_t row = (b * heads + h) * queries + i;
                    if (row < c.first || row >= c.last) continue;
                    const real *d = c.dcapped + (row - c.first) * t.keys;
                    for (size_t j = at[3]; j < t.keys; j += x.steps[3]) sum += d[j];
                }
        t.a.dbias[at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3]] += sum;
    }
}

void cuda_bias_gradient(const cuda_attention &t, const cuda_chunk &c)
{
    const size_t full[4] = { (size_t)t.source.count, (size_t)t.source.heads, (size_t)t.a.max_queries, t.keys };
    axes x;
    size_t n = 1;
    for (int i = 0; i < 4; i++) {
        const bool is_broadcast = t.a.bias_strides[i] == 0;
        x.n[i] = is_broadcast ? 1 : full[i];
        x.steps[i] = is_broadcast ? 1 : full[i]; /* one element only, or all */
        n *= x.n[i];
    }
    CUDA_LAUNCH(bias_gradient, cuda_blocks(n), CUDA_THREADS, 0, t, c, x);
}

/* All heads share the position of a query. */
__global__ void position_gradient(const cuda_attention t, const cuda_chunk c)
{
    const size_t heads = (size_t)t.source.heads, queries = (size_t)t.a.max_queries;
    CUDA_EACH(x, (size_t)t.source.count * queries)
    {
        const size_t b = x / queries, i = x % queries;
        const cuda_sequence s = t.sequences[b];
        if (i >= (size_t)s.queries) continue;
        real sum = 0;
        for (size_t h = 0; h < heads; h++) {
            const size_t row = (b * heads + h) * queries + i;
            if (row >= c.first && row < c.last) sum += c.dposition[row - c.first];
        }
        t.a.dposition[s.position + i] += sum;
    }
}

void cuda_position_gradient(const cuda_attention &t, const cuda_chunk &c)
{
    const size_t n = (size_t)t.source.count * (size_t)t.a.max_queries;
    CUDA_LAUNCH(position_gradient, cuda_blocks(n), CUDA_THREADS, 0, t, c);
}

/* ---- partial sums ---- */

enum { COLUMNS = 32, SEGMENTS = 8, ADDERS = COLUMNS * SEGMENTS };

/* Thread (x, y) of a block adds up segment y of column x; the sums of the segments are added in order. */
__global__ void __launch_bounds__(ADDERS) add_parts(size_t parts, size_t n, const real *from, real *sum)
{
    __shared__ real sums[SEGMENTS][COLUMNS];
    const size_t column = threadIdx.x % COLUMNS, segment = threadIdx.x / COLUMNS;
    const size_t each = (parts + SEGMENTS - 1) / SEGMENTS, first = segment * each;
    const size_t end = first + each < parts ? first + each : parts;
    for (size_t i0 = (size_t)blockIdx.x * COLUMNS; i0 < n; i0 += (size_t)gridDim.x * COLUMNS) {
        const size_t i = i0 + column;
        real x = 0;
        for (size_t k = first; i < n && k < end; k++) x += from[k * n + i];
        __syncthreads();
        sums[segment][column] = x;
        __syncthreads();
        if (segment == 0 && i < n) {
            for (int y = 1; y < SEGMENTS; y++) x += sums[y][column];
            sum[i] += x;
        }
    }
}

void cuda_add_parts(size_t parts, size_t n, const real *from, real *sum)
{
    if (parts > 0 && n > 0) CUDA_LAUNCH(add_parts, cuda_blocks(n, COLUMNS), ADDERS, 0, parts, n, from, sum);
}
