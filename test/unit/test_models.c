/* Training, scoring and decoding agree on probabilities and attention weights, for every batch and beam; invalid inputs
 * are refused. */
#include <attend/attend.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/tiny_pairs.h"

enum { MAX_WEIGHTS = 256, KEYS = 3 };

static attend_model *model_of(const char *spec)
{
    attend_config config;
    attend_model *m = NULL;
    if (tiny_config(&config, spec) != ATTEND_OK || attend_model_new(&m, &config, 7) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), 3, 0.7);
    return m;
}

static void close_to(const char *spec, const char *what, double a, double b)
{
    if (!(fabs(a - b) <= 1e-5)) fail_msg("%s: %s: %.9g and %.9g", spec, what, a, b);
}

#define LSTMN       "architecture=lstmn"
#define TRANSFORMER "architecture=transformer hidden=8 embedding=0 heads=2 layers=2"

/* The i-th model configuration to test; false after the last. */
static bool next_spec(int i, char *spec, size_t size)
{
    static const char *const contexts[] = { "", "readout=plain cell=simple", "context=after readout=plain cell=lstm",
                                            "context=after readout=plain input-feeding=yes layers=2" };
    static const char *const rest[] = {
        "attention=none",
        "attention=none readout=plain cell=lstm layers=3",
        "layers=3 cell=lstm",
        "window=local-m",
        "window=local-p",
        "window=local-p diagonal-start=yes",
        "window=local-p diagonal-start=yes context=after readout=plain input-feeding=yes",
        "window=local-m context=after readout=plain",
        "window=local-p context=after readout=plain attention=dot",
        "selection=sparsemax",
        "selection=entmax15",
        "selection=hard",
        "selection=hard estimator=reinforce context=after readout=plain",
        "bidirectional=no start=copy",
        "heads=2 attention=projected attention-width=6",
        "tie-embeddings=yes",
        "dropout=0.5",
        "cell=gru-reset-before",
        TRANSFORMER,
        TRANSFORMER " norm=post positions=learned feed-forward=gelu",
        TRANSFORMER " positions=rotary feed-forward=gated decoder-layers=3",
        TRANSFORMER " tie-embeddings=yes dropout=0.5 attention-dropout=0.2",
        "alignment-head=yes",
        "alignment-head=yes context=after readout=plain input-feeding=yes layers=2",
        TRANSFORMER " alignment-head=yes decoder-layers=1",
        "task=language-model",
        "task=language-model cell=lstm readout=plain",
        "task=language-model cell=lstm layers=2 readout=plain",
        "task=language-model cell=gru readout=plain",
        "task=language-model cell=simple layers=3",
        "task=language-model cell=lstm tie-embeddings=yes",
        "task=language-model cell=lstm readout=plain tie-embeddings=yes hidden=3",
        "task=language-model dropout=0.5 dropout-along-time=yes",
        TRANSFORMER " task=language-model",
        TRANSFORMER " task=language-model positions=rotary tie-embeddings=yes",
        LSTMN,
        LSTMN " layers=2 decoder-layers=3 span=2 attention=dot",
        LSTMN " attention=location-sensitive",
        LSTMN " window=local-p selection=sparsemax attention=bilinear",
        LSTMN " window=local-p diagonal-start=yes",
        LSTMN " selection=hard estimator=reinforce tie-embeddings=yes",
        LSTMN " heads=2 attention=projected attention-width=6 window=local-m span=1",
        LSTMN " fusion=deep",
        LSTMN " fusion=deep layers=2 decoder-layers=3 span=2 dropout=0.5",
        LSTMN " task=language-model layers=2",
        LSTMN " task=language-model span=1 dropout=0.5"
    };
    int count = 0;
    while (attend_scores[count]) count++;
    if (i < 4 * count) {
        snprintf(spec, size, "attention=%s %s", attend_scores[i / 4]->name, contexts[i % 4]);
        return true;
    }
    i -= 4 * count;
    if (i >= (int)(sizeof rest / sizeof *rest)) return false;
    snprintf(spec, size, "%s", rest[i]);
    return true;
}

