/* attention.h: (query, keys, values) -> (context, weights), for any score function.
 *
 *     e_ij = score(q_i, k_j)     e = cap tanh(e / cap)     e += bias
 *     p_i = select(e_i, over the unmasked keys of query i)
 *     p = dropout(p)     o_i = sum_j p_ij v_j
 *
 * Purpose    Two interfaces: an operation on the tape, for models (attend_source_new, attend_attention), and plain
 *            arrays, without a model or a tape (attend_runner_forward and attend_runner_backward). Both run the same
 *            code. Only the weights of one tile of queries are in memory at a time, unless the caller requests all
 *            weights, so that memory grows with Tq + Tk and not with Tq Tk.
 * Shapes     B sequences; Tq queries and Tk keys, which may differ for each sequence; H query heads; Hk heads of keys
 *            and values. H is a multiple of Hk: H / Hk query heads share one key head.
 * Masks      A mask excludes keys from the selection; it is not added to scores or multiplied with weights. A masked
 *            key cannot change the result, even if it holds NaN. A query whose keys are all masked has weights 0,
 *            context 0 and gradients 0.
 * Ownership  A source and all variables belong to their context (tape.h). A runner is the caller's, freed by
 *            attend_runner_free; it borrows the arrays of a forward call until the following backward call.
 * Threads    There is no shared state. Several contexts may read a source at once if it was made with recording off. */
#ifndef ATTEND_ATTENTION_H
#define ATTEND_ATTENTION_H

#include <attend/score.h>
#include <attend/selection.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_attention_options {
    const attend_score *score; /* NULL: scaled dot product */
    int heads, key_heads;      /* 0 heads: one; 0 key_heads: as many as heads */
    attend_window window;
    int window_size; /* keys on each side: D of Luong et al. */
    attend_selection selection;
    attend_estimator estimator;
    double temperature;   /* of the straight-through estimator */
    double entropy_bonus; /* REINFORCE: adds -bonus * entropy(p) to the loss */
    double scale;         /* factor of e; 0: the score's default */
    double soft_cap;      /* 0: no cap */
    bool causal;          /* query i attends to keys 0 to i + (Tk - Tq), so that the last query attends to all keys */
    double dropout;       /* rate on the weights, in training */
    bool recompute; /* backward always recomputes the weights; false: calls with at most 262,144 weights store them */
} attend_attention_options;

#define ATTEND_ATTENTION_OPTIONS_INIT                                                                                  \
    {                                                                                                                  \
        0, 1, 0, ATTEND_WINDOW_GLOBAL, 0, ATTEND_SELECT_SOFT, ATTEND_STRAIGHT_THROUGH, 1.0, 0.0, 0.0, 0.0, false, 0.0, \
            false                                                                                                      \
    }

/* ---- on the tape ---- */

/* The keys and values of B sequences, prepared once for all queries, steps and beams. */
typedef struct attend_source attend_source;

/* parameters: those of the score, in the order of attend_score.parameter; NULL if it has none. keys (N, Dk); values
 * (N, Dv), or NULL to use the keys. The source has the lifetime of a variable created at the same time. Returns NULL on
 * failure. */
attend_source *attend_source_new(attend_ctx *c, const attend_attention_options *options, attend_var *const *parameters,
                                 attend_var *keys, attend_var *values, const attend_ragged *sequences);

/* Optional inputs of a call; {0} for none. Masks have four axes (B, H, Tq, Tk), with the maximum Tq and Tk of the
 * batch; an axis of length 1 is broadcast. */
typedef struct attend_attention_inputs {
    const unsigned char *allowed; /* nonzero: query i may attend to key j */
    int allowed_shape[4];
    attend_var *bias;     /* rank 4, added to e after the cap; -inf masks a key. Differentiable. */
    attend_var *position; /* local-p: (Nq, 1) in (0, 1), a fraction of the source length; see attend_window_position */
    attend_var *previous; /* location-sensitive: (B, 1, Tq, Tk) weights of the previous step; NULL: zeros */
    const double *advantage; /* REINFORCE: (B) loss - baseline; read by attend_backward, may be set after forward */
    int first_position;      /* local-m: the position of each sequence's first query, in step-by-step decoding */
    bool one_position;       /* local-m: all queries of a sequence have that position (the hypotheses of a beam) */
} attend_attention_inputs;

