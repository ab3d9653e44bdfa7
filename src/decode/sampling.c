/* sampling.c: a token drawn from softmax(log p / temperature), restricted to the top_k best tokens and to the
 * smallest set of best tokens with mass top_p. */
#include "decode/sampling.h"

#include <attend/model.h>
#include <math.h>

typedef attend_real real;

/* masses[i] = exp((log p_i - max) / temperature), 0 for tokens that cannot be drawn; returns their sum. */
static double compute_masses(const attend_sampler *s, const real *log_p, int n, const unsigned char *banned)
{
    double max = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        const double x = i == ATTEND_BEGIN || (banned && banned[i]) ? -INFINITY : (double)log_p[i];
        s->masses[i] = x;
        if (x > max) max = x;
    }
    for (int i = 0; i < n; i++) {
        const double x = s->masses[i];
        s->masses[i] = x > -INFINITY ? exp((x - max) / s->temperature) : 0; /* false for NaN */
        sum += s->masses[i];
    }
    return sum;
}

/* ---- the candidates that top_k and top_p leave ---- */

/* Selects the best->k best of the tokens whose mass is at least `min`. */
static void select_best(const attend_sampler *s, int n, double min, attend_top_k *best)
{
    best->count = 0;
    for (int i = 0; i < n; i++)
        if (s->masses[i] >= min && s->masses[i] > attend_top_k_threshold(best))
            attend_top_k_offer(best, s->masses[i], i);
    attend_top_k_sort(best);
}

/* Reduces the candidates, best first, to the smallest set with mass `limit`; returns its mass. */
static double reduce_to_mass(attend_top_k *best, double limit)
{
    double sum = 0;
    int kept = 0;
    while (kept < best->count && sum < limit) sum += best->entries[kept++].value;
    best->count = kept;
    return sum;
}

/* The largest power of two such that the tokens with at least this mass have mass `limit` together; *count: their
 * number. Masses are at most 1. */
static double level_of_mass(const attend_sampler *s, int n, double limit, int *count)
{
    enum { LEVELS = 64 };
    int counts[LEVELS] = { 0 }, level = 0;
    double masses[LEVELS] = { 0 }, sum = 0;
    for (int i = 0; i < n; i++) {
        int exponent;
        frexp(s->masses[i], &exponent); /* mass in [2^(exponent - 1), 2^exponent) */
        const int l = s->masses[i] > 0 && exponent > 1 - LEVELS ? 1 - exponent : LEVELS - 1;
        counts[l]++, masses[l] += s->masses[i];
    }
    *count = 0;
    for (; level < LEVELS - 1 && sum < limit; level++) *count += counts[level], sum += masses[level];
    if (sum >= limit) return ldexp(1, 1 - level);
    *count = n;
    return 0;
}

/* Sets `best` to the tokens that can be drawn, best first, and returns their mass. */
static double restrict_to_top(const attend_sampler *s, int n, double total, attend_top_k *best)
{
    if (s->top_k > 0 && s->top_k < n) {
        best->k = s->top_k;
        select_best(s, n, 0, best);
        total = 0;
        for (int i = 0; i < best->count; i++) total += best->entries[i].value;
        return reduce_to_mass(best, s->top_p * total);
    }
    const double limit = s->top_p * total;
    const double level = level_of_mass(s, n, limit, &best->k);
    if (best->k > 0) {
        select_best(s, n, level, best);
        const double sum = reduce_to_mass(best, limit);
        if (sum >= limit || best->k == n) return sum;
    }
    best->k = n; /* the sum of the levels was rounded differently */
    select_best(s, n, 0, best);
    return reduce_to_mass(best, limit);
}

int attend_sample_token(const attend_sampler *s, const real *log_p, int n, const unsigned char *banned, double u)
{
    double total = compute_masses(s, log_p, n, banned), at = 0;
    if (!(total > 0)) return -1;
    int last = -1;
    attend_top_k best = { .entries = s->best };
    const bool all = (s->top_k == 0 || s->top_k >= n) && s->top_p >= 1;
    if (!all) total = restrict_to_top(s, n, total, &best);
    for (int i = 0; i < (all ? n : best.count); i++) {
        const int token = all ? i : best.entries[i].index;
        if (!(s->masses[token] > 0)) continue;
        last = token; /* rounding can put u beyond the last interval */
        at += s->masses[token];
        if (at > u * total) break;
    }
    return last;
}