/* Scores of the tiny pairs. */
typedef struct scores {
    double pair[TINY_PAIRS];
    attend_real row[TINY_ROWS];
    attend_real weights[MAX_WEIGHTS];
} scores;

static void score(const char *spec, const attend_model *m, const attend_pairs *pairs, scores *s)
{
    attend_ctx *c = NULL;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    assert_true(attend_pairs_weight_count(pairs, attend_model_config(m), ATTEND_ATTENTION_CROSS) <= MAX_WEIGHTS);
    if (attend_model_score(c, m, pairs, s->pair, s->row, ATTEND_ATTENTION_CROSS, s->weights) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    attend_ctx_free(c);
}

/* Decodes all pairs together along their targets, with `beam` hypotheses each. One of them is the target; its index
 * changes from step to step, and the others have different tokens. */
static void decode(const char *spec, const attend_model *m, const attend_pairs *pairs, int beam, const scores *s)
{
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    if (attend_decoding_new(&d, c, m, pairs->count, pairs->source, pairs->source_lengths) != ATTEND_OK)
        fail_msg("%s: %s", spec, attend_message());
    const attend_config *config = attend_model_config(m);
    const int vocabulary = config->target_vocab, heads = attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS),
              maps = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) * heads;
    int previous[TINY_PAIRS]; /* the index of the hypothesis that is the target, in the previous step */
    for (int i = 0; i < pairs->count; i++) previous[i] = i;
    for (int t = 0; t < 6; t++) {
        int counts[TINY_PAIRS] = { 0 }, parents[64], given[64], n = 0, next[TINY_PAIRS] = { 0 };
        const int *target = pairs->target;
        for (int b = 0; b < pairs->count; target += pairs->target_lengths[b++]) {
            if (t > pairs->target_lengths[b]) continue;
            counts[b] = t == 0 ? 1 : beam;
            const int target_index = t % counts[b];
            next[b] = n + target_index;
            for (int j = 0; j < counts[b]; j++, n++) {
                parents[n] = previous[b];
                given[n] = t == 0 ? ATTEND_BEGIN : target[t - 1];
                if (j != target_index) given[n] = 3 + (given[n] + j) % 3;
            }
        }
        if (n == 0) break;
        if (attend_decoding_step(d, counts, parents, given) != ATTEND_OK) fail_msg("%s: %s", spec, attend_message());
        const attend_real *log_p = attend_decoding_log_probabilities(d), *weights = s->weights;
        target = pairs->target;
        int row = 0;
        for (int b = 0; b < pairs->count; target += pairs->target_lengths[b++]) {
            const int rows = pairs->target_lengths[b] + 1, source = pairs->source_lengths[b];
            if (counts[b]) {
                const int token = t < rows - 1 ? target[t] : ATTEND_END;
                close_to(spec, "log p", (double)log_p[next[b] * vocabulary + token], (double)s->row[row + t]);
                double sum = 0;
                for (int v = 0; v < vocabulary; v++) sum += exp((double)log_p[next[b] * vocabulary + v]);
                close_to(spec, "sum of p", sum, 1);
            }
            for (int k = 0; counts[b] && k < maps; k++) {
                const attend_real *w = attend_decoding_weights(d, next[b], k / heads, k % heads);
                for (int j = 0; j < source; j++)
                    close_to(spec, "weight", (double)w[j], (double)weights[(k * rows + t) * source + j]);
            }
            row += rows;
            weights += maps * rows * source;
        }
        memcpy(previous, next, sizeof next);
    }
    attend_decoding_free(d);
    attend_ctx_free(c);
}

static void decoding_agrees_with_scoring(void **state)
{
    (void)state;
    char spec[256];
    for (int i = 0; next_spec(i, spec, sizeof spec); i++) {
        attend_model *m = model_of(spec);
        const attend_pairs pairs = tiny_pairs_of(m);
        scores s = { 0 };
        score(spec, m, &pairs, &s);
        for (int b = 0, row = 0; b < pairs.count; b++) {
            double sum = 0;
            for (int t = 0; t <= pairs.target_lengths[b]; t++) sum += (double)s.row[row++];
            close_to(spec, "pair", sum, s.pair[b]);
        }
        decode(spec, m, &pairs, 1, &s);
        decode(spec, m, &pairs, 3, &s);
        attend_model_free(m);
    }
}