/* query (Nq, Dq) -> context (Nq, Dv). The rows are in the order of `queries`, which has as many sequences as the
 * source; the queries of a sequence are its tokens, or the hypotheses of a beam. weights, if not NULL, receives
 * (B, H, Tq, Tk), which is differentiable and zero in the padding. Returns NULL on failure. */
attend_var *attend_attention(attend_ctx *c, const attend_source *source, attend_var *query,
                             const attend_ragged *queries, const attend_attention_inputs *inputs, attend_var **weights);

/* pos / S = sigmoid(vp . tanh(Wp q)), the position of local-p (Luong et al. 2015).
 * query (N, D), wp (A, D), vp (1, A) -> (N, 1) */
attend_var *attend_window_position(attend_ctx *c, attend_var *query, attend_var *wp, attend_var *vp);

/* ---- on plain arrays, without a tape ---- */

/* The arrays of one call. The caller owns them; they are not copied and must stay valid until backward has returned. */
typedef struct attend_arrays {
    int batch, queries, keys;                /* B, Tq, Tk */
    int query_width, key_width, value_width; /* of one head: Dq, Dk, Dv */
    bool heads_first;                        /* layout (B, H, T, D); false: (B, T, H, D) */
    const int *query_lengths, *key_lengths;  /* (B) each, at most Tq and Tk; NULL: Tq and Tk */
    const attend_real *query;                /* (B, Tq, H, Dq) */
    const attend_real *key;                  /* (B, Tk, Hk, Dk) */
    const attend_real *value;                /* (B, Tk, Hk, Dv); NULL: the keys */

    const attend_real *const *parameters; /* of the score, with the order and the shapes of attend_score.parameter */
    int attention, max_keys, filters, filter_size; /* the members of attend_widths that determine those shapes */

    const unsigned char *allowed; /* see attend_attention_inputs */
    int allowed_shape[4];
    const attend_real *bias; /* see attend_attention_inputs */
    int bias_shape[4];
    const attend_real *position; /* local-p: (B, Tq) in (0, 1) */
    const attend_real *previous; /* location-sensitive: (B, 1, Tq, Tk) */
    const double *advantage;     /* REINFORCE: (B) */
    int first_position;

    bool training; /* dropout, and sampling in hard attention, with random numbers of (seed, stream) */
    uint64_t seed, stream;
} attend_arrays;

/* The arrays to which gradients are added, each with the shape of its input; NULL: that gradient is not computed. If
 * the keys serve as values, the gradients of both go to `key`. */
typedef struct attend_array_gradients {
    attend_real *query, *key, *value, *bias, *position, *previous;
    attend_real *const *parameters; /* NULL, or as many as the score has; an entry may be NULL */
} attend_array_gradients;

/* A thread pool and the memory of the last call. One thread at a time may use a runner; separate runners are
 * independent. */
typedef struct attend_runner attend_runner;
/* Returns ATTEND_BAD_USAGE or ATTEND_NO_MEMORY on failure, and then sets *out to NULL. */
int attend_runner_new(attend_runner **out, int threads);
void attend_runner_free(attend_runner *r);

/* Computes context (B, Tq, H, Dv), in the layout of the query; for a score that projects the context, such as
 * `projected`, (B, Tq, width). Padding rows are zero. weights and scores, if not NULL, receive (B, H, Tq, Tk); scores
 * are e after cap, bias and mask, -inf for masked keys. The result is bit-identical for any number of threads. Returns
 * ATTEND_BAD_USAGE if options and arrays do not fit together, or ATTEND_NO_MEMORY. */
int attend_runner_forward(attend_runner *r, const attend_attention_options *options, const attend_arrays *arrays,
                          attend_real *context, attend_real *weights, attend_real *scores);

/* The backward pass of the last forward pass; can be called once for each forward pass. Adds to the gradients that are
 * not NULL. dcontext has the shape of context; dweights has the shape of weights or is NULL. The context array of the
 * forward pass is read again and must be unchanged. */
int attend_runner_backward(attend_runner *r, const attend_real *dcontext, const attend_real *dweights,
                           const attend_array_gradients *gradients);

/* Bytes of memory that the runner holds, without the caller's arrays. */
size_t attend_runner_bytes(const attend_runner *r);

#ifdef __cplusplus
}
#endif
#endif
