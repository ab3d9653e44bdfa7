/* sampling.c: a token drawn from softmax(log p / temperature), restricted to the top_k best tokens and to the smallest set of best tokens with mass top_p. */
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

/* ---- the best tokens, by a heap: few of many are needed ---- */

static int before(const attend_sampler *s, int a, int b)
{
    return s->masses[a] != s->masses[b] ? s->masses[a] > s->masses[b] : a < b;
}

static void sink(const attend_sampler *s, int at, int size)
{
    int *h = s->heap;
    for (int child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && before(s, h[child + 1], h[child])) child++;
        if (!before(s, h[child], h[at])) return;
        const int token = h[at];
        h[at] = h[child], h[child] = token;
    }
}

/* Moves the best token of the heap to its end and shrinks the heap. */
static int pop(const attend_sampler *s, int *size)
{
    int *h = s->heap;
    const int token = h[0];
    h[0] = h[--*size], h[*size] = token;
    sink(s, 0, *size);
    return token;
}

/* The tokens that can be drawn become the last *kept entries of heap (n), the best one last; returns their mass. */
static double restrict_to_top(const attend_sampler *s, int n, double total, int *kept)
{
    int size = n;
    double sum = 0;
    for (int i = 0; i < n; i++) s->heap[i] = i;
    for (int i = n / 2 - 1; i >= 0; i--) sink(s, i, n);
    if (s->top_k > 0 && s->top_k < n) {
        for (int i = 0; i < s->top_k; i++) sum += s->masses[pop(s, &size)];
        total = sum, sum = 0;
        const int last = size;
        for (size = n; size > last && sum < s->top_p * total;) sum += s->masses[s->heap[--size]];
    } else {
        while (size > 0 && sum < s->top_p * total) sum += s->masses[pop(s, &size)];
    }
    *kept = n - size;
    return sum;
}

int attend_sample_token(const attend_sampler *s, const real *log_p, int n, const unsigned char *banned, double u)
{
    double total = compute_masses(s, log_p, n, banned), at = 0;
    if (!(total > 0)) return -1;
    int last = -1, kept = n;
    const bool all = (s->top_k == 0 || s->top_k >= n) && s->top_p >= 1;
    if (!all) total = restrict_to_top(s, n, total, &kept);
    for (int i = 0; i < kept; i++) {
        const int token = all ? i : s->heap[n - 1 - i];
        if (!(s->masses[token] > 0)) continue;
        last = token; /* rounding can put u beyond the last interval */
        at += s->masses[token];
        if (at > u * total) break;
    }
    return last;
}
