/* vector_cells.c: the gates of recurrent cells with the vector primitives of a vec_*.h header; formulas in op.h and
 * kernel.h.
 *
 * Each function is one pass over the hidden units. `..._at` does one vector or tail of them, at unit j; its activation
 * and `fused` are constants once inlined. All of a unit's inputs are loaded before its outputs are stored, as needed
 * where kernel.h allows an output to be the same array as an input. */
#include "kernel/vector_math.h"

#include "kernel/tables.h"

VINLINE vf activate(attend_activation f, vf x)
{
    return f == ATTEND_RELU ? vf_max(vf_zero(), x) : vf_tanh(x); /* NaN passes */
}

/* d f'(.) where y = f(.) */
VINLINE vf through(attend_activation f, vf d, vf y)
{
    return f == ATTEND_RELU ? vf_keep(vf_greater(y, vf_zero()), d) : vf_mul(d, vf_fnma(y, y, vf_set1(1.0f)));
}

/* d s (1 - s): backward through s = sigmoid(.) */
VINLINE vf through_sigmoid(vf d, vf s)
{
    return vf_mul(d, vf_mul(s, vf_sub(vf_set1(1.0f), s)));
}

VINLINE vf gate(size_t count, const real *gx, const real *gh)
{
    return vf_sigmoid(vf_add(vf_get(gx, count), vf_get(gh, count)));
}

/* Calls at(j, count, h, ...) for all h hidden units: vectors of them, then the tail. */
#define EACH_UNIT(at, h, ...)                                                                                          \
    do {                                                                                                               \
        size_t unit_ = 0;                                                                                              \
        for (; unit_ + VLANES <= (h); unit_ += VLANES) at(unit_, VLANES, h, __VA_ARGS__);                              \
        if (unit_ < (h)) at(unit_, (h)-unit_, h, __VA_ARGS__);                                                         \
    } while (0)
/* The same with the activation as a constant: at(j, count, h, f, ...). */
#define EACH_UNIT_ACTIVATED(at, h, f, ...)                                                                             \
    do {                                                                                                               \
        if ((f) == ATTEND_RELU)                                                                                        \
            EACH_UNIT(at, h, ATTEND_RELU, __VA_ARGS__);                                                                \
        else                                                                                                           \
            EACH_UNIT(at, h, ATTEND_TANH, __VA_ARGS__);                                                                \
    } while (0)

/* ---- simple ---- */

VINLINE void simple_at(size_t j, size_t count, size_t h, attend_activation f, const real *gx, const real *gh,
                       real *h_new)
{
    (void)h;
    vf_put(h_new + j, activate(f, vf_add(vf_get(gx + j, count), vf_get(gh + j, count))), count);
}

void VNAME(simple)(size_t h, attend_activation f, const real *gx, const real *gh, real *h_new)
{
    EACH_UNIT_ACTIVATED(simple_at, h, f, gx, gh, h_new);
}

VINLINE void simple_backward_at(size_t j, size_t count, size_t h, attend_activation f, const real *dh,
                                const real *h_new, real *dgates)
{
    (void)h;
    vf_put(dgates + j, through(f, vf_get(dh + j, count), vf_get(h_new + j, count)), count);
}

void VNAME(simple_backward)(size_t h, attend_activation f, const real *dh, const real *h_new, real *dgates)
{
    EACH_UNIT_ACTIVATED(simple_backward_at, h, f, dh, h_new, dgates);
}

/* ---- GRU, reset after ---- */

VINLINE void gru_at(size_t j, size_t count, size_t h, attend_activation f, const real *gx, const real *gh,
                    const real *h_old, real *h_new, real *saved)
{
    vf r = gate(count, gx + j, gh + j), z = gate(count, gx + h + j, gh + h + j);
    vf past = vf_get(gh + 2 * h + j, count);
    vf n = activate(f, vf_fma(r, past, vf_get(gx + 2 * h + j, count)));
    vf old = vf_get(h_old + j, count);
    vf_put(h_new + j, vf_fma(z, vf_sub(old, n), n), count);
    vf_put(saved + j, r, count);
    vf_put(saved + h + j, z, count);
    vf_put(saved + 2 * h + j, n, count);
    vf_put(saved + 3 * h + j, past, count);
}

void VNAME(gru)(size_t h, attend_activation f, const real *gx, const real *gh, const real *h_old, real *h_new,
                real *saved)
{
    EACH_UNIT_ACTIVATED(gru_at, h, f, gx, gh, h_old, h_new, saved);
}

