/* draw.c: a word drawn from softmax(log p / temperature), cut to the top k words and to the smallest set of best ones with mass top_p. */
#include "decode/sampling.h"

#include <attend/model.h>
#include <math.h>

typedef attend_real real;

/* masses[i] = exp((log p_i - most) / temperature), 0 for what cannot be drawn; returns their sum. */
static double weigh(const attend_sampler *d, const real *log_p, int n, const unsigned char *banned)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        const double x = i == ATTEND_BEGIN || (banned && banned[i]) ? -INFINITY : (double)log_p[i];
        d->masses[i] = x;
        if (x > most) most = x;
    }
    for (int i = 0; i < n; i++) {
        const double x = d->masses[i];
        d->masses[i] = x > -INFINITY ? exp((x - most) / d->temperature) : 0; /* NaN is not */
        sum += d->masses[i];
    }
    return sum;
}

/* ---- the best ones, by a heap: few of many words are wanted ---- */

static int before(const attend_sampler *d, int a, int b)
{
    return d->masses[a] != d->masses[b] ? d->masses[a] > d->masses[b] : a < b;
}

static void sink(const attend_sampler *d, int at, int size)
{
    int *h = d->heap;
    for (int child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && before(d, h[child + 1], h[child])) child++;
        if (!before(d, h[child], h[at])) return;
        const int word = h[at];
        h[at] = h[child], h[child] = word;
    }
}

/* Takes the best of the heap, which goes behind the others. */
static int pop(const attend_sampler *d, int *size)
{
    int *h = d->heap;
    const int word = h[0];
    h[0] = h[--*size], h[*size] = word;
    sink(d, 0, *size);
    return word;
}

/* The words that may be drawn are the last *kept of the heap's n, the best behind; returns their mass. */
static double keep(const attend_sampler *d, int n, double total, int *kept)
{
    int size = n;
    double sum = 0;
    for (int i = 0; i < n; i++) d->heap[i] = i;
    for (int i = n / 2 - 1; i >= 0; i--) sink(d, i, n);
    if (d->top_k > 0 && d->top_k < n) {
        for (int i = 0; i < d->top_k; i++) sum += d->masses[pop(d, &size)];
        total = sum, sum = 0;
        const int last = size;
        for (size = n; size > last && sum < d->top_p * total;) sum += d->masses[d->heap[--size]];
    } else {
        while (size > 0 && sum < d->top_p * total) sum += d->masses[pop(d, &size)];
    }
    *kept = n - size;
    return sum;
}

int attend_sample_token(const attend_sampler *d, const real *log_p, int n, const unsigned char *banned, double u)
{
    double total = weigh(d, log_p, n, banned), at = 0;
    if (!(total > 0)) return -1;
    int last = -1, kept = n;
    const bool all = (d->top_k == 0 || d->top_k >= n) && d->top_p >= 1;
    if (!all) total = keep(d, n, total, &kept);
    for (int i = 0; i < kept; i++) {
        const int word = all ? i : d->heap[n - 1 - i];
        if (!(d->masses[word] > 0)) continue;
        last = word; /* rounding may leave u behind the last */
        at += d->masses[word];
        if (at > u * total) break;
    }
    return last;
}
