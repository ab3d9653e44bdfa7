/* transformer_decoding.c: decoding with a Transformer. Each layer caches the keys and values of previous tokens
 * (attention/beam_cache.h); the keys and values of the source are computed once. */
#include "attention/beam_cache.h"
#include "core/memory.h"
#include "model/decoding.h"
#include "model/transformer.h"
#include <math.h>

typedef struct transformer_states {
    const attend_source *sources[ATTEND_MAX_LAYERS]; /* in the context, before the mark */
    attend_beam_cache *past[ATTEND_MAX_LAYERS];      /* of each layer: one row of key and value per token */
} transformer_states;

/* Encodes the sources. Only the last rows are needed afterwards: they move to the front of the context, and the rest is
 * freed. */
static attend_var *encode(attend_decoding *d, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    stored_rows rows = { 0 };
    d->sources = attend_ragged_new(c, d->count, lengths);
    attend_var *memory = d->sources ? attend_transformer_encode(c, d->m, source, d->sources, NULL) : NULL;
    if (memory && !attend_rows_store(&rows, memory))
        attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the states of %d sources", d->count);
    attend_ctx_rewind(c, (attend_mark){ 0 });
    d->sources = attend_ragged_new(c, d->count, lengths);
    return attend_rows_restore(c, &rows, attend_ragged_rows(d->sources));
}

static bool begin(attend_decoding *d, const int *source, const int *lengths)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    transformer_states *s = d->states;
    for (int i = 0; i < m->config.decoder_layers; i++)
        if (attend_beam_cache_new(&s->past[i], c, 2 * m->config.hidden) != ATTEND_OK) {
            attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for decoding");
            return false;
        }
    if (m->config.task == ATTEND_TASK_LANGUAGE_MODEL) {
        d->sources = attend_ragged_new(c, d->count, lengths);
        return d->sources != NULL;
    }
    attend_var *memory = encode(d, source, lengths);
    for (int i = 0; memory && i < m->config.decoder_layers; i++)
        s->sources[i] = attend_transformer_source(c, m, &transformer_of(m)->decoder[i], memory, d->sources);
    if (memory) d->alignment_source = attend_alignment_head_source(c, m, memory, d->sources);
    return attend_ctx_status(c) == ATTEND_OK;
}

static attend_var *self_attention(attend_decoding *d, const decoding_step *step, int i, attend_var *x)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    const transformer_layer *l = &transformer_of(m)->decoder[i];
    const int width = m->config.hidden;
    attend_beam_cache *past = ((transformer_states *)d->states)->past[i];
    attend_var *qkv = attend_transformer_linear(c, &l->qkv, attend_sublayer_input(c, m, &l->self_norm, x));
    qkv = attend_transformer_rotate(c, m, qkv, step->singles, d->steps);
    attend_var *context = qkv ? attend_var_2d(c, step->count, width, false) : NULL;
    if (!context) return NULL;
    if (attend_beam_cache_step(past, step->count, d->steps > 0 ? step->parents : NULL, qkv->value + width,
                               3 * (size_t)width) != ATTEND_OK) {
        attend_ctx_fail(c, ATTEND_NO_MEMORY, "no memory for the keys and values of %d hypotheses", step->count);
        return NULL;
    }
    const int head = width / m->config.heads;
    const beam_attention attention = { .query = qkv->value,
                                       .query_stride = 3 * (size_t)width,
                                       .heads = m->config.heads,
                                       .width = head,
                                       .value = (size_t)width,
                                       .scale = 1 / sqrt(head),
                                       .context = context->value,
                                       .context_stride = (size_t)width };
    if (!attend_beam_cache_attend(c, past, &attention)) return NULL;
    return attend_sublayer_output(c, m, &l->self_norm, x, attend_transformer_linear(c, &l->self_out, context));
}

static attend_var *cross_attend(attend_decoding *d, const decoding_step *step, int i, attend_var *x)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    const transformer_layer *l = &transformer_of(m)->decoder[i];
    const attend_attention_inputs none = { 0 };
    attend_var *weights = NULL;
    attend_var *query = attend_transformer_linear(c, &l->query, attend_sublayer_input(c, m, &l->cross_norm, x));
    attend_var *context =
        attend_attention(c, ((transformer_states *)d->states)->sources[i], query, step->queries, &none, &weights);
    d->weights[i] = weights;
    return attend_sublayer_output(c, m, &l->cross_norm, x, attend_transformer_linear(c, &l->cross_out, context));
}

static attend_var *step_transformer(attend_decoding *d, const decoding_step *step)
{
    attend_ctx *c = d->c;
    const attend_model *m = d->m;
    const transformer *t = transformer_of(m);
    attend_var *x =
        attend_transformer_embed(c, m, m->target_table, t->target_position, step->tokens, step->singles, d->steps);
    for (int i = 0; x && i < m->config.decoder_layers; i++) {
        x = self_attention(d, step, i, x);
        if (x && m->config.task == ATTEND_TASK_TRANSLATION) x = cross_attend(d, step, i, x);
        if (x) x = attend_sublayer_feed(c, m, &t->decoder[i], x);
        if (i == attend_transformer_aligned_layer(m)) attend_decoding_align(d, step, x);
    }
    return x ? attend_sublayer_input(c, m, &t->decoder_norm, x) : NULL;
}

/* step has added the keys and values to the caches. */
static bool store(attend_decoding *d, const decoding_step *step)
{
    (void)d, (void)step;
    return true;
}

static void end(attend_decoding *d)
{
    transformer_states *s = d->states;
    for (int i = 0; i < ATTEND_MAX_LAYERS; i++) attend_beam_cache_free(s->past[i]);
}

const architecture attend_transformer = {
    .name = "transformer",
    .set_defaults = attend_transformer_set_defaults,
    .conflict = attend_transformer_conflict,
    .max_tokens = attend_transformer_max_tokens,
    .attention_layers = attend_transformer_attention_layers,
    .attention_heads = attend_transformer_attention_heads,
    .sizes = attend_transformer_sizes,
    .embedding_range = 0,
    .build = attend_transformer_build,
    .free = attend_transformer_free,
    .teacher_forcing = attend_transformer_teacher_forcing,
    .state_size = sizeof(transformer_states),
    .begin = begin,
    .step = step_transformer,
    .store = store,
    .end = end,
};
