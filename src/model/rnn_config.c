/* rnn_config.c: valid configurations of recurrent networks. */
#include "model/config.h"
#include "model/rnn.h"
#include <limits.h>

const char *attend_config_attention_conflict(const attend_config *c)
{
    const bool attention = c->attention != NULL, local = c->window != ATTEND_WINDOW_GLOBAL;
    if (!attention && c->input_feeding)
        return "input-feeding feeds the attentional state into the next step: choose an attention, or leave it out";
    if (attention && c->input_feeding && c->context != ATTEND_CONTEXT_AFTER)
        return "input-feeding belongs to context 'after' (Luong); with 'before' the context enters the next step "
               "anyway";
    if (attention && c->context == ATTEND_CONTEXT_AFTER && c->readout == ATTEND_READOUT_DEEP)
        return "readout 'deep' belongs to context 'before' (Bahdanau); with 'after', tanh(Wc [c; s]) is the readout";
    if (!attention && (local || c->selection != ATTEND_SELECT_SOFT))
        return "a window or a selection needs an attention";
    if (c->diagonal_start && c->window != ATTEND_WINDOW_LOCAL_P)
        return "diagonal-start belongs to window 'local-p', which predicts a position: choose that window, or leave it "
               "out";
    if (c->window == ATTEND_WINDOW_LOCAL_P && c->selection == ATTEND_SELECT_HARD)
        return "selection 'hard' gives one position the weight 1, which the Gaussian of window 'local-p' would scale: "
               "choose one of the two";
    if (attention && c->attention->needs_previous_weights && c->heads > 1)
        return "this attention uses the previous weights of one head: heads must be 1";
    return NULL;
}

const char *attend_config_tied_conflict(const attend_config *c, bool has_readout)
{
    if (!c->tie_embeddings || has_readout || c->hidden == c->embedding) return NULL;
    return "tie-embeddings needs hidden and embedding to be equal where tokens are predicted from the state itself";
}

void attend_rnn_set_defaults(attend_config *c)
{
    if (c->embedding == 0) c->embedding = 256;
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) c->attention = NULL;
}

const char *attend_rnn_conflict(const attend_config *c)
{
    if (c->task == ATTEND_TASK_TRANSLATION && c->start == ATTEND_START_COPY && c->bidirectional)
        return "start 'copy' uses the encoder's final state as it is, but a bidirectional encoder has two: choose "
               "'map', or bidirectional 'no'";
    const char *conflict = attend_config_attention_conflict(c);
    if (conflict) return conflict;
    if (!c->attention && c->alignment_head)
        return "alignment-head reads the states that an attention reads: choose an attention, or leave it out";
    return attend_config_tied_conflict(c, c->readout == ATTEND_READOUT_DEEP ||
                                              (c->attention && c->context == ATTEND_CONTEXT_AFTER));
}

int attend_rnn_max_tokens(const attend_config *c, bool target)
{
    return !target && c->attention && c->attention->has_max_keys ? c->max_positions : INT_MAX;
}

int attend_rnn_attention_layers(const attend_config *c, attend_attention_kind kind)
{
    return c->task == ATTEND_TASK_TRANSLATION && kind == ATTEND_ATTENTION_CROSS && c->attention ? 1 : 0;
}

int attend_rnn_attention_heads(const attend_config *c, attend_attention_kind kind)
{
    (void)kind;
    return c->heads > 0 ? c->heads : 1;
}
