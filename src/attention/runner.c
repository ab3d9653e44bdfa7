/* runner.c: attention on plain arrays, which are in host memory. A device with other memory computes with copies
 * (attend_ctx_lend).
 *
 * Scores that use queries, keys and values unchanged run on the caller's arrays in place, with sequences and heads
 * divided among the threads. Scores with prepare functions (additive, projected, ...) run as in a model: the sequences
 * are divided into a fixed number of shards, each on one thread with its own tape, with which threads without a shard
 * help, and padding rows are removed. */
#include "attention/attention_call.h"

#include "core/status.h"
#include "core/memory.h"
#include "op/ragged.h"
#include <limits.h>
#include <math.h>
#include <string.h>

enum {
    MAX_SHARDS = 4, /* independent of the number of threads, so that gradients are summed in the same order */
    MAX_GRADIENTS = 6 + ATTEND_SCORE_PARAMETERS /* the members of attend_array_gradients */
};

typedef struct shard {
    attend_ctx *c;
    int first, count; /* sequences */
    attend_var *query, *key, *value, *bias, *position, *previous, *context, *weights, *scores;
    attend_var *parameters[ATTEND_SCORE_PARAMETERS];
    const int *rows; /* the row of each query in the caller's array, which has padding */
    struct {
        const attend_var *of;
        real *to;
    } gradients[MAX_GRADIENTS]; /* the gradients that backward adds to the caller's arrays */
    int gradient_count;
} shard;

struct attend_runner {
    attend_pool *pool;
    attend_ctx *contexts[MAX_SHARDS];
    shard shards[MAX_SHARDS];
    int shard_count; /* of the last forward pass; 0: there was none, or its backward pass has run */
    bool in_place;
    attend_attention_options options;
    attend_arrays arrays;
    attend_score_parameter parameter_specs[ATTEND_SCORE_PARAMETERS];
    int parameter_count;
    const real *packed[ATTEND_SCORE_PARAMETERS][2]; /* packed parameters that are matrices; [1]: transposed */
    int context_width;                              /* of all heads */
    real *context, *weights, *scores;
    const real *dcontext, *dweights;
    const attend_array_gradients *gradients;
};

int attend_runner_new(attend_runner **out, int threads)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    *out = NULL;
    attend_runner *r = attend_memory_zeroed(1, sizeof *r);
    if (!r) return attend_fail(ATTEND_NO_MEMORY, "no memory for a runner");
    int status = attend_pool_new(&r->pool, threads);
    for (int i = 0; status == ATTEND_OK && i < MAX_SHARDS; i++) {
        status = attend_ctx_new(&r->contexts[i]);
        if (status == ATTEND_OK) attend_ctx_set_pool(r->contexts[i], r->pool);
    }
    if (status != ATTEND_OK) {
        attend_runner_free(r);
        return status;
    }
    *out = r;
    return ATTEND_OK;
}

void attend_runner_free(attend_runner *r)
{
    if (!r) return;
    for (int i = 0; i < MAX_SHARDS; i++) attend_ctx_free(r->contexts[i]);
    attend_pool_free(r->pool);
    attend_memory_free(r);
}

size_t attend_runner_bytes(const attend_runner *r)
{
    ATTEND_REQUIRE(0, r);
    size_t bytes = 0;
    for (int i = 0; i < MAX_SHARDS; i++) bytes += attend_ctx_bytes(r->contexts[i]);
    return bytes;
}

/* ---- arguments ---- */

static int lengths_fit(const char *what, const int *lengths, int batch, int max_length)
{
    for (int b = 0; lengths && b < batch; b++)
        if (lengths[b] < 0 || lengths[b] > max_length)
            return attend_fail(ATTEND_BAD_USAGE, "attention: sequence %d has %d %s, but the array holds %d", b,
                               lengths[b], what, max_length);
    return ATTEND_OK;
}

/* Whether the product of two sizes, neither negative, fits into an int. */
static bool product_fits(int a, int b)
{
    return (int64_t)a * b <= INT_MAX;
}

