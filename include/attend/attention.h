/* attention.h: (query, keys, values) -> (context, weights), for any score.
 *
 *     e_ij = score(q_i, k_j)     e = cap tanh(e / cap)     e += bias     p_i = select(e_i, over the keys i may see)
 *     p = dropout(p)             o_i = sum_j p_ij v_j
 *
 * Purpose    Two ways in: as an operation on the tape, for models (attend_source_new, attend_attention), and on plain arrays, without a
 *            model and without a tape (attend_runner_forward and _backward below). Both run the same code: the weights of a tile of
 *            queries exist, the whole matrix never does unless it is asked for, so memory grows with m + n and not m n.
 * Shapes     B sequences; Tq queries and Tk keys (each sequence has its own numbers); H heads of the query, Hk of keys and
 *            values, H a multiple of Hk: heads share keys in groups of H / Hk.
 * Masks      select; they never add or multiply. What a query may not see cannot reach it, NaN or not. A query that sees nothing has
 *            weights 0, context 0 and gradients 0.
 * Threads    No hidden state. A source may be read by many contexts at once once it was made with recording off. */
#ifndef ATTEND_ATTENTION_H
#define ATTEND_ATTENTION_H

#include <attend/score.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_window {
    ATTEND_WINDOW_GLOBAL,
    ATTEND_WINDOW_LOCAL_M, /* Luong 2015: keys within window_size of the query's own position */
    ATTEND_WINDOW_LOCAL_P /* Luong 2015: around a learned position, times exp(-(j - pos)^2 / 2 sigma^2), sigma = window_size / 2 */
} attend_window;

typedef enum attend_selection {
    ATTEND_SELECT_SOFT,      /* softmax */
    ATTEND_SELECT_SPARSEMAX, /* Martins, Astudillo 2016 */
    ATTEND_SELECT_ENTMAX15,  /* Peters, Niculae, Martins 2019, alpha = 1.5 */
    ATTEND_SELECT_HARD       /* one key: the best when running; when training, see attend_estimator */
} attend_selection;

/* How hard attention learns. */
typedef enum attend_estimator {
    ATTEND_STRAIGHT_THROUGH, /* argmax of (e + Gumbel) / temperature forward, its softmax backward */
    ATTEND_REINFORCE         /* a key drawn from p forward; backward needs attend_attention_inputs.advantage */
} attend_estimator;

typedef struct attend_attention_options {
    const attend_score *score; /* NULL: scaled dot */
    int heads, key_heads;      /* 0: 1, and as many as heads */
    attend_window window;
    int window_size; /* D of Luong: keys on each side */
    attend_selection selection;
    attend_estimator estimator;
    double temperature;   /* of the straight-through estimator */
    double entropy_bonus; /* REINFORCE: adds -bonus * entropy(p) to the loss */
    double scale;         /* of e; 0: the score's own */
    double soft_cap;      /* 0: none */
    bool causal;          /* query i sees keys up to i + (Tk - Tq): aligned at the end, past keys come first */
    double dropout;       /* on the weights, when training */
    bool recompute; /* backward computes the weights again even of calls small enough to keep them (262,144 of them) */
} attend_attention_options;

#define ATTEND_ATTENTION_OPTIONS_INIT                                                                                  \
    {                                                                                                                  \
        0, 1, 0, ATTEND_WINDOW_GLOBAL, 0, ATTEND_SELECT_SOFT, ATTEND_STRAIGHT_THROUGH, 1.0, 0.0, 0.0, 0.0, false, 0.0, \
            false                                                                                                      \
    }

/* ---- on the tape ---- */

/* The keys and values of B sequences, prepared once for all queries, steps and beams. */
typedef struct attend_source attend_source;

/* parameters: what the score learns, in its order (attend_score.parameter); NULL if nothing. keys (N, Dk), values (N, Dv) or NULL:
 * the keys. Lives as long as a variable made now; NULL on failure. */
attend_source *attend_source_new(attend_ctx *c, const attend_attention_options *options, attend_var *const *parameters,
                                 attend_var *keys, attend_var *values, const attend_ragged *sequences);

/* What a call may bring besides the query; {0} is nothing. Masks have four axes (B, H, Tq, Tk), the longest of each; an axis of
 * length 1 is repeated. */
