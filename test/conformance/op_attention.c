/* op_attention.c: the ONNX operator Attention on attend_runner_forward.
 *
 *     e = scale Q K'     e = softcap tanh(e / softcap)     e = e + mask, causal, lengths     P = softmax(e)     Y = P V
 *
 * ONNX                                                       attend
 *     Q, K, V (B, H, T, D), or (B, T, H D) with the number       the same layout; with past keys, or if the present
 *     of heads as an attribute                                   is requested, in an attend_cache
 *     past_key, past_value, present_key, present_value           appended to the cache, and read from it
 *     attn_mask, boolean; shorter than the keys: false           allowed
 *     attn_mask, numbers; shorter than the keys: -inf            bias
 *     nonpad_kv_seqlen                                           key_lengths
 *     is_causal: query i sees keys 0 to i + past, or             causal, which is aligned at the end of the keys:
 *     i + nonpad - Tq                                            keys after those of the last query are cut off
 *     qk_matmul_output: Q K' (mode 0), after the cap (1),        scores of a call without masks and cap, without masks,
 *     after the masks (2), P (3)                                 with both; weights
 * A query that sees no key has Y and P 0. softmax_precision has no effect: the softmax is in single precision. */
#include "op_attention.h"

#include <inttypes.h>
#include <stdlib.h>

void *attention_take(attention *a, size_t count, size_t size)
{
    void *p = a->block_count < MOST_BLOCKS ? calloc(count != 0 ? count : 1, size) : NULL;
    if (p != NULL) a->blocks[a->block_count++] = p;
    if (p == NULL) op_fail(a->call, "no memory for %zu numbers", count);
    return p;
}

/* ---- attributes ---- */

static int read_precision(op_call *call)
{
    int64_t type;
    int status = op_attribute_int(call, "softmax_precision", ONNX_FLOAT, &type);
    if (status != CASE_OK) return status;
    if (type != ONNX_FLOAT && type != ONNX_FLOAT16 && type != ONNX_BFLOAT16 && type != ONNX_DOUBLE)
        return op_fail(call, "softmax_precision %" PRId64 " is not of floating point", type);
    return CASE_OK;
}

static int read_attributes(attention *a)
{
    static const char *const known[] = { "is_causal", "kv_num_heads", "q_num_heads",       "qk_matmul_output_mode",
                                         "scale",     "softcap",      "softmax_precision", NULL };
    op_call *call = a->call;
    int64_t causal = 0;
    float scale = 0, cap = 0;
    int status = op_attributes_known(call, known);
    if (status == CASE_OK) status = op_attribute_int(call, "is_causal", 0, &causal);
    if (status == CASE_OK) status = op_attribute_int(call, "qk_matmul_output_mode", MODE_RAW, &a->mode);
    if (status == CASE_OK) status = op_attribute_float(call, "scale", 0, &scale);
    if (status == CASE_OK) status = op_attribute_float(call, "softcap", 0, &cap);
    if (status == CASE_OK) status = read_precision(call);
    if (status != CASE_OK) return status;
    if (a->mode < MODE_RAW || a->mode > MODE_WEIGHTS)
        return op_fail(call, "qk_matmul_output_mode %" PRId64 " is not defined by ONNX", a->mode);
    if (scale == 0 && onnx_model_attribute(call->model, "scale") != NULL)
        return op_skip(call, "scale 0 is not implemented");
    a->causal = causal != 0;
    a->options = (attend_attention_options)ATTEND_ATTENTION_OPTIONS_INIT;
    a->options.scale = (double)scale;
    a->options.soft_cap = cap > 0 ? (double)cap : 0;
    return CASE_OK;
}

/* ---- inputs ---- */

/* The shape of an input; `attribute` is the name of the attribute with the number of heads, or NULL if the rank must
 * be 4. */