/* Rows and columns are counted as int; the size of an array in bytes must fit into a ptrdiff_t. */
static bool sizes_fit(const attend_runner *r)
{
    const attend_arrays *a = &r->arrays;
    const attend_attention_options *o = &r->options;
    const int rows = a->queries > a->keys ? a->queries : a->keys;
    int width = a->query_width > a->key_width ? a->query_width : a->key_width;
    if (a->value_width > width) width = a->value_width;
    return product_fits(o->heads, width) && product_fits(a->batch, rows) && product_fits(a->batch, o->heads) &&
           product_fits(a->batch, MAX_SHARDS) && product_fits(o->heads, rows) &&
           (double)a->batch * rows * o->heads * width < (double)PTRDIFF_MAX / 64;
}

static int arrays_fit(attend_runner *r)
{
    const attend_arrays *a = &r->arrays;
    if (a->batch < 0 || a->queries < 0 || a->keys < 0 || a->query_width < 1 || a->key_width < 1)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "attention: batch %d, queries %d and keys %d must be at least 0, widths %d and %d at least 1", a->batch,
            a->queries, a->keys, a->query_width, a->key_width);
    if (!a->value) r->arrays.value_width = a->key_width;
    if (a->value_width < 1)
        return attend_fail(ATTEND_BAD_USAGE, "attention: the width of the values is %d, expected at least 1",
                           a->value_width);
    if (!sizes_fit(r))
        return attend_fail(ATTEND_BAD_USAGE,
                           "attention: the arrays are too large: batch %d, queries %d, keys %d, heads %d", a->batch,
                           a->queries, a->keys, r->options.heads);
    if ((!a->query && a->batch && a->queries) || (!a->key && a->batch && a->keys))
        return attend_fail(ATTEND_BAD_USAGE, "attention: the array of %s is NULL",
                           !a->key && a->batch && a->keys ? "keys" : "queries");
    const int first[2] = { a->allowed ? a->allowed_shape[0] : 1, a->bias ? a->bias_shape[0] : 1 };
    for (int i = 0; i < 2; i++) /* the other axes are checked for each shard */
        if (first[i] != 1 && first[i] != a->batch)
            return attend_fail(ATTEND_BAD_USAGE, "attention: axis 0 of the %s has length %d, expected 1 or %d",
                               i ? "bias" : "mask", first[i], a->batch);
    int status = lengths_fit("queries", a->query_lengths, a->batch, a->queries);
    return status == ATTEND_OK ? lengths_fit("keys", a->key_lengths, a->batch, a->keys) : status;
}

static int parameters_fit(attend_runner *r)
{
    const attend_score *score = r->options.score;
    const attend_arrays *a = &r->arrays;
    const int heads = r->options.heads, key_heads = r->options.key_heads;
    const attend_widths w = { .query = heads * a->query_width,
                              .key = key_heads * a->key_width,
                              .value = key_heads * a->value_width,
                              .heads = heads,
                              .key_heads = key_heads,
                              .attention = a->attention,
                              .max_keys = a->max_keys,
                              .filters = a->filters,
                              .filter_size = a->filter_size };
    if ((score->prepare_values || score->finish) && !score->context_width)
        return attend_fail(ATTEND_BAD_USAGE, "score %s has prepare_values or finish, so it must define context_width",
                           score->name);
    r->context_width = score->context_width ? score->context_width(&w) : heads * a->value_width;
    r->parameter_count = 0;
    for (int i = 0; score->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        r->parameter_specs[i] = score->parameter(&w, i);
        if (!r->parameter_specs[i].name) break;
        for (int axis = 0; axis < r->parameter_specs[i].rank; axis++)
            if (r->parameter_specs[i].shape[axis] < 1)
                return attend_fail(
                    ATTEND_BAD_USAGE,
                    "attention with score %s: axis %d of parameter '%s' would have length %d; check the widths, "
                    "max_keys, filters and filter_size of attend_arrays",
                    score->name, axis, r->parameter_specs[i].name, r->parameter_specs[i].shape[axis]);
        if (!a->parameters || !a->parameters[i])
            return attend_fail(ATTEND_BAD_USAGE, "attention with score %s: parameter '%s' is missing", score->name,
                               r->parameter_specs[i].name);
        r->parameter_count++;
    }
    return ATTEND_OK;
}

/* Whether the score transforms rows before or after the attention itself. */
static bool transforms_rows(const attend_score *s)
{
    return s->prepare_keys || s->prepare_values || s->prepare_queries || s->finish;
}

