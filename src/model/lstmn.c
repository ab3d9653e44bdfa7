/* lstmn.c: the layers of an LSTMN, its encoder, and its decoder over given targets.
 *
 *     every layer     (ht, ct) = attention over (h, c) of previous tokens;  h_t, c_t = lstm(x_t, ht, ct)  (op/lstmn.c)
 *     shallow fusion  the decoder's h attends to the encoder's h;  readout tanh(Wc [context ; h] + b)
 *     deep fusion     each decoder layer also attends to (h, c) of the last encoder layer and adds r * at to its c
 *
 * The decoder does not start from the encoder's final state: its first token has no previous states. */
#include "model/lstmn.h"

#include <string.h>

static attend_lstmn_attention attention_of(attend_ctx *c, const lstmn_parts *p)
{
    return (attend_lstmn_attention){ .wk = attend_parameter(c, p->wk),
                                     .wx = attend_parameter(c, p->wx),
                                     .wt = attend_parameter(c, p->wt),
                                     .b = attend_parameter(c, p->b),
                                     .v = attend_parameter(c, p->v) };
}

attend_lstmn_cell attend_lstmn_cell_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l)
{
    return (attend_lstmn_cell){ .attention = attention_of(c, &l->own),
                                .w = attend_parameter(c, l->own.gates_w),
                                .u = attend_parameter(c, l->own.gates_u),
                                .b = attend_parameter(c, l->own.gates_b),
                                .span = m->config.span };
}

const attend_lstmn_source *attend_lstmn_source_of(attend_ctx *c, const attend_model *m, const lstmn_layer *l,
                                                  const lstmn_tapes *tapes, const attend_ragged *sources)
{
    if (!lstmn_is_fused(m)) return NULL;
    const attend_lstmn_fusion fusion = { .attention = attention_of(c, &l->source),
                                         .w = attend_parameter(c, l->source.gates_w),
                                         .u = attend_parameter(c, l->source.gates_u),
                                         .b = attend_parameter(c, l->source.gates_b) };
    return attend_lstmn_source_new(c, &fusion, tapes->h, tapes->c, sources);
}

/* ---- whole sentences ---- */

bool attend_lstmn_encode(attend_ctx *c, const attend_model *m, const int *tokens, const attend_ragged *sentences,
                         teacher_forcing *f, lstmn_tapes *out)
{
    attend_var *x = attend_model_embed(c, m, m->source_table, tokens, sentences);
    for (int i = 0; i < m->config.layers; i++) {
        const attend_lstmn_cell cell = attend_lstmn_cell_of(c, m, &lstmn_of(m)->encoder[i]);
        attend_lstmn_io io = { .want_weights =
                                   f && attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_ENCODER, i) };
        if (i > 0) x = attend_model_dropout(c, m, x, sentences);
        x = attend_lstmn_sequence(c, &cell, x, sentences, &io);
        if (f) attend_teacher_forcing_weights(f, ATTEND_ATTENTION_ENCODER, i, io.weights, 0);
        *out = (lstmn_tapes){ x, io.c };
    }
    return attend_ctx_status(c) == ATTEND_OK;
}

static attend_var *decode(teacher_forcing *f, const lstmn_tapes *tapes)
{
    attend_ctx *c = f->c;
    const attend_model *m = f->m;
    attend_var *x = attend_model_embed(c, m, m->target_table, f->inputs, f->targets);
    for (int i = 0; x && i < m->config.decoder_layers; i++) {
        const lstmn_layer *l = &lstmn_of(m)->decoder[i];
        const attend_lstmn_cell cell = attend_lstmn_cell_of(c, m, l);
        attend_lstmn_io io = { .source = attend_lstmn_source_of(c, m, l, tapes, f->sources) };
        io.want_weights = attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_DECODER, i);
        io.want_source_weights = io.source && attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, i);
        if (i > 0) x = attend_model_dropout(c, m, x, f->targets);
        x = attend_lstmn_sequence(c, &cell, x, f->targets, &io);
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_DECODER, i, io.weights, 0);
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, i, io.source_weights, 0);
    }
    return x;
}

/* ---- shallow fusion ---- */

/* For scores that use the previous weights: the attention step by step, over states that are all known. */
static attend_var *attend_in_steps(teacher_forcing *f, const decoder *d, attend_var *states)
{
    attend_ctx *c = f->c;
    const int count = f->pairs->count, rows = attend_ragged_rows(f->targets);
    int *ids = attend_ctx_alloc(c, (size_t)count, sizeof *ids),
        *order = attend_ctx_alloc(c, (size_t)rows, sizeof *order);
    attend_var **contexts = attend_ctx_alloc(c, (size_t)rows, sizeof *contexts);
    decoder_state s = { 0 };
    int steps = 0;
    for (int done = 0; order && contexts && done < rows; steps++) {
        int *lengths = attend_ctx_alloc(c, (size_t)count, sizeof *lengths), n = 0;
        for (int b = 0; lengths && b < count; b++) {
            lengths[b] = attend_ragged_length(f->targets, b) > steps;
            if (lengths[b]) order[done++] = ids[n++] = attend_ragged_offset(f->targets, b) + steps;
        }
        decoder_step step = { .rows = lengths ? attend_ragged_new(c, count, lengths) : NULL,
                              .position = steps,
                              .advantage = f->advantage,
                              .need_weights = attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, 0) };
        contexts[steps] = step.rows ? attend_decoder_attend(c, d, attend_gather(c, states, ids, n), &s, &step) : NULL;
        if (!contexts[steps]) return NULL;
        if (step.need_weights) attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, steps);
    }
    return attend_ctx_status(c) == ATTEND_OK ? attend_stack_at(c, contexts, steps, order) : NULL;
}

static attend_var *shallow_fusion(teacher_forcing *f, const lstmn_tapes *tapes, attend_var *states)
{
    attend_ctx *c = f->c;
    decoder d = { 0 };
    if (!states || !attend_decoder_attention(c, f->m, &lstmn_of(f->m)->attention, tapes->h, f->sources, NULL, &d))
        return NULL;
    attend_var *context;
    if (f->m->config.attention->needs_previous_weights) {
        context = attend_in_steps(f, &d, states);
    } else {
        decoder_step step = { .rows = f->targets,
                              .advantage = f->advantage,
                              .need_weights = attend_teacher_forcing_needs_weights(f, ATTEND_ATTENTION_CROSS, 0) };
        context = attend_decoder_attend(c, &d, states, NULL, &step);
        attend_teacher_forcing_weights(f, ATTEND_ATTENTION_CROSS, 0, step.weights, 0);
    }
    return context ? attend_decoder_readout(c, &d, states, context, NULL) : NULL;
}

attend_var *attend_lstmn_teacher_forcing(teacher_forcing *f)
{
    attend_ctx *c = f->c;
    const attend_model *m = f->m;
    const bool translates = m->config.task == ATTEND_TASK_TRANSLATION;
    lstmn_tapes tapes = { 0 };
    if (translates && !attend_lstmn_encode(c, m, f->pairs->source, f->sources, f, &tapes)) return NULL;
    attend_var *x = decode(f, &tapes);
    if (translates && !lstmn_is_fused(m)) x = shallow_fusion(f, &tapes, x);
    return x ? attend_model_dropout(c, m, x, f->targets) : NULL;
}
