/* attention_location.cu: the gradients of location-sensitive scores (cpu_score_location_sensitive.c), except that of the
 * key. With x = tanh(a + beta_j + Uf f_j) and dx = scale de u (1 - x^2):
 *     da += sum_j dx_j   du += scale de x   dUf += dx f'   df_j = Uf' dx_j
 *     dF_cs += df_jc previous[j + s - size / 2]   dprevious[j + s - size / 2] += df_jc F_cs
 * There is one head. */
#include "device/cuda/attention_rows.h"
#include "device/cuda/attention_score.h"

enum { THREADS = 128, MAX_BLOCKS = 64, MAX_NUMBERS = 8 << 20 };

/* The memory of a block, in numbers: f and df (keys, filters), dx (keys, width), and parts of du, dUf and dF. */
struct layout {
    size_t f, df, dx, du, duf, dfilter, size;
};

static __device__ void zero(size_t n, real *x)
{
    CUDA_EACH_THREAD(i, n) x[i] = 0;
}

/* f_j of all keys. */
static __device__ void features_of_row(const cuda_attention &t, const cuda_sequence &s, const real *previous,
                                       int filters, real *f)
{
    CUDA_EACH_THREAD(x, (size_t)s.keys * (size_t)filters)
    f[x] = cuda_location_feature(t, s, previous, (int)(x / (size_t)filters), (int)(x % (size_t)filters), 0, 1);
}

/* Channel l of all keys: dx, and the gradients of a, u and Uf. */
static __device__ void channel(const cuda_attention &t, const cuda_sequence &s, int i, int l, int filters,
                               const real *de, const layout &m, real *memory)
{
    const int n = t.a.query_width;
    const real *query = cuda_query(t, s, 0, i), *uf = t.source.parameters[CUDA_UF] + (size_t)l * (size_t)filters;
    const real u = t.source.parameters[CUDA_U][l];
    real da = 0, du = 0;
    for (int j = 0; j < s.keys; j++) {
        real *dx = memory + m.dx + (size_t)j * (size_t)n + l;
        *dx = 0;
        if (de[j] == 0) continue;
        const real *f = memory + m.f + (size_t)j * (size_t)filters;
        real x = query[l] + cuda_key(t, s, 0, j)[l];
        for (int c = 0; c < filters; c++) x += uf[c] * f[c];
        x = cuda_tanh(x);
        const real e = (real)t.a.scale * de[j];
        *dx = e * u * (1 - x * x);
        da += *dx, du += e * x;
    }
    memory[m.du + (size_t)l] += du;
    for (int c = 0; c < filters; c++) {
        real sum = 0;
        for (int j = 0; j < s.keys; j++)
            if (de[j] != 0) sum += memory[m.dx + (size_t)j * (size_t)n + l] * memory[m.f + (size_t)j * filters + c];
        memory[m.duf + (size_t)l * (size_t)filters + c] += sum;
    }
    if (t.a.dquery) t.a.dquery[query - t.a.query + l] += da;
}

/* df_jc = sum_l Uf_lc dx_jl */
static __device__ void feature_gradients(const cuda_attention &t, const cuda_sequence &s, int filters, const layout &m,
                                         real *memory)
{
    const int n = t.a.query_width;
    CUDA_EACH_THREAD(x, (size_t)s.keys * (size_t)filters)
    {
        const size_t j = x / (size_t)filters, c = x % (size_t)filters;
        real sum = 0;
        for (int l = 0; l < n; l++)
            sum += t.source.parameters[CUDA_UF][(size_t)l * (size_t)filters + c] *
                   memory[m.dx + j * (size_t)n + (size_t)l];
        memory[m.df + x] = sum;
    }
}

static __device__ void filter_gradients(const cuda_attention &t, const cuda_sequence &s, const real *previous,
                                        int filters, const real *de, const layout &m, real *memory)
{
    const int size = t.source.parameter_shapes[CUDA_F][1];
    CUDA_EACH_THREAD(x, (size_t)filters * (size_t)size)
    {
        const size_t c = x / (size_t)size;
        const int shift = (int)(x % (size_t)size) - size / 2;
        real sum = 0;
        for (int j = 0; j < s.keys; j++)
            if (j + shift >= 0 && j + shift < s.keys && de[j] != 0)
                sum += memory[m.df + (size_t)j * filters + c] * previous[j + shift];
        memory[m.dfilter + x] += sum;
    }
}

