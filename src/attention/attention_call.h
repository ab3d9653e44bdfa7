/* attention_call.h: the state of one attention call, shared by its forward and backward passes. */
#ifndef ATTEND_ATTENTION_ATTENTION_CALL_H
#define ATTEND_ATTENTION_ATTENTION_CALL_H

#include "attention/select.h"
#include "attention/source.h"
#include "core/pool.h"

typedef struct attention_call {
    attend_node node;
    const attend_source *source;
    attend_var *query; /* prepared */
    attend_var *context;
    attend_var *weights; /* (B, H, Tq, Tk) or NULL */
    real *scores;        /* (B, H, Tq, Tk): e after cap, bias and mask, -inf for masked keys; or NULL */
    attention_rows query_rows, context_rows;
    int max_queries, query_width;

    const unsigned char *allowed;
    size_t allowed_strides[4];
    attend_var *bias;
    size_t bias_strides[4];
    attend_var *position, *previous;
    const double *advantage;
    int first_position;
    bool one_position;

    selector select;
    double scale, dropout;
    attend_rng dropout_random;
    selected *selected;   /* (B, H, Tq): what backward needs of each row */
    real *stored_weights; /* (B, H, Tq, Tk): p, if the call is small; NULL: backward recomputes it */

    attend_pool *pool; /* NULL: only the calling thread */
    int workers;
} attention_call;

/* The keys that are visible to a query by its position: [first, last). */
typedef struct attention_range {
    int first, last;
} attention_range;

/* The index of a query head among all (B, H, Tq) of the call. */
static inline size_t attention_query_index(const attention_call *a, int b, int head, int i)
{
    return ((size_t)b * (size_t)a->source->options.heads + (size_t)head) * (size_t)a->max_queries + (size_t)i;
}

/* The index of a query in the positions of local-p, which all heads share. */
static inline size_t attention_position_index(const attention_call *a, int b, int i)
{
    const int *offsets = a->query_rows.offsets;
    return (offsets ? (size_t)offsets[b] : (size_t)b * (size_t)a->max_queries) + (size_t)i;
}

/* The keys that are visible to query i of sequence b by causal mask and window: 0 <= first <= last <= keys of b. */
attention_range attend_attention_key_range(const attention_call *a, int b, int i);
/* Applies cap, bias and mask in place to one row of scores e (n), whose first element is key `first`. `capped`, if
 * not NULL, receives e after the cap and before the bias. Returns whether a key is masked. */
bool attend_attention_mask_row(const attention_call *a, int b, int head, int i, int first, size_t n, real *e,
                               real *capped);

/* Checks the inputs, runs a call whose source, query, rows, widths and pool are set, and records it on the tape.
 * Writes the result to `context` and returns it; returns NULL on failure. */
attend_var *attend_attention_run(attend_ctx *c, attention_call *a, const attend_attention_inputs *inputs,
                                 attend_var *context, bool want_weights);
/* attend_attention that writes the context to `out`, unless `out` is NULL or the score maps the context (finish). */
attend_var *attend_attention_to(attend_ctx *c, const attend_source *source, attend_var *query,
                                const attend_ragged *queries, const attend_attention_inputs *inputs,
                                attend_var **weights, real *out);
/* Sets the prepared queries, `width` elements for all heads. Returns false on failure: they do not match the source. */
bool attend_attention_set_query(attend_ctx *c, attention_call *a, attend_var *query, int width);

/* Computes the context and, if requested, the weights; stores what backward needs. Returns false if memory runs out. */
bool attend_attention_forward(attend_ctx *c, attention_call *a);
void attend_attention_backward(attend_ctx *c, attention_call *a);

#endif
