/* rotary.c: each pair of a head's D numbers is a point of a plane, turned by an angle that grows with the place p of its row
 * (Su et al. 2021):
 *     y_2i   = x_2i cos(p w_i) - x_2i+1 sin(p w_i)        w_i = 10000^(-2i / D)
 *     y_2i+1 = x_2i sin(p w_i) + x_2i+1 cos(p w_i)
 * Backward turns dy back. */
#include "kernel/kernel.h"
#include "op/positions.h"
#include <math.h>

/* Cosines and sines of each place that occurs, as `turn` of kernel.h wants them. */
typedef struct angles {
    size_t width; /* of a head */
    real *c, *s;  /* (longest, width) */
} angles;

typedef struct rotary_node {
    attend_node node;
    attend_var *x, *y;
    const attend_ragged *sequences;
    angles angles;
} rotary_node;

/* In double, and rounded at the end: p w loses nothing that a float would show. */
static bool angles_new(attend_ctx *c, angles *a, size_t longest, size_t width, int first_place)
{
    *a = (angles){ width, attend_take_reals(c, longest * width), attend_take_reals(c, longest * width) };
    if (!a->c || !a->s) return false;
    for (size_t i = 0; i < width / 2; i++) {
        const double frequency = attend_positions_frequency(i, width);
        for (size_t t = 0; t < longest; t++) {
            const double angle = ((double)first_place + (double)t) * frequency;
            const size_t at = t * width + 2 * i;
            a->c[at] = a->c[at + 1] = (real)cos(angle);
            a->s[at + 1] = (real)sin(angle);
            a->s[at] = -a->s[at + 1];
        }
    }
    return true;
}

typedef void turn_fn(size_t n, const real *x, const real *c, const real *s, real *y);

/* All heads of all rows, each by the angles of its place. */
static void turn_rows(turn_fn *turn, const angles *a, const attend_ragged *r, size_t row, const real *x, real *y)
{
    for (int b = 0; b < r->count; b++)
        for (size_t t = 0; t < (size_t)r->lengths[b]; t++) {
            const size_t at = ((size_t)r->offsets[b] + t) * row, angle = t * a->width;
            for (size_t h = 0; h < row; h += a->width)
                turn(a->width, x + at + h, a->c + angle, a->s + angle, y + at + h);
        }
}

static void rotary_backward(attend_ctx *c, attend_node *node)
{
    rotary_node *n = (rotary_node *)node;
    const real *dy = n->y->grad;
    real *dx = dy ? attend_grad(c, n->x) : NULL;
    if (dx) turn_rows(attend_kernel()->turn_back, &n->angles, n->sequences, (size_t)n->x->shape[1], dy, dx);
}

attend_var *attend_rotary(attend_ctx *c, attend_var *x, const attend_ragged *sequences, int heads, int first_place)
{
    if (!attend_ready(c, "attend_rotary", 1, x)) return NULL;
    if (!attend_positions_fit(c, "attend_rotary", sequences, x, first_place)) return NULL;
    if (heads < 1 || x->shape[1] % heads != 0 || x->shape[1] / heads % 2 != 0) {
        char text[ATTEND_SHAPE_TEXT];
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_rotary: rows of %s are not pairs of numbers in %d heads",
                               attend_shape_text(x, text), heads);
    }
    attend_var *y = attend_var_2d(c, x->shape[0], x->shape[1], x->differentiable);
    angles a;
    if (!y || !angles_new(c, &a, (size_t)sequences->longest, (size_t)(x->shape[1] / heads), first_place)) return NULL;
    turn_rows(attend_kernel()->turn, &a, sequences, (size_t)x->shape[1], x->value, y->value);
    if (y->differentiable) {
        rotary_node *n = attend_take(c, 1, sizeof *n);
        if (!n) return NULL;
        *n = (rotary_node){ .x = x, .y = y, .sequences = sequences, .angles = a };
        attend_record(c, &n->node, rotary_backward);
    }
    return y;
}