static int read_rows(attention *a, size_t input, const char *attribute, rows *out)
{
    const onnx_tensor *t = op_input(a->call, input);
    int64_t heads = 0;
    if (t == NULL) return op_fail(a->call, "input %zu is missing", input);
    if (t->reals == NULL) return op_fail(a->call, "input %zu is not of floating point", input);
    if (t->rank != 4 && (t->rank != 3 || attribute == NULL))
        return op_fail(a->call, "input %zu has rank %d", input, t->rank);
    int status = attribute != NULL ? op_attribute_int(a->call, attribute, 0, &heads) : CASE_OK;
    if (status != CASE_OK) return status;
    if (t->rank == 4) {
        if (heads != 0 && heads != t->dims[1])
            return op_fail(a->call, "input %zu has %" PRId64 " heads, but %s is %" PRId64, input, t->dims[1], attribute,
                           heads);
        *out = (rows){ (int)t->dims[0], (int)t->dims[1], (int)t->dims[2], (int)t->dims[3], true };
        return CASE_OK;
    }
    if (heads < 1 || t->dims[2] % heads != 0)
        return op_fail(a->call, "input %zu is %" PRId64 " wide and cannot be cut into %s %" PRId64, input, t->dims[2],
                       attribute, heads);
    *out = (rows){ (int)t->dims[0], (int)heads, (int)t->dims[1], (int)(t->dims[2] / heads), false };
    return CASE_OK;
}

static bool same(const rows *a, const rows *b, bool count, bool width)
{
    return a->batch == b->batch && a->heads == b->heads && (!count || a->count == b->count) &&
           (!width || a->width == b->width);
}

static int read_past(attention *a)
{
    bool key = op_input(a->call, IN_PAST_KEY) != NULL, value = op_input(a->call, IN_PAST_VALUE) != NULL;
    if (key != value) return op_fail(a->call, "past_key and past_value come together");
    if (!key) return CASE_OK;
    if (op_input(a->call, IN_LENGTHS) != NULL)
        return op_fail(a->call, "past_key and nonpad_kv_seqlen exclude each other");
    int status = read_rows(a, IN_PAST_KEY, NULL, &a->past_key);
    if (status == CASE_OK) status = read_rows(a, IN_PAST_VALUE, NULL, &a->past_value);
    if (status != CASE_OK) return status;
    if (!same(&a->past_key, &a->k, false, true) || !same(&a->past_value, &a->v, false, true) ||
        a->past_key.count != a->past_value.count)
        return op_fail(a->call, "past_key and past_value do not go with K and V");
    return CASE_OK;
}

static int read_sizes(attention *a)
{
    op_call *call = a->call;
    if (call->input_count > INPUTS) return op_fail(call, "%zu inputs are too many", call->input_count);
    if (call->output_count > OUTPUTS) return op_fail(call, "%zu outputs are too many", call->output_count);
    int status = read_rows(a, IN_Q, "q_num_heads", &a->q);
    if (status == CASE_OK) status = read_rows(a, IN_K, "kv_num_heads", &a->k);
    if (status == CASE_OK) status = read_rows(a, IN_V, "kv_num_heads", &a->v);
    if (status != CASE_OK) return status;
    if (a->q.heads_first != a->k.heads_first || a->q.heads_first != a->v.heads_first)
        return op_fail(call, "Q, K and V differ in rank");
    if (a->q.batch != a->k.batch || a->q.width != a->k.width || !same(&a->k, &a->v, true, false))
        return op_fail(call, "Q, K and V do not go together");
    if (op_input(call, IN_Q)->size == 0 || op_input(call, IN_K)->size == 0 || op_input(call, IN_V)->size == 0)
        return op_skip(call, "Q, K or V without any element");
    status = read_past(a);
    a->total = a->past_key.count + a->k.count;
    a->options.heads = a->q.heads, a->options.key_heads = a->k.heads;
    return status;
}

/* ---- rows ---- */

static size_t row_at(const rows *r, bool heads_first, int b, int h, int t)
{
    size_t heads = (size_t)r->heads, count = (size_t)r->count;
    size_t row = heads_first ? ((size_t)b * heads + (size_t)h) * count + (size_t)t
                             : ((size_t)b * count + (size_t)t) * heads + (size_t)h;
    return row * (size_t)r->width;
}

