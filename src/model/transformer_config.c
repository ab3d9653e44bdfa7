/* transformer_config.c: valid configurations of Transformers, and their sizes by the amount of data. */
#include "model/config.h"
#include "model/transformer.h"
#include <limits.h>

void attend_transformer_set_defaults(attend_config *c)
{
    if (c->embedding == 0) c->embedding = c->hidden;
    c->attention = &attend_score_scaled_dot;
}

const char *attend_transformer_conflict(const attend_config *c)
{
    if (c->embedding != c->hidden)
        return "a transformer's embeddings are as wide as its layers: leave embedding out, or set it to hidden";
    if (c->positions == ATTEND_POSITIONS_ROTARY && c->hidden / c->heads % 2 != 0)
        return "rotary positions rotate pairs of numbers: hidden / heads must be even";
    return NULL;
}

int attend_transformer_max_tokens(const attend_config *c, bool target)
{
    (void)target;
    return c->positions == ATTEND_POSITIONS_LEARNED ? c->max_positions : INT_MAX;
}

int attend_transformer_attention_layers(const attend_config *c, attend_attention_kind kind)
{
    const bool translates = c->task == ATTEND_TASK_TRANSLATION;
    if (kind == ATTEND_ATTENTION_DECODER) return attend_config_decoder_layers(c);
    if (!translates) return 0;
    return kind == ATTEND_ATTENTION_CROSS ? attend_config_decoder_layers(c) : c->layers;
}

int attend_transformer_attention_heads(const attend_config *c, attend_attention_kind kind)
{
    (void)kind;
    return c->heads > 0 ? c->heads : 1;
}

/* Transformers overfit sooner than recurrent networks, and need a warm-up. The embedding is as wide as the layers. */
const architecture_sizes attend_transformer_sizes[ATTEND_DATA_LEVELS] = {
    /* hidden, embedding, layers, heads, feed-forward-width, dropout, learning rate, warm-up */
    { 64, 0, 2, 4, 128, 0.2, 0.002, 1000 },    { 128, 0, 3, 4, 256, 0.3, 0.002, 1000 },
    { 128, 0, 4, 4, 256, 0.3, 0.002, 1000 },   { 256, 0, 4, 4, 1024, 0.2, 0.001, 1000 },
    { 512, 0, 6, 4, 2048, 0.1, 0.0007, 1000 },
};
