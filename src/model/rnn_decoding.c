/* rnn_decoding.c: decoding with recurrent networks. */
#include "core/memory.h"
#include "model/decoding.h"
#include "model/rnn.h"

typedef struct rnn_states {
    decoder d;
    stored_rows h[ATTEND_MAX_LAYERS], c[ATTEND_MAX_LAYERS], feed, last; /* last: weights of the previous step */
    int *row_of;       /* (target_vocab) 0 between steps; see token_input */
    decoder_state now; /* of the current step */
} rnn_states;

/* Encodes the sources. Only the memory is needed afterwards: it moves to the front of the context, and the rest is
 * freed. False: the context failed. */
static bool encode(attend_decoding *d, rnn_states *s, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    encoded e, moved = { 0 };
    stored_rows memory = { 0 };
    d->sources = attend_ragged_new(c, d->count, lengths);
    if (!d->sources || !attend_rnn_encode(c, d->m, source, d->sources, &e)) return false;
    bool ok = attend_rows_store(&memory, e.memory);
    for (int i = 0; ok && i < d->m->config.layers; i++)
        ok = attend_rows_store(&s->h[i], e.start[i].h) && attend_rows_store(&s->c[i], e.start[i].c);
    if (!ok) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d sources", d->count);
    attend_ctx_rewind(c, (attend_mark){ 0 });
    d->sources = attend_ragged_new(c, d->count, lengths);
    moved.memory = attend_rows_restore(c, &memory, attend_ragged_rows(d->sources));
    d->alignment_source = attend_alignment_head_source(c, d->m, moved.memory, d->sources);
    return attend_ctx_status(c) == ATTEND_OK && attend_decoder_new(c, d->m, &moved, d->sources, true, &s->d);
}

static bool begin(attend_decoding *d, const int *source, const int *lengths)
{
    const attend_model *m = d->m;
    rnn_states *s = d->states;
    s->feed.width = m->readout_width;
    s->last.width = d->max_length;
    s->row_of = attend_memory_zeroed((size_t)m->config.target_vocab, sizeof *s->row_of);
    bool ok = s->row_of != NULL;
    if (ok && !encode(d, s, source, lengths)) return false;
    if (ok && m->config.input_feeding) ok = attend_rows_zero(d->c, &s->feed, d->count);
    if (ok && m->config.attention && m->config.attention->needs_previous_weights)
        ok = attend_rows_zero(d->c, &s->last, d->count);
    for (int i = 0; ok && m->config.task == ATTEND_TASK_LANGUAGE_MODEL && i < m->config.layers; i++) {
        s->h[i].width = s->c[i].width = m->config.hidden;
        ok = attend_rows_zero(d->c, &s->h[i], d->count) &&
             (m->config.cell != ATTEND_CELL_LSTM || attend_rows_zero(d->c, &s->c[i], d->count));
    }
    if (!ok) attend_ctx_fail(d->c, ATTEND_NO_MEMORY, "no memory for the states of %d hypotheses", d->count);
    return ok;
}

/* ---- a step ---- */

static void load_states(attend_decoding *d, const decoding_step *step, decoder_state *s)
{
    attend_ctx *c = d->c;
    const attend_config *o = &d->m->config;
    const rnn_states *states = d->states;
    const int *parents = step->parents, n = step->count;
    *s = (decoder_state){ 0 };
    for (int i = 0; i < o->layers; i++) {
        s->layers[i].h = attend_rows_gather(c, &states->h[i], parents, n);
        if (states->c[i].data) s->layers[i].c = attend_rows_gather(c, &states->c[i], parents, n);
    }
    if (o->input_feeding) s->feed = attend_rows_gather(c, &states->feed, parents, n);
    if (o->attention && o->attention->needs_previous_weights)
        s->previous = attend_weights_by_source(d, step, states->last.data, d->max_length, parents);
}

