/* test_golden_models.c: compares whole models with PyTorch. With the same weights, the loss, the probability of every
 * token, the attention and the gradient of every parameter agree: for all pairs at once, when scoring, and in shards
 * on one and two threads, which must be bit-identical. tools/make_model_goldens.py and
 * tools/make_transformer_goldens.py document the tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/rig.h"
#include "support/tiny_pairs.h"
#include <attend/model.h>
#include <stdlib.h>
#include <string.h>

typedef struct spec {
    const char *golden;   /* model_NAME */
    const char *settings; /* settings that differ from tiny_config */
} spec;

#define LSTMN       "architecture=lstmn "
#define LUONG       "cell=lstm context=after readout=plain "
#define LINES       "task=language-model "
#define TRANSFORMER "architecture=transformer embedding=0 layers=2 hidden=6 heads=2 feed-forward-width=5 "

static const spec specs[] = {
    { "simple", "cell=simple attention=none readout=plain bidirectional=no" },
    { "simple_attention", "cell=simple attention=additive context=before readout=plain bidirectional=no" },
    { "rnnsearch", "cell=gru attention=additive context=before readout=deep" },
    { "luong_dot", LUONG "attention=dot" },
    { "luong_dot_feeding", LUONG "attention=dot input-feeding=yes bidirectional=no" },
    { "luong_bilinear", LUONG "attention=bilinear bidirectional=no" },
    { "luong_bilinear_feeding", LUONG "attention=bilinear input-feeding=yes" },
    { "luong_additive", LUONG "attention=additive bidirectional=no" },
    { "luong_additive_feeding", LUONG "attention=additive input-feeding=yes" },
    { "local_p_dot", LUONG "attention=dot window=local-p" },
    { "local_p_bilinear", LUONG "attention=bilinear window=local-p input-feeding=yes" },
    { "local_m", "cell=gru attention=additive context=before readout=deep window=local-m" },
    { "stacked", LUONG "attention=bilinear layers=2 input-feeding=yes" },
    { "tied", "cell=gru-reset-before layers=2 bidirectional=no start=copy tie-embeddings=yes shared-vocab=yes "
              "target-vocab=7" },
    { "copied", "cell=lstm layers=2 bidirectional=no start=copy attention=none readout=deep" },
    { "heads", "cell=gru attention=projected heads=2 attention-width=4 context=after readout=plain" },
    { "location", "cell=gru attention=location-sensitive" },
    { "lines_lstm", LINES "cell=lstm readout=plain" },
    { "lines_stacked", LINES "cell=lstm layers=2 readout=plain" },
    { "lines_gru", LINES "cell=gru readout=deep" },
    { "lines_tied", LINES "cell=lstm readout=deep tie-embeddings=yes" },
    { "lines_simple", LINES "cell=simple readout=plain" },
    { "lstmn_shallow", LSTMN "attention=bilinear" },
    { "lstmn_shallow_layers", LSTMN "attention=additive layers=2 decoder-layers=1 span=3" },
    { "lstmn_shallow_location", LSTMN "attention=location-sensitive" },
    { "lstmn_deep", LSTMN "fusion=deep" },
    { "lstmn_deep_layers", LSTMN "fusion=deep decoder-layers=2 span=3 embedding=4 tie-embeddings=yes shared-vocab=yes "
                                 "target-vocab=7" },
    { "lstmn_language", LSTMN "task=language-model layers=2 span=3" },
    { "transformer_pre", TRANSFORMER "norm=pre positions=sinusoidal feed-forward=relu" },
    { "transformer_post",
      TRANSFORMER "norm=post positions=sinusoidal feed-forward=relu layers=1 decoder-layers=2 heads=3" },
    { "transformer_learned", TRANSFORMER "norm=pre positions=learned feed-forward=gelu tie-embeddings=yes "
                                         "shared-vocab=yes target-vocab=7" },
    { "transformer_rotary", TRANSFORMER "norm=pre positions=rotary feed-forward=gated hidden=8 decoder-layers=1" },
    { "transformer_language", TRANSFORMER "task=language-model norm=pre positions=sinusoidal feed-forward=gelu" },
};

/* ---- an open golden and its model ---- */

typedef struct problem {
    rig r;
    attend_model *m;
    attend_pairs pairs;
    int *numbers[4]; /* of the pairs */
    attend_link *links;
    attend_loss_options options;
} problem;

