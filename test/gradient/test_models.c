/* Gradients of whole models: every cell, score, context position, window and selection, and the other fields of a configuration, with guided
 * alignment, on sentences of different lengths. */
#include "gradient/gradient.h"
#include "support/tiny_pairs.h"

static attend_var *loss(attend_ctx *c, void *user)
{
    const attend_pairs pairs = tiny_pairs_of(user);
    attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
    options.scale = 0.25;
    options.label_smoothing = 0.1;
    options.guidance = 0.5;
    return attend_model_loss(c, user, &pairs, &options);
}

static void check_from(const char *spec, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++) /* biases are not 0, embeddings not tiny */
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), seed, 0.7);
    assert_gradients(spec, attend_model_params(m), loss, m);
    attend_model_free(m);
}

static void check(const char *spec)
{
    check_from(spec, 3);
}

static void every_cell_score_and_context(void **state)
{
    (void)state;
    static const char *const cells[] = { "simple", "gru", "gru-reset-before", "lstm" };
    static const char *const contexts[] = { "context=before", "context=before readout=plain",
                                            "context=after readout=plain",
                                            "context=after readout=plain input-feeding=yes" };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        for (const attend_score *const *s = attend_scores; *s; s++)
            for (size_t j = 0; j < sizeof contexts / sizeof *contexts; j++) {
                char spec[256];
                snprintf(spec, sizeof spec, "cell=%s attention=%s %s", cells[i], (*s)->name, contexts[j]);
                check(spec);
            }
}

static void windows_and_selections(void **state)
{
    (void)state;
    check("window=local-m");
    check("window=local-p");
    check("window=local-p diagonal-start=yes");
    check("window=local-p diagonal-start=yes attention=dot context=after readout=plain input-feeding=yes");
    check("window=local-p attention=dot context=after readout=plain");
    check("window=local-m attention=bilinear context=after readout=plain input-feeding=yes");
    check("selection=sparsemax");
    check("selection=entmax15 attention=dot context=after readout=plain");
}

static void other_fields(void **state)
{
    (void)state;
    check("attention=none");
    check_from("attention=none readout=plain cell=simple activation=relu bidirectional=no start=copy", 5);
    check_from("cell=lstm activation=relu", 5); /* a seed with no activation near the kink of relu */
    check("attention=none layers=2 cell=lstm start=copy bidirectional=no");
    check("layers=3");
    check("layers=2 cell=lstm context=after readout=plain input-feeding=yes");
    check("layers=2 cell=lstm context=after readout=plain attention=dot");
    check("bidirectional=no start=copy cell=lstm");
    check("heads=2 attention=projected attention-width=6");
    check("heads=2 attention=scaled-dot context=after readout=plain");
    check("tie-embeddings=yes shared-vocab=yes source-vocab=7 target-vocab=7");
    check("tie-embeddings=yes context=after readout=plain input-feeding=yes");
    check("dropout=0.3");
    check("dropout=0.3 dropout-along-time=yes layers=2");
    check("dropout=0.3 dropout-along-time=yes layers=3 context=after readout=plain input-feeding=yes");
    check("dropout=0.3 layers=2 context=after readout=plain input-feeding=yes");
    check("alignment-head=yes");
    check("alignment-head=yes attention=dot context=after readout=plain");
    check("alignment-head=yes cell=lstm context=after readout=plain input-feeding=yes layers=2 dropout=0.3");
    check("alignment-head=yes heads=2 attention=projected attention-width=6 readout=plain");
}

static void transformers(void **state)
{
    (void)state;
#define TRANSFORMER "architecture=transformer hidden=8 embedding=0 heads=2 feed-forward=gelu "
    check(TRANSFORMER "layers=2");
    check(TRANSFORMER "layers=3 decoder-layers=2 norm=post");
    check(TRANSFORMER "positions=learned tie-embeddings=yes shared-vocab=yes source-vocab=7 target-vocab=7");
    check(TRANSFORMER "positions=rotary feed-forward=gated feed-forward-width=5");
    check_from(TRANSFORMER "feed-forward=relu", 5);
    check(TRANSFORMER "dropout=0.3 attention-dropout=0.2");
    check(TRANSFORMER "layers=3 decoder-layers=2 alignment-head=yes");
    check(TRANSFORMER "layers=1 norm=post positions=rotary alignment-head=yes dropout=0.3");
}

static void language_models(void **state)
{
    (void)state;
    static const char *const cells[] = { "simple", "gru", "gru-reset-before", "lstm" };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        char spec[256];
        for (int layers = 1; layers <= 2; layers++) {
            snprintf(spec, sizeof spec, "task=language-model cell=%s layers=%d", cells[i], layers);
            check(spec);
            snprintf(spec, sizeof spec, "task=language-model cell=%s layers=%d readout=plain", cells[i], layers);
            check(spec);
        }
    }
    check("task=language-model cell=lstm tie-embeddings=yes");
    check("task=language-model cell=lstm readout=plain tie-embeddings=yes embedding=4");
    check("task=language-model cell=lstm layers=2 dropout=0.3");
    check("task=language-model cell=lstm layers=2 dropout=0.3 dropout-along-time=yes");
    check(TRANSFORMER "task=language-model layers=2");
    check(TRANSFORMER "task=language-model norm=post positions=learned tie-embeddings=yes");
}

static void lstmns(void **state)
{
    (void)state;
#define LSTMN "architecture=lstmn "
    for (const attend_score *const *s = attend_scores; *s; s++) {
        char spec[256];
        snprintf(spec, sizeof spec, LSTMN "attention=%s", (*s)->name);
        check(spec);
    }
    check(LSTMN "layers=2 decoder-layers=3 span=2");
    check(LSTMN "window=local-p selection=entmax15 attention=dot");
    check(LSTMN "heads=2 attention=projected attention-width=6 tie-embeddings=yes dropout=0.3");
    check(LSTMN "fusion=deep");
    check(LSTMN "fusion=deep layers=3 decoder-layers=2 span=1");
    check(LSTMN "fusion=deep embedding=4 tie-embeddings=yes shared-vocab=yes source-vocab=7 target-vocab=7");
    check(LSTMN "fusion=deep layers=2 dropout=0.3 dropout-along-time=yes");
    check(LSTMN "task=language-model layers=2");
    check(LSTMN "task=language-model span=2 embedding=4 tie-embeddings=yes dropout=0.3");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_cell_score_and_context),
                                        cmocka_unit_test(windows_and_selections),
                                        cmocka_unit_test(other_fields),
                                        cmocka_unit_test(transformers),
                                        cmocka_unit_test(language_models),
                                        cmocka_unit_test(lstmns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