/* Converts an input to attend_real, with heads first or not; NULL if memory runs out. */
static attend_real *rows_of(attention *a, size_t input, const rows *r, bool heads_first)
{
    const onnx_tensor *t = op_input(a->call, input);
    attend_real *all = attention_take(a, t->size, sizeof *all);
    for (int b = 0; all != NULL && b < r->batch; b++)
        for (int h = 0; h < r->heads; h++)
            for (int i = 0; i < r->count; i++)
                for (int l = 0; l < r->width; l++)
                    all[row_at(r, heads_first, b, h, i) + (size_t)l] =
                        (attend_real)t->reals[row_at(r, r->heads_first, b, h, i) + (size_t)l];
    return all;
}

static int append(attention *a, size_t key_input, const rows *key_rows, size_t value_input, const rows *value_rows)
{
    const attend_real *key = rows_of(a, key_input, key_rows, key_rows->heads_first);
    const attend_real *value = rows_of(a, value_input, value_rows, value_rows->heads_first);
    if (key == NULL || value == NULL) return CASE_FAILED;
    if (attend_cache_append(a->cache, key_rows->count, key, value, key_rows->heads_first) != ATTEND_OK)
        return op_fail(a->call, "attend_cache_append: %s", attend_message());
    return CASE_OK;
}

/* Past and new keys in one cache. */
static int fill_cache(attention *a)
{
    if (attend_cache_new(&a->cache, a->k.batch, a->k.heads, a->k.width, a->v.width) != ATTEND_OK)
        return op_fail(a->call, "attend_cache_new: %s", attend_message());
    int status = CASE_OK;
    if (op_input(a->call, IN_PAST_KEY) != NULL)
        status = append(a, IN_PAST_KEY, &a->past_key, IN_PAST_VALUE, &a->past_value);
    if (status == CASE_OK) status = append(a, IN_K, &a->k, IN_V, &a->v);
    attend_cache_fill(a->cache, &a->arrays);
    return status;
}

static int make_arrays(attention *a)
{
    attend_arrays *to = &a->arrays;
    int status = CASE_OK;
    to->queries = a->q.count, to->query_width = a->q.width;
    if (op_input(a->call, IN_PAST_KEY) != NULL || op_has_output(a->call, OUT_KEY) ||
        op_has_output(a->call, OUT_VALUE)) {
        status = fill_cache(a);
    } else {
        to->batch = a->k.batch, to->keys = a->k.count;
        to->key_width = a->k.width, to->value_width = a->v.width;
        to->heads_first = a->k.heads_first;
        to->key = rows_of(a, IN_K, &a->k, to->heads_first);
        to->value = rows_of(a, IN_V, &a->v, to->heads_first);
        if (to->key == NULL || to->value == NULL) status = CASE_FAILED;
    }
    if (status != CASE_OK) return status;
    to->query = rows_of(a, IN_Q, &a->q, to->heads_first);
    a->all_keys = to->key_lengths;
    return to->query != NULL ? CASE_OK : CASE_FAILED;
}

/* ---- results ---- */

static int make_outputs(attention *a)
{
    op_call *call = a->call;
    const onnx_type type = op_input(call, IN_Q)->type;
    const int64_t batch = a->q.batch, heads = a->q.heads, queries = a->q.count, width = a->v.width, total = a->total;
    int status = a->q.heads_first ? op_output(call, OUT_Y, type, 4, (int64_t[]){ batch, heads, queries, width })
                                  : op_output(call, OUT_Y, type, 3, (int64_t[]){ batch, queries, heads * width });
    if (status == CASE_OK)
        status = op_output(call, OUT_KEY, op_input(call, IN_K)->type, 4,
                           (int64_t[]){ batch, a->k.heads, total, a->k.width });
    if (status == CASE_OK)
        status =
            op_output(call, OUT_VALUE, op_input(call, IN_V)->type, 4, (int64_t[]){ batch, a->v.heads, total, width });
    if (status == CASE_OK) status = op_output(call, OUT_PRODUCT, type, 4, (int64_t[]){ batch, heads, queries, total });
    return status;
}

