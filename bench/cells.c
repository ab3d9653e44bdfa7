/* cells.c: a GRU and an LSTM layer, 25 steps of 64 sequences, 512 -> 512, forward and backward with the gradients of
 * input, weights and biases. One thread is compared with the peak of that thread; two threads (two shards
 * of 32 sequences whose gradients are added at the end) with PyTorch on two threads.
 *
 * An LSTMN with an attention span of 50 tokens is compared with an LSTM of the same size: 64 sentences of 8 to 36
 * tokens (mean 22), 300 -> 300. */
#include "bench.h"

#include "core/pool.h"
#include "train/gradient_sum.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { T = 25, B = 64, D = 512, MAX_SHARDS = 2 };

typedef struct layer {
    bench *b;
    attend_cell_kind kind;
    attend_params *params;
    attend_param *w, *u, *bw, *bu;
    float *x, *dy; /* (B T, D) */
    int shards;
    attend_pool *pool;
    attend_ctx *contexts[MAX_SHARDS];
    attend_grads *grads[MAX_SHARDS];
} layer;

static void run_shard(void *state, int shard)
{
    layer *l = state;
    attend_ctx *c = l->contexts[shard];
    int count = B / l->shards, lengths[B];
    for (int i = 0; i < count; i++) lengths[i] = T;
    attend_ctx_reset(c);
    attend_ctx_set_grads(c, l->grads[shard]);
    const attend_cell cell = { .kind = l->kind,
                               .w = attend_parameter(c, l->w),
                               .u = attend_parameter(c, l->u),
                               .bw = attend_parameter(c, l->bw),
                               .bu = attend_parameter(c, l->bu) };
    size_t first = (size_t)(shard * count * T) * D;
    attend_var *x = attend_input(c, 2, (const int[]){ count * T, D }, l->x + first);
    attend_var *y = attend_cell_sequence(c, &cell, x, attend_ragged_new(c, count, lengths), false, NULL);
    bench_require(attend_backward_from(c, y, l->dy + first));
}

static void run_layer(void *state)
{
    layer *l = state;
    attend_param_changed(l->w), attend_param_changed(l->u); /* as after an update, so that packing is measured too */
    attend_gradient_zero(l->pool, l->grads[0]);
    attend_pool_run(l->pool, l->shards, run_shard, l);
    for (int i = 1; i < l->shards; i++) attend_gradient_add(l->pool, l->grads[0], l->grads[i]);
}

static void run_ceiling(void *state)
{
    (void)state;
    bench_peak();
}

static layer layer_new(bench *b, attend_cell_kind kind, int shards)
{
    layer l = { .b = b,
                .kind = kind,
                .shards = shards,
                .x = bench_random_floats(B * T * D),
                .dy = bench_random_floats(B * T * D) };
    int gates = attend_cell_gates(kind) * D;
    bench_require(attend_params_new(&l.params));
    bench_require(attend_params_add(&l.w, l.params, "w", 2, (const int[]){ gates, D }));
    bench_require(attend_params_add(&l.u, l.params, "u", 2, (const int[]){ gates, D }));
    bench_require(attend_params_add(&l.bw, l.params, "bw", 1, &gates));
    bench_require(attend_params_add(&l.bu, l.params, "bu", 1, &gates));
    for (int i = 0; i < 4; i++) attend_param_fill_uniform(attend_params_at(l.params, i), 1, 1 / sqrt(D));
    bench_require(attend_pool_new(&l.pool, shards));
    for (int i = 0; i < shards; i++) {
        bench_require(attend_ctx_new(&l.contexts[i]));
        bench_require(attend_grads_new(&l.grads[i], l.params));
    }
    return l;
}

static void layer_free(layer *l)
{
    for (int i = 0; i < l->shards; i++) attend_ctx_free(l->contexts[i]), attend_grads_free(l->grads[i]);
    attend_pool_free(l->pool);
    attend_params_free(l->params);
    free(l->x), free(l->dy);
}

static void compare_with_ceiling(bench *b, attend_cell_kind kind, const char *name, double flops)
{
    layer one = layer_new(b, kind, 1);
    double seconds[2];
    bench_measure(b, 2, (const work[]){ { run_layer, &one }, { run_ceiling, &one } }, seconds);
    result r = { .group = "recurrent layer, T 25, B 64, 512 -> 512, forward+backward", .goal = 0.85 };
    snprintf(r.name, sizeof r.name, "%s, 1 thread, vs ceiling (%.1f ms)", name, seconds[0] * 1e3);
    snprintf(r.measured, sizeof r.measured, "%.1f GFLOP/s", flops / seconds[0]);
    snprintf(r.reference, sizeof r.reference, "%.1f GFLOP/s, peak", bench_peak());
    r.ratio = flops / seconds[0] / bench_peak();
    bench_report(b, &r);
    layer_free(&one);
}

