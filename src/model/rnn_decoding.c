/* rnn_decoding.c: recurrent networks step by step. */
#include "core/memory.h"
#include "model/decoding.h"
#include "model/rnn.h"

typedef struct rnn_states {
    decoder d;
    kept_rows h[ATTEND_MAX_LAYERS], c[ATTEND_MAX_LAYERS], feed, last; /* last: weights of the step before */
    int *row_of;       /* (target words) zeros between steps; see word_input */
    decoder_state now; /* of the step that is being made */
} rnn_states;

/* Encodes the sources. What the encoder left in the context besides its last layer is not wanted any more: that moves to the front, and the decoder
 * takes the place of the rest. False: the context failed. */
static bool encode(attend_decoding *d, rnn_states *s, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    encoded e, kept = { 0 };
    kept_rows memory = { 0 };
    d->sources = attend_ragged_new(c, d->count, lengths);
    if (!d->sources || !attend_model_encode(c, d->m, source, d->sources, &e)) return false;
    bool room = attend_rows_keep(&memory, e.memory);
    for (int i = 0; room && i < d->m->config.layers; i++)
        room = attend_rows_keep(&s->h[i], e.start[i].h) && attend_rows_keep(&s->c[i], e.start[i].c);
    if (!room) attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d sources", d->count);
    attend_ctx_rewind(c, (attend_mark){ 0 });
    d->sources = attend_ragged_new(c, d->count, lengths);
    kept.memory = attend_rows_moved(c, &memory, attend_ragged_rows(d->sources));
    return attend_ctx_status(c) == ATTEND_OK && attend_decoder_new(c, d->m, &kept, d->sources, true, &s->d);
}

static bool begin(attend_decoding *d, const int *source, const int *lengths)
{
    const attend_model *m = d->m;
    rnn_states *s = d->states;
    s->feed.width = m->readout_width;
    s->last.width = d->longest;
    s->row_of = attend_memory_zeroed((size_t)m->config.target_vocab, sizeof *s->row_of);
    bool room = s->row_of != NULL;
    if (room && !encode(d, s, source, lengths)) return false;
    if (room && m->config.input_feeding) room = attend_rows_zero(&s->feed, d->count);
    if (room && m->config.attention && m->config.attention->needs_previous_weights) room = attend_rows_zero(&s->last, d->count);
    for (int i = 0; room && m->config.task == ATTEND_TASK_LANGUAGE_MODEL && i < m->config.layers; i++) {
        s->h[i].width = s->c[i].width = m->config.hidden;
        room = attend_rows_zero(&s->h[i], d->count) &&
               (m->config.cell != ATTEND_CELL_LSTM || attend_rows_zero(&s->c[i], d->count));
    }
    if (!room) attend_ctx_fail(d->c, ATTEND_NO_MEMORY, "no memory for the states of %d hypotheses", d->count);
    return room;
}

/* ---- a step ---- */

static void take_states(attend_decoding *d, const decoding_step *step, decoder_state *s)
{
    attend_ctx *c = d->c;
    const attend_config *o = &d->m->config;
    const rnn_states *kept = d->states;
    const int *parents = step->parents, n = step->count;
    *s = (decoder_state){ 0 };
    for (int i = 0; i < o->layers; i++) {
        s->layers[i].h = attend_rows_chosen(c, &kept->h[i], parents, n);
        if (kept->c[i].data) s->layers[i].c = attend_rows_chosen(c, &kept->c[i], parents, n);
    }
    if (o->input_feeding) s->feed = attend_rows_chosen(c, &kept->feed, parents, n);
    if (o->attention && o->attention->needs_previous_weights)
        s->previous = attend_weights_by_source(d, step, kept->last.data, d->longest, parents);
}

static bool store(attend_decoding *d, const decoding_step *step)
{
    rnn_states *kept = d->states;
    const decoder_state *s = &kept->now;
    bool ok = true;
    (void)step;
    for (int i = 0; ok && i < d->m->config.layers; i++)
        ok = attend_rows_keep(&kept->h[i], s->layers[i].h) && attend_rows_keep(&kept->c[i], s->layers[i].c);
    if (ok) ok = attend_rows_keep(&kept->feed, s->feed);
    return ok && attend_weights_copy(d, &kept->last, s->previous);
}

/* W y + bw of the first layer for the words of a step, each different word once; *which: the row of each hypothesis. */
static attend_var *word_input(attend_decoding *d, const int *words, int n, int **which)
{
    attend_ctx *c = d->c;
    rnn_states *s = d->states;
    int *different = attend_take(c, (size_t)n, sizeof *different), *at = attend_take(c, (size_t)n, sizeof *at);
    int count = 0;
    if (!different || !at) return NULL;
    for (int i = 0; i < n; i++) {
        if (s->row_of[words[i]] == 0) different[count++] = words[i], s->row_of[words[i]] = count;
        at[i] = s->row_of[words[i]] - 1;
    }
    for (int i = 0; i < count; i++) s->row_of[different[i]] = 0;
    *which = at;
    attend_var *y = attend_gather(c, attend_use(c, d->m->target_table), different, count);
    return y ? attend_decoder_input(c, &s->d, y) : NULL;
}

/* The layers, from states s to states s; returns the readout. */
static attend_var *run(attend_decoding *d, const decoding_step *step, attend_var *words, decoder_state *s,
                       decoder_step *look)
{
    attend_ctx *c = d->c;
    const decoder *x = &((rnn_states *)d->states)->d;
    if (model_luong(d->m)) return attend_decoder_recur(c, x, attend_decoder_input(c, x, words), NULL, s, look);
    attend_var *h;
    if (model_bahdanau(d->m)) {
        int *which = NULL;
        attend_var *input = word_input(d, step->words, step->count, &which);
        h = input ? attend_decoder_recur(c, x, input, which, s, look) : NULL;
        h = attend_decoder_layers(c, x, 1, h, step->singles, s->layers);
    } else {
        h = attend_decoder_layers(c, x, 0, words, step->singles, s->layers);
    }
    return attend_decoder_readout(c, x, h, look->context, words);
}

static attend_var *step_rnn(attend_decoding *d, const decoding_step *step)
{
    attend_ctx *c = d->c;
    rnn_states *s = d->states;
    decoder_step look = { .rows = step->queries,
                          .position = d->steps,
                          .one_position = true,
                          .want_weights = d->m->config.attention != NULL };
    take_states(d, step, &s->now);
    attend_var *y = attend_model_embed(c, d->m, d->m->target_table, step->words, step->singles);
    attend_var *readout = y ? run(d, step, y, &s->now, &look) : NULL;
    d->weights[0] = look.weights;
    return readout;
}

static void end(attend_decoding *d)
{
    rnn_states *s = d->states;
    for (int i = 0; i < ATTEND_MAX_LAYERS; i++) attend_memory_free(s->h[i].data), attend_memory_free(s->c[i].data);
    attend_memory_free(s->feed.data);
    attend_memory_free(s->last.data);
    attend_memory_free(s->row_of);
}

const architecture attend_rnn = {
    .name = "rnn",
    .settle = attend_rnn_settle,
    .conflict = attend_rnn_conflict,
    .max_tokens = attend_rnn_max_tokens,
    .attention_layers = attend_rnn_attention_layers,
    .attention_heads = attend_rnn_attention_heads,
    .embedding_range = 0.1,
    .build = attend_rnn_build,
    .free = attend_rnn_free,
    .force = attend_rnn_teacher_forcing,
    .state_size = sizeof(rnn_states),
    .begin = begin,
    .step = step_rnn,
    .store = store,
    .end = end,
};
