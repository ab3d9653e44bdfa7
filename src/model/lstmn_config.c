/* lstmn_config.c: valid configurations of LSTMNs. */
#include "model/config.h"
#include "model/lstmn.h"
#include <limits.h>

/* Deep fusion: the cells of the decoder attend to the source themselves. */
static bool is_fused(const attend_config *c)
{
    return c->task == ATTEND_TASK_TRANSLATION && c->fusion == ATTEND_FUSION_DEEP;
}

void attend_lstmn_set_defaults(attend_config *c)
{
    if (c->embedding == 0) c->embedding = 256;
    c->cell = ATTEND_CELL_LSTM;
    c->bidirectional = false;
    c->context = ATTEND_CONTEXT_AFTER;
    c->readout = ATTEND_READOUT_PLAIN;
    if (c->fusion == ATTEND_FUSION_DEEP) c->attention = &attend_score_additive;
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) c->attention = NULL;
}

const char *attend_lstmn_conflict(const attend_config *c)
{
    const bool local = c->window != ATTEND_WINDOW_GLOBAL;
    const char *conflict = attend_config_attention_conflict(c);
    if (conflict) return conflict;
    if (c->task == ATTEND_TASK_TRANSLATION && !c->attention)
        return "an lstmn reads the source by attention alone: choose an attention";
    if (is_fused(c) && (local || c->selection != ATTEND_SELECT_SOFT || c->heads > 1))
        return "with fusion 'deep' the cells of an lstmn attend to the source themselves: a window, a selection or "
               "heads belong to fusion 'shallow'";
    return attend_config_tied_conflict(c, c->attention && !is_fused(c));
}

int attend_lstmn_max_tokens(const attend_config *c, bool target)
{
    return !target && c->attention && c->attention->has_max_keys ? c->max_positions : INT_MAX;
}

int attend_lstmn_attention_layers(const attend_config *c, attend_attention_kind kind)
{
    const bool translates = c->task == ATTEND_TASK_TRANSLATION;
    if (kind == ATTEND_ATTENTION_DECODER) return attend_config_decoder_layers(c);
    if (kind == ATTEND_ATTENTION_ENCODER) return translates ? c->layers : 0;
    if (is_fused(c)) return attend_config_decoder_layers(c);
    return translates && c->attention ? 1 : 0;
}

int attend_lstmn_attention_heads(const attend_config *c, attend_attention_kind kind)
{
    if (kind != ATTEND_ATTENTION_CROSS || is_fused(c)) return 1;
    return c->heads > 0 ? c->heads : 1;
}
