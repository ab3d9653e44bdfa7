/* op_attention_masks.c: the masks of the ONNX operator Attention (key lengths, causal, attn_mask) in the terms of
 * attend; see op_attention.c. */
#include "op_attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The key lengths of each sequence. attend aligns the last causal query with the last key, so the key length
 * determines the alignment. With fewer new keys than queries that length would exceed the keys, and an explicit mask
 * is used. */
int attention_lengths(attention *a)
{
    const onnx_tensor *given = op_input(a->call, IN_LENGTHS);
    char shape[200];
    if (given != NULL && (given->integers == NULL || given->rank != 1 || given->dims[0] != a->q.batch))
        return op_fail(a->call, "nonpad_kv_seqlen has shape %s instead of (%d), or is not of integers",
                       onnx_tensor_shape(given, shape, sizeof shape), a->q.batch);
    int *lengths = attention_take(a, (size_t)a->q.batch, sizeof *lengths);
    if (lengths == NULL) return CASE_FAILED;
    const int seen = a->past_key.count + a->q.count; /* keys visible to the last causal query */
    a->triangle = a->causal && given == NULL && seen > a->total;
    a->options.causal = a->causal && !a->triangle;
    for (int b = 0; b < a->q.batch; b++) {
        int64_t length = given != NULL ? given->integers[b] : a->options.causal ? seen : a->total;
        if (length < 0 || length > a->total)
            return op_fail(a->call, "length %" PRId64 " of sequence %d is not in 0 to %d", length, b, a->total);
        lengths[b] = (int)length;
    }
    a->arrays.key_lengths = lengths;
    return CASE_OK;
}

/* The four axes of attn_mask, aligned at the last. The last may be shorter than the keys, the others may be 1. */
static int mask_shape(attention *a, const onnx_tensor *mask, int shape[4])
{
    const int full[4] = { a->q.batch, a->q.heads, a->q.count, a->total };
    char text[200];
    for (int i = 0; i < 4; i++) shape[i] = 1;
    bool fits = mask->rank >= 2 && mask->rank <= 4;
    for (int i = 0; fits && i < mask->rank; i++) {
        const int axis = 4 - mask->rank + i;
        shape[axis] = (int)mask->dims[i];
        fits = axis == 3 ? shape[axis] <= full[axis] : shape[axis] == 1 || shape[axis] == full[axis];
    }
    if (fits) return CASE_OK;
    return op_fail(a->call, "attn_mask of shape %s does not go with (%d, %d, %d, %d)",
                   onnx_tensor_shape(mask, text, sizeof text), full[0], full[1], full[2], full[3]);
}

/* The allowed keys by a boolean mask and by the causal triangle. */
static int make_allowed(attention *a, const onnx_tensor *mask, const int shape[4])
{
    int *to = a->arrays.allowed_shape;
    memcpy(to, shape, 4 * sizeof *to);
    if (a->triangle) to[2] = a->q.count;
    to[3] = a->arrays.keys;
    const size_t queries = (size_t)to[2], keys = (size_t)to[3];
    const size_t given = (size_t)(mask != NULL ? shape[3] : a->total), outer = (size_t)to[0] * (size_t)to[1];
    unsigned char *allowed = attention_take(a, outer * queries * keys, 1);
    if (allowed == NULL) return CASE_FAILED;
    a->arrays.allowed = allowed;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < queries; i++, allowed += keys)
            for (size_t j = 0; j < given; j++) {
                const size_t row = shape[2] == 1 ? o : o * queries + i;
                const bool before = !a->triangle || j <= i + (size_t)a->past_key.count;
                allowed[j] = before && (mask == NULL || mask->integers[row * given + j] != 0);
            }
    return CASE_OK;
}

static int make_bias(attention *a, const onnx_tensor *mask, const int shape[4])
{
    int *to = a->arrays.bias_shape;
    memcpy(to, shape, 4 * sizeof *to);
    to[3] = a->arrays.keys;
    const size_t keys = (size_t)to[3], given = (size_t)shape[3];
    const size_t count = (size_t)to[0] * (size_t)to[1] * (size_t)to[2];
    attend_real *bias = attention_take(a, count * keys, sizeof *bias);
    if (bias == NULL) return CASE_FAILED;
    a->arrays.bias = bias;
    for (size_t i = 0; i < count; i++, bias += keys) {
        for (size_t j = 0; j < keys; j++) bias[j] = (attend_real)-INFINITY;
        for (size_t j = 0; j < given; j++) {
            const size_t at = i * given + j;
            bias[j] = mask->reals != NULL ? (attend_real)mask->reals[at] : (attend_real)mask->integers[at];
        }
    }
    return CASE_OK;
}

int attention_masks(attention *a)
{
    const onnx_tensor *mask = op_input(a->call, IN_MASK);
    int shape[4] = { 1, 1, 1, 1 };
    const bool boolean = mask != NULL && mask->type == ONNX_BOOL;
    int status = mask != NULL ? mask_shape(a, mask, shape) : CASE_OK;
    if (status == CASE_OK && mask != NULL && !boolean) status = make_bias(a, mask, shape);
    if (status != CASE_OK || (!boolean && !a->triangle)) return status;
    return make_allowed(a, boolean ? mask : NULL, boolean ? shape : (const int[4]){ 1, 1, 1, 1 });
}
