/* attention.c: attention as an operation on the tape. This file checks the arguments; device/cpu_attention.c does the computation. */
#include <attend/attention.h>

#include "attention/attention_call.h"
#include "op/ragged.h"
#include <string.h>

/* Weights of small calls, such as a batch of sentences, are stored for backward; larger calls recompute them. */
enum { MAX_STORED_WEIGHTS = 1 << 18 };

static void backward(attend_ctx *c, attend_node *node)
{
    attention_call *a = (attention_call *)node;
    if (!a->context->grad && !(a->weights && a->weights->grad)) return;
    const selector *select = &a->d.select;
    if (select->selection == ATTEND_SELECT_HARD && select->training && select->estimator == ATTEND_REINFORCE &&
        !a->d.advantage) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_attention: REINFORCE needs an advantage for the backward pass");
        return;
    }
    const attend_source *s = a->source;
    device_attention *d = &a->d;
    d->dcontext = a->context->grad, d->dweights = a->weights ? a->weights->grad : NULL;
    d->dquery = attend_grad(c, a->query), d->dkey = attend_grad(c, s->keys), d->dvalue = attend_grad(c, s->values);
    d->dbias = attend_grad(c, a->bias), d->dposition = attend_grad(c, a->position);
    d->dprevious = attend_grad(c, a->previous);
    for (int p = 0; p < s->d.parameter_count; p++)
        if (s->d.score.tile_parameters & 1u << p) d->dparameters[p] = attend_grad(c, s->parameters[p]);
    if (c->status == ATTEND_OK) attend_ctx_computed(c, attend_device_of(c)->attention_backward(&c->compute, d));
}

/* Computes the strides of a mask with four axes; an axis of length 1 is broadcast. Returns false if the shape does
 * not fit. */
static bool mask_strides(attend_ctx *c, const char *what, const int shape[4], const int full[4], size_t strides[4])
{
    size_t step = 1;
    for (int i = 3; i >= 0; i--) {
        if (shape[i] != 1 && shape[i] != full[i]) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_attention: axis %d of %s has length %d, expected 1 or %d", i,
                            what, shape[i], full[i]);
            return false;
        }
        strides[i] = shape[i] == 1 ? 0 : step;
        step *= (size_t)shape[i];
    }
    return true;
}

static bool set_inputs(attend_ctx *c, attention_call *a, const attend_attention_inputs *in)
{
    const attend_attention_options *o = &a->source->options;
    const int full[4] = { a->source->d.count, o->heads, a->d.max_queries, a->source->d.max_keys };
    static const attend_attention_inputs none;
    if (!in) in = &none;
    if (in->allowed && !mask_strides(c, "the mask", in->allowed_shape, full, a->d.allowed_strides)) return false;
    a->d.allowed = in->allowed;
    a->d.advantage = in->advantage;
    a->d.first_position = in->first_position;
    a->d.one_position = in->one_position;
    if (in->bias) {
        if (!attend_check_inputs(c, "attend_attention", 1, in->bias)) return false;
        if (in->bias->rank != 4) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_attention: the bias has %d axes, expected 4", in->bias->rank);
            return false;
        }
        if (!mask_strides(c, "the bias", in->bias->shape, full, a->d.bias_strides)) return false;
        a->bias = in->bias;
        a->d.bias = in->bias->value;
    }
    if (o->window == ATTEND_WINDOW_LOCAL_P) {
        if (!in->position) attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_attention: a local-p window needs a position");
        if (!in->position || !attend_check_inputs(c, "attend_attention", 1, in->position)) return false;
        const size_t rows = a->d.query_rows.offsets ? (size_t)a->query->shape[0] : (size_t)full[0] * (size_t)full[2];
        if (in->position->size != rows) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_attention: %zu positions for %zu queries", in->position->size,
                            rows);
            return false;
        }
        a->position = in->position;
        a->d.position = in->position->value;
    }
    if (o->score->needs_previous_weights) {
        a->previous = in->previous;
        if (!a->previous) a->previous = attend_constant(c, 4, (const int[]){ full[0], 1, full[2], full[3] }, NULL);
        if (!a->previous || !attend_check_inputs(c, "attend_attention", 1, a->previous)) return false;
        const int *p = a->previous->shape;
        if (a->previous->rank != 4 || p[0] != full[0] || p[1] != 1 || p[2] != full[2] || p[3] != full[3]) {
            char text[ATTEND_SHAPE_TEXT];
            attend_ctx_fail(c, ATTEND_BAD_USAGE,
                            "attend_attention: the previous weights have shape %s, expected (%d, 1, %d, %d)",
                            attend_shape_text(a->previous, text), full[0], full[2], full[3]);
            return false;
        }
        a->d.previous = a->previous->value;
    }
    return true;
}

