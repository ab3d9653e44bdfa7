/* cpu_selection.c: softmax; sparsemax (Martins, Astudillo 2016); 1.5-entmax (Peters, Niculae, Martins 2019); hard attention
 * with the straight-through Gumbel (Jang, Gu, Poole 2017) and REINFORCE (Williams 1992; Xu et al. 2015) estimators.
 *
 *     soft         p = exp(e - lse)                          de = p (dp - sum p dp)
 *     sparsemax    p = max(e - tau, 0)                        de = s (dp - sum s dp / sum s), s = 1[p > 0]
 *     entmax-1.5   p = max(e / 2 - tau, 0)^2                  the same with s = sqrt(p)
 *     straight     forward one-hot, argmax(e + gumbel); backward as soft, on (e + gumbel) / temperature
 *     REINFORCE    forward one-hot, sampled from soft p; de = advantage (one-hot - p) + bonus p (log p + entropy) */
#include "device/cpu_selection.h"

#include "kernel/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const selected no_visible_key = { .max = (real)-INFINITY, .choice = -1 };

/* ---- soft ---- */

static selected soft(size_t n, real *e, real max, real *factor)
{
    real sum = attend_kernel()->exp_sum(n, e, max, e);
    *factor = 1 / sum;
    return (selected){ .max = max, .normalizer = *factor, .choice = -1 };
}

/* ---- sparse ---- */

static int descending(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The threshold tau of the largest support whose smallest element still exceeds it. `sorted` is in descending order. */
static double threshold(attend_selection selection, size_t n, const real *sorted)
{
    double sum = 0, squares = 0, tau = 0;
    for (size_t i = 0; i < n; i++) {
        double x = (double)sorted[i], count = (double)i + 1, t;
        if (x == -INFINITY) break; /* the remaining keys are masked */
        sum += x;
        squares += x * x;
        if (selection == ATTEND_SELECT_SPARSEMAX) {
            t = (sum - 1) / count;
            if (x <= t) break;
        } else {
            double mean = sum / count, spread = (1 - (squares - sum * mean)) / count;
            t = mean - sqrt(spread > 0 ? spread : 0);
            if (x < t) break;
        }
        tau = t;
    }
    return tau;
}

/* p from e - max; 1.5-entmax works on half of it. */
static void apply_threshold(attend_selection selection, size_t n, real *e, real max, double tau)
{
    for (size_t i = 0; i < n; i++) {
        double x = selection == ATTEND_SELECT_SPARSEMAX ? (double)(e[i] - max) - tau : (double)(e[i] - max) / 2 - tau;
        if (!(x > 0)) x = x != x ? x : 0; /* NaN remains NaN */
        e[i] = (real)(selection == ATTEND_SELECT_SPARSEMAX ? x : x * x);
    }
}

static selected sparse(attend_selection selection, size_t n, real *e, real max, real *sorted)
{
    for (size_t i = 0; i < n; i++) {
        sorted[i] = e[i] - max;
        if (selection == ATTEND_SELECT_ENTMAX15) sorted[i] /= 2;
    }
    qsort(sorted, n, sizeof *sorted, descending);
    const real tau = (real)threshold(selection, n, sorted);
    apply_threshold(selection, n, e, max, (double)tau);
    return (selected){ .max = max, .normalizer = tau, .choice = -1 };
}

/* ---- hard ---- */

static double gumbel(const attend_rng *random, uint64_t i)
{
    double u = attend_rng_uniform(random, i);
    return -log(-log(u + 0x1p-34)); /* avoids log 0 */
}

static size_t argmax(size_t n, const real *e)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (e[i] > e[best]) best = i;
    return best;
}

static size_t sample(size_t n, const real *p, double u)
{
    double sum = 0;
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] > 0) last = i;
        sum += (double)p[i];
        if (u < sum) return last;
    }
    return last; /* by rounding, the sum of the weights is slightly less than u */
}

/* (e + gumbel) / temperature in place; -inf remains -inf. */
static void add_gumbel(const selector *s, size_t n, real *e, uint64_t index)
{
    for (size_t i = 0; i < n; i++) e[i] = (real)(((double)e[i] + gumbel(&s->random, index + i)) / s->temperature);
}

