/* cells.cu: steps of recurrent cells: the product with U, then the gates of all sequences in one kernel. The formulas are
 * those of op.h; the CPU has a file for each cell (cpu_cell_*.c). */
#include "device/cuda/launch.h"

#include <stdlib.h>

/* A step's arguments on the GPU. */
struct cell_step {
    attend_activation activation;
    size_t n, hidden;
    const int *rows, *before, *order;
    const real *h0, *c0;
    real *y, *gates, *cells, *h, *recurrent, *dh, *dc, *scratch;

    __device__ real *gates_of(size_t i, size_t width) const
    {
        return gates + (size_t)rows[i] * width * hidden;
    }
    __device__ const real *h_before(size_t i) const
    {
        return before ? y + (size_t)before[i] * hidden : h0 + (size_t)order[i] * hidden;
    }
    __device__ const real *c_before(size_t i) const
    {
        return before ? cells + (size_t)before[i] * hidden : c0 + (size_t)order[i] * hidden;
    }
    __device__ real apply(real x) const
    {
        return activation == ATTEND_RELU ? (x > 0 || x != x ? x : 0) : tanh(x);
    }
    /* d f'(.) where y = f(.) */
    __device__ real through(real d, real value) const
    {
        if (activation == ATTEND_RELU) return value > 0 ? d : 0;
        return d * (1 - value * value);
    }
};

/* The step, with its index arrays in one copy. */
static bool step_of(cuda_call *call, const device_cell *r, size_t n, cell_step *s)
{
    enum { ARRAYS = 3, SMALL = 512 };
    int small[ARRAYS * SMALL], *all = small;
    if (n > SMALL) all = static_cast<int *>(malloc(ARRAYS * n * sizeof *all));
    const int *from[ARRAYS] = { r->rows, r->before, r->order };
    for (size_t a = 0; all && a < ARRAYS; a++)
        for (size_t i = 0; i < n; i++) all[a * n + i] = from[a] ? from[a][i] : 0;
    const int *on_gpu = all ? call->indices(all, ARRAYS * n) : nullptr;
    if (all != small) free(all);
    *s = cell_step{ r->activation,  n,     r->hidden,    on_gpu, r->before ? on_gpu + n : nullptr,
                    on_gpu + 2 * n, r->h0, r->c0,        r->y,   r->gates,
                    r->cells,       r->h,  r->recurrent, r->dh,  r->dc,
                    r->scratch };
    return on_gpu != nullptr;
}

/* recurrent (n, G H) = h U' + bu */
static bool recurrent_product(cuda_call *call, const device_cell *r, size_t n, size_t gates)
{
    return cuda_product(call, r->bu ? PACKED_BIAS : PACKED_ZERO, r->bu, n, r->h, r->hidden, &r->u, r->recurrent,
                        gates * r->hidden);
}

/* dh (n, H) = (or +=) recurrent U */
static bool recurrent_backward(cuda_call *call, const device_cell *r, size_t n, size_t gates, packed_start start)
{
    return cuda_product(call, start, nullptr, n, r->recurrent, gates * r->hidden, &r->u, r->dh, r->hidden);
}

static void launch(void (*kernel)(cell_step), cell_step s)
{
    if (s.n && s.hidden) CUDA_LAUNCH(kernel, CUDA_GRID(s.n, s.hidden), CUDA_COLUMNS(s.hidden), 0, s);
}

/* for unit j of sequence i, number `at` of the states */
#define EACH_UNIT(s)                                                                                                   \
    CUDA_EACH_ELEMENT(i, (s).n, j, (s).hidden)                                                                         \
    for (size_t at = i * (s).hidden + j, once = 1; once; once = 0)

/* ---- simple ---- */

__global__ void simple_forward(cell_step s)
{
    EACH_UNIT(s)
    {
        const real h = s.apply(s.gates_of(i, 1)[j] + s.recurrent[at]);
        s.y[(size_t)s.rows[i] * s.hidden + j] = s.h[at] = h;
    }
}

__global__ void simple_backward(cell_step s)
{
    EACH_UNIT(s)
    {
        const real d = s.through(s.dh[at], s.y[(size_t)s.rows[i] * s.hidden + j]);
        s.recurrent[at] = s.gates_of(i, 1)[j] = d;
    }
}

