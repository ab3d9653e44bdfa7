/* gpu.c: training, decoding and attention on a GPU (ATTEND_DEVICE=cuda), compared with PyTorch on the same GPU at its best of
 * eager mode, compilation and CUDA graphs (peers/torch_gpu.py). Tokens are target tokens and ends. */
#include "training_steps.h"

#include "core/device_memory.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 512 };

typedef struct training_case {
    const char *name, *task; /* task: of peers/torch_gpu.py */
    attend_config config;
    int batch, length;
    const char *compute;
    double goal;
} training_case;

static void set(attend_config *config, const char *field, const char *value)
{
    bench_require(attend_config_set(config, field, value));
}

static attend_config rnnsearch(int hidden, int embedding, int vocabulary)
{
    attend_config c = ATTEND_CONFIG_INIT;
    c.hidden = hidden, c.embedding = embedding, c.dropout = 0, c.source_vocab = c.target_vocab = vocabulary;
    return c;
}

static attend_config luong(int vocabulary)
{
    attend_config c = rnnsearch(1000, 1000, vocabulary);
    set(&c, "layers", "4");
    c.cell = ATTEND_CELL_LSTM;
    c.attention = &attend_score_bilinear;
    c.context = ATTEND_CONTEXT_AFTER;
    c.readout = ATTEND_READOUT_PLAIN;
    c.bidirectional = false;
    c.input_feeding = true;
    return c;
}

static attend_config transformer(int width, int inner, int heads, int layers, int vocabulary)
{
    attend_config c = ATTEND_CONFIG_INIT;
    set(&c, "architecture", "transformer");
    c.hidden = width, c.embedding = 0, c.feed_forward_width = inner, c.heads = heads, c.layers = layers;
    c.dropout = 0, c.source_vocab = c.target_vocab = vocabulary;
    return c;
}

static void use_compute(const char *name)
{
    for (int i = 0; attend_compute_names[i]; i++)
        if (strcmp(attend_compute_names[i], name) == 0) steps_use_compute((attend_compute_precision)i);
}

static void run_and_wait(void *state)
{
    stepper_run(state);
    attend_device_default()->finish();
}

static void bench_step(bench *b, const training_case *x)
{
    static const char group[] = "training step on a GPU";
    pair_lengths lengths[MAX_BATCH];
    for (int i = 0; i < x->batch; i++) lengths[i] = (pair_lengths){ x->length, x->length };
    step_batch batch = step_batch_new(lengths, x->batch, x->config.target_vocab, x->batch);
    use_compute(x->compute);
    stepper s = stepper_on_threads(&x->config, &batch, 1, 1);
    char name[96], task[96];
    snprintf(name, sizeof name, "%s, B %d, T %d, %s", x->name, x->batch, x->length, x->compute);
    snprintf(task, sizeof task, "%s %d %d %s", x->task, x->batch, x->length, x->compute);
    bench_compare_with_peer(b, (work){ run_and_wait, &s }, task, group, name, batch.rows, x->goal);
    stepper_free(&s);
    step_batch_free(&batch);
}

/* ---- attention ---- */

typedef struct attention_case {
    const char *name, *task;
    bool is_additive;
    int batch, heads, length, width; /* width: of a head */
    const char *compute;
    bool backward;
    double goal;
} attention_case;

/* Queries, keys and values are parameters, so that they lie on the GPU. */
enum { QUERY, KEY, VALUE, GRADIENT, WQ, WK, B, U, ARRAYS };
typedef struct attention_state {
    const attention_case *x;
    attend_score score;
    attend_ctx *c;
    attend_params *params;
    attend_grads *grads;
    attend_param *arrays[ARRAYS];
} attention_state;

static void run_attention(void *state)
{
    attention_state *s = state;
    const attention_case *x = s->x;
    int lengths[64];
    attend_attention_options options = ATTEND_ATTENTION_OPTIONS_INIT;
    attend_var *v[ARRAYS];
    options.heads = x->heads;
    options.score = x->is_additive ? &s->score : &attend_score_scaled_dot;
    for (int i = 0; i < x->batch; i++) lengths[i] = x->length;
    attend_ctx_reset(s->c);
    attend_ctx_set_recording(s->c, x->backward);
    attend_ctx_set_grads(s->c, x->backward ? s->grads : NULL);
    const attend_ragged *rows = attend_ragged_new(s->c, x->batch, lengths);
    for (int i = 0; i < ARRAYS; i++) v[i] = attend_parameter(s->c, s->arrays[i]);
    attend_var *const parameters[] = { v[WQ], v[WK], v[B], v[U] };
    attend_source *source =
        attend_source_new(s->c, &options, x->is_additive ? parameters : NULL, v[KEY], v[VALUE], rows);
    attend_var *context = attend_attention(s->c, source, v[QUERY], rows, NULL, NULL);
    if (x->backward) bench_require(attend_backward(s->c, attend_sum(s->c, attend_mul(s->c, context, v[GRADIENT]))));
    bench_require(attend_ctx_status(s->c));
    attend_device_default()->finish();
}

