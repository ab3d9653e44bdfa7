/* rnn_decoder.c: the decoder's layers, its attention and its readout. Parts without feedback run over whole sentences.
 * The other parts are a step that training and decoding share.
 *
 *     context before (Bahdanau et al. 2015)
 *         c_t = attention(s_{t-1})    s_t = f(s_{t-1}, [y_{t-1} ; c_t])
 *     context after (Luong et al. 2015); with input feeding, r_{t-1} is part of the input
 *         s_t = f(s_{t-1}, [y_{t-1} ; r_{t-1}])    c_t = attention(s_t)    r_t = tanh(Wc [c_t ; s_t] + b)
 *
 * With context before, only the first layer depends on the attention, so the other layers run over whole
 * sentences. */
#include "attention/source.h"
#include "device/device.h"
#include "model/rnn.h"
#include <math.h>

/* A folded matrix as a constant: it is not a parameter of the model, so the context has no gradient for it. */
static attend_var *use_folded(attend_ctx *c, attend_param *p)
{
    attend_grads *grads = c->grads;
    c->grads = NULL;
    attend_var *v = attend_parameter(c, p);
    c->grads = grads;
    return v;
}

bool attend_decoder_attention(attend_ctx *c, const attend_model *m, const cross_attention *a, attend_var *memory,
                              const attend_ragged *sources, const folded_context *folded, decoder *d)
{
    const attend_config *o = &m->config;
    d->m = m;
    if (a->readout_w)
        d->readout_w = attend_parameter(c, a->readout_w), d->readout_b = attend_parameter(c, a->readout_b);
    if (a->position_w)
        d->position_w = attend_parameter(c, a->position_w), d->position_v = attend_parameter(c, a->position_v);
    if (!o->attention) return attend_ctx_status(c) == ATTEND_OK;

    attend_attention_options options = ATTEND_ATTENTION_OPTIONS_INIT;
    options.score = o->attention;
    options.heads = o->heads;
    options.window = o->window;
    options.window_size = o->window_size;
    options.selection = o->selection;
    options.estimator = o->estimator;
    options.temperature = o->temperature;
    options.entropy_bonus = o->entropy_bonus;
    attend_var *parameters[ATTEND_SCORE_PARAMETERS] = { NULL };
    for (int i = 0; i < ATTEND_SCORE_PARAMETERS && a->score[i]; i++) parameters[i] = attend_parameter(c, a->score[i]);
    attend_var *values = NULL;
    if (folded) {
        values = attend_linear(c, memory, use_folded(c, folded->context), NULL);
        d->folded_readout = use_folded(c, folded->readout);
    }
    d->source = attend_source_new(c, &options, parameters, memory, values, sources);
    return attend_ctx_status(c) == ATTEND_OK;
}

bool attend_decoder_new(attend_ctx *c, const attend_model *m, const encoded *e, const attend_ragged *sources, bool fold,
                        decoder *d)
{
    const attend_config *o = &m->config;
    const rnn *r = rnn_of(m);
    *d = (decoder){ .m = m };
    for (int i = 0; i < o->layers; i++) d->cells[i] = attend_rnn_cell(c, m, &r->decoder[i]);
    if (r->second_w) d->second_w = attend_parameter(c, r->second_w);
    const folded_context *folded = fold ? attend_folded_context(c, m) : NULL;
    if (!attend_decoder_attention(c, m, &r->attention, e->memory, sources, folded, d)) return false;
    if (!o->attention) return true;

    if (o->dropout > 0 && o->dropout_along_time && c->training && is_luong(m) && has_feedback(m))
        for (int i = 1; i < o->layers; i++) {
            const int shape[2] = { attend_ragged_count(sources), o->hidden };
            attend_var *ones = attend_var_new(c, 2, shape, false);
            if (ones) attend_device_of(c)->fill(&c->compute, ones->size, 1, ones->value);
            d->masks[i] = attend_dropout(c, ones, o->dropout);
        }
    return attend_ctx_status(c) == ATTEND_OK;
}

attend_var *attend_decoder_input(attend_ctx *c, const decoder *d, attend_var *embedded)
{
    return d->second_w ? attend_linear(c, embedded, d->cells[0].w, d->cells[0].bw) : embedded;
}

/* With diagonal_start: logit(t / S) of each query, where t is its position and S the length of its source, so that a
 * prediction of 0 leads to the diagonal. t is limited to [1/2, S - 1/2], where the logit is finite. */
static attend_var *diagonal(attend_ctx *c, const decoder *d, const decoder_step *step)
{
    const int n = attend_ragged_rows(step->rows);
    real *logits = attend_ctx_alloc(c, (size_t)n, sizeof *logits);
    if (!logits) return NULL;
    for (int b = 0, row = 0; b < attend_ragged_count(step->rows); b++) {
        const double length = fmax(1, d->source->d.key_rows.lengths[b]);
        for (int i = 0; i < attend_ragged_length(step->rows, b); i++) {
            const double t = step->position + (step->one_position ? 0 : i);
            const double share = fmax(fmin(t, length - 0.5), 0.5) / length;
            logits[row++] = (real)log(share / (1 - share));
        }
    }
    return attend_constant(c, 2, (const int[]){ n, 1 }, logits);
}

