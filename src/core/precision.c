#include "core/precision.h"

#include "core/memory.h"
#include "core/tape.h"
#include <math.h>
#include <string.h>

size_t attend_precision_bytes(attend_precision precision)
{
    return precision == ATTEND_INT8 ? 1 : precision == ATTEND_BFLOAT16 ? 2 : sizeof(real);
}

const char *const attend_precision_names[] = { "fp32", "bf16", "int8", NULL };

const char *attend_precision_name(attend_precision precision)
{
    return (unsigned)precision <= ATTEND_INT8 ? attend_precision_names[precision] : NULL;
}

const char *const attend_compute_names[] = { "fp32", "bf16x3", "bf16", "tf32", NULL };

/* ---- bfloat16 ---- */

void attend_bf16_quantize(size_t n, const real *x, uint16_t *bits)
{
    for (size_t i = 0; i < n; i++) {
        const float value = (float)x[i];
        uint32_t whole;
        memcpy(&whole, &value, sizeof whole);
        const uint32_t rounded = whole + 0x7fff + (whole >> 16 & 1);
        const int became_infinite = (rounded & 0x7f800000) == 0x7f800000;
        /* the largest numbers are truncated; inf and NaN stay */
        bits[i] = (uint16_t)((became_infinite ? whole : rounded) >> 16);
    }
}

void attend_bf16_expand(size_t n, const uint16_t *bits, real *x)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t whole = (uint32_t)bits[i] << 16;
        float value;
        memcpy(&value, &whole, sizeof value);
        x[i] = (real)value;
    }
}

/* ---- int8 ---- */

float attend_int8_quantize(size_t n, const real *x, int8_t *q)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf((float)x[i]));
    const float scale = largest / 127;
    for (size_t i = 0; i < n; i++) q[i] = scale > 0 ? (int8_t)fmaxf(-127, fminf(127, rintf((float)x[i] / scale))) : 0;
    return scale;
}

/* ---- parameters ---- */

int attend_param_quantize(attend_param *p, attend_precision precision)
{
    const size_t rows = (size_t)p->shape[0], width = (size_t)p->shape[1];
    if (precision == p->precision) return ATTEND_OK;
    if (p->rank != 2 || precision == ATTEND_FP32 || p->precision != ATTEND_FP32)
        return attend_fail(ATTEND_BAD_USAGE, "'%s' is stored as %s and cannot be converted to %s", p->name,
                           attend_precision_name(p->precision), attend_precision_name(precision));
    const real *value = attend_param_value(p);
    if (!value) return ATTEND_NO_MEMORY;
    void *quantized = attend_memory_aligned(p->size * attend_precision_bytes(precision));
    float *scales = precision == ATTEND_INT8 ? attend_memory_aligned(rows * sizeof *scales) : NULL;
    if (!quantized || (precision == ATTEND_INT8 && !scales)) {
        attend_memory_free(quantized);
        attend_memory_free(scales);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to store '%s' as %s", p->name,
                           attend_precision_name(precision));
    }
    for (size_t i = 0; i < rows; i++) {
        const real *row = value + i * width;
        if (precision == ATTEND_INT8)
            scales[i] = attend_int8_quantize(width, row, (int8_t *)quantized + i * width);
        else
            attend_bf16_quantize(width, row, (uint16_t *)quantized + i * width);
    }
    const param_storage storage = { .precision = precision, .quantized = quantized, .scales = scales };
    const int status = attend_param_set_storage(p, &storage);
    if (status != ATTEND_OK) attend_memory_free(quantized), attend_memory_free(scales);
    return status;
}