static void bench_one_attention(bench *b, const attention_case *x)
{
    const int d = x->heads * x->width, shape[] = { x->batch * x->length, d }, square[] = { d, d }, row[] = { d };
    static const char *const names[] = { "query", "key", "value", "gradient", "wq", "wk", "b", "u" };
    attention_state s = { .x = x, .score = attend_score_additive };
    char name[96], task[96];
    double seconds = 0;
    s.score.prepare_keys = s.score.prepare_queries = NULL; /* without projections */
    use_compute(x->compute);
    bench_require(attend_ctx_new(&s.c));
    bench_require(
        attend_ctx_set_compute(s.c, strcmp(x->compute, "bf16") == 0 ? ATTEND_COMPUTE_BF16 : ATTEND_COMPUTE_FP32));
    bench_require(attend_params_new(&s.params));
    for (int i = 0; i < ARRAYS; i++) {
        const bool is_row = i == B || i == U;
        const int *own = is_row ? row : i == WQ || i == WK ? square : shape;
        bench_require(attend_params_add(&s.arrays[i], s.params, names[i], is_row ? 1 : 2, own));
        const size_t n = (size_t)own[0] * (is_row ? 1 : (size_t)d);
        float *numbers = bench_random_floats(n);
        memcpy(attend_param_edit(s.arrays[i]), numbers, n * sizeof *numbers);
        attend_param_changed(s.arrays[i]);
        free(numbers);
    }
    bench_require(attend_grads_new(&s.grads, s.params));
    bench_measure(b, 1, &(work){ run_attention, &s }, &seconds);
    snprintf(name, sizeof name, "%s, B %d, H %d, T %d, d %d, %s%s", x->is_additive ? "additive" : "dot", x->batch,
             x->heads, x->length, x->width, x->compute, x->backward ? ", f+b" : ", f");
    snprintf(task, sizeof task, "%s %d %d %d %d %s %s", x->task, x->batch, x->heads, x->length, x->width, x->compute,
             x->backward ? "both" : "forward");
    peer *other = bench_peer(b);
    const double theirs = other ? peer_seconds(other, task) : 0;
    const double size = (double)x->length,
                 flop = (x->backward ? 14.0 : 4.0) * x->batch * x->heads * size * size * x->width;
    result r = { .group = "attention on a GPU", .goal = x->goal, .ratio = theirs > 0 ? theirs / seconds : NAN };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.measured, sizeof r.measured, "%.2f ms, %.0f TFLOP/s, %.0f MiB", seconds * 1e3, flop / seconds * 1e-12,
             (double)attend_ctx_bytes(s.c) / 1048576);
    snprintf(r.reference, sizeof r.reference, "%.2f ms, PyTorch", theirs * 1e3);
    bench_report(b, &r);
    attend_grads_free(s.grads);
    attend_ctx_free(s.c);
    attend_params_free(s.params);
}

/* ---- decoding ---- */

typedef struct decoding_case {
    const char *name, *task;
    attend_config config;
    int count, beam;
    double goal;
} decoding_case;

typedef struct decoding_state {
    const decoding_case *x;
    const attend_model *m;
    attend_ctx *c;
    int *tokens, *lengths;
} decoding_state;

enum { SOURCE = 25 };

static void run_decoding(void *state)
{
    decoding_state *s = state;
    attend_search_options options = ATTEND_SEARCH_OPTIONS_INIT;
    attend_search_result *found = NULL;
    options.beam = s->x->beam;
    options.length_ratio = 1, options.length_extra = 0; /* as many steps as source tokens */
    bench_require(attend_search(&found, s->c, s->m, &options, s->x->count, s->tokens, s->lengths));
    attend_search_result_free(found);
}

