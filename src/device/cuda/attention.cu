/* attention.cu: attention and its gradients. */
#include "device/cuda/attention_rows.h"
#include "device/cuda/attention_tiles.h"

enum { CHUNK = 3 << 20 }; /* numbers in an array of a chunk of rows */

/* The prepared keys of the CPU save work that these kernels do once for each tile. */
void attend_cuda_cache_keys(const attend_compute *, const device_source *)
{
}

static size_t chunk_rows(const cuda_attention &t)
{
    const size_t rows = t.keys > 0 ? CHUNK / t.keys : t.rows;
    return rows < 1 ? 1 : rows < t.rows ? rows : t.rows;
}

/* The next chunk; false: there is none. */
static bool next_chunk(const cuda_attention &t, cuda_chunk *k)
{
    const size_t rows = chunk_rows(t);
    k->first = k->last;
    k->last = t.rows - k->first < rows ? t.rows : k->first + rows;
    return k->first < t.rows;
}

/* ---- forward ---- */

static bool additive_forward(cuda_call *call, const cuda_attention &t)
{
    cuda_chunk k = cuda_chunk();
    k.p = k.w = call->reals(chunk_rows(t) * t.keys);
    while (k.p && next_chunk(t, &k))
        if (!cuda_additive_forward(call, t, k)) return false;
    return k.p != nullptr;
}

bool attend_cuda_attention(const attend_compute *c, const device_attention *a)
{
    cuda_call call(c);
    cuda_attention t;
    if (!cuda_attention_new(&call, a, &t)) return false;
    if (cuda_additive_serves(t)) return additive_forward(&call, t);
    return cuda_tiles_serve(&call, t) ? cuda_tiles_forward(&call, t) : cuda_rows_forward(&call, t);
}

/* ---- backward ---- */

/* The parts of the gradient of u, or what location-sensitive scores need, in numbers. */
static size_t parts_size(const cuda_attention &t, size_t *parts)
{
    *parts = cuda_additive_serves(t) ? cuda_additive_parts(t) : cuda_u_parts(t);
    if (t.score == CUDA_LOCATION_SENSITIVE) return cuda_location_space(t);
    const bool needed = t.score == CUDA_ADDITIVE && t.a.dparameters[CUDA_U];
    return needed ? *parts * (size_t)t.source.heads * (size_t)t.a.query_width : 0;
}

/* The arrays of a chunk and `parts` numbers, as one piece of memory. */
static bool chunk_new(cuda_call *call, const cuda_attention &t, cuda_chunk *k, size_t parts, real **memory)
{
    const size_t rows = chunk_rows(t), area = (rows * t.keys + 63) / 64 * 64;
    const bool differ = cuda_weights_differ(&t.a), capped = t.a.dbias || t.source.soft_cap > 0;
    real *at = call->reals(area * (2 + (size_t)differ + (size_t)capped) + (rows + 63) / 64 * 64 + parts);
    if (!at) return false;
    *k = cuda_chunk();
    k->p = k->w = at, at += area;
    k->de = at, at += area;
    if (differ) k->w = at, at += area;
    if (capped) k->dcapped = at, at += area;
    if (t.a.dposition) k->dposition = at;
    *memory = parts ? at + (rows + 63) / 64 * 64 : nullptr;
    return true;
}

static bool chunk_gradients(cuda_call *call, const cuda_attention &t, const cuda_chunk &k, real *parts)
{
    if (cuda_additive_serves(t)) return cuda_additive_backward(call, t, k, parts);
    cuda_rows_backward(t, k, false);
    cuda_row_gradients(t, k, t.score == CUDA_ADDITIVE ? parts : nullptr);
    if (t.score == CUDA_LOCATION_SENSITIVE) cuda_location_gradients(t, k, parts);
    if (t.a.dbias) cuda_bias_gradient(t, k);
    if (t.a.dposition) cuda_position_gradient(t, k);
    return true;
}

bool attend_cuda_attention_backward(const attend_compute *c, const device_attention *a)
{
    cuda_call call(c);
    cuda_attention t;
    if (!cuda_attention_new(&call, a, &t)) return false;
    if (t.rows == 0 || t.keys == 0) return true;
    if (cuda_tiles_serve(&call, t)) {
        real *const means = call.reals(t.rows);
        return means && cuda_tiles_backward(&call, t, means);
    }
    cuda_chunk k;
    size_t parts;
    real *memory;
    const size_t size = parts_size(t, &parts);
    if (!chunk_new(&call, t, &k, size, &memory)) return false;
    while (next_chunk(t, &k))
        if (!chunk_gradients(&call, t, k, memory)) return false;
    if (t.score == CUDA_ADDITIVE && memory)
        cuda_add_parts(parts, (size_t)t.source.heads * (size_t)a->query_width, memory, a->dparameters[CUDA_U]);
    return true;
}