/* ---- in place ---- */

static attention_rows array_rows(const attend_arrays *a, int heads, int rows, int width, const int *lengths)
{
    const size_t w = (size_t)width, h = (size_t)heads, t = (size_t)rows;
    if (a->heads_first) return (attention_rows){ .sequence = h * t * w, .head = t * w, .row = w, .lengths = lengths };
    return (attention_rows){ .sequence = t * h * w, .head = w, .row = h * w, .lengths = lengths };
}

/* The lengths, or an array of `max_length` if they are NULL. */
static const int *lengths_or_max(attend_ctx *c, const int *lengths, int batch, int max_length)
{
    if (lengths) return lengths;
    int *full = attend_ctx_alloc(c, (size_t)batch + 1, sizeof *full);
    for (int b = 0; full && b < batch; b++) full[b] = max_length;
    return full;
}

static attend_var *wrap(attend_ctx *c, const real *data, int b, int t, int width)
{
    return attend_wrap(c, 3, (const int[]){ b, t, width }, data);
}

static attend_attention_inputs optional_inputs(const attend_arrays *a, const shard *s)
{
    attend_attention_inputs in = {
        .bias = s->bias, .position = s->position, .previous = s->previous, .first_position = a->first_position
    };
    if (a->advantage) in.advantage = a->advantage + s->first;
    if (a->allowed) {
        memcpy(in.allowed_shape, a->allowed_shape, sizeof in.allowed_shape);
        in.allowed = a->allowed;
        if (in.allowed_shape[0] > 1) {
            in.allowed += (size_t)s->first * (size_t)in.allowed_shape[1] * (size_t)in.allowed_shape[2] *
                          (size_t)in.allowed_shape[3];
            in.allowed_shape[0] = s->count;
        }
    }
    return in;
}

/* Wraps bias and previous weights of this shard's sequences as variables. */
static void wrap_optional_inputs(attend_runner *r, shard *s)
{
    const attend_arrays *a = &r->arrays;
    if (a->bias) {
        int shape[4];
        memcpy(shape, a->bias_shape, sizeof shape);
        size_t skip = shape[0] > 1 ? (size_t)s->first * (size_t)shape[1] * (size_t)shape[2] * (size_t)shape[3] : 0;
        if (shape[0] > 1) shape[0] = s->count;
        s->bias = attend_wrap(s->c, 4, shape, a->bias + skip);
    }
    if (a->previous) {
        size_t skip = (size_t)s->first * (size_t)a->queries * (size_t)a->keys;
        s->previous = attend_wrap(s->c, 4, (const int[]){ s->count, 1, a->queries, a->keys }, a->previous + skip);
    }
}