static void bench_one_decoding(bench *b, const decoding_case *x)
{
    decoding_state s = { .x = x,
                         .tokens = malloc((size_t)x->count * SOURCE * sizeof(int)),
                         .lengths = malloc((size_t)x->count * sizeof(int)) };
    attend_model *m = NULL;
    char name[96], task[96];
    if (!s.tokens || !s.lengths) exit(1);
    bench_random_tokens(s.tokens, x->count * SOURCE, x->config.source_vocab);
    for (int i = 0; i < x->count; i++) s.lengths[i] = SOURCE;
    bench_require(attend_model_new(&m, &x->config, 1));
    attend_param *bias = attend_params_find(attend_model_params(m), "output.b");
    attend_param_edit(bias)[ATTEND_END] = -1000; /* no hypothesis ends early */
    attend_param_changed(bias);
    bench_require(attend_ctx_new(&s.c));
    bench_require(attend_ctx_set_compute(s.c, ATTEND_COMPUTE_TF32));
    attend_ctx_set_recording(s.c, false);
    s.m = m;
    double seconds = 0;
    bench_measure(b, 1, &(work){ run_decoding, &s }, &seconds);
    snprintf(name, sizeof name, "%s, %d sentences, beam %d", x->name, x->count, x->beam);
    snprintf(task, sizeof task, "%s %d %d", x->task, x->count, x->beam);
    peer *other = bench_peer(b);
    const double theirs = other ? peer_seconds(other, task) : 0;
    result r = { .group = "decoding on a GPU, 25 source tokens, 25 steps",
                 .goal = x->goal,
                 .ratio = theirs > 0 ? theirs / seconds : NAN };
    snprintf(r.name, sizeof r.name, "%s", name);
    snprintf(r.measured, sizeof r.measured, "%.0f sentences/s", x->count / seconds);
    snprintf(r.reference, sizeof r.reference, "%.0f, PyTorch", theirs > 0 ? x->count / theirs : 0);
    bench_report(b, &r);
    attend_ctx_free(s.c);
    attend_model_free(m);
    free(s.tokens);
    free(s.lengths);
}

void bench_gpu(bench *b)
{
    if (strcmp(attend_device_default()->name, "cuda") != 0) return; /* ATTEND_DEVICE=cuda selects it */
    const attend_config rnn = rnnsearch(1000, 620, 30000), deep = luong(50000),
                        base = transformer(512, 2048, 8, 6, 32000), small = rnnsearch(256, 128, 8000),
                        tiny = transformer(128, 512, 4, 4, 8000);
    const training_case trainings[] = {
        { "RNNsearch-1000", "gpu-rnnsearch", rnn, 80, 30, "tf32", 5 },
        { "RNNsearch-1000", "gpu-rnnsearch", rnn, 512, 30, "tf32", 1.5 },
        { "Luong 4 x 1000, feeding", "gpu-luong", deep, 128, 30, "bf16", 2.5 },
        { "Luong 4 x 1000, feeding", "gpu-luong", deep, 512, 30, "bf16", 1.5 },
        { "Transformer-base", "gpu-transformer 512 2048 8 6 32000", base, 512, 32, "bf16", 1.5 },
        { "Transformer 128, 4 + 4", "gpu-transformer 128 512 4 4 8000", tiny, 256, 16, "bf16", 3 },
        { "RNN 256", "gpu-rnn-small", small, 256, 16, "tf32", 3 },
    };
    const attention_case attentions[] = {
        { "additive", "gpu-additive", true, 1, 1, 4096, 512, "fp32", true, 7.5 },
        { "dot", "gpu-dot", false, 2, 8, 8192, 128, "bf16", false, 0.5 },
        { "dot", "gpu-dot", false, 2, 8, 8192, 128, "bf16", true, 0.57 },
    };
    const char *only = getenv("ATTEND_BENCH_CASE"); /* the number of one training step, for profiles */
    for (size_t i = 0; i < (bench_quick(b) && !only ? 1 : sizeof trainings / sizeof *trainings); i++)
        if (!only || (size_t)atoi(only) == i) bench_step(b, &trainings[i]);
    if (only) return;
    for (size_t i = 0; i < (bench_quick(b) ? 0 : sizeof attentions / sizeof *attentions); i++)
        bench_one_attention(b, &attentions[i]);
    static const int counts[] = { 1, 64, 512 }, beams[] = { 1, 5 };
    for (int transformers = 0; transformers < 2; transformers++)
        for (size_t i = 0; i < (bench_quick(b) ? 1 : 3); i++)
            for (size_t j = 0; j < 2; j++) {
                const decoding_case x = { transformers ? "Transformer-base" : "RNNsearch-1000",
                                          transformers ? "gpu-decode-transformer" : "gpu-decode-rnnsearch",
                                          transformers ? base : rnn,
                                          counts[i],
                                          beams[j],
                                          counts[i] == 1 ? 3 : 2 };
                bench_one_decoding(b, &x);
            }
}