typedef struct attend_attention_inputs {
    const unsigned char *allowed; /* nonzero: query i may see key j */
    int allowed_shape[4];
    attend_var *bias;     /* rank 4, added to e after the cap; -inf hides a key. Its gradient flows. */
    attend_var *position; /* local-p: (Nq, 1) in (0, 1), the share of the source; see attend_window_position */
    attend_var *previous; /* location-sensitive: (B, 1, Tq, Tk) weights of the step before; NULL: zeros */
    const double
        *advantage;     /* REINFORCE: (B) loss - baseline of each sequence; read by attend_backward, so it may be filled
                              * after the forward pass */
    int first_position; /* local-m: the position of each sequence's first query (decoding step by step) */
    bool one_position;  /* local-m: the queries of a sequence all stand there (hypotheses of a beam) */
} attend_attention_inputs;

/* query (Nq, Dq) in the order of `queries`, which has as many sequences as the source: several queries of one sequence
 * may be its words, or the hypotheses of a beam -> context (Nq, Dv). weights, if not NULL, receives (B, H, Tq, Tk), zero where
 * there is no such query or key; gradients flow through it. */
attend_var *attend_attention(attend_ctx *c, const attend_source *source, attend_var *query,
                             const attend_ragged *queries, const attend_attention_inputs *inputs, attend_var **weights);

/* pos / S = sigmoid(vp . tanh(Wp q)) of Luong's local-p.   query (N, D), wp (A, D), vp (1, A) -> (N, 1) */
attend_var *attend_window_position(attend_ctx *c, attend_var *query, attend_var *wp, attend_var *vp);

/* ---- on plain arrays, without a tape ---- */

/* The arrays of one call. They stay the caller's and are not copied; they must live until backward is done. */
typedef struct attend_arrays {
    int batch, queries, keys;                /* B, Tq, Tk */
    int query_width, key_width, value_width; /* of one head: Dq, Dk, Dv */
    bool heads_first;                        /* rows lie as (B, H, T, D); false: as (B, T, H, D) */
    const int *query_lengths, *key_lengths;  /* (B) each, at most Tq and Tk; NULL: all of them */
    const attend_real *query;                /* (B, Tq, H, Dq) */
    const attend_real *key;                  /* (B, Tk, Hk, Dk) */
    const attend_real *value;                /* (B, Tk, Hk, Dv); NULL: the keys */

    const attend_real *const *parameters; /* of the score, in its order; shapes as attend_score.parameter says for .. */
    int attention, max_keys, filters, filter_size; /* .. these and the widths above (attend_widths) */

    const unsigned char *allowed; /* as in attend_attention_inputs, with its shape */
    int allowed_shape[4];
    const attend_real *bias; /* likewise */
    int bias_shape[4];
    const attend_real *position; /* local-p: (B, Tq) in (0, 1) */
    const attend_real *previous; /* location-sensitive: (B, 1, Tq, Tk) */
    const double *advantage;     /* REINFORCE: (B) */
    int first_position;

    bool training; /* dropout, and drawing in hard attention, by (seed, stream) */
    uint64_t seed, stream;
} attend_arrays;

/* Where derivatives are added, each of the shape of its array; NULL: not wanted. If the values are the keys, theirs go
 * to `key`. */
typedef struct attend_array_gradients {
    attend_real *query, *key, *value, *bias, *position, *previous;
    attend_real *const *parameters; /* NULL, or as many as the score has; an entry may be NULL */
} attend_array_gradients;

/* Threads, and the memory of the last call. Used by one thread at a time; several may work beside each other. */
typedef struct attend_runner attend_runner;
int attend_runner_new(attend_runner **out, int threads);
void attend_runner_free(attend_runner *r);

/* context (B, Tq, H, Dv), laid out as the query is (a score that maps its context, as `projected` does: (B, Tq, width)); zero where
 * there is no query. weights and scores, if not NULL: (B, H, Tq, Tk); scores are e as the selection saw them, -inf where
 * hidden. The same numbers on any number of threads. */
int attend_runner_forward(attend_runner *r, const attend_attention_options *options, const attend_arrays *arrays,
                          attend_real *context, attend_real *weights, attend_real *scores);

/* Backward of the last forward: adds to every gradient that is wanted. dcontext as context; dweights, as weights, or
 * NULL. Once a forward. Reads the context too, where forward put it: it must not have changed. */
int attend_runner_backward(attend_runner *r, const attend_real *dcontext, const attend_real *dweights,
                           const attend_array_gradients *gradients);

/* Bytes that the runner holds besides the caller's arrays. */
size_t attend_runner_bytes(const attend_runner *r);

#ifdef __cplusplus
}
#endif
#endif