/* ---- GRU, reset after the product ---- */

__global__ void gru_forward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j;
        const real *past = s.recurrent + i * 3 * h + j;
        const real r = cuda_sigmoid(gates[0] + past[0]), z = cuda_sigmoid(gates[h] + past[h]);
        const real n = s.apply(gates[2 * h] + r * past[2 * h]), state = (1 - z) * n + z * s.h[at];
        gates[0] = r, gates[h] = z, gates[2 * h] = n, gates[3 * h] = past[2 * h];
        s.y[(size_t)s.rows[i] * h + j] = s.h[at] = state;
    }
}

__global__ void gru_backward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j, *past = s.recurrent + i * 3 * h + j;
        const real r = gates[0], z = gates[h], n = gates[2 * h], product = gates[3 * h], d = s.dh[at];
        const real dn = s.through(d * (1 - z), n), dz = cuda_through_sigmoid(d * (s.h_before(i)[j] - n), z),
                   dr = cuda_through_sigmoid(dn * product, r);
        s.dh[at] = d * z;
        gates[0] = past[0] = dr;
        gates[h] = past[h] = dz;
        gates[2 * h] = dn;
        gates[3 * h] = past[2 * h] = dn * r;
    }
}

/* ---- GRU, reset before the product ---- */

/* r, z and q = r h */
__global__ void before_resets(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j;
        const real *past = s.recurrent + i * 2 * h + j;
        const real r = cuda_sigmoid(gates[0] + past[0]);
        gates[0] = r;
        gates[h] = cuda_sigmoid(gates[h] + past[h]);
        gates[3 * h] = s.scratch[at] = r * s.h[at];
    }
}

__global__ void before_states(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j;
        const real n = s.apply(gates[2 * h] + s.recurrent[at]), state = n + gates[h] * (s.h[at] - n);
        gates[2 * h] = n;
        s.y[(size_t)s.rows[i] * h + j] = s.h[at] = state;
    }
}

static bool before_forward(cuda_call *call, const device_cell *r, const cell_step *s)
{
    const size_t h = r->hidden, n = s->n;
    packed_matrix gates = r->u, state = r->u;
    const real *u = static_cast<const real *>(r->u.data); /* (H, 3 H) */
    const packed_start start = r->bu ? PACKED_BIAS : PACKED_ZERO;
    real *parts = r->parts; /* the columns of both parts, one after another */
    if (!r->before) {
        const device_input from = { u, 3 * h, nullptr }, after = { u + 2 * h, 3 * h, nullptr };
        attend_cuda_copy(call->compute, h, 2 * h, from, device_output{ parts, 2 * h, nullptr });
        attend_cuda_copy(call->compute, h, h, after, device_output{ parts + 2 * h * h, h, nullptr });
    }
    gates.n = 2 * h, gates.data = parts;
    state.n = h, state.data = parts + 2 * h * h;
    if (!cuda_product(call, start, r->bu, n, r->h, h, &gates, r->recurrent, 2 * h)) return false;
    launch(before_resets, *s);
    if (!cuda_product(call, start, r->bu ? r->bu + 2 * h : nullptr, n, r->scratch, h, &state, r->recurrent, h))
        return false;
    launch(before_states, *s);
    return true;
}

/* dn, dz, and the gradient that bypasses the gates */
__global__ void before_states_backward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j;
        const real z = gates[h], n = gates[2 * h], d = s.dh[at], dn = s.through(d * (1 - z), n);
        gates[h] = d * (s.h_before(i)[j] - n) * z * (1 - z);
        gates[2 * h] = s.recurrent[at] = dn;
        s.dh[at] = d * z;
    }
}

/* dr = dq h and dh += dq r */
__global__ void before_resets_backward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden;
        real *gates = s.gates_of(i, 4) + j, *past = s.recurrent + i * 2 * h + j;
        const real reset = gates[0], dq = s.scratch[at];
        s.dh[at] += dq * reset;
        gates[0] = past[0] = dq * s.h_before(i)[j] * reset * (1 - reset);
        past[h] = gates[h];
    }
}