static void forward_in_place(attend_runner *r)
{
    shard *s = &r->shards[0];
    attend_ctx *c = s->c;
    const attend_arrays *a = &r->arrays;
    const attend_attention_options *o = &r->options;
    attend_source *source = attend_ctx_alloc(c, 1, sizeof *source);
    attention_call *call = attend_ctx_alloc(c, 1, sizeof *call);
    if (!source || !call) return;
    s->query = wrap(c, a->query, a->batch, a->queries, o->heads * a->query_width);
    s->key = wrap(c, a->key, a->batch, a->keys, o->key_heads * a->key_width);
    s->value = a->value ? wrap(c, a->value, a->batch, a->keys, o->key_heads * a->value_width) : s->key;
    s->context = wrap(c, r->context, a->batch, a->queries, o->heads * a->value_width);
    if (a->position) s->position = wrap(c, a->position, a->batch, a->queries, 1);
    wrap_optional_inputs(r, s);
    const int *keys = lengths_or_max(c, a->key_lengths, a->batch, a->keys),
              *queries = lengths_or_max(c, a->query_lengths, a->batch, a->queries);
    if (c->status != ATTEND_OK) return;

    *source = (attend_source){ .options = *o, .keys = s->key, .values = s->value };
    source->d = (device_source){ .parameter_count = r->parameter_count,
                                 .count = a->batch,
                                 .max_keys = a->keys,
                                 .key_width = a->key_width,
                                 .value_width = a->value_width,
                                 .key_rows = array_rows(a, o->key_heads, a->keys, a->key_width, keys),
                                 .value_rows = array_rows(a, o->key_heads, a->keys, a->value_width, keys) };
    for (int i = 0; i < r->parameter_count; i++) source->parameters[i] = s->parameters[i];
    attend_attention_source_describe(source);
    *call = (attention_call){ .source = source };
    const int shape[4] = { a->batch, o->heads, a->queries, a->keys };
    if (r->weights) call->weights = s->weights = attend_wrap(c, 4, shape, r->weights);
    if (r->scores) s->scores = attend_wrap(c, 4, shape, r->scores);
    if (c->status != ATTEND_OK) return;
    call->d = (device_attention){ .max_queries = a->queries,
                                  .scores = s->scores ? s->scores->value : NULL,
                                  .query_rows = array_rows(a, o->heads, a->queries, a->query_width, queries),
                                  .context_rows = array_rows(a, o->heads, a->queries, a->value_width, queries) };
    const attend_attention_inputs in = optional_inputs(a, s);
    if (!attend_attention_set_query(c, call, s->query, o->heads * a->query_width)) return;
    if (!attend_attention_source_cache(c, source, a->queries * (o->heads / o->key_heads))) return;
    if (!attend_attention_run(c, call, &in, s->context, r->weights != NULL)) return;
    attend_ctx_return(c, s->context->value, s->context->size, r->context);
    if (s->weights) attend_ctx_return(c, s->weights->value, s->weights->size, r->weights);
    if (s->scores) attend_ctx_return(c, s->scores->value, s->scores->size, r->scores);
}

/* ---- shard by shard ---- */

/* The rows of the shard's sequences without padding, as one variable (N, width); *rows receives their indices. */
static attend_var *packed_rows(shard *s, attend_var *whole, const int *lengths, int max_length, const int **rows,
                               const attend_ragged **sequences)
{
    attend_ctx *c = s->c;
    const int *own = lengths_or_max(c, lengths ? lengths + s->first : NULL, s->count, max_length);
    attend_ragged *r = own ? (attend_ragged *)attend_ragged_new(c, s->count, own) : NULL;
    int *ids = r ? attend_ctx_alloc(c, (size_t)r->rows + 1, sizeof *ids) : NULL;
    if (!ids) return NULL;
    for (int b = 0, n = 0; b < s->count; b++)
        for (int t = 0; t < own[b]; t++) ids[n++] = b * max_length + t;
    r->max_length = max_length; /* the weights have the padded size of the arrays */
    *rows = ids;
    *sequences = r;
    return r->rows == s->count * max_length ? whole : attend_gather(c, whole, ids, r->rows);
}

static attend_var *wrap_rows(shard *s, const real *data, int max_length, int width)
{
    size_t skip = (size_t)s->first * (size_t)max_length * (size_t)width;
    return attend_wrap(s->c, 2, (const int[]){ s->count * max_length, width }, data + skip);
}

