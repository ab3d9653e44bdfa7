/* rnn_encoder.c: recurrent layers over the source, in one direction or both; the states of both directions are
 * concatenated.
 *     h_i = [f(x_i, h_{i-1}) ; f'(x_i, h_{i+1})]     s_0 = tanh(W [h_m ; h_1] + b), for each layer */
#include "model/rnn.h"

attend_cell attend_rnn_cell(attend_ctx *c, const attend_model *m, const rnn_cell *p)
{
    return (attend_cell){ .kind = m->config.cell,
                          .activation = m->config.activation,
                          .w = attend_parameter(c, p->w),
                          .u = attend_parameter(c, p->u),
                          .bw = attend_parameter(c, p->bw),
                          .bu = attend_parameter(c, p->bu) };
}

/* One layer. *last: the final states of both directions, concatenated. */
static attend_var *layer(attend_ctx *c, const attend_model *m, const rnn_cell *cells, attend_var *x,
                         const attend_ragged *sentences, attend_state *last)
{
    const int directions = m->config.bidirectional ? 2 : 1;
    attend_var *h[2], *ends[2], *memories[2];
    for (int direction = 0; direction < directions; direction++) {
        const attend_cell cell = attend_rnn_cell(c, m, &cells[direction]);
        attend_state state = { NULL, NULL };
        h[direction] = attend_cell_sequence(c, &cell, x, sentences, direction == 1, &state);
        ends[direction] = state.h;
        memories[direction] = state.c;
    }
    const bool lstm = m->config.cell == ATTEND_CELL_LSTM;
    *last = (attend_state){ ends[0], lstm ? memories[0] : NULL };
    if (directions == 1) return h[0];
    last->h = attend_concat(c, ends, 2);
    if (lstm) last->c = attend_concat(c, memories, 2);
    return attend_concat(c, h, 2);
}

static attend_state start_of(attend_ctx *c, const attend_model *m, int i, attend_state last)
{
    const rnn *r = rnn_of(m);
    if (m->config.start == ATTEND_START_COPY) return last;
    attend_state s = { .h = attend_tanh(c, attend_linear(c, last.h, attend_parameter(c, r->start_w[i][0]),
                                                         attend_parameter(c, r->start_b[i][0]))) };
    if (last.c)
        s.c = attend_linear(c, last.c, attend_parameter(c, r->start_w[i][1]), attend_parameter(c, r->start_b[i][1]));
    return s;
}

bool attend_rnn_encode(attend_ctx *c, const attend_model *m, const int *tokens, const attend_ragged *sentences,
                       encoded *out)
{
    const rnn *r = rnn_of(m);
    *out = (encoded){ 0 };
    if (m->config.task == ATTEND_TASK_LANGUAGE_MODEL) return attend_ctx_status(c) == ATTEND_OK;
    attend_var *x = attend_model_embed(c, m, m->source_table, tokens, sentences);
    for (int i = 0; i < m->config.layers && x; i++) {
        attend_state last;
        if (i > 0) x = attend_model_dropout(c, m, x, sentences);
        x = layer(c, m, r->encoder[i], x, sentences, &last);
        out->start[i] = start_of(c, m, i, last);
    }
    if (r->attention.memory_w)
        x = attend_linear(c, x, attend_parameter(c, r->attention.memory_w), attend_parameter(c, r->attention.memory_b));
    if (m->config.attention) out->memory = x;
    return attend_ctx_status(c) == ATTEND_OK;
}