VINLINE void gru_backward_at(size_t j, size_t count, size_t h, attend_activation f, const real *dh, const real *h_old,
                             const real *saved, real *dgx, real *dgh, real *dh_old)
{
    vf r = vf_get(saved + j, count), z = vf_get(saved + h + j, count), n = vf_get(saved + 2 * h + j, count);
    vf past = vf_get(saved + 3 * h + j, count), d = vf_get(dh + j, count);
    vf dn = through(f, vf_mul(d, vf_sub(vf_set1(1.0f), z)), n);
    vf dz = through_sigmoid(vf_mul(d, vf_sub(vf_get(h_old + j, count), n)), z);
    vf dr = through_sigmoid(vf_mul(dn, past), r);
    vf_put(dh_old + j, vf_fma(d, z, vf_get(dh_old + j, count)), count);
    vf_put(dgx + j, dr, count);
    vf_put(dgx + h + j, dz, count);
    vf_put(dgx + 2 * h + j, dn, count);
    vf_put(dgh + j, dr, count);
    vf_put(dgh + h + j, dz, count);
    vf_put(dgh + 2 * h + j, vf_mul(dn, r), count);
}

void VNAME(gru_backward)(size_t h, attend_activation f, const real *dh, const real *h_old, const real *saved, real *dgx,
                         real *dgh, real *dh_old)
{
    EACH_UNIT_ACTIVATED(gru_backward_at, h, f, dh, h_old, saved, dgx, dgh, dh_old);
}

/* ---- LSTM; with deep fusion it has a fifth gate, which reads a ---- */

VINLINE void lstm_at(size_t j, size_t count, size_t h, attend_activation f, bool fused, const real *gx, const real *gh,
                     const real *c_old, const real *a, real *c_new, real *h_new, real *saved)
{
    vf in = gate(count, gx + j, gh + j), forget = gate(count, gx + h + j, gh + h + j);
    vf g = activate(f, vf_add(vf_get(gx + 2 * h + j, count), vf_get(gh + 2 * h + j, count)));
    vf out = gate(count, gx + 3 * h + j, gh + 3 * h + j);
    vf read = fused ? gate(count, gx + 4 * h + j, gh + 4 * h + j) : vf_zero();
    vf c = vf_fma(forget, vf_get(c_old + j, count), vf_mul(in, g));
    if (fused) c = vf_fma(read, vf_get(a + j, count), c);
    vf_put(c_new + j, c, count);
    vf_put(h_new + j, vf_mul(out, activate(f, c)), count);
    vf_put(saved + j, in, count);
    vf_put(saved + h + j, forget, count);
    vf_put(saved + 2 * h + j, g, count);
    vf_put(saved + 3 * h + j, out, count);
    if (fused) vf_put(saved + 4 * h + j, read, count);
}

void VNAME(lstm)(size_t h, attend_activation f, const real *gx, const real *gh, const real *c_old, real *c_new,
                 real *h_new, real *saved)
{
    EACH_UNIT_ACTIVATED(lstm_at, h, f, false, gx, gh, c_old, NULL, c_new, h_new, saved);
}

void VNAME(lstm_fused)(size_t h, const real *gx, const real *gh, const real *c_old, const real *a, real *c_new,
                       real *h_new, real *saved)
{
    EACH_UNIT(lstm_at, h, ATTEND_TANH, true, gx, gh, c_old, a, c_new, h_new, saved);
}

VINLINE void lstm_backward_at(size_t j, size_t count, size_t h, attend_activation f, bool fused, const real *dh,
                              const real *c_old, const real *a, const real *c_new, const real *saved, real *dgates,
                              real *dc, real *da)
{
    vf in = vf_get(saved + j, count), forget = vf_get(saved + h + j, count), g = vf_get(saved + 2 * h + j, count);
    vf out = vf_get(saved + 3 * h + j, count), d = vf_get(dh + j, count);
    vf read = fused ? vf_get(saved + 4 * h + j, count) : vf_zero(), more = fused ? vf_get(a + j, count) : vf_zero();
    vf shown = activate(f, vf_get(c_new + j, count));
    vf dcell = vf_add(vf_get(dc + j, count), through(f, vf_mul(d, out), shown));
    vf old = vf_get(c_old + j, count);
    vf_put(dgates + j, through_sigmoid(vf_mul(dcell, g), in), count);
    vf_put(dgates + h + j, through_sigmoid(vf_mul(dcell, old), forget), count);
    vf_put(dgates + 2 * h + j, through(f, vf_mul(dcell, in), g), count);
    vf_put(dgates + 3 * h + j, through_sigmoid(vf_mul(d, shown), out), count);
    if (fused) vf_put(dgates + 4 * h + j, through_sigmoid(vf_mul(dcell, more), read), count);
    vf_put(dc + j, vf_mul(dcell, forget), count);
    if (fused) vf_put(da + j, vf_mul(dcell, read), count);
}

void VNAME(lstm_backward)(size_t h, attend_activation f, const real *dh, const real *c_old, const real *c_new,
                          const real *saved, real *dgates, real *dc)
{
    EACH_UNIT_ACTIVATED(lstm_backward_at, h, f, false, dh, c_old, NULL, c_new, saved, dgates, dc, NULL);
}

void VNAME(lstm_fused_backward)(size_t h, const real *dh, const real *c_old, const real *a, const real *c_new,
                                const real *saved, real *dgates, real *dc, real *da)
{
    EACH_UNIT(lstm_backward_at, h, ATTEND_TANH, true, dh, c_old, a, c_new, saved, dgates, dc, da);
}
