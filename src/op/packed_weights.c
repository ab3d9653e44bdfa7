/* packed_weights.c: the packed copies of parameters, recreated when the value or the layout of the device changes. */
#include "op/packed_weights.h"

#include "core/fork_lock.h"

/* The version is written last, so that a fresh copy is read without the lock. */
static bool is_fresh(const attend_param *p, const param_cache *copy)
{
    const uint64_t version = atomic_load_explicit(&copy->version, memory_order_acquire);
    return version == atomic_load(&p->version) &&
           atomic_load(&copy->key) == (const void *)attend_device_at(p->memory)->packed_layout();
}

static bool repack(attend_param *p, param_cache *copy, attend_compute_precision precision, bool transpose,
                   attend_pool *pool)
{
    /* The parameter is (out, in). With transpose, op(B) is W' (in, out), for y = x W'; otherwise it is W. */
    size_t rows = (size_t)p->shape[0], columns = (size_t)p->shape[1];
    size_t k = transpose ? columns : rows, n = transpose ? rows : columns;
    const attend_device *d = attend_device_at(p->memory);
    const attend_compute compute = { .pool = pool, .precision = precision };
    size_t size = d->packed_bytes(&compute, p->precision, k, n);
    if (size != copy->size || !copy->data) {
        atomic_store(&copy->key, NULL);
        p->memory->give(copy->data);
        copy->data = p->memory->take(size), copy->size = size;
        if (!copy->data) return false;
    }
    d->pack(&compute, p->precision, transpose, k, n, p->precision == ATTEND_FP32 ? p->value : p->quantized, copy->data);
    atomic_store(&copy->key, d->packed_layout());
    atomic_store_explicit(&copy->version, atomic_load(&p->version), memory_order_release);
    return true;
}

const void *attend_param_packed(attend_param *p, attend_compute_precision precision, bool transpose)
{
    param_cache *copy = &p->cache[2 * precision + transpose];
    if (is_fresh(p, copy)) return copy->data;
    attend_fork_lock(&p->lock);
    const bool fresh = is_fresh(p, copy) || repack(p, copy, precision, transpose, NULL);
    attend_fork_unlock(&p->lock);
    return fresh ? copy->data : NULL;
}

void attend_params_repack(const attend_params *set, attend_pool *pool)
{
    for (int i = 0; i < set->count; i++)
        for (int j = 0; j < PARAM_CACHES; j++) {
            attend_param *p = set->list[i];
            param_cache *copy = &p->cache[j];
            attend_fork_lock(&p->lock);
            if (copy->data && !is_fresh(p, copy)) repack(p, copy, (attend_compute_precision)(j / 2), j % 2, pool);
            attend_fork_unlock(&p->lock);
        }
}

/* Any rank 2 variable in fp32; if it is not a parameter, it is packed into the context's device memory. */
static const void *packed_fp32(attend_ctx *c, const attend_var *v, attend_compute_precision precision, bool transpose)
{
    if (v->param && v->param->precision != ATTEND_FP32) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "'%s' is quantised, which this operation does not support",
                        v->param->name);
        return NULL;
    }
    if (v->param) {
        const void *packed = attend_param_packed(v->param, precision, transpose);
        if (!packed) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for a packed copy of '%s'", v->param->name);
        return packed;
    }
    if (precision == ATTEND_COMPUTE_FP32 && v->cache[transpose]) return v->cache[transpose];
    size_t rows = (size_t)v->shape[0], columns = (size_t)v->shape[1];
    size_t k = transpose ? columns : rows, n = transpose ? rows : columns;
    const attend_device *d = attend_device_of(c);
    const attend_compute compute = { .pool = c->compute.pool, .scratch = c->compute.scratch, .precision = precision };
    void *packed = attend_ctx_alloc_device(c, d->packed_bytes(&compute, ATTEND_FP32, k, n), 1);
    if (packed) d->pack(&compute, ATTEND_FP32, transpose, k, n, v->value, packed);
    return packed;
}

const real *attend_var_packed(attend_ctx *c, const attend_var *v, bool transpose)
{
    return packed_fp32(c, v, ATTEND_COMPUTE_FP32, transpose);
}

bool attend_var_matrix(attend_ctx *c, const attend_var *w, packed_matrix *out)
{
    *out = (packed_matrix){ .k = (size_t)w->shape[1], .n = (size_t)w->shape[0], .compute = c->compute.precision };
    if (!w->param || w->param->precision == ATTEND_FP32)
        return (out->data = packed_fp32(c, w, out->compute, true)) != NULL;
    out->precision = w->param->precision;
    out->compute = attend_product_precision(out->precision, c->compute.precision);
    out->data = attend_param_packed(w->param, out->compute, true);
    if (!out->data) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for a packed copy of '%s'", w->param->name);
    if (out->precision != ATTEND_INT8) return out->data != NULL;
#ifdef ATTEND_DOUBLE
    real *scales = attend_ctx_alloc_reals(c, out->n);
    if (scales) attend_device_of(c)->widen(&c->compute, out->n, w->param->scales, scales);
    out->scales = scales;
#else
    out->scales = w->param->scales;
#endif
    return out->data && out->scales;
}

bool attend_var_matrix_backward(attend_ctx *c, const attend_var *w, packed_matrix *out)
{
    *out = (packed_matrix){ .compute = c->compute.precision,
                            .k = (size_t)w->shape[0],
                            .n = (size_t)w->shape[1],
                            .data = packed_fp32(c, w, c->compute.precision, false) };
    return out->data != NULL;
}
