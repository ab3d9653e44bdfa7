/* context_folding.c: saves matrix products in decoding. The context is a weighted sum of encoder states, c_t = sum_j
 * a_tj h_j, and each decoding step multiplies it by two matrices: Wc of the first layer and Rc of the readout. By
 * linearity,
 *
 *     [Wc ; Rc] c_t = sum_j a_tj ([Wc ; Rc] h_j),
 *
 * so each h_j is multiplied once for all steps and hypotheses. With a beam of 5 this is about a fifth of the
 * multiplications; for a single sentence the matrices are read once instead of in every step. Requires a score without
 * prepare_values and finish, so that the weighted sum is over the encoder states themselves. */
#include "model/rnn.h"

#include "core/fork_lock.h"
#include "core/memory.h"
#include "core/precision.h"
#include "device/device.h"
#include <string.h>

static bool can_fold(const attend_model *m)
{
    const attend_score *s = m->config.attention;
    const attend_param *second = rnn_of(m)->second_w, *readout = rnn_of(m)->attention.readout_w;
    return is_bahdanau(m) && readout && second && m->config.heads == 1 && !s->prepare_values && !s->finish &&
           !s->context_width && second->precision == readout->precision;
}

void attend_folded_context_free(rnn *r)
{
    if (r->folded) attend_params_free(r->folded->set);
    attend_memory_free(r->folded);
    r->folded = NULL;
}

/* Columns [first, first + count) of all rows of a matrix. */
typedef struct column_range {
    attend_param *from;
    size_t first, count;
} column_range;

/* Copies a column range into a matrix with `width` columns, so that its first element is at (row, column). False: no
 * memory. */
static bool copy_columns(const column_range *p, size_t row, size_t column, size_t width, char *numbers, float *scales)
{
    attend_param *from = p->from;
    const size_t size = attend_precision_bytes(from->precision), from_width = (size_t)from->shape[1];
    const char *source =
        from->precision == ATTEND_FP32 ? (const void *)attend_param_value(from) : attend_param_quantized(from);
    const float *from_scales = scales ? attend_param_scales(from) : NULL;
    if (!source || (scales && !from_scales)) return false;
    for (size_t i = 0; i < (size_t)from->shape[0]; i++)
        memcpy(numbers + ((row + i) * width + column) * size, source + (i * from_width + p->first) * size,
               p->count * size);
    if (scales) memcpy(scales + row, from_scales, (size_t)from->shape[0] * sizeof *scales);
    return true;
}

/* Adds the concatenation of two column ranges to the set, which owns it: [a ; b] along the rows if `stack`, else [a, b]
 * along the columns. */
static int add_concatenation(attend_param **out, attend_params *set, const char *name, const column_range *a,
                             const column_range *b, bool stack)
{
    const attend_precision precision = a->from->precision;
    const size_t rows = (size_t)a->from->shape[0] + (stack ? (size_t)b->from->shape[0] : 0);
    const size_t width = a->count + (stack ? 0 : b->count);
    const int shape[2] = { (int)rows, (int)width };
    char *numbers = attend_memory_aligned(rows * width * attend_precision_bytes(precision));
    float *scales = precision == ATTEND_INT8 ? attend_memory_aligned(rows * sizeof *scales) : NULL;
    if (!numbers || (precision == ATTEND_INT8 && !scales) || !copy_columns(a, 0, 0, width, numbers, scales) ||
        !copy_columns(b, stack ? (size_t)a->from->shape[0] : 0, stack ? 0 : a->count, width, numbers, scales)) {
        attend_memory_free(numbers);
        attend_memory_free(scales);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a folded matrix");
    }
    const param_storage given = { .precision = precision,
                                  .value = precision == ATTEND_FP32 ? (real *)(void *)numbers : NULL,
                                  .quantized = precision == ATTEND_FP32 ? NULL : numbers,
                                  .scales = scales };
    return attend_params_add_stored(out, set, name, 2, shape, &given);
}

static int build(const attend_model *m, folded_context *f)
{
    attend_param *second = rnn_of(m)->second_w, *readout = rnn_of(m)->attention.readout_w;
    const size_t h = (size_t)m->config.hidden, e = (size_t)m->config.embedding,
                 context = (size_t)rnn_of(m)->attention.context_width;
    int status = attend_params_new(&f->set);
    if (status == ATTEND_OK)
        status = add_concatenation(&f->context, f->set, "fold.context", &(column_range){ second, 0, context },
                                   &(column_range){ readout, h, context }, true);
    if (status == ATTEND_OK)
        status = add_concatenation(&f->readout, f->set, "fold.readout", &(column_range){ readout, 0, h },
                                   &(column_range){ readout, h + context, e }, false);
    return status;
}

const folded_context *attend_folded_context(attend_ctx *c, const attend_model *m)
{
    rnn *r = m->own; /* the folded matrices are a cache protected by a lock, like the packed copies of parameters */
    if (!can_fold(m)) return NULL;
    attend_fork_lock(&r->lock);
    const uint64_t versions[2] = { atomic_load(&r->second_w->version), atomic_load(&r->attention.readout_w->version) };
    if (r->folded && memcmp(r->folded->versions, versions, sizeof versions) != 0) attend_folded_context_free(r);
    if (!r->folded) {
        r->folded = attend_memory_zeroed(1, sizeof *r->folded);
        const int status =
            r->folded ? build(m, r->folded) : attend_fail(ATTEND_NO_MEMORY, "no memory for a folded matrix");
        if (status == ATTEND_OK)
            memcpy(r->folded->versions, versions, sizeof versions);
        else
            attend_folded_context_free(r), attend_ctx_fail(c, status, "%s", attend_message());
    }
    const folded_context *folded = r->folded;
    attend_fork_unlock(&r->lock);
    return folded;
}

attend_var *attend_folded_input(attend_ctx *c, attend_var *input, const int *rows, attend_var *context)
{
    if (!input || !context) return NULL;
    const size_t width = (size_t)input->shape[1], context_width = (size_t)context->shape[1];
    attend_var *sum = attend_var_2d(c, context->shape[0], input->shape[1], false);
    if (!sum) return NULL;
    const attend_device *d = attend_device_of(c);
    const device_output out = { .data = sum->value, .stride = width };
    const size_t n = (size_t)context->shape[0];
    d->copy(&c->compute, n, width, (device_input){ input->value, width, rows }, out);
    d->add(&c->compute, n, width, (device_input){ .data = context->value, .stride = context_width }, out);
    return sum;
}

attend_var *attend_folded_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                  attend_var *embedded)
{
    attend_var *parts[2] = { state, embedded };
    attend_var *y = attend_linear(c, attend_concat(c, parts, 2), d->folded_readout, d->readout_b);
    if (!y || !context) return NULL;
    const size_t width = (size_t)y->shape[1], context_width = (size_t)context->shape[1];
    const attend_device *device = attend_device_of(c);
    device->add(&c->compute, (size_t)y->shape[0], width,
                (device_input){ .data = context->value + context_width - width, .stride = context_width },
                (device_output){ .data = y->value, .stride = width });
    device->activate(&c->compute, DEVICE_TANH, y->size, y->value, y->value);
    return y;
}
