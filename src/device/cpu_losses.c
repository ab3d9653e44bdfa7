/* cpu_losses.c: cross-entropy (op/cross_entropy.c has the formulas) and the alignment loss (op/alignment_loss.c). */
#include "device/cpu.h"

#include <math.h>
#include <string.h>

/* ---- cross-entropy ---- */

/* One row: returns its loss (without scale), replaces the logits by their exponentials, and sets 1 / their sum and -log
 * p(target). */
static double row_forward(size_t width, real *x, int target, double smoothing, real *inverse_sum, real *nll)
{
    const attend_kernel_table *k = attend_kernel();
    const real largest = k->max(width, x);
    const double at_target = (double)x[target] - (double)largest;
    double mean = 0;
    if (smoothing > 0) mean = (double)k->sum(width, x) / (double)width - (double)largest;
    const double sum = (double)k->exp_sum(width, x, largest, x);
    const double log_sum = log(sum);
    *inverse_sum = (real)(1 / sum);
    if (nll) *nll = (real)(log_sum - at_target);
    return log_sum - (1 - smoothing) * at_target - smoothing * mean;
}

/* The losses of some rows, to be added in order. */
enum { LOSS_ROWS = 256 };
typedef struct loss_rows {
    const device_loss *l;
    size_t first;
    double *losses; /* (LOSS_ROWS) */
} loss_rows;

static void rows_forward(const void *user, size_t first, size_t count)
{
    const loss_rows *r = user;
    const device_loss *l = r->l;
    for (size_t i = first; i < first + count; i++) {
        const size_t row = r->first + i;
        r->losses[i] = 0;
        if (l->nll) l->nll[row] = 0;
        if (l->targets[row] >= 0)
            r->losses[i] = row_forward(l->width, l->logits + row * l->width, l->targets[row], l->smoothing,
                                       &l->inverse_sums[row], l->nll ? &l->nll[row] : NULL);
    }
}

void attend_cpu_cross_entropy(const attend_compute *c, const device_loss *l)
{
    enum { COST = 4 };
    double total = 0, losses[LOSS_ROWS];
    for (size_t first = 0; first < l->rows; first += LOSS_ROWS) {
        const size_t rows = l->rows - first < LOSS_ROWS ? l->rows - first : LOSS_ROWS;
        attend_cpu_rows(c, rows, COST * l->width, rows_forward,
                        &(loss_rows){ .l = l, .first = first, .losses = losses });
        for (size_t i = 0; i < rows; i++) total += losses[i];
    }
    *l->loss = (real)(l->scale * total);
}

static void rows_backward(const void *user, size_t first, size_t count)
{
    const device_loss *l = user;
    const double scale = l->scale * (double)*l->dloss;
    const real spread = (real)(-scale * l->smoothing / (double)l->width);
    for (size_t i = first; i < first + count; i++) {
        real *x = l->logits + i * l->width;
        if (l->targets[i] < 0) {
            memset(x, 0, l->width * sizeof(real));
            continue;
        }
        attend_kernel()->scale_shift(l->width, spread, (real)scale * l->inverse_sums[i], x, x);
        x[l->targets[i]] -= (real)(scale * (1 - l->smoothing));
    }
}

void attend_cpu_cross_entropy_backward(const attend_compute *c, const device_loss *l)
{
    attend_cpu_rows(c, l->rows, l->width, rows_backward, l);
}

/* ---- alignment loss: most of the reference is zero; these terms are skipped ---- */

static const double tiny = 1e-6;

/* Weight (b, i, j) of the first head; those of the other heads follow at a distance of `area`. */
static size_t first_head(const device_alignment *l, size_t pair)
{
    return pair / l->area * l->area * l->heads + pair % l->area;
}

static double mean_weight(const device_alignment *l, size_t pair)
{
    double sum = 0;
    size_t at = first_head(l, pair);
    for (size_t h = 0; h < l->heads; h++, at += l->area) sum += (double)l->weights[at];
    return sum / (double)l->heads;
}

void attend_cpu_alignment_loss(const attend_compute *c, const device_alignment *l)
{
    (void)c;
    double sum = 0;
    for (size_t i = 0; i < l->batch * l->area; i++)
        if (l->reference[i] != 0) sum -= (double)l->reference[i] * log(mean_weight(l, i) + tiny);
    *l->loss = (real)(l->scale * sum);
}

void attend_cpu_alignment_loss_backward(const attend_compute *c, const device_alignment *l)
{
    (void)c;
    const double scale = l->scale * (double)*l->dloss / (double)l->heads;
    for (size_t i = 0; i < l->batch * l->area; i++) {
        if (l->reference[i] == 0) continue;
        const real d = (real)(-scale * (double)l->reference[i] / (mean_weight(l, i) + tiny));
        size_t at = first_head(l, i);
        for (size_t h = 0; h < l->heads; h++, at += l->area) l->dweights[at] += d;
    }
}