static void compare_with_peer(bench *b, attend_cell_kind kind, const char *name, const char *task)
{
    layer two = layer_new(b, kind, 2);
    peer *p = bench_peer(b);
    double ours = 0, theirs = 0;
    for (int round = 0; round < (p ? 5 : 1); round++) { /* alternating */
        double seconds;
        bench_measure(b, 1, (const work[]){ { run_layer, &two } }, &seconds);
        if (ours == 0 || seconds < ours) ours = seconds;
        double other = p ? peer_seconds(p, task) : 0;
        if (other > 0 && (theirs == 0 || other < theirs)) theirs = other;
    }
    result r = { .group = "recurrent layer, T 25, B 64, 512 -> 512, forward+backward", .goal = 1.25, .ratio = NAN };
    snprintf(r.name, sizeof r.name, "%s, 2 threads, vs PyTorch", name);
    snprintf(r.measured, sizeof r.measured, "%.1f ms", ours * 1e3);
    if (theirs > 0) {
        snprintf(r.reference, sizeof r.reference, "%.1f ms, PyTorch %s tuned", theirs * 1e3, peer_version(p));
        r.ratio = theirs / ours;
    } else
        snprintf(r.reference, sizeof r.reference, "PyTorch: not available");
    bench_report(b, &r);
    layer_free(&two);
}

/* ---- LSTMN and LSTM ---- */

enum { SENTENCES = 64, MIN_LENGTH = 8, LENGTHS = 29, WIDTH = 300, SPAN = 50 };

typedef struct network {
    attend_params *params;
    attend_param *w, *u, *b, *wk, *wx, *wt, *v;
    attend_grads *grads;
    attend_ctx *c;
    int lengths[SENTENCES], rows;
    float *x, *dy;
} network;

static const attend_ragged *begin(network *n, attend_var **x)
{
    attend_grads_zero(n->grads);
    for (int i = 0; i < attend_params_count(n->params); i++) attend_param_changed(attend_params_at(n->params, i));
    attend_ctx_reset(n->c);
    attend_ctx_set_grads(n->c, n->grads);
    *x = attend_input(n->c, 2, (const int[]){ n->rows, WIDTH }, n->x);
    return attend_ragged_new(n->c, SENTENCES, n->lengths);
}

static void run_lstm(void *state)
{
    network *n = state;
    attend_var *x;
    const attend_ragged *sentences = begin(n, &x);
    const attend_cell cell = { .kind = ATTEND_CELL_LSTM,
                               .w = attend_parameter(n->c, n->w),
                               .u = attend_parameter(n->c, n->u),
                               .bw = attend_parameter(n->c, n->b) };
    bench_require(attend_backward_from(n->c, attend_cell_sequence(n->c, &cell, x, sentences, false, NULL), n->dy));
}

static void run_lstmn(void *state)
{
    network *n = state;
    attend_ctx *c = n->c;
    attend_var *x;
    const attend_ragged *sentences = begin(n, &x);
    const attend_lstmn_cell cell = { .attention = { attend_parameter(c, n->wk), attend_parameter(c, n->wx),
                                                    attend_parameter(c, n->wt), NULL, attend_parameter(c, n->v) },
                                     .w = attend_parameter(c, n->w),
                                     .u = attend_parameter(c, n->u),
                                     .b = attend_parameter(c, n->b),
                                     .span = SPAN };
    bench_require(attend_backward_from(c, attend_lstmn_sequence(c, &cell, x, sentences, NULL), n->dy));
}

static attend_param *weights(network *n, const char *name, int rank, int rows)
{
    attend_param *p;
    bench_require(attend_params_add(&p, n->params, name, rank, (const int[]){ rows, WIDTH }));
    attend_param_fill_uniform(p, 1, 1 / sqrt(WIDTH));
    return p;
}

static void compare_lstmn_with_lstm(bench *b)
{
    network n = { 0 };
    for (int i = 0; i < SENTENCES; i++) n.rows += n.lengths[i] = MIN_LENGTH + i * 17 % LENGTHS;
    n.x = bench_random_floats((size_t)n.rows * WIDTH), n.dy = bench_random_floats((size_t)n.rows * WIDTH);
    bench_require(attend_params_new(&n.params));
    n.w = weights(&n, "w", 2, 4 * WIDTH), n.u = weights(&n, "u", 2, 4 * WIDTH), n.b = weights(&n, "b", 1, 4 * WIDTH);
    n.wk = weights(&n, "wk", 2, WIDTH), n.wx = weights(&n, "wx", 2, WIDTH), n.wt = weights(&n, "wt", 2, WIDTH);
    n.v = weights(&n, "v", 1, WIDTH);
    bench_require(attend_grads_new(&n.grads, n.params));
    bench_require(attend_ctx_new(&n.c));
    double seconds[2];
    bench_measure(b, 2, (const work[]){ { run_lstmn, &n }, { run_lstm, &n } }, seconds);
    result r = { .group = "LSTMN, 64 sentences of 22 tokens, 300 -> 300, span 50, forward+backward" };
    snprintf(r.name, sizeof r.name, "LSTMN, 1 thread, vs LSTM");
    snprintf(r.measured, sizeof r.measured, "%.1f ms", seconds[0] * 1e3);
    snprintf(r.reference, sizeof r.reference, "%.1f ms, LSTM 300", seconds[1] * 1e3);
    r.ratio = seconds[1] / seconds[0];
    bench_report(b, &r);
    attend_ctx_free(n.c), attend_grads_free(n.grads), attend_params_free(n.params);
    free(n.x), free(n.dy);
}

void bench_cells(bench *b)
{
    const double per_gate = 3 * 2e-9 * T * B * (double)D * (D + D);
    compare_with_ceiling(b, ATTEND_CELL_GRU, "GRU", 3 * per_gate);
    compare_with_ceiling(b, ATTEND_CELL_LSTM, "LSTM", 4 * per_gate);
    compare_with_peer(b, ATTEND_CELL_GRU, "GRU", "gru");
    compare_with_peer(b, ATTEND_CELL_LSTM, "LSTM", "lstm");
    compare_lstmn_with_lstm(b);
}
