/* The alignment head, and maps that are read shifted: which row aligns which token, in scoring, searching and showing;
 * the guided loss; translation does not depend on the head. */
#include "unit/unit.h"

#include "model/model.h"
#include "support/folder.h"
#include "support/lines.h"
#include "support/model_with_tokenizer.h"
#include "support/tiny_pairs.h"
#include <attend/scorer.h>
#include <attend/search.h>
#include <attend/view.h>
#include <math.h>

#define TRANSFORMER "architecture=transformer hidden=8 embedding=0 heads=2 "
static const char *const specs[] = { "alignment-head=yes",
                                     "alignment-head=yes context=after readout=plain",
                                     "alignment-head=yes context=after readout=plain input-feeding=yes layers=2",
                                     "alignment-head=yes readout=plain cell=lstm attention=dot",
                                     "alignment-head=yes heads=2 attention=projected attention-width=6",
                                     "alignment-head=yes tie-embeddings=yes",
                                     TRANSFORMER "alignment-head=yes",
                                     TRANSFORMER "alignment-head=yes layers=3 norm=post",
                                     TRANSFORMER "alignment-head=yes layers=2 decoder-layers=1 positions=rotary" };
enum { SPECS = sizeof specs / sizeof *specs, MAX_WEIGHTS = 512 };

static attend_model *model_of(const char *spec, bool random)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, spec));
    assert_ok(attend_model_new(&m, &config, 7));
    for (int i = 0; random && i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), 3, 0.7);
    return m;
}

/* The head is the last layer of the cross-attention, and the default alignment. */
static void the_head_is_a_layer(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; i++) {
        attend_model *m = model_of(specs[i], false);
        attend_config without = *attend_model_config(m);
        without.alignment_head = false;
        const attend_config *c = attend_model_config(m);
        const int layers = attend_config_attention_layers(&without, ATTEND_ATTENTION_CROSS);
        assert_int_equal(attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS), layers + 1);
        assert_int_equal(attend_config_alignment_layer(c), layers);
        assert_int_equal(attend_config_alignment_layer(&without), -1);
        const attend_alignment a = attend_model_alignment(m), all = { .layer = -1, .head = -1 };
        assert_true(a.layer == layers && a.head == -1 && a.shifted && attend_alignment_has_null(a, c));
        assert_false(attend_alignment_includes(all, c, layers, 0)); /* a mean is of the layers that translate */
        assert_int_equal(attend_alignment_map_count(all, c), layers * c->heads);
        assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = layers, .head = 0 }));
        assert_true(attend_model_alignment(m).shifted);
        assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = 0 }));
        assert_false(attend_model_alignment(m).shifted);
        assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = 0, .shifted = true }));
        assert_true(attend_model_alignment(m).shifted);
        attend_model_free(m);
    }
}

/* With the same seed, the model without the head has the same weights, and computes the same bits. */
static void translation_does_not_depend_on_the_head(void **state)
{
    (void)state;
    const attend_pairs pairs = tiny_pairs();
    for (int i = 0; i < SPECS; i++) {
        attend_model *m[2] = { model_of(specs[i], false), NULL };
        attend_config config = *attend_model_config(m[0]);
        config.alignment_head = false;
        assert_ok(attend_model_new(&m[1], &config, 7));
        attend_real rows[2][TINY_ROWS], weights[MAX_WEIGHTS];
        double p[TINY_PAIRS];
        attend_ctx *c = NULL;
        assert_ok(attend_ctx_new(&c));
        for (int k = 0; k < 2; k++)
            assert_ok(attend_model_score(c, m[k], &pairs, p, rows[k], ATTEND_ATTENTION_CROSS, weights));
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        attend_ctx_free(c);
        attend_model_free(m[0]), attend_model_free(m[1]);
    }
}

