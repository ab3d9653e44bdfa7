/* lstmn_decoding.c: decoding with an LSTMN. A step runs the operation for whole sentences on sentences of one token;
 * each layer caches one row of its tape per token (attention/beam_cache.h). The keys of the source are computed
 * once. */
#include "attention/beam_cache.h"
#include "core/memory.h"
#include "model/decoding.h"
#include "model/lstmn.h"
#include "op/lstmn.h"
#include <string.h>

typedef struct lstmn_states {
    decoder d;                                             /* shallow fusion: attention and readout */
    const attend_lstmn_source *sources[ATTEND_MAX_LAYERS]; /* deep fusion; in the context, before the mark */
    attend_beam_cache *past[ATTEND_MAX_LAYERS];            /* of each layer of the decoder */
    stored_rows last;                                      /* previous weights, if the score uses them */
    /* of the current step */
    attend_var *tapes[ATTEND_MAX_LAYERS], *previous;
} lstmn_states;

/* Encodes the sources. Only the last tapes are needed afterwards: they move to the front of the context, and the rest
 * is freed. */
static bool encode(attend_decoding *d, const int *source, const int *lengths, lstmn_tapes *tapes)
{
    attend_ctx *c = d->c;
    stored_rows h = { 0 }, memory = { 0 };
    d->sources = attend_ragged_new(c, d->count, lengths);
    bool ok = d->sources && attend_lstmn_encode(c, d->m, source, d->sources, NULL, tapes);
    if (ok &&
        (!attend_rows_store(&h, tapes->h) || !attend_rows_store(&memory, lstmn_is_fused(d->m) ? tapes->c : NULL))) {
        attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d sources", d->count);
        ok = false;
    }
    attend_ctx_rewind(c, (attend_mark){ 0 });
    d->sources = ok ? attend_ragged_new(c, d->count, lengths) : NULL;
    const int rows = attend_ragged_rows(d->sources);
    *tapes = (lstmn_tapes){ .h = attend_rows_restore(c, &h, rows), .c = attend_rows_restore(c, &memory, rows) };
    return attend_ctx_status(c) == ATTEND_OK;
}

static bool begin_layers(attend_decoding *d, const lstmn_tapes *tapes)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    lstmn_states *s = d->states;
    for (int i = 0; i < m->config.decoder_layers; i++) {
        const lstmn_layer *l = &lstmn_of(m)->decoder[i];
        s->sources[i] = attend_lstmn_source_of(c, m, l, tapes, d->sources);
        if (attend_ctx_status(c) != ATTEND_OK) return false;
        const attend_lstmn_cell cell = attend_lstmn_cell_of(c, m, l);
        if (attend_ctx_status(c) != ATTEND_OK) return false;
        if (attend_beam_cache_new(&s->past[i], c, attend_lstmn_tape_width(&cell, s->sources[i])) != ATTEND_OK) {
            attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for decoding");
            return false;
        }
    }
    return true;
}

static bool begin(attend_decoding *d, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    lstmn_states *s = d->states;
    lstmn_tapes tapes = { 0 };
    if (m->config.task == ATTEND_TASK_LANGUAGE_MODEL) {
        d->sources = attend_ragged_new(c, d->count, lengths);
        return d->sources && begin_layers(d, &tapes);
    }
    if (!encode(d, source, lengths, &tapes) || !begin_layers(d, &tapes)) return false;
    if (lstmn_is_fused(m)) return true;
    s->last.width = d->max_length;
    if (m->config.attention->needs_previous_weights && !attend_rows_zero(c, &s->last, d->count)) {
        attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d hypotheses", d->count);
        return false;
    }
    return attend_decoder_attention(c, m, &lstmn_of(m)->attention, tapes.h, d->sources, NULL, &s->d);
}

/* ---- a step ---- */