static bool store(attend_decoding *d, const decoding_step *step)
{
    rnn_states *states = d->states;
    const decoder_state *s = &states->now;
    bool ok = true;
    (void)step;
    for (int i = 0; ok && i < d->m->config.layers; i++)
        ok = attend_rows_store(&states->h[i], s->layers[i].h) && attend_rows_store(&states->c[i], s->layers[i].c);
    if (ok) ok = attend_rows_store(&states->feed, s->feed);
    return ok && attend_weights_store(d, &states->last, s->previous);
}

/* W y + bw of the first layer for the tokens of a step, once for each distinct token. *which: the row of each
 * hypothesis. */
static attend_var *token_input(attend_decoding *d, const int *tokens, int n, int **which)
{
    attend_ctx *c = d->c;
    rnn_states *s = d->states;
    int *distinct = attend_ctx_alloc(c, (size_t)n, sizeof *distinct), *at = attend_ctx_alloc(c, (size_t)n, sizeof *at);
    int count = 0;
    if (!distinct || !at) return NULL;
    for (int i = 0; i < n; i++) {
        if (s->row_of[tokens[i]] == 0) distinct[count++] = tokens[i], s->row_of[tokens[i]] = count;
        at[i] = s->row_of[tokens[i]] - 1;
    }
    for (int i = 0; i < count; i++) s->row_of[distinct[i]] = 0;
    *which = at;
    attend_var *y = attend_gather(c, attend_parameter(c, d->m->target_table), distinct, count);
    return y ? attend_decoder_input(c, &s->d, y) : NULL;
}

/* Runs the layers, updates the states s, and returns the readout. */
static attend_var *run(attend_decoding *d, const decoding_step *step, attend_var *embedded, decoder_state *s,
                       decoder_step *attention)
{
    attend_ctx *c = d->c;
    const decoder *x = &((rnn_states *)d->states)->d;
    if (is_luong(d->m)) return attend_decoder_recur(c, x, attend_decoder_input(c, x, embedded), NULL, s, attention);
    attend_var *h;
    if (is_bahdanau(d->m)) {
        int *which = NULL;
        attend_var *input = token_input(d, step->tokens, step->count, &which);
        h = input ? attend_decoder_recur(c, x, input, which, s, attention) : NULL;
        h = attend_decoder_layers(c, x, 1, h, step->singles, s->layers);
    } else {
        h = attend_decoder_layers(c, x, 0, embedded, step->singles, s->layers);
    }
    return attend_decoder_readout(c, x, h, attention->context, embedded);
}

static attend_var *step_rnn(attend_decoding *d, const decoding_step *step)
{
    attend_ctx *c = d->c;
    rnn_states *s = d->states;
    decoder_step attention = { .rows = step->queries,
                               .position = d->steps,
                               .one_position = true,
                               .need_weights = d->m->config.attention != NULL };
    load_states(d, step, &s->now);
    attend_var *y = attend_model_embed(c, d->m, d->m->target_table, step->tokens, step->singles);
    attend_var *readout = y ? run(d, step, y, &s->now, &attention) : NULL;
    d->weights[0] = attention.weights;
    attend_decoding_align(d, step, readout);
    return readout;
}

static void end(attend_decoding *d)
{
    rnn_states *s = d->states;
    for (int i = 0; i < ATTEND_MAX_LAYERS; i++) attend_rows_free(&s->h[i]), attend_rows_free(&s->c[i]);
    attend_rows_free(&s->feed);
    attend_rows_free(&s->last);
    attend_memory_free(s->row_of);
}

const architecture attend_rnn = {
    .name = "rnn",
    .set_defaults = attend_rnn_set_defaults,
    .conflict = attend_rnn_conflict,
    .max_tokens = attend_rnn_max_tokens,
    .attention_layers = attend_rnn_attention_layers,
    .attention_heads = attend_rnn_attention_heads,
    .embedding_range = 0.1,
    .build = attend_rnn_build,
    .free = attend_rnn_free,
    .teacher_forcing = attend_rnn_teacher_forcing,
    .state_size = sizeof(rnn_states),
    .begin = begin,
    .step = step_rnn,
    .store = store,
    .end = end,
};
