/* cpu_attention_mask.c: the keys that are visible to a query. Masks are not added or multiplied: the score of a masked key becomes
 * -inf, even if it was NaN. */
#include "device/cpu_attention.h"

#include <math.h>
#include <string.h>

/* x as an integer, clamped to [low, high]; `if_nan` if x is NaN. */
static int clamp(double x, int low, int high, int if_nan)
{
    if (x != x) return if_nan;
    return x < low ? low : x > high ? high : (int)x;
}

attention_range attend_attention_key_range(const device_attention *a, int b, int i)
{
    const device_source *o = a->source;
    const int keys = a->source->key_rows.lengths[b], queries = a->query_rows.lengths[b];
    attention_range r = { 0, keys };
    if (o->causal) r.last = clamp((double)i + keys - queries + 1, 0, keys, keys);
    if (o->window != ATTEND_WINDOW_GLOBAL) {
        double at = (a->one_position ? 0.0 : (double)i) + a->first_position;
        if (o->window == ATTEND_WINDOW_LOCAL_P) at = keys * (double)a->position[attention_position_index(a, b, i)];
        /* with a NaN position all keys are visible, so that the context becomes NaN too */
        r.first = clamp(ceil(at - o->window_size), 0, keys, 0);
        r.last = clamp(floor(at + o->window_size) + 1, 0, r.last, r.last);
    }
    if (r.last < r.first) r.last = r.first;
    return r;
}

static void cap_row(double cap, size_t n, real *e)
{
    const attend_kernel_table *k = attend_kernel();
    k->scale(n, (real)(1 / cap), e);
    k->tanh(n, e, e);
    k->scale(n, (real)cap, e);
}

bool attend_attention_mask_row(const device_attention *a, int b, int head, int i, int first, size_t n, real *e,
                               real *capped)
{
    bool masked = false;
    if (a->source->soft_cap > 0) cap_row(a->source->soft_cap, n, e);
    if (capped) memcpy(capped, e, n * sizeof *e);
    if (a->bias) {
        const size_t *s = a->bias_strides;
        const real *bias = a->bias + (size_t)b * s[0] + (size_t)head * s[1] + (size_t)i * s[2] + (size_t)first * s[3];
        for (size_t j = 0; j < n; j++) {
            const real add = bias[j * s[3]];
            const bool is_masked = add == (real)-INFINITY;
            e[j] = is_masked ? add : e[j] + add;
            masked |= is_masked;
        }
    }
    if (a->allowed) {
        const size_t *s = a->allowed_strides;
        const unsigned char *allowed =
            a->allowed + (size_t)b * s[0] + (size_t)head * s[1] + (size_t)i * s[2] + (size_t)first * s[3];
        for (size_t j = 0; j < n; j++) {
            if (allowed[j * s[3]]) continue;
            e[j] = (real)-INFINITY;
            masked = true;
        }
    }
    return masked;
}
