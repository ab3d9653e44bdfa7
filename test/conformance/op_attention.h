/* op_attention.h: one run of the ONNX operator Attention, shared by op_attention.c and op_attention_masks.c. */
#ifndef CONFORMANCE_OP_ATTENTION_H
#define CONFORMANCE_OP_ATTENTION_H

#include "operators.h"

#include <attend/attention.h>
#include <attend/cache.h>

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_KEY, IN_PAST_VALUE, IN_LENGTHS, INPUTS };
enum { OUT_Y, OUT_KEY, OUT_VALUE, OUT_PRODUCT, OUTPUTS };
enum { MODE_RAW, MODE_CAPPED, MODE_MASKED, MODE_WEIGHTS };
enum { MOST_BLOCKS = 16 };

/* The rows of one input: (B, H, T, D) with heads first, (B, T, H D) otherwise. */
typedef struct rows {
    int batch, heads, count, width;
    bool heads_first;
} rows;

typedef struct attention {
    op_call *call;
    attend_attention_options options;
    attend_arrays arrays;
    rows q, k, v, past_key, past_value;
    int total;             /* number of keys, past and new */
    bool causal, triangle; /* triangle: causal by an explicit mask */
    int64_t mode;
    attend_cache *cache;
    const int *all_keys; /* key_lengths without mask */
    attend_runner *runner;
    void *blocks[MOST_BLOCKS];
    int block_count;
} attention;

/* An array of zeros that is valid until the end of the run; NULL, with a message, if memory runs out. */
void *attention_take(attention *a, size_t count, size_t size);

/* Sets key_lengths and causal from nonpad_kv_seqlen and is_causal. */
int attention_lengths(attention *a);
/* After that, sets allowed and bias from attn_mask. */
int attention_masks(attention *a);

#endif