static void forward_shard(void *user, int number)
{
    attend_runner *r = user;
    shard *s = &r->shards[number];
    attend_ctx *c = s->c;
    const attend_arrays *a = &r->arrays;
    const attend_attention_options *o = &r->options;
    const attend_ragged *queries = NULL, *keys = NULL;
    const int *key_rows;
    s->query = wrap_rows(s, a->query, a->queries, o->heads * a->query_width);
    s->key = wrap_rows(s, a->key, a->keys, o->key_heads * a->key_width);
    s->value = a->value ? wrap_rows(s, a->value, a->keys, o->key_heads * a->value_width) : s->key;
    if (a->position) s->position = wrap_rows(s, a->position, a->queries, 1);
    for (int i = 0; i < r->parameter_count; i++) {
        s->parameters[i] = attend_wrap(c, r->parameter_specs[i].rank, r->parameter_specs[i].shape, a->parameters[i]);
        if (s->parameters[i]) s->parameters[i]->cache[1] = r->packed[i][1];
    }
    wrap_optional_inputs(r, s);
    if (c->status != ATTEND_OK) return;

    attend_var *query = packed_rows(s, s->query, a->query_lengths, a->queries, &s->rows, &queries);
    attend_var *key = packed_rows(s, s->key, a->key_lengths, a->keys, &key_rows, &keys);
    attend_var *value = key;
    if (a->value) value = packed_rows(s, s->value, a->key_lengths, a->keys, &key_rows, &keys);
    attend_attention_inputs in = optional_inputs(a, s);
    if (s->position && query && queries->rows < s->count * a->queries)
        in.position = attend_gather(c, s->position, s->rows, queries->rows);
    const attend_source *source = attend_source_new(c, o, s->parameters, key, value, keys);
    /* without padding, the context is written to the caller's array directly */
    const size_t width = (size_t)r->context_width;
    real *context = r->context + (size_t)s->first * (size_t)a->queries * width;
    const bool whole = queries && queries->rows == s->count * a->queries;
    s->context =
        attend_attention_to(c, source, query, queries, &in, r->weights ? &s->weights : NULL, whole ? context : NULL);
    if (!s->context) return;
    if (s->context->shape[1] != r->context_width) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "score %s: context_width is %d, but the context has width %d",
                        o->score->name, r->context_width, s->context->shape[1]);
        return;
    }
    const real *rows = s->context->value == context ? NULL : attend_value(s->context);
    for (int i = 0; rows && i < queries->rows; i++)
        memcpy(context + (size_t)s->rows[i] * width, rows + (size_t)i * width, width * sizeof(real));
    if (r->weights)
        attend_ctx_read(c, r->weights + (size_t)s->first * (size_t)o->heads * (size_t)a->queries * (size_t)a->keys,
                        s->weights->value, s->weights->size * sizeof(real));
}

/* ---- packed parameters, shared by all shards ---- */

typedef struct packing {
    attend_runner *r;
    bool transpose;
    const real *from[ATTEND_SCORE_PARAMETERS];
    real *to[ATTEND_SCORE_PARAMETERS];
} packing;

static void pack_one(void *user, int i)
{
    packing *p = user;
    const size_t rows = (size_t)p->r->parameter_specs[i].shape[0], columns = (size_t)p->r->parameter_specs[i].shape[1];
    if (p->to[i])
        attend_device_of(p->r->contexts[0])
            ->pack(&(attend_compute){ 0 }, ATTEND_FP32, p->transpose, p->transpose ? columns : rows,
                   p->transpose ? rows : columns, p->from[i], p->to[i]);
}

/* Packs the matrices, in the memory of the first shard, before the shards run. */
static void pack_parameters(attend_runner *r, bool transpose)
{
    packing p = { .r = r, .transpose = transpose };
    for (int i = 0; i < r->parameter_count; i++) {
        const size_t rows = (size_t)r->parameter_specs[i].shape[0], columns = (size_t)r->parameter_specs[i].shape[1];
        if (r->parameter_specs[i].rank != 2) continue;
        const size_t bytes = attend_device_of(r->contexts[0])
                                 ->packed_bytes(&(attend_compute){ 0 }, ATTEND_FP32, transpose ? columns : rows,
                                                transpose ? rows : columns);
        p.from[i] = attend_ctx_lend(r->contexts[0], r->arrays.parameters[i], rows * columns);
        p.to[i] = attend_ctx_alloc_device(r->contexts[0], bytes, 1);
        r->packed[i][transpose] = p.to[i];
    }
    if (r->contexts[0]->status == ATTEND_OK) attend_pool_run(r->pool, r->parameter_count, pack_one, &p);
}

/* ---- forward ---- */

static void shards_new(attend_runner *r)
{
    const int batch = r->arrays.batch;
    r->shard_count = r->in_place || batch < 2 ? 1 : batch < MAX_SHARDS ? batch : MAX_SHARDS;
    for (int i = 0; i < r->shard_count; i++) {
        const int first = batch * i / r->shard_count;
        attend_ctx *c = r->contexts[i];
        attend_ctx_reset(c);
        attend_ctx_set_recording(c, true);
        attend_ctx_set_training(c, r->arrays.training);
        attend_ctx_set_random(c, r->arrays.seed, r->arrays.stream * MAX_SHARDS + (uint64_t)i);
        r->shards[i] = (shard){ .c = c, .first = first, .count = batch * (i + 1) / r->shard_count - first };
    }
}

