/* lstmn.cu: the steps of an LSTMN (op/lstmn.c): attention of one row to rows of a tape, and gates. cpu_lstmn.c has the formulas.
 * Keys need no preparation: additive_keys does nothing. */
#include "device/cuda/launch.h"

#include <new>
#include <vector>

size_t attend_cuda_additive_width(size_t width)
{
    return width;
}

size_t attend_cuda_additive_row(size_t)
{
    return 1;
}

void attend_cuda_additive_keys(const attend_compute *, size_t, size_t, device_input, device_output)
{
}

/* What a row attends to, on the GPU. */
struct row_view {
    size_t row, first, past_begin; /* past_begin: of its pointers */
    size_t weights, outputs;       /* offsets */
    int past_count, count;
};

struct step_views {
    size_t n;
    const row_view *views;
    const real *const *past;
};

static bool views_of(cuda_call *call, const device_lstmn *l, size_t n, const int *rows, const device_lstmn_view *views,
                     step_views *s)
{
    try {
        std::vector<row_view> all(n);
        std::vector<const real *> past;
        for (size_t i = 0; i < n; i++) {
            const size_t row = (size_t)rows[i];
            all[i] = row_view{ row,
                               views[i].first,
                               past.size(),
                               l->weight_offsets[row],
                               l->outputs || l->doutputs ? l->output_offsets[row] : 0,
                               views[i].past_count,
                               views[i].count };
            past.insert(past.end(), views[i].past, views[i].past + views[i].past_count);
        }
        s->n = n;
        s->views = static_cast<const row_view *>(call->upload(all.data(), n * sizeof(row_view)));
        s->past = static_cast<const real *const *>(call->upload(past.data(), past.size() * sizeof(real *)));
        return s->views && s->past;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

/* The j-th row that a row attends to: k, m and key. */
struct lstmn_keys {
    const real *k, *m, *key;
};

static __device__ lstmn_keys keys_at(const device_lstmn &l, const step_views &s, const row_view &v, int j)
{
    if (j < v.past_count) {
        const real *past = s.past[v.past_begin + (size_t)j];
        return lstmn_keys{ past, past + l.past_memory, past + l.past_key };
    }
    const size_t own = v.first + (size_t)(j - v.past_count);
    return lstmn_keys{ l.k + own * l.width, l.m + own * l.hidden, l.key + own * l.attention_width };
}

enum { THREADS = 128, WARPS = THREADS / 32 };

__global__ void lstmn_rows(device_lstmn l, step_views s)
{
    __shared__ real slots[33];
    const row_view v = s.views[blockIdx.x];
    const int n = v.past_count + v.count;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    real *weights = l.weights + v.weights;
    const real *query = l.query + v.row * l.attention_width;
    for (int j = (int)warp; j < n; j += WARPS) {
        const real *key = keys_at(l, s, v, j).key;
        real e = 0;
        for (size_t a = lane; a < l.attention_width; a += 32) e += l.v[a] * tanh(key[a] + query[a]);
        e = cuda_warp_sum(e);
        if (lane == 0) weights[j] = e;
    }
    __syncthreads();
    real largest = -(real)INFINITY, sum = 0;
    for (int j = (int)threadIdx.x; j < n; j += THREADS) largest = cuda_larger(largest, weights[j]);
    largest = cuda_block_max(largest, slots);
    for (int j = (int)threadIdx.x; j < n; j += THREADS) sum += weights[j] = exp(weights[j] - largest);
    const real inverse = 1 / cuda_block_sum(sum, slots);
    for (int j = (int)threadIdx.x; j < n; j += THREADS) {
        weights[j] *= inverse;
        if (l.outputs) l.outputs[v.outputs + (size_t)j] = weights[j];
    }
    __syncthreads();
    CUDA_EACH_THREAD(i, l.width + l.hidden)
    {
        real total = 0;
        for (int j = 0; j < n; j++) {
            const lstmn_keys keys = keys_at(l, s, v, j);
            total += weights[j] * (i < l.width ? keys.k[i] : keys.m[i - l.width]);
        }
        *(i < l.width ? l.kt + v.row * l.width + i : l.mt + v.row * l.hidden + (i - l.width)) = total;
    }
}

bool attend_cuda_lstmn_attention(const attend_compute *c, const device_lstmn *l, size_t n, const int *rows,
                                 const device_lstmn_view *views)
{
    cuda_call call(c);
    step_views s;
    if (n == 0) return true;
    if (!views_of(&call, l, n, rows, views, &s)) return false;
    CUDA_LAUNCH(lstmn_rows, (unsigned)n, THREADS, 0, *l, s);
    return true;
}

__global__ void lstmn_rows_backward(device_lstmn l, step_views s, const real *all_dkt, cuda_rows all_dmt, real *all_de,
                                    real *all_dv)
{
    __shared__ real slots[33];
    const row_view v = s.views[blockIdx.x];
    const int n = v.past_count + v.count;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const real *weights = l.weights + v.weights;
    const real *dkt = all_dkt + blockIdx.x * l.width, *dmt = all_dmt.at(blockIdx.x);
    real *query = l.query + v.row * l.attention_width, *de = all_de + blockIdx.x * l.max_count;
    for (int j = (int)warp; j < n; j += WARPS) {
        const lstmn_keys keys = keys_at(l, s, v, j);
        real d = 0;
        for (size_t i = lane; i < l.width; i += 32) d += dkt[i] * keys.k[i];
        for (size_t i = lane; i < l.hidden; i += 32) d += dmt[i] * keys.m[i];
        d = cuda_warp_sum(d);
        if (lane == 0) de[j] = d + (l.doutputs ? l.doutputs[v.outputs + (size_t)j] : 0);
    }
    __syncthreads();
    real dot = 0;
    for (int j = (int)threadIdx.x; j < n; j += THREADS) dot += weights[j] * de[j];
    dot = cuda_block_sum(dot, slots);
    for (int j = (int)threadIdx.x; j < n; j += THREADS) de[j] = weights[j] * (de[j] - dot);
    __syncthreads();
    for (int j = 0; j < v.count; j++) {
        const real weight = weights[v.past_count + j];
        const size_t own = v.first + (size_t)j;
        if (l.dk) CUDA_EACH_THREAD(i, l.width) l.dk[own * l.width + i] += weight * dkt[i];
        if (l.dm) CUDA_EACH_THREAD(i, l.hidden) l.dm[own * l.hidden + i] += weight * dmt[i];
    }
    CUDA_EACH_THREAD(a, l.attention_width)
    {
        const real q = query[a], u = l.v[a];
        real dq = 0, dv = 0;
        for (int j = 0; j < n; j++) {
            const real y = tanh(keys_at(l, s, v, j).key[a] + q), d = de[j] * u * (1 - y * y);
            dq += d;
            dv += de[j] * y;
            if (l.dkey && j >= v.past_count)
                l.dkey[(v.first + (size_t)(j - v.past_count)) * l.attention_width + a] += d;
        }
        query[a] = dq;
        all_dv[blockIdx.x * l.attention_width + a] = dv;
    }
}

__global__ void add_rows_to(size_t rows, size_t width, const real *x, real *y)
{
    CUDA_EACH(j, width)
    {
        real sum = y[j];
        for (size_t i = 0; i < rows; i++) sum += x[i * width + j];
        y[j] = sum;
    }
}

bool attend_cuda_lstmn_attention_backward(const attend_compute *c, const device_lstmn *l, size_t n, const int *rows,
                                          const device_lstmn_view *views, const real *dkt, device_input dmt)
{
    cuda_call call(c);
    step_views s;
    if (n == 0) return true;
    real *de = call.reals(n * l->max_count + 1), *dv = call.reals(n * l->attention_width);
    if (!de || !dv || !views_of(&call, l, n, rows, views, &s)) return false;
    CUDA_LAUNCH(lstmn_rows_backward, (unsigned)n, THREADS, 0, *l, s, dkt, cuda_input(&call, &dmt, n), de, dv);
    CUDA_LAUNCH(add_rows_to, cuda_blocks(l->attention_width), CUDA_THREADS, 0, n, l->attention_width, dv, l->dv);
    return true;
}

/* ---- gates ---- */

__global__ void lstmn_gate_rows(device_lstmn_gates g, size_t n, const int *rows)
{
    CUDA_EACH(at, n * g.hidden)
    {
        const size_t h = g.hidden, i = at / h, j = at % h, row = (size_t)rows[i], unit = row * h + j;
        real *gates = g.gates + row * g.blocks * h + j;
        const real *past = g.recurrent + i * g.blocks * h + j;
        const real in = cuda_sigmoid(gates[0] + past[0]), forget = cuda_sigmoid(gates[h] + past[h]),
                   new_cell = tanh(gates[2 * h] + past[2 * h]), out = cuda_sigmoid(gates[3 * h] + past[3 * h]);
        real cell = forget * g.ct[unit] + in * new_cell;
        if (g.at) {
            const real read = cuda_sigmoid(gates[4 * h] + past[4 * h]);
            gates[4 * h] = read;
            cell += read * g.at[unit];
        }
        gates[0] = in, gates[h] = forget, gates[2 * h] = new_cell, gates[3 * h] = out;
        g.memory[unit] = cell;
        g.h[unit] = out * tanh(cell);
    }
}

void attend_cuda_lstmn_gates(const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const int *on_gpu = call.indices(rows, n);
    if (!on_gpu) return cuda_fail("the gates of an LSTMN", "no memory for the numbers of rows");
    if (n) CUDA_LAUNCH(lstmn_gate_rows, cuda_blocks(n * g->hidden), CUDA_THREADS, 0, *g, n, on_gpu);
}

__global__ void lstmn_gate_rows_backward(device_lstmn_gates g, size_t n, const int *rows)
{
    CUDA_EACH(at, n * g.hidden)
    {
        const size_t h = g.hidden, i = at / h, j = at % h, row = (size_t)rows[i], unit = row * h + j;
        real *gates = g.gates + row * g.blocks * h + j, *past = g.recurrent + i * g.blocks * h + j;
        const real in = gates[0], forget = gates[h], new_cell = gates[2 * h], out = gates[3 * h], d = g.dh[unit];
        const real shown = tanh(g.memory[unit]), dcell = g.dc[unit] + d * out * (1 - shown * shown);
        gates[0] = past[0] = cuda_through_sigmoid(dcell * new_cell, in);
        gates[h] = past[h] = cuda_through_sigmoid(dcell * g.ct[unit], forget);
        gates[2 * h] = past[2 * h] = dcell * in * (1 - new_cell * new_cell);
        gates[3 * h] = past[3 * h] = cuda_through_sigmoid(d * shown, out);
        if (g.at) {
            const real read = gates[4 * h];
            gates[4 * h] = past[4 * h] = cuda_through_sigmoid(dcell * g.at[unit], read);
            g.da[at] = dcell * read;
        }
        g.dc[unit] = dcell * forget;
    }
}

void attend_cuda_lstmn_gates_backward(const attend_compute *c, const device_lstmn_gates *g, size_t n, const int *rows)
{
    cuda_call call(c, CUDA_CANNOT_FAIL);
    const int *on_gpu = call.indices(rows, n);
    if (!on_gpu) return cuda_fail("the gates of an LSTMN", "no memory for the numbers of rows");
    if (n) CUDA_LAUNCH(lstmn_gate_rows_backward, cuda_blocks(n * g->hidden), CUDA_THREADS, 0, *g, n, on_gpu);
}
