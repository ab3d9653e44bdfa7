/* attention_select.h: the selection of a row by a block, and its derivative (cpu_selection.c). A row e is indexed by key;
 * thread x of the block owns keys first + x, first + x + blockDim.x, ... in all functions, so that they need no barrier
 * between each other. All threads call them and get the same results. */
#ifndef ATTEND_DEVICE_CUDA_ATTENTION_SELECT_H
#define ATTEND_DEVICE_CUDA_ATTENTION_SELECT_H

#include "device/cuda/attention_math.h"
#include "device/cuda/attention_view.h"

/* Shared memory for the sums of a block. */
struct cuda_slots {
    double x[34];
    template <class T> __device__ T *as()
    {
        return reinterpret_cast<T *>(x);
    }
};

#define CUDA_EACH_KEY(j, r) for (int j = (r).first + (int)threadIdx.x; j < (r).last; j += (int)blockDim.x)

static __device__ inline real cuda_row_max(cuda_range r, const real *e, cuda_slots *slots)
{
    real max = (real)-INFINITY;
    CUDA_EACH_KEY(j, r) max = cuda_larger(max, e[j]);
    return cuda_block_max(max, slots->as<real>());
}

static __device__ inline void cuda_fill_row(cuda_range r, real value, real *e)
{
    CUDA_EACH_KEY(j, r) e[j] = value;
}

/* ---- soft ---- */

/* p = exp(e - max) / sum; returns 1 / sum. */
static __device__ inline real cuda_softmax(cuda_range r, real *e, real max, cuda_slots *slots)
{
    real sum = 0;
    CUDA_EACH_KEY(j, r) sum += e[j] = cuda_exp(e[j] - max);
    const real normalizer = 1 / cuda_block_sum(sum, slots->as<real>());
    CUDA_EACH_KEY(j, r) e[j] *= normalizer;
    return normalizer;
}

/* ---- sparse ---- */

/* 1.5-entmax works on half of e - max. */
static __device__ __forceinline__ double cuda_sparse_score(bool entmax, real e, real max)
{
    return entmax ? (double)(real)((e - max) / 2) : (double)(e - max);
}

/* The root of sum max(x - tau, 0) = 1, or of the sum of squares. The function is convex, so Newton's method approaches the
 * root from below; the threshold of 1.5-entmax is then computed again from its support. */
static __device__ inline double cuda_threshold(bool entmax, cuda_range r, const real *e, real max, cuda_slots *slots)
{
    double tau = -1;
    for (int step = 0; step < 100; step++) {
        double count = 0, sum = 0, squares = 0;
        CUDA_EACH_KEY(j, r)
        {
            const double x = cuda_sparse_score(entmax, e[j], max);
            if (x > tau) count += 1, sum += x, squares += x * x;
        }
        count = cuda_block_sum(count, slots->as<double>());
        sum = cuda_block_sum(sum, slots->as<double>());
        squares = cuda_block_sum(squares, slots->as<double>());
        double next = (sum - 1) / count;
        if (entmax) {
            const double excess = squares - 2 * tau * sum + count * tau * tau - 1, slope = 2 * (sum - count * tau);
            const double mean = sum / count, spread = (1 - (squares - sum * mean)) / count;
            if (!(excess > 1e-13)) return mean - sqrt(spread > 0 ? spread : 0);
            next = tau + excess / slope;
        }
        if (!(next > tau)) return tau;
        tau = next;
    }
    return tau;
}

/* p from e - max. */
static __device__ inline void cuda_apply_threshold(bool entmax, cuda_range r, real *e, real max, double tau)
{
    CUDA_EACH_KEY(j, r)
    {
        double x = entmax ? (double)(e[j] - max) / 2 - tau : (double)(e[j] - max) - tau;
        if (!(x > 0)) x = x != x ? x : 0; /* NaN remains NaN */
        e[j] = (real)(entmax ? x * x : x);
    }
}

/* ---- hard ---- */

static __device__ inline void cuda_add_gumbel(const selector &s, cuda_range r, real *e, uint64_t index)
{
    CUDA_EACH_KEY(j, r)
    {
        const double u = cuda_random_uniform(s.random, index + (uint64_t)(j - r.first));
        const double gumbel = -log(-log(u + 1.0 / 17179869184.0)); /* avoids log 0 */
        e[j] = (real)(((double)e[j] + gumbel) / s.temperature);
    }
}

/* The key that is chosen, counted from the first of the range. */
static __device__ inline int cuda_choose(const selector &s, cuda_range r, const real *p, uint64_t index,
                                         cuda_slots *slots)
{
    __syncthreads();
    int *choice = slots->as<int>();
    if (threadIdx.x == 0) {
        const int n = r.last - r.first;
        const real *e = p + r.first;
        int best = 0;
        if (s.training && s.estimator == ATTEND_REINFORCE) {
            const double u = cuda_random_uniform(s.random, index);
            double sum = 0;
            for (int i = 0; i < n; i++) {
                if (e[i] > 0) best = i;
                sum += (double)e[i];
                if (u < sum) break;
            }
        } else {
            for (int i = 1; i < n; i++)
                if (e[i] > e[best]) best = i;
        }
        *choice = best;
    }
    __syncthreads();
    const int chosen = *choice;
    __syncthreads();
    return chosen;
}

/* ---- forward ---- */