static void take_pairs(problem *p)
{
    static const char *const names[4] = { "source", "source_lengths", "target", "target_lengths" };
    int sizes[4];
    for (int i = 0; i < 4; i++) /* a language model has no source */
        p->numbers[i] = i > 0 || golden_has(&p->r.g, names[0]) ? rig_integers(&p->r, names[i], &sizes[i]) : NULL;
    assert_int_equal(sizes[1], sizes[3]);
    p->pairs = (attend_pairs){ .count = sizes[1],
                               .source = p->numbers[0],
                               .source_lengths = p->numbers[1],
                               .target = p->numbers[2],
                               .target_lengths = p->numbers[3] };
    if (!golden_has(&p->r.g, "links")) return;
    int size = 0, *flat = rig_integers(&p->r, "links", &size);
    p->pairs.link_count = size / 3;
    p->links = calloc((size_t)size / 3, sizeof *p->links);
    assert_non_null(p->links);
    for (int i = 0; i < size / 3; i++) p->links[i] = (attend_link){ flat[3 * i], flat[3 * i + 1], flat[3 * i + 2] };
    p->pairs.links = p->links;
    free(flat);
}

/* The rank and shape of a parameter. */
static int shape_of(const attend_param *parameter, int *shape)
{
    const int rank = attend_param_rank(parameter);
    for (int i = 0; i < rank; i++) shape[i] = attend_param_dim(parameter, i);
    return rank;
}

/* Sets every parameter from the golden, which must have it in this shape; rig_close finds tensors that the model does
 * not have. */
static void set_parameters(problem *p)
{
    attend_params *all = attend_model_params(p->m);
    for (int i = 0; i < attend_params_count(all); i++) {
        attend_param *parameter = attend_params_at(all, i);
        int shape[GOLDEN_MAX_RANK];
        const int rank = shape_of(parameter, shape);
        const golden_tensor *t = golden_shaped(&p->r.g, attend_param_name(parameter), rank, shape);
        rig_require(&p->r, t != NULL);
        for (size_t k = 0; k < t->size; k++) attend_param_edit(parameter)[k] = (attend_real)t->data[k];
        attend_param_changed(parameter);
    }
}

static void open_problem(problem *p, const spec *s)
{
    char name[GOLDEN_NAME];
    attend_config config;
    (void)snprintf(name, sizeof name, "model_%s", s->golden);
    *p = (problem){ .options = ATTEND_LOSS_OPTIONS_INIT };
    rig_open(&p->r, name, RIG_PARAMETERS, "opening");
    rig_status(&p->r, tiny_config(&config, s->settings));
    rig_status(&p->r, attend_model_new(&p->m, &config, 1));
    take_pairs(p);
    p->options.scale = rig_number(&p->r, "options", 0);
    p->options.label_smoothing = rig_number(&p->r, "options", 1);
    p->options.guidance = rig_number(&p->r, "options", 2);
    set_parameters(p);
}

static void close_problem(problem *p)
{
    attend_model_free(p->m);
    for (int i = 0; i < 4; i++) free(p->numbers[i]);
    free(p->links);
    rig_close(&p->r);
}

/* ---- comparing ---- */

enum { MOST_ROWS = 32, MOST_WEIGHTS = 512 };

/* The results of a run besides the loss. */
typedef struct results {
    attend_real nll[MOST_ROWS], weights[MOST_WEIGHTS];
} results;

static const char *const kind_names[] = { "weights", "weights.encoder",
                                          "weights.decoder" }; /* by attend_attention_kind */

static void compare_results(problem *p, const results *s, attend_attention_kind kind)
{
    const int rows = attend_pairs_rows(&p->pairs);
    const int weights = (int)attend_pairs_weight_count(&p->pairs, attend_model_config(p->m), kind);
    assert_true(rows <= MOST_ROWS && weights <= MOST_WEIGHTS);
    rig_compare(&p->r, "nll", 1, &rows, s->nll);
    if (weights > 0) rig_compare(&p->r, kind_names[kind], 1, &weights, s->weights);
}

static void compare_gradients(problem *p, const attend_grads *grads)
{
    attend_params *all = attend_model_params(p->m);
    for (int i = 0; i < attend_params_count(all); i++) {
        const attend_param *parameter = attend_params_at(all, i);
        char name[GOLDEN_NAME];
        int shape[GOLDEN_MAX_RANK];
        const int rank = shape_of(parameter, shape);
        const int length = snprintf(name, sizeof name, "grad.%s", attend_param_name(parameter));
        assert_true(length > 0 && length < GOLDEN_NAME);
        rig_compare(&p->r, name, rank, shape, attend_grads_of(grads, parameter));
    }
}

