/* rotary.c: rotary position embedding (Su et al. 2021): rotates each pair of a head's D numbers by an angle
 * proportional to the position p of the row:
 *     y_2i   = x_2i cos(p w_i) - x_2i+1 sin(p w_i)        w_i = 10000^(-2i / D)
 *     y_2i+1 = x_2i sin(p w_i) + x_2i+1 cos(p w_i)
 * Backward applies the opposite rotation to dy. */
#include "kernel/kernel.h"
#include "op/positions.h"
#include <math.h>

/* The cosines and sines of all positions, in the form that rotate_pairs (kernel.h) needs. */
typedef struct angles {
    size_t width; /* of a head */
    real *c, *s;  /* (positions, width) */
} angles;

typedef struct rotary_node {
    attend_node node;
    attend_var *x, *y;
    const attend_ragged *sequences;
    angles angles;
} rotary_node;

/* Computed in double and rounded at the end, because p w needs more digits than float has. */
static bool angles_new(attend_ctx *c, angles *a, size_t positions, size_t width, int first_position)
{
    *a = (angles){ width, attend_ctx_alloc_reals(c, positions * width), attend_ctx_alloc_reals(c, positions * width) };
    if (!a->c || !a->s) return false;
    for (size_t i = 0; i < width / 2; i++) {
        const double frequency = attend_positions_frequency(i, width);
        for (size_t t = 0; t < positions; t++) {
            const double angle = ((double)first_position + (double)t) * frequency;
            const size_t at = t * width + 2 * i;
            a->c[at] = a->c[at + 1] = (real)cos(angle);
            a->s[at + 1] = (real)sin(angle);
            a->s[at] = -a->s[at + 1];
        }
    }
    return true;
}

typedef void rotate_fn(size_t n, const real *x, const real *c, const real *s, real *y);

/* Rotates all heads of all rows by the angles of their positions. */
static void rotate_rows(rotate_fn *rotate, const angles *a, const attend_ragged *r, size_t row, const real *x, real *y)
{
    for (int b = 0; b < r->count; b++)
        for (size_t t = 0; t < (size_t)r->lengths[b]; t++) {
            const size_t at = ((size_t)r->offsets[b] + t) * row, angle = t * a->width;
            for (size_t h = 0; h < row; h += a->width)
                rotate(a->width, x + at + h, a->c + angle, a->s + angle, y + at + h);
        }
}

static void rotary_backward(attend_ctx *c, attend_node *node)
{
    rotary_node *n = (rotary_node *)node;
    const real *dy = n->y->grad;
    real *dx = dy ? attend_grad(c, n->x) : NULL;
    if (dx)
        rotate_rows(attend_kernel()->rotate_pairs_backward, &n->angles, n->sequences, (size_t)n->x->shape[1], dy, dx);
}

attend_var *attend_rotary(attend_ctx *c, attend_var *x, const attend_ragged *sequences, int heads, int first_position)
{
    if (!attend_check_inputs(c, "attend_rotary", 1, x)) return NULL;
    if (!attend_positions_fit(c, "attend_rotary", sequences, x, first_position)) return NULL;
    if (heads < 1 || x->shape[1] % heads != 0 || x->shape[1] / heads % 2 != 0) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE,
                               "attend_rotary: rows of %s cannot be divided into %d heads of an even width",
                               attend_shape_text(x, text), heads);
    }
    attend_var *y = attend_var_2d(c, x->shape[0], x->shape[1], x->differentiable);
    angles a;
    if (!y || !angles_new(c, &a, (size_t)sequences->max_length, (size_t)(x->shape[1] / heads), first_position))
        return NULL;
    rotate_rows(attend_kernel()->rotate_pairs, &a, sequences, (size_t)x->shape[1], x->value, y->value);
    if (y->differentiable) {
        rotary_node *n = attend_ctx_alloc(c, 1, sizeof *n);
        if (!n) return NULL;
        *n = (rotary_node){ .x = x, .y = y, .sequences = sequences, .angles = a };
        attend_record(c, &n->node, rotary_backward);
    }
    return y;
}