/* Turns scores into p, or with hard selection into the one-hot choice. */
static __device__ inline selected cuda_select(const selector &s, cuda_range r, real *e, uint64_t index,
                                              cuda_slots *slots)
{
    selected row;
    row.max = cuda_row_max(r, e, slots), row.normalizer = 0, row.choice = -1;
    if (row.max == (real)-INFINITY) {
        cuda_fill_row(r, 0, e);
        return row;
    }
    if (s.selection == ATTEND_SELECT_SPARSEMAX || s.selection == ATTEND_SELECT_ENTMAX15) {
        const bool entmax = s.selection == ATTEND_SELECT_ENTMAX15;
        row.normalizer = (real)cuda_threshold(entmax, r, e, row.max, slots);
        cuda_apply_threshold(entmax, r, e, row.max, (double)row.normalizer);
        return row;
    }
    const bool hard = s.selection == ATTEND_SELECT_HARD;
    if (hard && s.training && s.estimator == ATTEND_STRAIGHT_THROUGH) {
        cuda_add_gumbel(s, r, e, index);
        row.max = cuda_row_max(r, e, slots);
    }
    row.normalizer = cuda_softmax(r, e, row.max, slots);
    if (!hard) return row;
    row.choice = cuda_choose(s, r, e, index, slots);
    CUDA_EACH_KEY(j, r) e[j] = j - r.first == row.choice ? 1 : 0;
    return row;
}

/* Recomputes p from scores and the stored state. With hard selection p is the distribution that the estimator
 * differentiates, not the one-hot choice. */
static __device__ inline void cuda_select_again(const selector &s, cuda_range r, real *e, selected row, uint64_t index)
{
    if (row.max == (real)-INFINITY) {
        cuda_fill_row(r, 0, e);
        return;
    }
    if (s.selection == ATTEND_SELECT_SPARSEMAX || s.selection == ATTEND_SELECT_ENTMAX15) {
        cuda_apply_threshold(s.selection == ATTEND_SELECT_ENTMAX15, r, e, row.max, (double)row.normalizer);
        return;
    }
    if (s.selection == ATTEND_SELECT_HARD && s.training && s.estimator == ATTEND_STRAIGHT_THROUGH)
        cuda_add_gumbel(s, r, e, index);
    CUDA_EACH_KEY(j, r) e[j] = cuda_exp(e[j] - row.max) * row.normalizer;
}

/* ---- backward ---- */

static __device__ inline void cuda_soft_backward(cuda_range r, const real *p, double factor, real *d, cuda_slots *slots)
{
    real mean = 0;
    CUDA_EACH_KEY(j, r) mean += p[j] != 0 ? p[j] * d[j] : 0;
    mean = cuda_block_sum(mean, slots->as<real>());
    CUDA_EACH_KEY(j, r) d[j] = p[j] != 0 ? p[j] * ((d[j] - mean) * (real)factor) : 0;
}

static __device__ inline void cuda_sparse_backward(bool entmax, cuda_range r, const real *p, real *d, cuda_slots *slots)
{
    double weights = 0, sum = 0;
    CUDA_EACH_KEY(j, r)
    {
        const double s = p[j] > 0 ? (entmax ? sqrt((double)p[j]) : 1) : 0;
        weights += s;
        if (s > 0) sum += s * (double)d[j];
    }
    weights = cuda_block_sum(weights, slots->as<double>());
    sum = cuda_block_sum(sum, slots->as<double>());
    const double mean = weights > 0 ? sum / weights : 0;
    CUDA_EACH_KEY(j, r)
    {
        const double s = p[j] > 0 ? (entmax ? sqrt((double)p[j]) : 1) : 0;
        d[j] = s > 0 ? (real)(s * ((double)d[j] - mean)) : 0;
    }
}

static __device__ inline void cuda_reinforce_backward(const selector &s, cuda_range r, const real *p, int choice,
                                                      double advantage, real *d, cuda_slots *slots)
{
    double entropy = 0;
    CUDA_EACH_KEY(j, r)
    if (p[j] > 0) entropy -= (double)p[j] * log((double)p[j]);
    entropy = cuda_block_sum(entropy, slots->as<double>());
    CUDA_EACH_KEY(j, r)
    {
        const double q = (double)p[j], one = j - r.first == choice;
        d[j] = (real)(advantage * (one - q));
        if (q > 0) d[j] += (real)(s.entropy_bonus * q * (log(q) + entropy));
    }
}

/* Turns dp into de. */
static __device__ inline void cuda_select_backward(const selector &s, cuda_range r, const real *p, selected row,
                                                   double advantage, real *d, cuda_slots *slots)
{
    if (row.max == (real)-INFINITY) {
        cuda_fill_row(r, 0, d);
        return;
    }
    if (s.selection == ATTEND_SELECT_SOFT)
        cuda_soft_backward(r, p, 1, d, slots);
    else if (s.selection != ATTEND_SELECT_HARD)
        cuda_sparse_backward(s.selection == ATTEND_SELECT_ENTMAX15, r, p, d, slots);
    else if (!s.training)
        cuda_fill_row(r, 0, d); /* argmax has no gradient */
    else if (s.estimator == ATTEND_STRAIGHT_THROUGH)
        cuda_soft_backward(r, p, 1 / s.temperature, d, slots);
    else
        cuda_reinforce_backward(s, r, p, row.choice, advantage, d, slots);
}

#endif