/* -log of the mean weight of the heads in a row on a source token. */
static double minus_log(const attend_real *maps, int heads, int rows, int keys, int row, int key)
{
    double sum = 0;
    for (int h = 0; h < heads; h++) sum += (double)maps[(h * rows + row) * keys + key] / heads;
    return -log(sum + 1e-6);
}

/* The expected guided loss of the tiny pairs, from the weights of the head: token i is aligned by row i + 1. A token
 * without a link is aligned with the last source token, in pairs that have links. */
static double expected_loss(const attend_config *config, const attend_pairs *p, const attend_real *weights)
{
    const int layers = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS), heads = config->heads;
    double sum = 0;
    for (int b = 0; b < p->count; b++) {
        const int rows = p->target_lengths[b] + 1, keys = p->source_lengths[b];
        const attend_real *head = weights + (size_t)(layers - 1) * (size_t)heads * (size_t)(rows * keys);
        int links = 0;
        for (int k = 0; k < p->link_count; k++) links += p->links[k].pair == b;
        for (int t = 0; t < p->target_lengths[b] && links; t++) {
            double own = 0, loss = 0;
            for (int k = 0; k < p->link_count; k++)
                if (p->links[k].pair == b && p->links[k].target == t)
                    own++, loss += minus_log(head, heads, rows, keys, t + 1, p->links[k].source);
            sum += own > 0 ? loss / own : minus_log(head, heads, rows, keys, t + 1, keys - 1);
        }
        weights += (size_t)layers * (size_t)heads * (size_t)(rows * keys);
    }
    return sum;
}

static void the_guided_loss_reads_the_next_row(void **state)
{
    (void)state;
    const attend_pairs pairs = tiny_pairs();
    for (int i = 0; i < SPECS; i++) {
        attend_model *m = model_of(specs[i], true);
        attend_real weights[MAX_WEIGHTS];
        attend_ctx *c = NULL;
        double losses[2];
        assert_ok(attend_ctx_new(&c));
        for (int k = 0; k < 2; k++) {
            attend_loss_options o = ATTEND_LOSS_OPTIONS_INIT;
            o.guidance = k ? 2 : 0, o.weights = weights;
            attend_ctx_reset(c);
            const attend_var *loss = attend_model_loss(c, m, &pairs, &o);
            assert_non_null(loss);
            losses[k] = (double)*attend_value(loss);
        }
        const double expected = 2 * expected_loss(attend_model_config(m), &pairs, weights);
        if (!(fabs(losses[1] - losses[0] - expected) < 1e-4 * expected))
            fail_msg("%s: the guided loss is %g, expected %g", specs[i], losses[1] - losses[0], expected);
        attend_ctx_free(c);
        attend_model_free(m);
    }
}

/* ---- readers ---- */

/* The rows of the tokens of a pair by an alignment, from the maps of attend_model_score. */
static void expected_rows(const attend_config *config, const attend_real *maps, attend_alignment a, int rows, int keys,
                          double *to)
{
    const int layers = attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS), heads = config->heads;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < keys; j++) {
            const int row = a.shifted && i + 1 < rows ? i + 1 : i;
            double sum = 0;
            for (int k = 0; k < layers * heads; k++)
                if (attend_alignment_includes(a, config, k / heads, k % heads))
                    sum += (double)maps[(k * rows + row) * keys + j] / attend_alignment_map_count(a, config);
            to[i * keys + j] = sum;
        }
}

static void same_rows(const char *what, const double *expected, const attend_real *rows, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(expected[i] - (double)rows[i]) < 1e-5))
            fail_msg("%s: weight %d is %g, expected %g", what, i, (double)rows[i], expected[i]);
}