/* U is packed as (3 H, H). */
static bool before_backward(cuda_call *call, const device_cell *r, const cell_step *s)
{
    const size_t h = r->hidden, n = s->n;
    packed_matrix state = r->u, gates = r->u;
    state.k = h, state.data = static_cast<const real *>(r->u.data) + 2 * h * h;
    gates.k = 2 * h;
    launch(before_states_backward, *s);
    if (!cuda_product(call, PACKED_ZERO, nullptr, n, r->recurrent, h, &state, r->scratch, h)) return false; /* dq */
    launch(before_resets_backward, *s);
    return cuda_product(call, PACKED_ADD, nullptr, n, r->recurrent, 2 * h, &gates, r->dh, h);
}

/* ---- LSTM ---- */

__global__ void lstm_forward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden, row = (size_t)s.rows[i] * h + j;
        real *gates = s.gates_of(i, 4) + j;
        const real *past = s.recurrent + i * 4 * h + j;
        const real in = cuda_sigmoid(gates[0] + past[0]), forget = cuda_sigmoid(gates[h] + past[h]),
                   g = s.apply(gates[2 * h] + past[2 * h]), out = cuda_sigmoid(gates[3 * h] + past[3 * h]);
        const real cell = forget * s.c_before(i)[j] + in * g;
        gates[0] = in, gates[h] = forget, gates[2 * h] = g, gates[3 * h] = out;
        s.cells[row] = cell;
        s.y[row] = s.h[at] = out * s.apply(cell);
    }
}

__global__ void lstm_backward(cell_step s)
{
    EACH_UNIT(s)
    {
        const size_t h = s.hidden, row = (size_t)s.rows[i] * h + j;
        real *gates = s.gates_of(i, 4) + j, *past = s.recurrent + i * 4 * h + j;
        const real in = gates[0], forget = gates[h], g = gates[2 * h], out = gates[3 * h], d = s.dh[at];
        const real shown = s.apply(s.cells[row]), dcell = s.dc[at] + s.through(d * out, shown);
        gates[0] = past[0] = cuda_through_sigmoid(dcell * g, in);
        gates[h] = past[h] = cuda_through_sigmoid(dcell * s.c_before(i)[j], forget);
        gates[2 * h] = past[2 * h] = s.through(dcell * in, g);
        gates[3 * h] = past[3 * h] = cuda_through_sigmoid(d * shown, out);
        s.dc[at] = dcell * forget;
    }
}

/* ---- steps ---- */

size_t attend_cuda_cell_parts_bytes(device_cell_kind kind, size_t hidden)
{
    return kind == DEVICE_CELL_GRU_BEFORE ? 3 * hidden * hidden * sizeof(real) : 0;
}

bool attend_cuda_cell_forward(const attend_compute *c, const device_cell *r, size_t n)
{
    cuda_call call(c);
    cell_step s;
    if (!step_of(&call, r, n, &s)) return false;
    switch (r->kind) {
    case DEVICE_CELL_SIMPLE:
        if (!recurrent_product(&call, r, n, 1)) return false;
        launch(simple_forward, s);
        return true;
    case DEVICE_CELL_GRU:
        if (!recurrent_product(&call, r, n, 3)) return false;
        launch(gru_forward, s);
        return true;
    case DEVICE_CELL_GRU_BEFORE:
        return before_forward(&call, r, &s);
    case DEVICE_CELL_LSTM:
        break;
    }
    if (!recurrent_product(&call, r, n, 4)) return false;
    launch(lstm_forward, s);
    return true;
}

bool attend_cuda_cell_backward(const attend_compute *c, const device_cell *r, size_t n)
{
    cuda_call call(c);
    cell_step s;
    if (!step_of(&call, r, n, &s)) return false;
    switch (r->kind) {
    case DEVICE_CELL_SIMPLE:
        launch(simple_backward, s);
        return recurrent_backward(&call, r, n, 1, PACKED_ZERO);
    case DEVICE_CELL_GRU:
        launch(gru_backward, s);
        return recurrent_backward(&call, r, n, 3, PACKED_ADD);
    case DEVICE_CELL_GRU_BEFORE:
        return before_backward(&call, r, &s);
    case DEVICE_CELL_LSTM:
        break;
    }
    launch(lstm_backward, s);
    return recurrent_backward(&call, r, n, 4, PACKED_ZERO);
}