static void put_context(attention *a, const attend_real *context)
{
    const rows y = { a->q.batch, a->q.heads, a->q.count, a->v.width, a->q.heads_first };
    float *to = a->call->outputs[OUT_Y].reals;
    for (int b = 0; b < y.batch; b++)
        for (int h = 0; h < y.heads; h++)
            for (int i = 0; i < y.count; i++)
                for (int l = 0; l < y.width; l++)
                    to[row_at(&y, y.heads_first, b, h, i) + (size_t)l] =
                        (float)context[row_at(&y, a->arrays.heads_first, b, h, i) + (size_t)l];
}

/* Compacts rows of the capacity of the cache to rows of its length. */
static void put_product(attention *a, const attend_real *product)
{
    onnx_tensor *to = &a->call->outputs[OUT_PRODUCT];
    const size_t total = (size_t)a->total, keys = (size_t)a->arrays.keys;
    for (size_t i = 0; i < to->size; i++) to->reals[i] = (float)product[i / total * keys + i % total];
}

static int put_present(attention *a)
{
    for (size_t i = OUT_KEY; i <= OUT_VALUE; i++) {
        if (!op_has_output(a->call, i)) continue;
        onnx_tensor *to = &a->call->outputs[i];
        attend_real *all = attention_take(a, to->size, sizeof *all);
        if (all == NULL) return CASE_FAILED;
        attend_cache_present(a->cache, i == OUT_KEY ? all : NULL, i == OUT_VALUE ? all : NULL);
        for (size_t j = 0; j < to->size; j++) to->reals[j] = (float)all[j];
    }
    return CASE_OK;
}

/* ---- the run ---- */

static int forward(attention *a, const attend_attention_options *options, const attend_arrays *arrays,
                   attend_real *context, attend_real *weights, attend_real *scores)
{
    if (attend_runner_forward(a->runner, options, arrays, context, weights, scores) != ATTEND_OK)
        return op_fail(a->call, "attend_runner_forward: %s", attend_message());
    return CASE_OK;
}

static int run_forward(attention *a)
{
    const size_t count = (size_t)a->q.batch * (size_t)a->q.heads * (size_t)a->q.count;
    attend_real *product = NULL, *context = attention_take(a, count * (size_t)a->v.width, sizeof *context);
    if (op_has_output(a->call, OUT_PRODUCT)) {
        product = attention_take(a, count * (size_t)a->arrays.keys, sizeof *product);
        if (product == NULL) return CASE_FAILED;
    }
    if (context == NULL) return CASE_FAILED;
    int status = forward(a, &a->options, &a->arrays, context, a->mode == MODE_WEIGHTS ? product : NULL,
                         a->mode == MODE_MASKED ? product : NULL);
    if (status != CASE_OK) return status;
    if (op_has_output(a->call, OUT_Y)) put_context(a, context);
    if (product != NULL && a->mode < MODE_MASKED) {
        attend_attention_options options = a->options;
        attend_arrays arrays = a->arrays;
        options.causal = false;
        if (a->mode == MODE_RAW) options.soft_cap = 0;
        arrays.allowed = NULL, arrays.bias = NULL;
        arrays.key_lengths = a->all_keys;
        status = forward(a, &options, &arrays, context, NULL, product);
    }
    if (status == CASE_OK && product != NULL) put_product(a, product);
    return status;
}

int op_attention(op_call *call)
{
    attention a = { .call = call };
    int status = read_attributes(&a);
    if (status == CASE_OK) status = read_sizes(&a);
    if (status == CASE_OK) status = make_arrays(&a);
    if (status == CASE_OK) status = attention_lengths(&a);
    if (status == CASE_OK) status = attention_masks(&a);
    if (status == CASE_OK) status = make_outputs(&a);
    if (status == CASE_OK && attend_runner_new(&a.runner, 1) != ATTEND_OK)
        status = op_fail(call, "attend_runner_new: %s", attend_message());
    if (status == CASE_OK) status = run_forward(&a);
    if (status == CASE_OK && a.cache != NULL) status = put_present(&a);
    attend_runner_free(a.runner);
    attend_cache_free(a.cache);
    for (int i = 0; i < a.block_count; i++) free(a.blocks[i]);
    return status;
}
