#include "core/precision.h"

#include "core/memory.h"
#include "core/tape.h"
#include <math.h>
#include <string.h>

size_t attend_precision_bytes(attend_precision precision)
{
    return precision == ATTEND_INT8 ? 1 : precision == ATTEND_BFLOAT16 ? 2 : sizeof(real);
}

const char *attend_precision_name(attend_precision precision)
{
    return precision == ATTEND_INT8 ? "int8" : precision == ATTEND_BFLOAT16 ? "bf16" : "fp32";
}

/* ---- bfloat16 ---- */

void attend_bf16_quantize(size_t n, const real *x, uint16_t *bits)
{
    for (size_t i = 0; i < n; i++) {
        const float value = (float)x[i];
        uint32_t whole;
        memcpy(&whole, &value, sizeof whole);
        const uint32_t rounded = whole + 0x7fff + (whole >> 16 & 1);
        const int became_infinite = (rounded & 0x7f800000) == 0x7f800000;
        bits[i] = (uint16_t)((became_infinite ? whole : rounded) >>
                             16); /* the largest ones are cut, and not numbers stay as they are */
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
    float most = 0;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf((float)x[i]));
    const float step = most / 127;
    for (size_t i = 0; i < n; i++) q[i] = step > 0 ? (int8_t)fmaxf(-127, fminf(127, rintf((float)x[i] / step))) : 0;
    return step;
}

/* ---- parameters ---- */

int attend_param_quantize(attend_param *p, attend_precision precision)
{
    const size_t rows = (size_t)p->shape[0], width = (size_t)p->shape[1];
    if (precision == p->precision) return ATTEND_OK;
    if (p->rank != 2 || precision == ATTEND_FP32 || p->precision != ATTEND_FP32)
        return attend_fail(ATTEND_BAD_USAGE, "'%s' is kept as %s and cannot become %s", p->name,
                           attend_precision_name(p->precision), attend_precision_name(precision));
    void *bits = attend_memory_aligned(p->size * attend_precision_bytes(precision));
    float *steps = precision == ATTEND_INT8 ? attend_memory_aligned(rows * sizeof *steps) : NULL;
    if (!bits || (precision == ATTEND_INT8 && !steps)) {
        attend_memory_free(bits);
        attend_memory_free(steps);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to keep '%s' as %s", p->name, attend_precision_name(precision));
    }
    for (size_t i = 0; i < rows; i++) {
        const real *row = p->value + i * width;
        if (precision == ATTEND_INT8)
            steps[i] = attend_int8_quantize(width, row, (int8_t *)bits + i * width);
        else
            attend_bf16_quantize(width, row, (uint16_t *)bits + i * width);
    }
    attend_param_take(p, &(param_numbers){ .precision = precision, .bits = bits, .steps = steps });
    return ATTEND_OK;
}
