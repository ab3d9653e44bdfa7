/* attention_call.h: the state of one attention call, shared by its forward and backward passes. */
#ifndef ATTEND_ATTENTION_ATTENTION_CALL_H
#define ATTEND_ATTENTION_ATTENTION_CALL_H

#include "attention/source.h"

typedef struct attention_call {
    attend_node node;
    const attend_source *source;
    attend_var *query; /* prepared */
    attend_var *context;
    attend_var *weights; /* (B, H, Tq, Tk) or NULL */
    attend_var *bias, *position, *previous;
    device_attention d;
} attention_call;

/* Checks the inputs, runs a call whose source, query, rows and widths are set, and records it on the tape.
 * Writes the result to `context` and returns it; returns NULL on failure. */
attend_var *attend_attention_run(attend_ctx *c, attention_call *a, const attend_attention_inputs *inputs,
                                 attend_var *context, bool want_weights);
/* attend_attention whose context is the array `out` (attend_wrap), unless that is NULL or the score maps the context
 * (finish). */
attend_var *attend_attention_to(attend_ctx *c, const attend_source *source, attend_var *query,
                                const attend_ragged *queries, const attend_attention_inputs *inputs,
                                attend_var **weights, real *out);
/* Sets the prepared queries, `width` elements for all heads. Returns false on failure: they do not match the source. */
bool attend_attention_set_query(attend_ctx *c, attention_call *a, attend_var *query, int width);

#endif
