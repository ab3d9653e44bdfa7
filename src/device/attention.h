/* attention.h: the arguments of attention (device.h). Pointers to numbers are device memory; lengths, masks and advantages
 * are host memory. */
#ifndef ATTEND_DEVICE_ATTENTION_H
#define ATTEND_DEVICE_ATTENTION_H

#include "core/rng.h"
#include "kernel/arguments.h"
#include <attend/selection.h>
#include <attend/tile.h>

enum { DEVICE_SCORE_PARAMETERS = 6 };

/* The layout of rows of B sequences and several heads: packed (offsets) or padded (sequence stride). */
typedef struct attention_rows {
    size_t first;               /* offset of the first head in a row */
    size_t sequence, head, row; /* strides, in elements */
    const int *offsets;         /* first row of each sequence; NULL: sequence b starts at b * sequence */
    const int *lengths;         /* rows of each sequence */
} attention_rows;

static inline size_t attention_row(const attention_rows *r, int b, int head, int i)
{
    size_t start = r->offsets ? (size_t)r->offsets[b] * r->row : (size_t)b * r->sequence;
    return start + r->first + (size_t)head * r->head + (size_t)i * r->row;
}

/* The functions of a score that run on the device's tiles (attend_score in attend/score.h). */
typedef struct device_score {
    unsigned tile_parameters; /* bit i: `tile` reads parameter i and tile_backward adds to its gradient */
    void (*cache_keys)(int keys, int key_width, const real *key, size_t key_stride, real *cache);
    size_t (*scratch_size)(const attend_tile *t);
    void (*tile)(const attend_tile *t);
    void (*tile_backward)(const attend_tile *t, const attend_tile_gradients *g);
} device_score;

/* The keys and values of B sequences. */
typedef struct device_source {
    device_score score;
    int heads, key_heads;
    attend_window window;
    int window_size;
    double soft_cap;
    bool causal;
    const real *parameters[DEVICE_SCORE_PARAMETERS];
    int parameter_shapes[DEVICE_SCORE_PARAMETERS][2];
    size_t parameter_sizes[DEVICE_SCORE_PARAMETERS];
    int parameter_count;
    const real *keys, *values; /* prepared */
    attention_rows key_rows, value_rows;
    int count, max_keys;        /* sequences, and the keys of the longest one */
    int key_width, value_width; /* of one head, prepared */
    real **cache;               /* (count * key_heads): for cache_keys of each head; NULL: not cached */
} device_source;

/* The selection of a call, the same for all rows. */
typedef struct selector {
    attend_selection selection;
    attend_estimator estimator;
    bool training; /* hard selection: sample; false: argmax */
    double temperature, entropy_bonus;
    attend_rng random;
} selector;

/* What forward stores of a row for backward. Maximum and normaliser are separate numbers, since log-sum-exp would
 * lose digits where scores are large. */
typedef struct selected {
    real max;        /* the maximum score; -inf: no key is visible */
    real normalizer; /* 1 / sum of exp(e - max); sparse selections: the threshold, relative to `max` */
    int choice;      /* hard selection: index of the key in the row; -1: none */
} selected;

/* One call: forward computes the context and, if requested, the weights, and stores what backward needs. */
typedef struct device_attention {
    const device_source *source;
    const real *query; /* prepared */
    real *context;
    real *weights; /* (B, H, Tq, Tk) or NULL */
    real *scores;  /* (B, H, Tq, Tk): e after cap, bias and mask, -inf for masked keys; or NULL */
    attention_rows query_rows, context_rows;
    int max_queries, query_width;

    const unsigned char *allowed;
    size_t allowed_strides[4];
    const real *bias;
    size_t bias_strides[4];
    const real *position, *previous; /* previous: (B, 1, Tq, Tk) */
    const double *advantage;
    int first_position;
    bool one_position;

    selector select;
    double scale, dropout;
    attend_rng dropout_random;
    selected *selected;   /* (B, H, Tq): what backward needs of each row */
    real *stored_weights; /* (B, H, Tq, Tk): p, if the call is small; NULL: backward recomputes it */

    /* backward: the gradients of the results, and those to add to; each may be NULL */
    const real *dcontext, *dweights;
    real *dquery, *dkey, *dvalue, *dbias, *dposition, *dprevious;
    real *dparameters[DEVICE_SCORE_PARAMETERS];
} device_attention;

#endif
