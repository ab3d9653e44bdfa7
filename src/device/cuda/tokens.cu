/* tokens.cu: log p of the next tokens, or of the best of them: the logits of a chunk of rows, their log-sum-exp and a search
 * on the GPU, and one copy of the results. */
#include "device/cuda/launch.h"

#include <new>
#include <vector>

/* A probability of the tail is capped, as in cpu_tokens.c. */
#define TAIL_MAX ((real)0.02)

/* The tokens of a row: of the vocabulary, or of the shortlist of its source. */
struct row_tokens {
    int width, excluded, end; /* indices in the row; excluded < 0: none */
    const real *outside;      /* (tail); NULL: no shortlist */
    real represented;
};

struct token_rows {
    size_t rows, width, tail_count;
    const row_tokens *tokens;
    real *logits; /* (rows, width) */
    const real *tail;
    int k;
    real *log_p, *ends; /* (rows, k), (rows) */
    int *indices, *counts;
};

/* log-sum-exp of a row with the estimated mass of unlisted tokens, by a block. */
static __device__ double row_lse(const token_rows &t, size_t row, real *slots, double *wide_slots)
{
    const row_tokens r = t.tokens[row];
    const real *x = t.logits + row * t.width;
    real largest = -(real)INFINITY;
    double sum = 0;
    CUDA_EACH_THREAD(j, (size_t)r.width) largest = cuda_larger(largest, x[j]);
    largest = cuda_block_max(largest, slots);
    CUDA_EACH_THREAD(j, (size_t)r.width) sum += (double)exp(x[j] - largest);
    const double lse = (double)largest + log(cuda_block_sum(sum, wide_slots));
    if (!r.outside || t.tail_count == 0 || r.represented == 0 || !isfinite(lse)) return lse;
    double mass = 0;
    CUDA_EACH_THREAD(j, t.tail_count)
    {
        const real p = exp(t.tail[row * t.tail_count + j] - (real)lse);
        mass += (double)((p < TAIL_MAX ? p : TAIL_MAX) * r.outside[j]);
    }
    return lse + log1p((double)r.represented * cuda_block_sum(mass, wide_slots));
}

__global__ void normalize_rows(token_rows t)
{
    __shared__ real slots[33];
    __shared__ double wide_slots[33];
    CUDA_EACH_BLOCK(row, t.rows)
    {
        const real shift = (real)-row_lse(t, row, slots, wide_slots);
        __syncthreads();
        CUDA_EACH_THREAD(j, (size_t)t.tokens[row].width) t.logits[row * t.width + j] += shift;
    }
}

/* A token and its logit. Of equal ones, that with the lower index comes first. */
struct candidate {
    real value;
    int index;
};

static __device__ bool is_before(candidate a, candidate b)
{
    return a.value != b.value ? a.value > b.value : a.index < b.index;
}

static __device__ candidate first_of(candidate a, candidate b)
{
    return is_before(b, a) ? b : a;
}