static selected hard(const selector *s, size_t n, real *e, real max, uint64_t index)
{
    selected row;
    real factor;
    if (s->training && s->estimator == ATTEND_STRAIGHT_THROUGH) {
        add_gumbel(s, n, e, index);
        row = soft(n, e, attend_kernel()->max(n, e), &factor);
        row.choice = (int)argmax(n, e);
    } else {
        row = soft(n, e, max, &factor);
        row.choice =
            (int)(s->training ? sample(n, e, attend_rng_uniform(&s->random, index) / (double)factor) : argmax(n, e));
    }
    memset(e, 0, n * sizeof *e);
    e[row.choice] = 1;
    return row;
}

/* ---- forward ---- */

selected attend_attention_select(const selector *s, size_t n, real *e, uint64_t index, real *scratch, real *factor)
{
    *factor = 1;
    const real max = attend_kernel()->max(n, e);
    if (max == (real)-INFINITY) {
        memset(e, 0, n * sizeof *e);
        return no_visible_key;
    }
    switch (s->selection) {
    case ATTEND_SELECT_SPARSEMAX:
    case ATTEND_SELECT_ENTMAX15:
        return sparse(s->selection, n, e, max, scratch);
    case ATTEND_SELECT_HARD:
        return hard(s, n, e, max, index);
    case ATTEND_SELECT_SOFT:
        break;
    }
    return soft(n, e, max, factor);
}

void attend_attention_select_recompute(const selector *s, size_t n, real *e, selected row, uint64_t index)
{
    if (row.max == (real)-INFINITY) {
        memset(e, 0, n * sizeof *e);
        return;
    }
    if (s->selection == ATTEND_SELECT_SPARSEMAX || s->selection == ATTEND_SELECT_ENTMAX15) {
        apply_threshold(s->selection, n, e, row.max, (double)row.normalizer);
        return;
    }
    if (s->selection == ATTEND_SELECT_HARD && s->training && s->estimator == ATTEND_STRAIGHT_THROUGH)
        add_gumbel(s, n, e, index);
    attend_kernel()->exp_sum(n, e, row.max, e);
    attend_kernel()->scale(n, row.normalizer, e);
}

/* ---- backward ---- */

static void soft_backward(size_t n, const real *p, real mean, double factor, real *dp)
{
    const attend_kernel_table *k = attend_kernel();
    k->scale_shift(n, (real)factor * -mean, (real)factor, dp, dp);
    k->mul(n, p, dp, dp);
}

static void sparse_backward(bool square_root, size_t n, const real *p, real *dp)
{
    double weights = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double s = p[i] > 0 ? (square_root ? sqrt((double)p[i]) : 1) : 0;
        weights += s;
        if (s > 0) sum += s * (double)dp[i];
    }
    const double mean = weights > 0 ? sum / weights : 0;
    for (size_t i = 0; i < n; i++) {
        double s = p[i] > 0 ? (square_root ? sqrt((double)p[i]) : 1) : 0;
        dp[i] = s > 0 ? (real)(s * ((double)dp[i] - mean)) : 0;
    }
}

static void reinforce_backward(const selector *s, size_t n, const real *p, selected row, double advantage, real *dp)
{
    double entropy = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] > 0) entropy -= (double)p[i] * log((double)p[i]);
    for (size_t i = 0; i < n; i++) {
        double q = (double)p[i], one = (int)i == row.choice;
        dp[i] = (real)(advantage * (one - q));
        if (q > 0) dp[i] += (real)(s->entropy_bonus * q * (log(q) + entropy));
    }
}

void attend_attention_select_backward(const selector *s, size_t n, const real *p, selected row, real mean,
                                      double advantage, real *dp)
{
    if (row.max == (real)-INFINITY) {
        memset(dp, 0, n * sizeof *dp);
        return;
    }
    switch (s->selection) {
    case ATTEND_SELECT_SOFT:
        soft_backward(n, p, mean, 1, dp);
        return;
    case ATTEND_SELECT_SPARSEMAX:
        sparse_backward(false, n, p, dp);
        return;
    case ATTEND_SELECT_ENTMAX15:
        sparse_backward(true, n, p, dp);
        return;
    case ATTEND_SELECT_HARD:
        break;
    }
    if (!s->training)
        memset(dp, 0, n * sizeof *dp); /* argmax has no gradient */
    else if (s->estimator == ATTEND_STRAIGHT_THROUGH)
        soft_backward(n, p, mean, 1 / s->temperature, dp);
    else
        reinforce_backward(s, n, p, row, advantage, dp);
}