static void a_pair_does_not_depend_on_its_batch(void **state)
{
    (void)state;
    char spec[256];
    for (int i = 0; next_spec(i, spec, sizeof spec); i++) {
        attend_model *m = model_of(spec);
        const attend_pairs pairs = tiny_pairs_of(m);
        scores all = { 0 }, one = { 0 };
        score(spec, m, &pairs, &all);
        for (int b = 0; b < pairs.count; b++) {
            const attend_pairs part = attend_pairs_slice(&pairs, b, 1);
            score(spec, m, &part, &one);
            close_to(spec, "single pair", one.pair[0], all.pair[b]);
        }
        attend_model_free(m);
    }
}

/* log p of the first token when `count` sources are decoded. */
static double first_token(const char *spec, const attend_model *m, int count, const int *source, const int *lengths)
{
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    const int counts[] = { 1, 1 }, parents[] = { 0, 1 }, begin[] = { ATTEND_BEGIN, ATTEND_BEGIN };
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    if (attend_decoding_new(&d, c, m, count, source, lengths) != ATTEND_OK ||
        attend_decoding_step(d, counts, parents, begin) != ATTEND_OK)
        fail_msg("%s: %d sources, the first without tokens: %s", spec, count, attend_message());
    const double p = (double)attend_decoding_log_probabilities(d)[ATTEND_FIRST_TOKEN];
    attend_decoding_free(d);
    attend_ctx_free(c);
    return p;
}

static void a_source_may_have_no_tokens(void **state)
{
    (void)state;
    char spec[256];
    const int source[] = { 3, 4 }, lengths[] = { 0, 2 }, target[] = { ATTEND_FIRST_TOKEN }, target_lengths[] = { 1 };
    const attend_pairs single = {
        .count = 1, .source_lengths = lengths, .target = target, .target_lengths = target_lengths
    };
    for (int i = 0; next_spec(i, spec, sizeof spec); i++) {
        attend_model *m = model_of(spec);
        scores s = { 0 };
        score(spec, m, &single, &s);
        close_to(spec, "single source", first_token(spec, m, 1, NULL, lengths), (double)s.row[0]);
        if (attend_model_config(m)->task == ATTEND_TASK_TRANSLATION)
            close_to(spec, "in a batch", first_token(spec, m, 2, source, lengths), (double)s.row[0]);
        attend_model_free(m);
    }
}

static void training_and_scoring_agree(void **state)
{
    (void)state;
    char spec[256];
    for (int i = 0; next_spec(i, spec, sizeof spec); i++) {
        if (strstr(spec, "hard") || strstr(spec, "dropout")) continue; /* random */
        attend_model *m = model_of(spec);
        const attend_pairs pairs = tiny_pairs_of(m);
        scores s = { 0 };
        score(spec, m, &pairs, &s);
        attend_grads *g = NULL;
        attend_ctx *c = NULL;
        assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
        assert_int_equal(attend_grads_new(&g, attend_model_params(m)), ATTEND_OK);
        attend_ctx_set_grads(c, g);
        attend_ctx_set_training(c, true);
        attend_real nll[TINY_ROWS], weights[MAX_WEIGHTS] = { 0 };
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        options.nll = nll, options.weights = weights;
        attend_var *loss = attend_model_loss(c, m, &pairs, &options);
        if (attend_backward(c, loss) != ATTEND_OK) fail_msg("%s: %s", spec, attend_message());
        double sum = 0;
        for (int r = 0; r < TINY_ROWS; r++)
            close_to(spec, "nll", (double)nll[r], -(double)s.row[r]), sum += (double)nll[r];
        close_to(spec, "loss", sum / 12, (double)attend_value(loss)[0] / 12);
        for (int j = 0; j < MAX_WEIGHTS; j++) close_to(spec, "weights", (double)weights[j], (double)s.weights[j]);
        attend_ctx_free(c);
        attend_grads_free(g);
        attend_model_free(m);
    }
}