static void set_options(attend_ctx *c, attention_call *a)
{
    const attend_attention_options *o = &a->source->options;
    a->d.scale = o->scale != 0 ? o->scale : o->score->default_scale ? o->score->default_scale(a->d.query_width) : 1;
    a->d.select = (selector){ .selection = o->selection,
                              .estimator = o->estimator,
                              .training = c->training,
                              .temperature = o->temperature,
                              .entropy_bonus = o->entropy_bonus };
    if (o->selection == ATTEND_SELECT_HARD && c->training) a->d.select.random = attend_ctx_random(c);
    if (o->dropout > 0 && c->training) {
        a->d.dropout = o->dropout;
        a->d.dropout_random = attend_ctx_random(c);
    }
}

static bool is_differentiable(const attention_call *a)
{
    const attend_var *all[] = { a->query, a->source->keys, a->source->values, a->bias, a->position, a->previous };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] && all[i]->differentiable) return true;
    for (int i = 0; i < a->source->d.parameter_count; i++)
        if (a->source->parameters[i]->differentiable) return true;
    return false;
}

attend_var *attend_attention_run(attend_ctx *c, attention_call *a, const attend_attention_inputs *inputs,
                                 attend_var *context, bool want_weights)
{
    const attend_attention_options *o = &a->source->options;
    const int shape[4] = { a->source->d.count, o->heads, a->d.max_queries, a->source->d.max_keys };
    a->context = context;
    if (!a->context || !set_inputs(c, a, inputs)) return NULL;
    set_options(c, a);
    a->context->differentiable = is_differentiable(a) && c->recording;
    a->context->needed = true;
    if (want_weights && !a->weights) {
        a->weights = attend_var_new(c, 4, shape, a->context->differentiable);
        if (!a->weights) return NULL;
        c->memory->zero(a->weights->value, a->weights->size * sizeof(real));
    }
    device_attention *d = &a->d;
    const size_t rows = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2];
    d->selected = attend_ctx_alloc_device(c, rows, sizeof *d->selected);
    if (!d->selected) return NULL;
    const size_t area = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2] * (size_t)shape[3];
    if (a->context->differentiable && !o->recompute && area <= MAX_STORED_WEIGHTS &&
        o->selection != ATTEND_SELECT_HARD && o->soft_cap == 0) {
        d->stored_weights = attend_ctx_alloc_reals(c, area);
        if (!d->stored_weights) return NULL;
    }
    d->source = &a->source->d, d->query = a->query->value, d->context = a->context->value;
    d->weights = a->weights ? a->weights->value : NULL;
    if (!attend_ctx_computed(c, attend_device_of(c)->attention(&c->compute, d))) return NULL;
    if (a->context->differentiable) attend_record(c, &a->node, backward);
    return a->context;
}

bool attend_attention_set_query(attend_ctx *c, attention_call *a, attend_var *query, int width)
{
    const attend_score *score = a->source->options.score;
    a->query = query;
    a->d.query_width = width / a->source->options.heads;
    query->needed = true;
    if (width % a->source->options.heads != 0) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "attention: queries of width %d cannot be divided into %d heads", width,
                        a->source->options.heads);
        return false;
    }
    int max_keys = 0; /* of the sequences: padded arrays may be longer */
    for (int b = 0; b < a->source->d.count; b++)
        if (a->source->d.key_rows.lengths[b] > max_keys) max_keys = a->source->d.key_rows.lengths[b];
    const attend_tile tile = { .keys = max_keys,
                               .query_width = a->d.query_width,
                               .key_width = a->source->d.key_width,
                               .heads = a->source->options.heads,
                               .all_keys = max_keys,
                               .shapes = a->source->d.parameter_shapes };
    const char *why = score->check_tile ? score->check_tile(&tile) : NULL;
    if (why) attend_ctx_fail(c, ATTEND_BAD_USAGE, "attention with score %s: %s", score->name, why);
    return !why;
}