static int shards_status(attend_runner *r)
{
    for (int i = 0; i < r->shard_count; i++) {
        const attend_ctx *c = r->shards[i].c;
        if (c->status == ATTEND_OK) continue;
        int status = attend_fail(c->status, "%s", c->message);
        r->shard_count = 0;
        return status;
    }
    return ATTEND_OK;
}

int attend_runner_forward(attend_runner *r, const attend_attention_options *options, const attend_arrays *arrays,
                          real *context, real *weights, real *scores)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r);
    if (!options || !arrays)
        return attend_fail(ATTEND_BAD_USAGE, "attend_runner_forward: %s is NULL", options ? "arrays" : "options");
    attend_ctx *c = r->contexts[0];
    r->shard_count = 0;
    r->options = *options;
    r->arrays = *arrays;
    attend_ctx_reset(c);
    if (!attend_attention_options_resolve(c, &r->options)) return attend_fail(c->status, "%s", c->message);
    int status = arrays_fit(r);
    if (status == ATTEND_OK) status = parameters_fit(r);
    if (status != ATTEND_OK) return status;
    if (!context && arrays->batch && arrays->queries)
        return attend_fail(ATTEND_BAD_USAGE, "attention: the array for the context is NULL");
    r->in_place = !transforms_rows(r->options.score);
    if (!r->in_place && arrays->heads_first && (r->options.heads > 1))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "attention with score %s needs all heads of a row together: use the array layout (B, T, H, D)",
            r->options.score->name);
    if (!r->in_place && scores)
        return attend_fail(ATTEND_BAD_USAGE, "attention with score %s cannot return scores, only weights",
                           r->options.score->name);
    r->context = context, r->weights = weights, r->scores = scores;
    const size_t area =
        (size_t)arrays->batch * (size_t)r->options.heads * (size_t)arrays->queries * (size_t)arrays->keys;
    if (weights) memset(weights, 0, area * sizeof *weights);
    for (size_t i = 0; scores && i < area; i++) scores[i] = (real)-INFINITY;
    if (context)
        memset(context, 0,
               (size_t)arrays->batch * (size_t)arrays->queries * (size_t)r->context_width * sizeof *context);
    shards_new(r);
    for (int i = 0; r->in_place && i < r->parameter_count; i++)
        r->shards[0].parameters[i] =
            attend_wrap(c, r->parameter_specs[i].rank, r->parameter_specs[i].shape, arrays->parameters[i]);
    if (r->in_place) {
        forward_in_place(r);
    } else {
        pack_parameters(r, true);
        attend_pool_run(r->pool, r->shard_count, forward_shard, r);
    }
    return shards_status(r);
}

/* ---- backward ---- */

/* Makes backward add the gradient of v to the caller's array, `skip` elements after its start; NULL: no gradient. */
static void set_grad(shard *s, attend_var *v, real *whole, size_t skip)
{
    if (!v) return;
    v->differentiable = whole != NULL;
    v->grad = whole ? attend_ctx_lend(s->c, whole + skip, v->size) : NULL;
    if (!whole) return;
    s->gradients[s->gradient_count].of = v;
    s->gradients[s->gradient_count++].to = whole + skip;
}

/* The same for a gradient to which all shards contribute. Each has a buffer of its own; add_shared adds the buffers to
 * the caller's array in order. */
static void set_shared_grad(attend_runner *r, shard *s, attend_var *v, real *whole)
{
    if (!v) return;
    if (r->in_place) {
        set_grad(s, v, whole, 0);
        return;
    }
    v->differentiable = whole != NULL;
    v->grad = whole ? attend_ctx_alloc_zeros(s->c, v->size) : NULL;
}