/* The previous tokens that each hypothesis attends to. False: no memory. */
static bool take_past(attend_decoding *d, const decoding_step *step, int layer, attend_lstmn_past *out)
{
    attend_ctx *c = d->c;
    const attend_beam_cache *past = ((lstmn_states *)d->states)->past[layer];
    const int span = d->m->config.span;
    int *lengths = attend_ctx_alloc(c, (size_t)step->count, sizeof *lengths);
    size_t all = 0;
    for (int i = 0; lengths && i < step->count; i++) {
        const int known = attend_beam_cache_length(past, step->parents[i]);
        lengths[i] = span && span < known ? span : known;
        all += (size_t)lengths[i];
    }
    const real **rows = lengths ? attend_ctx_alloc(c, all, sizeof *rows) : NULL, **row = rows;
    for (int i = 0; rows && i < step->count; i++) {
        const int known = attend_beam_cache_length(past, step->parents[i]);
        for (int j = known - lengths[i]; j < known; j++) *row++ = attend_beam_cache_row(past, step->parents[i], j);
    }
    *out = (attend_lstmn_past){ .rows = rows, .lengths = lengths };
    return rows != NULL;
}

static attend_var *step_layer(attend_decoding *d, const decoding_step *step, int i, attend_var *x)
{
    attend_ctx *c = d->c;
    lstmn_states *s = d->states;
    const attend_lstmn_cell cell = attend_lstmn_cell_of(c, d->m, &lstmn_of(d->m)->decoder[i]);
    attend_lstmn_past past;
    attend_lstmn_io io = { .source = s->sources[i], .source_of = d->source_of, .want_tape = true };
    io.want_source_weights = io.source != NULL;
    if (d->steps > 0) {
        if (!take_past(d, step, i, &past)) return NULL;
        io.past = &past;
    }
    attend_var *h = attend_lstmn_step(c, &cell, x, step->singles, &io);
    s->tapes[i] = io.tape;
    if (h && io.source_weights) /* (hypotheses, 1, 1, Tk) */
        d->weights[i] = attend_weights_by_source(d, step, io.source_weights->value, io.source_weights->shape[3], NULL);
    return h;
}

static attend_var *step_lstmn(attend_decoding *d, const decoding_step *step)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    lstmn_states *s = d->states;
    attend_var *x = attend_model_embed(c, m, m->target_table, step->tokens, step->singles);
    for (int i = 0; x && i < m->config.decoder_layers; i++) x = step_layer(d, step, i, x);
    if (!x || !s->d.source) return x;
    decoder_state state = { 0 };
    decoder_step attention = {
        .rows = step->queries, .position = d->steps, .one_position = true, .need_weights = true
    };
    if (m->config.attention->needs_previous_weights)
        state.previous = attend_weights_by_source(d, step, s->last.data, d->max_length, step->parents);
    attend_var *context = attend_decoder_attend(c, &s->d, x, &state, &attention);
    d->weights[0] = attention.weights;
    s->previous = state.previous;
    return context ? attend_decoder_readout(c, &s->d, x, context, NULL) : NULL;
}

static bool store(attend_decoding *d, const decoding_step *step)
{
    lstmn_states *s = d->states;
    for (int i = 0; i < d->m->config.decoder_layers; i++)
        if (attend_beam_cache_step(s->past[i], step->count, d->steps > 0 ? step->parents : NULL, s->tapes[i]->value,
                                   (size_t)s->tapes[i]->shape[1]) != ATTEND_OK)
            return false;
    return attend_weights_store(d, &s->last, s->previous);
}

static void end(attend_decoding *d)
{
    lstmn_states *s = d->states;
    for (int i = 0; i < ATTEND_MAX_LAYERS; i++) attend_beam_cache_free(s->past[i]);
    attend_rows_free(&s->last);
}

const architecture attend_lstmn = {
    .name = "lstmn",
    .set_defaults = attend_lstmn_set_defaults,
    .conflict = attend_lstmn_conflict,
    .max_tokens = attend_lstmn_max_tokens,
    .attention_layers = attend_lstmn_attention_layers,
    .attention_heads = attend_lstmn_attention_heads,
    .embedding_range = 0.1,
    .build = attend_lstmn_build,
    .free = attend_lstmn_free,
    .teacher_forcing = attend_lstmn_teacher_forcing,
    .state_size = sizeof(lstmn_states),
    .begin = begin,
    .step = step_lstmn,
    .store = store,
    .end = end,
};
