/* packed_weights.c: a parameter laid out for the packed product, made anew when its value or the kernels change. */
#include "op/packed_weights.h"

#include "core/memory.h"
#include "kernel/gemm.h"

static bool repack(attend_param *p, packed_copy *copy, bool transpose)
{
    /* (out, in) as stored: op(B) of y = x W' is W', in x out; untransposed it is W itself. */
    size_t rows = (size_t)p->shape[0], columns = (size_t)p->shape[1];
    size_t k = transpose ? columns : rows, n = transpose ? rows : columns;
    size_t size = attend_packed_size(k, n);
    if (size != copy->size || !copy->data) {
        attend_memory_free(copy->data);
        *copy = (packed_copy){ .data = attend_memory_aligned(size * sizeof(real)), .size = size };
        if (!copy->data) return false;
    }
    attend_pack(transpose, k, n, p->value, columns, copy->data);
    copy->kernel = attend_kernel();
    copy->version = atomic_load(&p->version);
    return true;
}

const real *attend_param_packed(attend_param *p, bool transpose)
{
    packed_copy *copy = &p->packed[transpose];
    pthread_mutex_lock(&p->lock);
    bool fresh = copy->kernel == attend_kernel() && copy->version == atomic_load(&p->version);
    if (!fresh) fresh = repack(p, copy, transpose);
    pthread_mutex_unlock(&p->lock);
    return fresh ? copy->data : NULL;
}

const real *attend_var_packed(attend_ctx *c, const attend_var *v, bool transpose)
{
    if (v->param) {
        const real *packed = attend_param_packed(v->param, transpose);
        if (!packed) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for a packed copy of '%s'", v->param->name);
        return packed;
    }
    if (v->packed[transpose]) return v->packed[transpose];
    size_t rows = (size_t)v->shape[0], columns = (size_t)v->shape[1];
    size_t k = transpose ? columns : rows, n = transpose ? rows : columns;
    real *packed = attend_take_reals(c, attend_packed_size(k, n));
    if (packed) attend_pack(transpose, k, n, v->value, columns, packed);
    return packed;
}