static void compare_loss(problem *p, double loss)
{
    const attend_real got = (attend_real)loss;
    rig_compare(&p->r, "loss", 1, (const int[]){ 1 }, &got);
}

/* ---- all pairs at once ---- */

static void check_together(problem *p, attend_attention_kind kind)
{
    results s = { .nll = { 0 } };
    attend_grads *grads = NULL;
    attend_loss_options options = p->options;
    options.nll = s.nll;
    options.weights_kind = kind;
    options.weights = s.weights;
    attend_ctx_reset(p->r.c);
    rig_status(&p->r, attend_grads_new(&grads, attend_model_params(p->m)));
    attend_ctx_set_grads(p->r.c, grads);
    attend_var *loss = attend_model_loss(p->r.c, p->m, &p->pairs, &options);
    if (loss == NULL) fail_msg("%s: %s", p->r.path, attend_ctx_message(p->r.c));
    compare_loss(p, (double)attend_value(loss)[0]);
    compare_results(p, &s, kind);
    rig_status(&p->r, attend_backward(p->r.c, loss));
    compare_gradients(p, grads);
    attend_ctx_set_grads(p->r.c, NULL);
    attend_grads_free(grads);
}

static void check_score(problem *p, attend_attention_kind kind)
{
    results s = { .nll = { 0 } };
    double log_probability[MOST_ROWS];
    rig_status(&p->r, attend_model_score(p->r.c, p->m, &p->pairs, log_probability, s.nll, kind, s.weights));
    for (int i = 0; i < attend_pairs_rows(&p->pairs); i++) s.nll[i] = -s.nll[i];
    compare_results(p, &s, kind);
}

/* ---- in shards ---- */

typedef struct shards {
    const problem *p;
    int each; /* pairs */
} shards;

static attend_var *shard_loss(attend_ctx *c, int shard, void *user)
{
    const shards *s = user;
    const int first = shard * s->each, left = s->p->pairs.count - first;
    const attend_pairs part = attend_pairs_slice(&s->p->pairs, first, left < s->each ? left : s->each);
    return attend_model_loss(c, s->p->m, &part, &s->p->options);
}

static void assert_same(problem *p, const attend_grads *a, const attend_grads *b)
{
    attend_params *all = attend_model_params(p->m);
    for (int i = 0; i < attend_params_count(all); i++) {
        const attend_param *parameter = attend_params_at(all, i);
        if (memcmp(attend_grads_of(a, parameter), attend_grads_of(b, parameter),
                   attend_param_size(parameter) * sizeof(attend_real)) != 0)
            fail_msg("%s: one thread and two differ in the gradient of '%s' [%s]", p->r.path,
                     attend_param_name(parameter), p->r.way);
    }
}

static void check_shards(problem *p, int each)
{
    attend_team *teams[2];
    shards user = { p, each };
    const int count = (p->pairs.count + each - 1) / each;
    for (int i = 0; i < 2; i++) {
        double loss = 0;
        rig_status(&p->r, attend_team_new(&teams[i], attend_model_params(p->m), i + 1));
        rig_status(&p->r, attend_team_gradient(teams[i], count, shard_loss, &user, 1, 0, &loss));
        compare_loss(p, loss);
        compare_gradients(p, attend_team_grads(teams[i]));
    }
    assert_same(p, attend_team_grads(teams[0]), attend_team_grads(teams[1]));
    for (int i = 0; i < 2; i++) attend_team_free(teams[i]);
}

static void check_every_way(const void *user)
{
    problem p;
    open_problem(&p, user);
    p.r.way = "all pairs at once";
    for (int kind = ATTEND_ATTENTION_CROSS; kind <= ATTEND_ATTENTION_DECODER; kind++)
        check_together(&p, (attend_attention_kind)kind);
    p.r.way = "scoring";
    for (int kind = ATTEND_ATTENTION_CROSS; kind <= ATTEND_ATTENTION_DECODER; kind++)
        check_score(&p, (attend_attention_kind)kind);
    p.r.way = "shards of one pair";
    check_shards(&p, 1);
    p.r.way = "shards of three pairs";
    check_shards(&p, 3);
    close_problem(&p);
}

static void test_spec(void **state)
{
    rig_every_table(check_every_way, *state);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[sizeof specs / sizeof *specs];
    rig_directory(argc, argv);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        tests[i] = (struct CMUnitTest){ .name = specs[i].golden,
                                        .test_func = test_spec,
                                        .initial_state = (void *)(uintptr_t)&specs[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