static __device__ candidate block_first(candidate x, candidate *slots)
{
    for (int d = 16; d > 0; d >>= 1) {
        candidate other;
        other.value = __shfl_xor_sync(0xffffffffu, x.value, d);
        other.index = __shfl_xor_sync(0xffffffffu, x.index, d);
        x = first_of(x, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
    __syncthreads();
    candidate best = slots[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++) best = first_of(best, slots[i]);
    return best;
}

/* The k best of each row: in each round a thread offers the best of its tokens that was not taken yet, and the thread whose
 * offer is taken looks for its next one. */
__global__ void search_rows(token_rows t)
{
    __shared__ real slots[33];
    __shared__ double wide_slots[33];
    __shared__ candidate best_slots[33];
    CUDA_EACH_BLOCK(row, t.rows)
    {
        const row_tokens r = t.tokens[row];
        const real *x = t.logits + row * t.width;
        const double lse = row_lse(t, row, slots, wide_slots);
        const real shift = (real)-lse;
        const candidate none = { -(real)INFINITY, 0x7fffffff };
        candidate last = { (real)INFINITY, -1 }, offer = none;
        bool is_stale = true;
        int count = 0;
        for (; count < t.k && isfinite(lse); count++) {
            if (is_stale) {
                offer = none;
                CUDA_EACH_THREAD(j, (size_t)r.width)
                {
                    const candidate own = { x[j], (int)j };
                    if ((int)j != r.excluded && own.value > none.value && is_before(last, own))
                        offer = first_of(offer, own);
                }
            }
            const candidate best = block_first(offer, best_slots);
            if (best.index == none.index) break;
            is_stale = best.index == offer.index;
            last = best;
            if (threadIdx.x == 0) {
                t.indices[row * (size_t)t.k + (size_t)count] = best.index;
                t.log_p[row * (size_t)t.k + (size_t)count] = best.value + shift;
            }
        }
        if (threadIdx.x == 0) {
            t.counts[row] = count;
            t.ends[row] = x[r.end] + shift;
        }
    }
}

/* ---- logits ---- */

/* The index of a token in an ascending list; -1: it is not there. */
static int index_of(const device_shortlist *l, int token)
{
    int low = 0, high = l->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (l->tokens[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count && l->tokens[low] == token ? low : -1;
}

static const row_tokens *tokens_of_rows(cuda_call *call, const device_tokens *o)
{
    try {
        std::vector<row_tokens> all(o->rows);
        for (size_t i = 0; i < o->rows; i++) {
            const device_shortlist *l = o->shortlists ? &o->shortlists[o->source_of[i]] : nullptr;
            if (l)
                all[i] = row_tokens{ l->count, index_of(l, o->excluded), (int)l->end, l->outside, l->represented };
            else
                all[i] = row_tokens{ (int)o->w.n, o->excluded, o->end, nullptr, 0 };
        }
        return static_cast<const row_tokens *>(call->upload(all.data(), all.size() * sizeof all[0]));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

static bool logits_of_rows(cuda_call *call, const device_tokens *o, real *logits)
{
    if (!o->shortlists) return cuda_product(call, PACKED_BIAS, o->b, o->rows, o->x, o->w.k, &o->w, logits, o->width);
    for (size_t i = 0, end; i < o->rows; i = end) {
        const device_shortlist *l = &o->shortlists[o->source_of[i]];
        for (end = i; end < o->rows && o->source_of[end] == o->source_of[i]; end++) {
        }
        cuda_call own(call->compute); /* its scratch memory */
        if (!cuda_product(&own, PACKED_BIAS, l->b, end - i, o->x + i * o->w.k, o->w.k, &l->w, logits + i * o->width,
                          o->width))
            return false;
    }
    return true;
}

/* ---- results ---- */

static bool all_tokens(cuda_call *call, const device_tokens *o, const token_rows *t)
{
    CUDA_LAUNCH(normalize_rows, cuda_blocks(t->rows, 1), CUDA_COLUMNS(t->width), 0, *t);
    call->download(o->log_p, t->logits, o->rows * o->width * sizeof(real));
    return true;
}

/* The results lie one after another: one copy. */
static bool best_tokens(cuda_call *call, const device_tokens *o, token_rows *t)
{
    const size_t rows = o->rows, k = (size_t)o->top_k, numbers = rows * (k + 1) * sizeof(real),
                 bytes = numbers + rows * (k + 1) * sizeof(int);
    unsigned char *on_gpu = static_cast<unsigned char *>(call->take(bytes));
    std::vector<unsigned char> results;
    try {
        results.resize(bytes);
    } catch (const std::bad_alloc &) {
        return false;
    }
    if (!on_gpu) return false;
    t->k = o->top_k;
    t->log_p = reinterpret_cast<real *>(on_gpu), t->ends = t->log_p + rows * k;
    t->indices = reinterpret_cast<int *>(on_gpu + numbers), t->counts = t->indices + rows * k;
    CUDA_LAUNCH(search_rows, cuda_blocks(rows, 1), CUDA_COLUMNS(t->width), 0, *t);
    call->download(results.data(), on_gpu, bytes);
    const real *log_p = reinterpret_cast<const real *>(results.data());
    const int *indices = reinterpret_cast<const int *>(results.data() + numbers);
    for (size_t i = 0; i < rows; i++) {
        const device_shortlist *l = o->shortlists ? &o->shortlists[o->source_of[i]] : nullptr;
        o->best_count[i] = indices[rows * k + i];
        o->end_log_p[i] = log_p[rows * k + i];
        for (size_t j = i * k; j < i * k + (size_t)o->best_count[i]; j++) {
            o->best_tokens[j] = l ? l->tokens[indices[j]] : indices[j];
            o->best_log_p[j] = log_p[j];
        }
    }
    return true;
}

bool attend_cuda_next_tokens(const attend_compute *c, const device_tokens *o)
{
    cuda_call call(c);
    const size_t width = o->shortlists || o->top_k == 0 ? o->width : o->w.n;
    token_rows t = {};
    if (o->rows == 0) return true;
    device_tokens own = *o;
    own.width = width;
    t.rows = o->rows, t.width = width, t.tail_count = o->shortlists ? o->tail_count : 0;
    t.tokens = tokens_of_rows(&call, o);
    t.logits = call.reals(o->rows * width);
    if (!t.tokens || !t.logits || !logits_of_rows(&call, &own, t.logits)) return false;
    if (t.tail_count) {
        real *tail = call.reals(o->rows * t.tail_count);
        t.tail = tail;
        if (!tail ||
            !cuda_product(&call, PACKED_BIAS, o->tail_b, o->rows, o->x, o->w.k, &o->tail_w, tail, t.tail_count))
            return false;
    }
    return o->top_k == 0 ? all_tokens(&call, &own, &t) : best_tokens(&call, &own, &t);
}