/* Beam search and sampling give the weights that scoring the result gives, for the head and for shifted layers. */
static void search_reads_the_next_step(void **state)
{
    (void)state;
    static const int source[] = { 3, 4, 5, 2 }, length = 4;
    int compared = 0;
    for (int i = 0; i < SPECS; i++)
        for (int k = 0; k < 3 * 4; k++) {
            attend_model *m = model_of(specs[i], true);
            const attend_config *config = attend_model_config(m);
            attend_ctx *c = NULL;
            attend_search_options o = ATTEND_SEARCH_OPTIONS_INIT;
            o.weights = true, o.length_ratio = 0, o.length_extra = 4, o.n_best = 2;
            o.beam = k / 3 == 0 ? 2 : 5, o.sample = k / 3 == 2, o.coverage_penalty = k / 3 == 3 ? 0.5 : 0;
            if (k % 3)
                assert_ok(
                    attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = -1, .shifted = k % 3 == 1 }));
            const attend_alignment a = attend_model_alignment(m);
            assert_ok(attend_ctx_new(&c));
            attend_search_result *r = NULL;
            assert_ok(attend_search(&r, c, m, &o, 1, source, &length));
            for (int n = 0; n < attend_search_result_count(r, 0); n++, compared++) {
                const attend_translation *t = attend_search_result_at(r, 0, n);
                const attend_pairs pair = { .count = 1,
                                            .source = source,
                                            .source_lengths = &length,
                                            .target = t->tokens,
                                            .target_lengths = &t->count };
                attend_real maps[MAX_WEIGHTS];
                double rows[MAX_WEIGHTS], p;
                assert_ok(attend_model_score(c, m, &pair, &p, NULL, ATTEND_ATTENTION_CROSS, maps));
                expected_rows(config, maps, a, t->count + 1, length, rows);
                same_rows(specs[i], rows, t->weights, (t->count + 1) * length);
            }
            attend_search_result_free(r);
            attend_ctx_free(c);
            attend_model_free(m);
        }
    assert_true(compared > 100);
}

/* The scorer and the maps that are shown: row i of a shifted map is row i + 1 of the map as it is computed, to the bit. */
static void scorer_and_view_read_the_next_row(void **state)
{
    (void)state;
    static const char *const source = "a b c", *const target = "c b a b";
    for (int i = 0; i < 2; i++) {
        lines text = lines_of("a b c\nc b a b");
        attend_model *m = model_with_tokenizer(ATTEND_TOKENS_WORD,
                                               i ? TRANSFORMER "layers=2 alignment-head=yes" : "alignment-head=yes",
                                               lines_next, &text);
        lines_free(&text);
        const attend_config *config = attend_model_config(m);
        const attend_alignment head = attend_model_alignment(m);
        attend_scorer *s = NULL;
        const attend_scored_pair *plain, *shifted;
        assert_ok(attend_scorer_new(&s, m, 1, true));
        attend_scorer_keep_maps(s);
        assert_ok(attend_scorer_run(s, 1, &source, &target));
        const int rows = attend_scorer_result(s, 0)->rows, keys = attend_scorer_result(s, 0)->source_count;
        attend_real first[MAX_WEIGHTS];
        const size_t size = (size_t)(rows * keys) * sizeof *first;
        assert_true(attend_scorer_result(s, 0)->has_null);
        assert_ok(attend_scorer_result_for(s, 0, (attend_alignment){ .layer = 0, .head = 0 }, &plain));
        assert_false(plain->has_null);
        memcpy(first, plain->weights, size);
        assert_ok(
            attend_scorer_result_for(s, 0, (attend_alignment){ .layer = 0, .head = 0, .shifted = true }, &shifted));
        assert_memory_equal(shifted->weights, first + keys, size - (size_t)keys * sizeof *first);
        assert_memory_equal(shifted->weights + (rows - 1) * keys, first + (rows - 1) * keys,
                            (size_t)keys * sizeof *first);
        assert_ok(attend_scorer_result_for(s, 0, head, &shifted));
        assert_memory_equal(shifted->weights, attend_scorer_result(s, 0)->weights, size);

        attend_ctx *c = NULL;
        attend_map *map = NULL;
        assert_ok(attend_ctx_new(&c));
        assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, source, target, NULL, 0, NAN));
        for (int k = 0; k < rows * keys; k++) {
            double mean = 0;
            for (int h = 0; h < config->heads; h++)
                mean += (double)map->weights[(head.layer * config->heads + h) * rows * keys + k] / config->heads;
            assert_true(fabs(mean - (double)shifted->weights[k]) < 1e-5);
            assert_true(fabs((double)map->weights[k] - (double)first[k]) <
                        1e-5); /* layers that translate: as computed */
        }
        attend_map_free(map);
        attend_ctx_free(c);
        attend_scorer_free(s);
        attend_model_free(m);
    }
}

