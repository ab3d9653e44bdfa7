/* attention_call.h: one call of attention: everything its forward and backward share. */
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
    real *scores;        /* likewise, as the selection sees them; -inf where hidden */
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
    selected *kept; /* (B, H, Tq) */
    real *stored;   /* (B, H, Tq, Tk): p, if the call is small enough to keep it; NULL: backward computes it again */

    attend_pool *pool; /* NULL: this thread alone */
    int workers;
} attention_call;

/* Which keys a query may see by where it stands: [first, last). */
typedef struct attention_range {
    int first, last;
} attention_range;

/* Number of a query, or of one of its weights, among all of the call. */
static inline size_t attention_query_index(const attention_call *a, int b, int head, int i)
{
    return ((size_t)b * (size_t)a->source->options.heads + (size_t)head) * (size_t)a->max_queries + (size_t)i;
}

/* Number of a query among the positions of local-p: one a query, for all heads. */
static inline size_t attention_position_index(const attention_call *a, int b, int i)
{
    const int *offsets = a->query_rows.offsets;
    return (offsets ? (size_t)offsets[b] : (size_t)b * (size_t)a->max_queries) + (size_t)i;
}

/* The range of query i of sequence b: 0 <= first <= last <= its keys. */
attention_range attend_attention_key_range(const attention_call *a, int b, int i);
/* Cap, bias and hidden keys for one row of scores e (n), whose first is key `first`: in place. `capped`, if not NULL, receives
 * e after the cap and before the bias. Returns whether a key was hidden. */
bool attend_attention_mask_row(const attention_call *a, int b, int head, int i, int first, size_t n, real *e,
                               real *capped);

/* Checks the inputs, runs a call whose source, query, rows, widths and pool are set, and puts it on the tape. `context`
 * is where the result goes. NULL: the context failed. */
attend_var *attend_attention_run(attend_ctx *c, attention_call *a, const attend_attention_inputs *inputs,
                                 attend_var *context, bool want_weights);
/* attend_attention with a place for the context, unless the score maps it further; NULL: a variable's own memory. */
attend_var *attend_attention_to(attend_ctx *c, const attend_source *source, attend_var *query,
                                const attend_ragged *queries, const attend_attention_inputs *inputs,
                                attend_var **weights, real *where);
/* Sets the prepared queries, `width` numbers for all heads of one; false: they do not fit, and the context failed. */
bool attend_attention_take_query(attend_ctx *c, attention_call *a, attend_var *query, int width);

/* Fill context (and weights), and keep what backward needs; false: memory ran out. */
bool attend_attention_forward(attend_ctx *c, attention_call *a);
void attend_attention_backward(attend_ctx *c, attention_call *a);

#endif