/* The position of the window of each query, as a share of its source's length: attend_window_position. */
static attend_var *window_position(attend_ctx *c, const decoder *d, attend_var *query, const decoder_step *step)
{
    if (!d->m->config.diagonal_start) return attend_window_position(c, query, d->position_w, d->position_v);
    attend_var *x = attend_tanh(c, attend_linear(c, query, d->position_w, NULL));
    return attend_sigmoid(c, attend_add(c, attend_linear(c, x, d->position_v, NULL), diagonal(c, d, step)));
}

attend_var *attend_decoder_attend(attend_ctx *c, const decoder *d, attend_var *query, decoder_state *s,
                                  decoder_step *step)
{
    attend_attention_inputs in = { .first_position = step->position,
                                   .one_position = step->one_position,
                                   .advantage = step->advantage };
    if (d->position_w) in.position = window_position(c, d, query, step);
    const bool uses_previous = d->m->config.attention->needs_previous_weights;
    if (uses_previous) in.previous = s->previous;
    attend_var *weights = NULL;
    step->context =
        attend_attention(c, d->source, query, step->rows, &in, step->need_weights || uses_previous ? &weights : NULL);
    step->weights = weights;
    if (uses_previous) s->previous = weights;
    return step->context;
}

attend_var *attend_decoder_layers(attend_ctx *c, const decoder *d, int first, attend_var *x,
                                  const attend_ragged *sentences, attend_state *states)
{
    for (int i = first; i < d->m->config.layers; i++) {
        if (i > 0) x = attend_model_dropout(c, d->m, x, sentences);
        x = attend_cell_sequence(c, &d->cells[i], x, sentences, false, &states[i]);
    }
    return x;
}

/* One step of the first layer. input: W y + bw; second: the context or the fed-back readout, whose product with
 * second_w is added; NULL: none. */
static attend_var *first_layer(attend_ctx *c, const decoder *d, attend_var *input, const int *rows, attend_var *second,
                               attend_state *state)
{
    attend_cell cell = d->cells[0];
    if (!second) {
        attend_var *x = rows ? attend_gather(c, input, rows, attend_dim(state->h, 0)) : input;
        return attend_cell_step(c, &cell, x, state);
    }
    cell.w = d->second_w;
    cell.bw = NULL;
    cell.base = input;
    cell.base_rows = rows;
    return attend_cell_step(c, &cell, second, state);
}

/* One step of the other layers. With dropout_along_time the masks are the same in every step. */
static attend_var *step_layers(attend_ctx *c, const decoder *d, attend_var *h, decoder_state *s,
                               const decoder_step *step)
{
    for (int i = 1; i < d->m->config.layers; i++) {
        attend_var *mask = d->masks[i];
        if (mask && step->running) mask = attend_gather(c, mask, step->running, attend_dim(h, 0));
        if (mask)
            h = attend_mul(c, h, mask);
        else if (d->m->config.dropout > 0)
            h = attend_dropout(c, h, d->m->config.dropout);
        h = attend_cell_step(c, &d->cells[i], h, &s->layers[i]);
    }
    return h;
}

attend_var *attend_decoder_recur(attend_ctx *c, const decoder *d, attend_var *input, const int *rows, decoder_state *s,
                                 decoder_step *step)
{
    if (is_bahdanau(d->m)) {
        attend_var *context = attend_decoder_attend(c, d, s->layers[0].h, s, step);
        if (context && d->folded_readout) {
            attend_cell cell = d->cells[0];
            cell.w = cell.bw = NULL;
            return attend_cell_step(c, &cell, attend_folded_input(c, input, rows, context), &s->layers[0]);
        }
        return context ? first_layer(c, d, input, rows, context, &s->layers[0]) : NULL;
    }
    attend_var *h = step_layers(c, d, first_layer(c, d, input, rows, s->feed, &s->layers[0]), s, step);
    attend_var *readout = attend_decoder_readout(c, d, h, attend_decoder_attend(c, d, h, s, step), NULL);
    if (s->feed) s->feed = readout;
    return readout;
}

attend_var *attend_decoder_readout(attend_ctx *c, const decoder *d, attend_var *state, attend_var *context,
                                   attend_var *embedded)
{
    if (d->folded_readout) return attend_folded_readout(c, d, state, context, embedded);
    if (!d->readout_w) return state;
    attend_var *parts[3];
    int count = 0;
    if (is_luong(d->m)) {
        parts[count++] = context;
        parts[count++] = state;
    } else {
        parts[count++] = state;
        if (d->m->config.attention) parts[count++] = context;
        parts[count++] = embedded;
    }
    return attend_tanh(c, attend_linear(c, attend_concat(c, parts, count), d->readout_w, d->readout_b));
}