static void hard_attention_trains(void **state)
{
    (void)state;
    static const char *const all[] = {
        "selection=hard", "selection=hard estimator=reinforce entropy-bonus=0.01",
        "selection=hard estimator=reinforce context=after readout=plain input-feeding=yes"
    };
    const attend_pairs pairs = tiny_pairs();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        attend_model *m = model_of(all[i]);
        attend_grads *g = NULL;
        attend_ctx *c = NULL;
        assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
        assert_int_equal(attend_grads_new(&g, attend_model_params(m)), ATTEND_OK);
        attend_ctx_set_grads(c, g);
        attend_ctx_set_training(c, true);
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        options.baseline = 1.5;
        if (attend_backward(c, attend_model_loss(c, m, &pairs, &options)) != ATTEND_OK)
            fail_msg("%s: %s", all[i], attend_message());
        const attend_param *u = attend_params_find(attend_model_params(m), "attention.u");
        double sum = 0;
        for (size_t j = 0; j < attend_param_size(u); j++) sum += fabs((double)attend_grads_of(g, u)[j]);
        assert_true(isfinite(sum) && sum > 1e-6); /* the score's parameter has a gradient */
        attend_ctx_free(c);
        attend_grads_free(g);
        attend_model_free(m);
    }
}

/* ---- local-p ---- */

/* A model whose parameters are 0 attends evenly within its window, so that the largest weight is at the window's centre:
 * the token's own position with diagonal_start, the middle of the source without. */
static void a_window_starts_at_the_diagonal(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "window=local-p window-size=2 %s", "window=local-p window-size=2 context=after readout=plain %s",
        "window=local-p window-size=2 context=after readout=plain input-feeding=yes %s"
    };
    static const int source[] = { 3, 4, 5, 6, 3, 4, 5, 2 }, target[] = { 3, 4, 5, 3, 4, 5, 3, 4, 5 };
    const int source_length = 8, target_length = 9;
    const attend_pairs pair = { .count = 1,
                                .source = source,
                                .source_lengths = &source_length,
                                .target = target,
                                .target_lengths = &target_length };
    for (int k = 0; k < 6; k++) {
        char spec[128];
        snprintf(spec, sizeof spec, specs[k / 2], k % 2 ? "diagonal-start=yes" : "");
        attend_config config;
        attend_model *m = NULL;
        assert_int_equal(tiny_config(&config, spec), ATTEND_OK);
        assert_int_equal(attend_model_new(&m, &config, 7), ATTEND_OK);
        for (int i = 0; i < attend_params_count(attend_model_params(m)); i++) {
            attend_param *p = attend_params_at(attend_model_params(m), i);
            if (k % 2 && strcmp(attend_param_name(p), "position.v") == 0) /* 0 already */
                for (size_t j = 0; j < 4; j++) assert_true(attend_param_value(p)[j] == 0);
            attend_param_fill_uniform(p, 3, 0);
        }
        attend_real weights[10 * 8];
        double log_p;
        attend_ctx *c = NULL;
        assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
        assert_int_equal(attend_model_score(c, m, &pair, &log_p, NULL, ATTEND_ATTENTION_CROSS, weights), ATTEND_OK);
        for (int t = 1; t < target_length; t++) {
            int best = 0;
            for (int j = 1; j < source_length; j++)
                if (weights[t * source_length + j] > weights[t * source_length + best]) best = j;
            assert_int_equal(best, k % 2 == 0 ? source_length / 2 : t < source_length ? t : source_length - 1);
        }
        attend_ctx_free(c);
        attend_model_free(m);
    }
}

/* ---- refusals ---- */

/* Attachments may come from an untrusted file. */
static void an_invalid_alignment_is_ignored(void **state)
{
    (void)state;
    static const char *const invalid[] = {
        "",        "1",      "1 ",           "one two",      "1 1 2",
        "1 1 1 1", "1 1 -1", "1 1x",         "2 0",          "0 2",
        "-2 0",    "0 -2",   "4294967297 0", "1 4294967296", "1 99999999999999999999999"
    };
    attend_model *m = model_of(TRANSFORMER);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        assert_int_equal(attend_model_attach(m, "alignment", invalid[i], strlen(invalid[i])), ATTEND_OK);
        const attend_alignment a = attend_model_alignment(m);
        if (a.layer != 0 || a.head != -1) fail_msg("'%s' gives layer %d and head %d", invalid[i], a.layer, a.head);
    }
    for (int layer = -1; layer < 2; layer++)
        for (int head = -1; head < 2; head++) {
            assert_int_equal(attend_model_set_alignment(m, (attend_alignment){ .layer = layer, .head = head }),
                             ATTEND_OK);
            const attend_alignment a = attend_model_alignment(m);
            assert_true(a.layer == layer && a.head == head);
        }
    attend_model_free(m);
}

