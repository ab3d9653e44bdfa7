/* attention_view.cu: from the arguments of a call to what its kernels read. */
#include "device/cuda/attention_view.h"

#include <stdlib.h>
#include <string.h>

static cuda_score score_of(const device_score *s)
{
    const cuda_scores *all = cuda_builtin_scores();
    if (s->tile == all->additive) return CUDA_ADDITIVE;
    if (s->tile == all->location) return CUDA_LOCATION;
    return s->tile == all->location_sensitive ? CUDA_LOCATION_SENSITIVE : CUDA_DOT;
}

bool attend_cuda_runs_score(const device_score *s)
{
    const cuda_scores *all = cuda_builtin_scores();
    return s->tile == all->dot || s->tile == all->additive || s->tile == all->location ||
           s->tile == all->location_sensitive;
}

static cuda_sequence sequence_of(const device_attention *a, int b)
{
    const device_source *s = a->source;
    cuda_sequence x;
    x.query = attention_row(&a->query_rows, b, 0, 0);
    x.key = attention_row(&s->key_rows, b, 0, 0);
    x.value = attention_row(&s->value_rows, b, 0, 0);
    x.context = attention_row(&a->context_rows, b, 0, 0);
    const int *offsets = a->query_rows.offsets;
    x.position = offsets ? (size_t)offsets[b] : (size_t)b * (size_t)a->max_queries;
    x.advantage = a->advantage ? a->advantage[b] : 0;
    x.queries = a->query_rows.lengths[b];
    x.keys = s->key_rows.lengths[b];
    return x;
}

/* The bytes of an array with four axes, some of which are broadcast. */
static size_t extent(const size_t strides[4], const int shape[4])
{
    size_t n = 1;
    for (int i = 0; i < 4; i++) {
        if (shape[i] == 0) return 0;
        n += strides[i] * (size_t)(shape[i] - 1);
    }
    return n;
}

bool cuda_attention_new(cuda_call *call, const device_attention *a, cuda_attention *t)
{
    const device_source *s = a->source;
    const int shape[4] = { s->count, s->heads, a->max_queries, s->max_keys };
    t->a = *a, t->source = *s;
    t->score = score_of(&s->score);
    t->share = s->heads / s->key_heads;
    t->rows = (size_t)s->count * (size_t)s->heads * (size_t)a->max_queries;
    t->keys = (size_t)s->max_keys;

    const size_t count = (size_t)s->count, bytes = count * sizeof(cuda_sequence);
    const size_t mask = a->allowed ? extent(a->allowed_strides, shape) : 0;
    if (mask > 16 << 10) { /* too large to be copied twice */
        t->a.allowed = static_cast<const unsigned char *>(call->upload(a->allowed, mask));
        if (!t->a.allowed) return false;
    }
    const bool together = mask > 0 && mask <= 16 << 10;
    const size_t all = bytes + (together ? mask : 0);
    unsigned char *const packed = static_cast<unsigned char *>(malloc(all + 1));
    if (!packed) return false;
    for (int b = 0; b < s->count; b++) {
        const cuda_sequence x = sequence_of(a, b);
        memcpy(packed + (size_t)b * sizeof x, &x, sizeof x);
    }
    if (together) memcpy(packed + bytes, a->allowed, mask);
    const unsigned char *uploaded = static_cast<const unsigned char *>(call->upload(packed, all));
    free(packed);
    if (!uploaded) return false;
    t->sequences = reinterpret_cast<const cuda_sequence *>(uploaded);
    if (together) t->a.allowed = uploaded + bytes;
    return true;
}