static void set_gradients(attend_runner *r, shard *s, const attend_array_gradients *g)
{
    const attend_arrays *a = &r->arrays;
    const attend_attention_options *o = &r->options;
    const size_t first = (size_t)s->first, queries = (size_t)a->queries, keys = (size_t)a->keys;
    s->gradient_count = 0;
    set_grad(s, s->query, g->query, first * queries * (size_t)(o->heads * a->query_width));
    set_grad(s, s->key, g->key, first * keys * (size_t)(o->key_heads * a->key_width));
    if (a->value) set_grad(s, s->value, g->value, first * keys * (size_t)(o->key_heads * a->value_width));
    set_grad(s, s->position, g->position, first * queries);
    set_grad(s, s->previous, g->previous, first * queries * keys);
    if (s->bias && a->bias_shape[0] > 1)
        set_grad(s, s->bias, g->bias, first * s->bias->size / (size_t)(s->count ? s->count : 1));
    else
        set_shared_grad(r, s, s->bias, g->bias);
    for (int i = 0; i < r->parameter_count; i++)
        set_shared_grad(r, s, s->parameters[i], g->parameters ? g->parameters[i] : NULL);
}

/* Sets dL/dcontext and dL/dweights, which are only read: the caller's arrays, or the rows of queries without padding. */
static void set_output_gradients(attend_runner *r, shard *s)
{
    attend_ctx *c = s->c;
    const attend_arrays *a = &r->arrays;
    const size_t first = (size_t)s->first, width = (size_t)r->context_width, queries = (size_t)a->queries;
    const size_t padded = (size_t)s->count * queries;
    if (s->weights && r->dweights)
        s->weights->grad =
            attend_ctx_lend(c, r->dweights + first * (size_t)r->options.heads * queries * (size_t)a->keys,
                            s->weights->size);
    s->context->grad = attend_ctx_lend(c, r->dcontext + first * queries * width, padded * width);
    if (r->in_place || (size_t)s->context->shape[0] == padded) return;
    real *packed = attend_ctx_alloc_reals(c, s->context->size);
    if (packed)
        attend_device_of(c)->copy(&c->compute, (size_t)s->context->shape[0], width,
                                  (device_input){ .data = s->context->grad, .stride = width, .rows = s->rows },
                                  (device_output){ .data = packed, .stride = width });
    s->context->grad = packed;
}

static void backward_shard(void *user, int number)
{
    attend_runner *r = user;
    shard *s = &r->shards[number];
    set_gradients(r, s, r->gradients);
    set_output_gradients(r, s);
    for (int i = 0; !r->in_place && i < r->parameter_count; i++) s->parameters[i]->cache[0] = r->packed[i][0];
    if (s->c->status == ATTEND_OK) attend_run_backward(s->c);
    for (int i = 0; i < s->gradient_count; i++)
        attend_ctx_return(s->c, s->gradients[i].of->grad, s->gradients[i].of->size, s->gradients[i].to);
}

static void add_shared(const attend_runner *r, const shard *s, const attend_var *v, real *whole)
{
    attend_ctx *c = s->c;
    if (!v || !whole || r->in_place || c->status != ATTEND_OK) return;
    real *sum = attend_ctx_lend(c, whole, v->size);
    if (!sum) return;
    attend_device_of(c)->axpy(&c->compute, v->size, 1, v->grad, sum);
    attend_ctx_return(c, sum, v->size, whole);
}

int attend_runner_backward(attend_runner *r, const real *dcontext, const real *dweights,
                           const attend_array_gradients *gradients)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, r);
    if (r->shard_count == 0)
        return attend_fail(ATTEND_BAD_USAGE, "attend_runner_backward: call attend_runner_forward first");
    if (!dcontext || !gradients)
        return attend_fail(ATTEND_BAD_USAGE, "attend_runner_backward: %s is NULL", dcontext ? "gradients" : "dcontext");
    if (dweights && !r->weights)
        return attend_fail(ATTEND_BAD_USAGE,
                           "attend_runner_backward: dweights is given, but the forward pass returned no weights");
    r->dcontext = dcontext, r->dweights = dweights, r->gradients = gradients;
    if (r->in_place) {
        backward_shard(r, 0);
    } else {
        pack_parameters(r, false);
        attend_pool_run(r->pool, r->shard_count, backward_shard, r);
    }
    for (int i = 0; i < r->shard_count; i++) {
        shard *s = &r->shards[i];
        if (r->arrays.bias_shape[0] == 1) add_shared(r, s, s->bias, gradients->bias);
        for (int p = 0; p < r->parameter_count; p++)
            add_shared(r, s, s->parameters[p], gradients->parameters ? gradients->parameters[p] : NULL);
    }
    int status = shards_status(r);
    r->shard_count = 0;
    return status;
}