static void invalid_tokens_and_links_are_refused(void **state)
{
    (void)state;
    attend_model *m = model_of("");
    attend_ctx *c = NULL;
    assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
    const int zero[] = { 0 }, one[] = { 1 }, high[] = { TINY_TARGET }, low[] = { -1 }, fine[] = { 3 };
    const int max[] = { INT_MAX };
    const attend_link link = { 0, 1, 0 };
    const attend_pairs cases[] = {
        { .count = 0 },
        { .count = 1, .source = low, .source_lengths = one, .target = fine, .target_lengths = one },
        { .count = 1, .source = fine, .source_lengths = one, .target = high, .target_lengths = one },
        { .count = 1, .source = fine, .source_lengths = one, .target = low, .target_lengths = one },
        { .count = 1, .source = fine, .source_lengths = low, .target = fine, .target_lengths = one },
        { .count = 1, .source = fine, .source_lengths = one, .target = fine, .target_lengths = low },
        { .count = 1, .source = fine, .source_lengths = one, .target = fine, .target_lengths = max },
        { .count = -1, .source = fine, .source_lengths = one, .target = fine, .target_lengths = one },
        { .count = 1,
          .source = fine,
          .source_lengths = one,
          .target = fine,
          .target_lengths = one,
          .links = &link,
          .link_count = 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_ctx_reset(c);
        attend_loss_options options = ATTEND_LOSS_OPTIONS_INIT;
        options.guidance = 1;
        assert_null(attend_model_loss(c, m, &cases[i], &options));
        assert_int_not_equal(attend_ctx_status(c), ATTEND_OK);
        double p;
        if (cases[i].count && !cases[i].links)
            assert_int_equal(attend_model_score(c, m, &cases[i], &p, NULL, ATTEND_ATTENTION_CROSS, NULL),
                             ATTEND_BAD_USAGE);
        attend_ctx_set_recording(c, true);
    }
    /* an empty source is valid: attention has no keys, and its context is zero */
    const attend_pairs empty = {
        .count = 1, .source = fine, .source_lengths = zero, .target = fine, .target_lengths = one
    };
    double p;
    assert_int_equal(attend_model_score(c, m, &empty, &p, NULL, ATTEND_ATTENTION_CROSS, NULL), ATTEND_OK);
    assert_true(isfinite(p) && p < 0);

    attend_decoding *d = NULL;
    assert_int_equal(attend_decoding_new(&d, c, m, 1, fine, one), ATTEND_OK);
    assert_int_equal(attend_decoding_step(d, one, one, fine), ATTEND_BAD_USAGE);  /* no such parent */
    assert_int_equal(attend_decoding_step(d, one, zero, high), ATTEND_BAD_USAGE); /* no such token */
    assert_int_equal(attend_decoding_step(d, zero, zero, fine), ATTEND_BAD_USAGE);
    assert_int_equal(attend_decoding_step(d, one, zero, one), ATTEND_OK); /* refused steps change nothing */
    assert_null(attend_decoding_weights(d, 1, 0, 0));
    attend_decoding_free(d);
    attend_ctx_free(c);
    attend_model_free(m);
    attend_config config; /* before attend_config_check, heads 0 means one head */
    const attend_pairs pairs = tiny_pairs();
    assert_int_equal(tiny_config(&config, ""), ATTEND_OK);
    assert_int_equal(config.heads, 0);
    assert_int_equal(attend_pairs_weight_count(&pairs, &config, ATTEND_ATTENTION_CROSS), 3 * 4 + 1 * 1 + 3 * 5 + 2 * 2);
}

/* A language model accepts lines of any length, including empty lines, and refuses a source. */
static void a_language_model_has_no_source(void **state)
{
    (void)state;
    static const char *const all[] = { "task=language-model cell=lstm", "task=language-model readout=plain" };
    const int zeros[3] = { 0 }, one[] = { 1 }, none[] = { 0 }, fine[] = { 3 }, high[] = { TINY_TARGET };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        attend_model *m = model_of(all[i]);
        attend_ctx *c = NULL;
        assert_int_equal(attend_ctx_new(&c), ATTEND_OK);
        assert_null(attend_params_find(attend_model_params(m), "source.embedding"));
        const attend_config *config = attend_model_config(m);
        assert_true(!config->attention && config->shared_vocab && config->source_vocab == config->target_vocab);
        const attend_pairs empty = { .count = 3, .source_lengths = zeros, .target_lengths = zeros };
        double p[3];
        assert_int_equal(attend_model_score(c, m, &empty, p, NULL, ATTEND_ATTENTION_CROSS, NULL), ATTEND_OK);
        assert_true(isfinite(p[0]) && p[0] < 0);
        close_to(all[i], "empty lines", p[0], p[1]);
        close_to(all[i], "empty lines", p[0], p[2]);
        attend_decoding *d = NULL;
        assert_int_equal(attend_decoding_new(&d, c, m, 3, NULL, zeros), ATTEND_OK);
        const int counts[3] = { 1, 1, 1 }, parents[3] = { 0, 1, 2 }, begin[3] = { 1, 1, 1 };
        assert_int_equal(attend_decoding_step(d, counts, parents, begin), ATTEND_OK);
        close_to(all[i], "log p of the end", (double)attend_decoding_end_log_probability(d, 2), p[2]);
        assert_null(attend_decoding_weights(d, 0, 0, 0));
        attend_decoding_free(d);
        const attend_pairs wrong[] = {
            { .count = 1, .source = fine, .source_lengths = one, .target = fine, .target_lengths = one },
            { .count = 1, .source_lengths = none, .target = high, .target_lengths = one },
        };
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            assert_int_equal(attend_model_score(c, m, &wrong[k], p, NULL, ATTEND_ATTENTION_CROSS, NULL),
                             ATTEND_BAD_USAGE);
        assert_int_equal(attend_decoding_new(&d, c, m, 1, fine, one), ATTEND_BAD_USAGE);
        assert_non_null(strstr(attend_message(), "language model"));
        attend_ctx_free(c);
        attend_model_free(m);
    }
}