/* Every layer and head of a map that is shown is that of the scorer, as computed or shifted. */
static void check_shown(const attend_model *m, bool shifted, const char *what)
{
    static const char *const source = "a b c", *const target = "c b a b";
    const attend_config *config = attend_model_config(m);
    attend_scorer *s = NULL;
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, source, target, NULL, 0, NAN));
    assert_ok(attend_scorer_new(&s, m, 1, true));
    attend_scorer_keep_maps(s);
    assert_ok(attend_scorer_run(s, 1, &source, &target));
    assert_int_equal(map->layers, attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS));
    const int area = map->target_count * map->source_count;
    for (int each = 0; each < map->layers * map->heads; each++) {
        const attend_alignment one = { .layer = each / map->heads, .head = each % map->heads, .shifted = shifted };
        const attend_scored_pair *r;
        assert_ok(attend_scorer_result_for(s, 0, one, &r));
        for (int k = 0; k < area; k++)
            if (!(fabs((double)map->weights[each * area + k] - (double)r->weights[k]) < 1e-5))
                fail_msg("%s, layer %d, head %d: weight %d is not %s", what, one.layer, one.head, k,
                         shifted ? "shifted" : "as computed");
    }
    attend_scorer_free(s);
    attend_map_free(map);
    attend_ctx_free(c);
}

/* With a shifted alignment that is not the head's, every layer is shown shifted, with a head in the model or without. */
static void a_shifted_alignment_shifts_all_layers_that_are_shown(void **state)
{
    (void)state;
    static const char *const models[] = { "heads=2 attention=projected attention-width=6",
                                          "context=after readout=plain",
                                          TRANSFORMER "layers=2",
                                          "architecture=lstmn cell=lstm",
                                          TRANSFORMER "layers=2 alignment-head=yes",
                                          "alignment-head=yes" };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        lines text = lines_of("a b c\nc b a b");
        attend_model *m = model_with_tokenizer(ATTEND_TOKENS_WORD, models[i], lines_next, &text);
        lines_free(&text);
        if (!attend_model_config(m)->alignment_head) check_shown(m, false, models[i]);
        for (int layer = -1; layer < 1; layer++) {
            assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = layer, .head = -1, .shifted = true }));
            check_shown(m, true, models[i]);
        }
        attend_model_free(m);
    }
}

/* ---- files ---- */

static void the_head_is_saved(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; i++) {
        attend_model *m = model_of(specs[i], true), *back = NULL;
        assert_ok(attend_model_save(m, in_folder("model")));
        assert_ok(attend_model_load(&back, in_folder("model"), NULL));
        assert_true(attend_model_config(back)->alignment_head);
        assert_true(attend_model_alignment(back).layer == attend_model_alignment(m).layer);
        assert_int_equal(attend_params_count(attend_model_params(back)), attend_params_count(attend_model_params(m)));
        attend_model_free(back);
        attend_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_a_layer),
        cmocka_unit_test(translation_does_not_depend_on_the_head),
        cmocka_unit_test(the_guided_loss_reads_the_next_row),
        cmocka_unit_test(search_reads_the_next_step),
        cmocka_unit_test(scorer_and_view_read_the_next_row),
        cmocka_unit_test(a_shifted_alignment_shifts_all_layers_that_are_shown),
        cmocka_unit_test(the_head_is_saved),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
