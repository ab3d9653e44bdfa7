/* Out of memory: every memory request of a training step, of scoring and of decoding is refused in turn. Each time there must be an error with a
 * message, and the context must work again after a reset. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/tiny_pairs.h"

static const char *const models[] = {
    "dropout=0.2 layers=2",
    ("cell=lstm context=after readout=plain input-feeding=yes layers=2 dropout=0.2 "
     "dropout-along-time=yes attention=dot"),
    "attention=location-sensitive cell=gru-reset-before",
    "attention=projected heads=2 attention-width=6 context=after readout=plain",
    "window=local-p cell=simple",
    "selection=hard estimator=reinforce",
    "attention=none",
    "architecture=lstmn layers=2 dropout=0.2",
    "architecture=lstmn attention=location-sensitive span=2",
    "architecture=lstmn fusion=deep layers=2",
    "architecture=lstmn task=language-model",
    "architecture=transformer hidden=4 embedding=0 heads=2",
    "architecture=transformer hidden=4 embedding=0 positions=learned norm=post",
    "architecture=transformer hidden=4 embedding=0 positions=rotary feed-forward=gated",
    "heads=2 attention-width=6 attention=projected alignment-head=yes",
    "context=after readout=plain alignment-head=yes",
    "architecture=transformer hidden=4 embedding=0 heads=2 layers=2 alignment-head=yes",
    "task=language-model cell=lstm layers=2 dropout=0.2",
    "task=language-model architecture=transformer hidden=4 embedding=0 heads=2"
};

typedef struct trial {
    attend_model *m;
    attend_ctx *c;
    attend_grads *g;
    attend_pairs pairs;
} trial;

static int loss(trial *t)
{
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.guidance = 0.5;
    attend_ctx_reset(t->c);
    attend_ctx_set_recording(t->c, true);
    attend_ctx_set_training(t->c, true);
    attend_var *loss = attend_model_loss(t->c, t->m, &t->pairs, &options);
    if (!loss != (attend_ctx_status(t->c) != ATTEND_OK)) return ATTEND_FAILED;
    const int status = attend_backward(t->c, loss);
    attend_grads_zero(t->g);
    return status;
}

static int score(trial *t)
{
    double p[TINY_PAIRS];
    attend_real rows[TINY_ROWS], weights[512];
    if (attend_pairs_weight_count(&t->pairs, attend_model_config(t->m), ATTEND_ATTENTION_CROSS) > 512)
        return ATTEND_FAILED;
    return attend_model_score(t->c, t->m, &t->pairs, p, rows, ATTEND_ATTENTION_CROSS, weights);
}

/* Steps with more hypotheses than before, then fewer. */
static int decode(trial *t)
{
    static const int steps[] = { 1, 3, 5, 2 };
    attend_decoding *d = NULL;
    int status = attend_decoding_new(&d, t->c, t->m, 2, t->pairs.source, t->pairs.source_lengths);
    if ((status == ATTEND_OK) != (d != NULL)) status = ATTEND_FAILED;
    for (int i = 0, before = 1; status == ATTEND_OK && i < 4; before = steps[i++]) {
        int counts[2] = { steps[i], steps[i] }, parents[10], tokens[10];
        for (int j = 0; j < 2 * steps[i]; j++)
            parents[j] = j / steps[i] * before + j % before, tokens[j] = i ? 3 : ATTEND_BEGIN;
        status = attend_decoding_step(d, counts, parents, tokens);
        const bool has_failed = status != ATTEND_OK;
        if ((status == ATTEND_OK) != (attend_decoding_log_probabilities(d) != NULL)) status = ATTEND_FAILED;
        const int head = attend_config_alignment_layer(attend_model_config(t->m));
        const bool aligns = head >= 0 && attend_decoding_weights(d, 0, head, 0);
        if (status == ATTEND_OK && attend_ctx_status(t->c) != ATTEND_OK) /* reading weights from the device */
            status = attend_ctx_status(t->c);
        if (status == ATTEND_OK && head >= 0 && !aligns) status = ATTEND_FAILED;
        if (has_failed && (attend_decoding_weights(d, 0, 0, 0) || aligns)) status = ATTEND_FAILED; /* no weights */
    }
    attend_decoding_free(d);
    return status;
}

static void refuse_each(const char *spec, attend_compute_precision compute, const char *what, int (*run)(trial *t))
{
    trial t = { .m = NULL };
    attend_config config;
    assert_ok(tiny_config(&config, spec));
    assert_ok(attend_model_new(&t.m, &config, 1));
    t.pairs = tiny_pairs_of(t.m);
    assert_ok(attend_grads_new(&t.g, attend_model_params(t.m)));
    long n = 0;
    for (int status = ATTEND_NO_MEMORY; status != ATTEND_OK;) {
        assert_ok(attend_ctx_new(&t.c)); /* a new context has no memory yet; packed weights stay in the model */
        attend_ctx_set_grads(t.c, t.g);
        assert_ok(attend_ctx_set_compute(t.c, compute));
        attend_memory_refuse(++n);
        status = run(&t);
        attend_memory_refuse(0);
        if (status != ATTEND_OK && (status != ATTEND_NO_MEMORY || !strstr(attend_message(), "no memory")))
            fail_msg("%s of '%s': request %ld refused: status %d, '%s'", what, spec, n, status, attend_message());
        if (run(&t) != ATTEND_OK) fail_msg("%s of '%s' after request %ld: %s", what, spec, n, attend_message());
        attend_ctx_free(t.c);
    }
    assert_true(n > 10);
    attend_grads_free(t.g);
    attend_model_free(t.m);
}

static void every_request_may_be_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        refuse_each(models[i], ATTEND_COMPUTE_FP32, "loss", loss);
        refuse_each(models[i], ATTEND_COMPUTE_BF16X3, "loss", loss);
        refuse_each(models[i], ATTEND_COMPUTE_FP32, "score", score);
        refuse_each(models[i], ATTEND_COMPUTE_FP32, "decoding", decode);
        refuse_each(models[i], ATTEND_COMPUTE_BF16, "decoding", decode);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_request_may_be_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