attend_var *attend_attention(attend_ctx *c, const attend_source *source, attend_var *query,
                             const attend_ragged *queries, const attend_attention_inputs *inputs, attend_var **weights)
{
    return attend_attention_to(c, source, query, queries, inputs, weights, NULL);
}

attend_var *attend_attention_to(attend_ctx *c, const attend_source *source, attend_var *query,
                                const attend_ragged *queries, const attend_attention_inputs *inputs,
                                attend_var **weights, real *out)
{
    static const char name[] = "attend_attention";
    if (weights) *weights = NULL;
    if (!attend_check_inputs(c, name, 1, query)) return NULL;
    if (!source) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the source is NULL", name);
    if (!attend_ragged_fits(c, name, queries, query)) return NULL;
    if (queries->count != source->d.count)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the queries have %d sequences, the source has %d", name,
                               queries->count, source->d.count);
    const attend_score *score = source->options.score;
    attend_var *const *w = source->parameters;
    attention_call *a = attend_ctx_alloc(c, 1, sizeof *a);
    if (!a) return NULL;
    *a = (attention_call){ .source = source, .d = { .max_queries = queries->max_length } };
    if (score->prepare_queries) query = score->prepare_queries(c, w, query);
    if (query && query->shape[0] != queries->rows)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: prepare_queries of score %s returned %d rows for %d queries",
                               name, score->name, query->shape[0], queries->rows);
    if (!query || !attend_attention_set_query(c, a, query, query->shape[1])) return NULL;
    const int width = source->options.heads * source->d.value_width;
    a->d.query_rows = attend_attention_packed_rows(query, source->options.heads, queries);
    attend_var *context = out && !score->finish ? attend_wrap(c, 2, (const int[]){ queries->rows, width }, out)
                                                : attend_var_2d(c, queries->rows, width, false);
    if (!context) return NULL;
    a->d.context_rows = attend_attention_packed_rows(context, source->options.heads, queries);
    context = attend_attention_run(c, a, inputs, context, weights != NULL);
    if (weights) *weights = a->weights;
    return context && score->finish ? score->finish(c, w, context) : context;
}

attend_var *attend_attention_joint(attend_ctx *c, const attend_source *source, attend_var *joint, int width,
                                   const attend_ragged *queries, attend_var **weights)
{
    static const char name[] = "attend_attention_joint";
    if (weights) *weights = NULL;
    if (!attend_check_inputs(c, name, 1, joint) || !source || !attend_ragged_fits(c, name, queries, joint)) return NULL;
    const int heads = source->options.heads;
    attention_call *a = attend_ctx_alloc(c, 1, sizeof *a);
    if (!a) return NULL;
    *a = (attention_call){ .source = source, .d = { .max_queries = queries->max_length } };
    if (!attend_attention_set_query(c, a, joint, width)) return NULL;
    a->d.query_rows = attend_attention_packed_rows(joint, heads, queries);
    a->d.query_rows.head = (size_t)a->d.query_width;
    attend_var *context = attend_var_2d(c, queries->rows, heads * source->d.value_width, false);
    if (!context) return NULL;
    a->d.context_rows = attend_attention_packed_rows(context, heads, queries);
    context = attend_attention_run(c, a, NULL, context, weights != NULL);
    if (weights) *weights = a->weights;
    return context;
}

attend_var *attend_window_position(attend_ctx *c, attend_var *query, attend_var *wp, attend_var *vp)
{
    return attend_sigmoid(c, attend_linear(c, attend_tanh(c, attend_linear(c, query, wp, NULL)), vp, NULL));
}
