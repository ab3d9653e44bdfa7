/* output.c: the output layer with shortlists. device/cpu_tokens.c computes the probabilities. */
#include "model/output.h"

#include "model/shortlist.h"
#include "op/packed_weights.h"

/* The tail (output_tail) is every TAIL_STEP-th token from TAIL_FIRST on. */
enum { TAIL_STEP = 16, TAIL_FIRST = 5 };

void attend_output_new(output_layer *o, const attend_model *m)
{
    *o = (output_layer){ .m = m, .width = (size_t)m->config.target_vocab };
}

/* ---- shortlists ---- */

/* Packs the columns of the output layer for n tokens, with their biases. */
static bool columns_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, int n, const int *tokens,
                        packed_matrix *w, const real **biases)
{
    const size_t count = (size_t)n;
    const attend_device *d = attend_device_of(c);
    void *data = attend_ctx_alloc_device(c, d->packed_bytes(&c->compute, all->precision, all->k, count), 1);
    real *b = attend_ctx_alloc_reals(c, count), *scales = all->scales ? attend_ctx_alloc_reals(c, count) : NULL;
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    d->pack_columns(&c->compute, all, count, tokens, data);
    d->copy(&c->compute, count, 1, (device_input){ m->output_b->value, 1, tokens },
            (device_output){ .data = b, .stride = 1 });
    if (scales)
        d->copy(&c->compute, count, 1, (device_input){ all->scales, 1, tokens },
                (device_output){ .data = scales, .stride = 1 });
    *w = (packed_matrix){
        .precision = all->precision, .compute = all->compute, .k = all->k, .n = count, .data = data, .scales = scales
    };
    *biases = b;
    return true;
}

static bool tail_new(attend_ctx *c, const attend_model *m, const packed_matrix *all, output_tail *out)
{
    const int vocab = m->config.target_vocab;
    out->tokens = attend_ctx_alloc(c, (size_t)(vocab / TAIL_STEP) + 1, sizeof *out->tokens);
    out->count = 0;
    for (int token = TAIL_FIRST; out->tokens && token < vocab; token += TAIL_STEP) out->tokens[out->count++] = token;
    return out->tokens && (out->count == 0 || columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b));
}

static bool shortlist_output_new(attend_ctx *c, const attend_model *m, const packed_matrix *all,
                                 const output_tail *tail, int n, const int *source, device_shortlist *out)
{
    out->tokens = attend_shortlist_tokens(c, m, n, source, &out->count);
    real *is_outside = attend_ctx_alloc(c, (size_t)tail->count, sizeof *is_outside);
    real *on_device = attend_ctx_alloc_reals(c, (size_t)tail->count);
    if (!out->tokens || !is_outside || !on_device || !columns_new(c, m, all, out->count, out->tokens, &out->w, &out->b))
        return false;
    int at = 0, outside = 0;
    for (int i = 0; i < tail->count; i++) { /* both lists are sorted */
        while (at < out->count && out->tokens[at] < tail->tokens[i]) at++;
        const bool listed = at < out->count && out->tokens[at] == tail->tokens[i];
        is_outside[i] = listed ? 0 : 1;
        outside += !listed;
    }
    c->memory->upload(on_device, is_outside, (size_t)tail->count * sizeof *is_outside);
    out->outside = on_device;
    out->represented = outside ? (real)(m->config.target_vocab - out->count) / (real)outside : 0;
    for (int i = 0; i < out->count; i++)
        if (out->tokens[i] == ATTEND_END) out->end = (size_t)i;
    return true;
}

bool attend_output_use_shortlists(attend_ctx *c, output_layer *o, const attend_ragged *sources, const int *tokens)
{
    packed_matrix all;
    const attend_var *output_w = attend_parameter(c, o->m->output_w);
    const int count = attend_ragged_count(sources);
    device_shortlist *shortlists = attend_ctx_alloc(c, (size_t)count, sizeof *shortlists);
    if (!shortlists || !output_w || !attend_var_matrix(c, output_w, &all) || !tail_new(c, o->m, &all, &o->tail))
        return false;
    o->width = 0;
    for (int i = 0, at = 0; i < count; i++) {
        const int n = attend_ragged_length(sources, i);
        if (!shortlist_output_new(c, o->m, &all, &o->tail, n, tokens + at, &shortlists[i])) return false;
        if ((size_t)shortlists[i].count > o->width) o->width = (size_t)shortlists[i].count;
        at += n;
    }
    o->shortlists = shortlists;
    return true;
}

/* ---- a step ---- */

bool attend_output_step(attend_ctx *c, output_layer *o, attend_var *readout, const int *source_of)
{
    const size_t rows = (size_t)readout->shape[0], best = rows * (size_t)o->top_k;
    device_tokens t = { .rows = rows,
                        .x = readout->value,
                        .b = o->m->output_b->value,
                        .excluded = ATTEND_BEGIN,
                        .end = ATTEND_END,
                        .shortlists = o->shortlists,
                        .source_of = source_of,
                        .tail_w = o->tail.w,
                        .tail_b = o->tail.b,
                        .tail_count = (size_t)o->tail.count,
                        .width = o->width,
                        .top_k = o->top_k };
    o->log_p = NULL;
    const attend_var *output_w = attend_parameter(c, o->m->output_w);
    if (!output_w || !attend_var_matrix(c, output_w, &t.w)) return false;
    if (o->top_k == 0) {
        t.log_p = attend_ctx_alloc(c, rows * o->width, sizeof *t.log_p);
    } else {
        o->best_tokens = t.best_tokens = attend_ctx_alloc(c, best, sizeof *t.best_tokens);
        o->best_count = t.best_count = attend_ctx_alloc(c, rows, sizeof *t.best_count);
        o->best_log_p = t.best_log_p = attend_ctx_alloc(c, best, sizeof *t.best_log_p);
        o->end_log_p = t.end_log_p = attend_ctx_alloc(c, rows, sizeof *t.end_log_p);
    }
    if (attend_ctx_status(c) != ATTEND_OK) return false;
    if (!attend_ctx_computed(c, attend_device_of(c)->next_tokens(&c->compute, &t)) || !attend_ctx_check_device(c))
        return false;
    o->log_p = t.log_p;
    return true;
}