static __device__ void previous_gradients(const cuda_attention &t, const cuda_sequence &s, int filters, const layout &m,
                                          const real *memory, real *dprevious)
{
    const int size = t.source.parameter_shapes[CUDA_F][1];
    CUDA_EACH_THREAD(to, (size_t)s.keys)
    {
        real sum = 0;
        for (int x = 0; x < size; x++) {
            const int j = (int)to - x + size / 2;
            if (j < 0 || j >= s.keys) continue;
            for (int c = 0; c < filters; c++)
                sum += memory[m.df + (size_t)j * filters + c] * t.source.parameters[CUDA_F][(size_t)c * size + x];
        }
        dprevious[to] += sum;
    }
}

__global__ void __launch_bounds__(THREADS)
    location_gradients(const cuda_attention t, const cuda_chunk k, const layout m, real *all)
{
    const int filters = t.source.parameter_shapes[CUDA_F][0], n = t.a.query_width;
    real *memory = all + (size_t)blockIdx.x * m.size;
    zero(m.size - m.du, memory + m.du);
    CUDA_EACH_BLOCK(x, k.last - k.first)
    {
        const cuda_place at(t, k.first + x);
        const cuda_sequence s = t.sequences[at.b];
        if (at.i >= s.queries) continue;
        const real *previous = cuda_previous(t, at.b, at.i), *de = k.de + x * t.keys;
        __syncthreads();
        features_of_row(t, s, previous, filters, memory + m.f);
        __syncthreads();
        CUDA_EACH_THREAD(l, (size_t)n) channel(t, s, at.i, (int)l, filters, de, m, memory);
        __syncthreads();
        feature_gradients(t, s, filters, m, memory);
        __syncthreads();
        filter_gradients(t, s, previous, filters, de, m, memory);
        if (t.a.dprevious) previous_gradients(t, s, filters, m, memory, t.a.dprevious + (previous - t.a.previous));
    }
}

/* Gathers one parameter's parts, which lie a block's memory apart. */
__global__ void add_block_parts(size_t blocks, size_t distance, size_t n, const real *from, real *sum)
{
    CUDA_EACH(i, n)
    {
        real x = 0;
        for (size_t b = 0; b < blocks; b++) x += from[b * distance + i];
        sum[i] += x;
    }
}

static layout layout_of(const cuda_attention &t)
{
    const size_t filters = (size_t)t.source.parameter_shapes[CUDA_F][0], n = (size_t)t.a.query_width;
    layout m;
    m.f = 0, m.df = t.keys * filters, m.dx = 2 * t.keys * filters, m.du = m.dx + t.keys * n, m.duf = m.du + n;
    m.dfilter = m.duf + n * filters;
    m.size = m.dfilter + filters * (size_t)t.source.parameter_shapes[CUDA_F][1];
    return m;
}

static size_t block_count(const cuda_attention &t, const layout &m)
{
    size_t most = MAX_NUMBERS / m.size;
    if (most > MAX_BLOCKS) most = MAX_BLOCKS;
    return most < 1 ? 1 : most < t.rows ? most : t.rows;
}

size_t cuda_location_space(const cuda_attention &t)
{
    const layout m = layout_of(t);
    return block_count(t, m) * m.size;
}

void cuda_location_gradients(const cuda_attention &t, const cuda_chunk &c, real *memory)
{
    const layout m = layout_of(t);
    const size_t blocks = block_count(t, m);
    CUDA_LAUNCH(location_gradients, (unsigned)blocks, THREADS, 0, t, c, m, memory);
    const int which[] = { CUDA_U, CUDA_UF, CUDA_F };
    const size_t from[] = { m.du, m.duf, m.dfilter, m.size };
    for (int i = 0; i < 3; i++) {
        const size_t n = from[i + 1] - from[i];
        real *const sum = t.a.dparameters[which[i]];
        if (sum)
            CUDA_LAUNCH(add_block_parts, cuda_blocks(n), CUDA_THREADS, 0, blocks, m.size, n, memory + from[i], sum);
    }
}