static attend_score_parameter a_cube(const attend_widths *w, int i)
{
    (void)w;
    return i == 0 ? (attend_score_parameter){ "cube", 3, { 2, 2 } } : (attend_score_parameter){ 0 };
}

static attend_score_parameter a_long_name(const attend_widths *w, int i)
{
    (void)w;
    return i == 0 ? (attend_score_parameter){ "a.name.that.is.longer.than.any.that.a.model.can.keep.in.its.file",
                                              1,
                                              { 2 } }
                  : (attend_score_parameter){ 0 };
}

static void scores_whose_parameters_do_not_fit_are_refused(void **state)
{
    (void)state;
    attend_score mine = attend_score_bilinear;
    mine.name = "mine";
    for (int i = 0; i < 2; i++) {
        attend_config config;
        attend_model *m = NULL;
        mine.parameter = i ? a_long_name : a_cube;
        assert_int_equal(tiny_config(&config, ""), ATTEND_OK);
        config.attention = &mine;
        assert_int_equal(attend_model_new(&m, &config, 1), ATTEND_BAD_USAGE);
        assert_null(m);
        assert_non_null(strstr(attend_message(), "score mine: parameter"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_agrees_with_scoring),
        cmocka_unit_test(a_pair_does_not_depend_on_its_batch),
        cmocka_unit_test(a_source_may_have_no_tokens),
        cmocka_unit_test(training_and_scoring_agree),
        cmocka_unit_test(hard_attention_trains),
        cmocka_unit_test(a_window_starts_at_the_diagonal),
        cmocka_unit_test(an_invalid_alignment_is_ignored),
        cmocka_unit_test(invalid_tokens_and_links_are_refused),
        cmocka_unit_test(a_language_model_has_no_source),
        cmocka_unit_test(scores_whose_parameters_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
