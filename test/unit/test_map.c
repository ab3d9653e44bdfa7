/* Attention maps: weights and probabilities equal those of the scorer, the model and the search; invalid texts and failed allocations are errors. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/hand_map.h"
#include "support/model_with_tokenizer.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include <attend/picture.h>
#include <attend/scorer.h>
#include <math.h>

typedef struct line_source {
    int next;
} line_source;

static int next_line(void *user, const char **line, size_t *size)
{
    static const char *const words[] = { "a b c d", "b c", "a ab abc", "ab" };
    line_source *g = user;
    if (g->next == 4) return 0;
    *line = words[g->next++];
    *size = strlen(*line);
    return 1;
}

/* A model with random weights. */
static attend_model *model_of(attend_token_kind kind, const char *words)
{
    line_source g = { 0 };
    return model_with_tokenizer(kind, words, next_line, &g);
}

static const char usual[] = "hidden=8 heads=2 attention-width=6";
static const char transformer[] = "architecture=transformer hidden=8 heads=2 layers=2 decoder-layers=1 embedding=0",
                  lstmn[] = "architecture=lstmn hidden=8 layers=2 attention-width=6",
                  text_transformer[] =
                      "task=language-model architecture=transformer hidden=8 heads=2 layers=2 embedding=0",
                  text_lstmn[] = "task=language-model architecture=lstmn hidden=8 layers=1";

static void near(double wanted, double got, const char *what)
{
    if (!(fabs(wanted - got) < 1e-5)) fail_msg("%s: %g and not %g", what, got, wanted);
}

static void check_candidates(const attend_map *map)
{
    for (int i = 0; i < map->target_count; i++) {
        const attend_map_candidate *c = map->candidates + i * ATTEND_MAP_CANDIDATES;
        for (int k = 0; k < ATTEND_MAP_CANDIDATES; k++) {
            assert_non_null(c[k].text);
            assert_string_not_equal(c[k].text, "<s>");
            assert_true(k == 0 || c[k].probability <= c[k - 1].probability);
            if (strcmp(c[k].text, map->target[i].text) == 0) near(map->probability[i], c[k].probability, "a candidate");
        }
        assert_true(c[0].probability >= map->probability[i] - 1e-12);
    }
}

/* The values of a map equal those of the scorer, which runs the model by another code path. */
static void same_as_the_scorer(void **state)
{
    (void)state;
    static const char *const pairs[][2] = { { "a b c", "b ab" }, { "abc  d", "a\tb  c" }, { "d", "zebra" } };
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_model *m = model_of((attend_token_kind)kind, usual);
        attend_scorer *scorer = NULL;
        attend_ctx *c = NULL;
        assert_ok(attend_ctx_new(&c));
        assert_ok(attend_scorer_new(&scorer, m, 1, true));
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
            attend_map *map = NULL;
            float mean[1024];
            double sums[256];
            int sources, targets;
            assert_ok(attend_scorer_run(scorer, 1, &pairs[p][0], &pairs[p][1]));
            assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, pairs[p][0], pairs[p][1],
                                     NULL, 0, NAN));
            const attend_scored_pair *r = attend_scorer_result(scorer, 0);
            near(r->log_probability, map->log_probability, "log p");
            near(map->log_probability, map->score, "the score");
            assert_true(map->forced && map->layers == 1 && map->heads == 2);
            assert_true(map->source_count == r->source_count && map->target_count == r->rows);
            for (int i = 0; i < r->rows; i++)
                near(exp((double)r->row_log_probability[i]), map->probability[i], "a probability");
            attend_map_weights(map, -1, -1, mean);
            for (int i = 0; i < r->rows * r->source_count; i++)
                near((double)r->weights[i], (double)mean[i], "a weight");
            attend_scorer_word_counts(r, &sources, &targets);
            assert_true(map->source_word_count == sources && map->target_word_count == targets);
            attend_scorer_word_weights(r, sums);
            attend_map_word_weights(map, -1, -1, mean);
            for (int i = 0; i < sources * targets; i++) near(sums[i], (double)mean[i], "a weight between words");
            check_candidates(map);
            attend_map_free(map);
        }
        attend_scorer_free(scorer);
        attend_ctx_free(c);
        attend_model_free(m);
    }
}

/* ---- every attention kind ---- */

enum { MAX_WEIGHTS = 1 << 14 };

/* The values of a map equal those of attend_model_score on token numbers. */
static void same_as_the_model(const attend_model *m, attend_ctx *c, attend_attention_kind kind, const char *source,
                              const char *target)
{
    static attend_real weights[MAX_WEIGHTS], rows[256];
    const attend_config *config = attend_model_config(m);
    const bool is_language_model = config->task == ATTEND_TASK_LANGUAGE_MODEL,
               encoder = kind == ATTEND_ATTENTION_ENCODER, decoder = kind == ATTEND_ATTENTION_DECODER;
    attend_tokenizer *t = NULL;
    attend_ids ids[2] = { { 0 }, { 0 } };
    attend_map *map = NULL;
    assert_ok(attend_tokenizer_from_model(&t, m, "target"));
    if (!is_language_model) assert_ok(attend_tokenizer_encode(t, source, strlen(source), &ids[0], 0, 0, 0));
    if (!is_language_model) assert_ok(attend_ids_add(&ids[0], ATTEND_END, 0, 0));
    assert_ok(attend_tokenizer_encode(t, target, strlen(target), &ids[1], 0, 0, 0));
    const attend_pairs pair = { .count = 1,
                                .source = ids[0].ids,
                                .source_lengths = &ids[0].count,
                                .target = ids[1].ids,
                                .target_lengths = &ids[1].count };
    double log_p = 0;
    const size_t count = attend_pairs_weight_count(&pair, config, kind);
    assert_true(count > 0 && count <= MAX_WEIGHTS);
    assert_ok(attend_model_score(c, m, &pair, &log_p, rows, kind, weights));
    assert_ok(attend_map_new(&map, c, m, kind, ATTEND_UNIT_AUTO, is_language_model ? NULL : source,
                             encoder ? NULL : target, NULL, 0, NAN));
    assert_int_equal(map->kind, kind);
    const int across = decoder ? ids[1].count + 1 : ids[0].count, down = encoder ? ids[0].count : ids[1].count + 1;
    assert_true(map->source_count == across && map->target_count == down);
    assert_int_equal(map->layers * map->heads * down * across, count);
    for (size_t i = 0; i < count; i++) near((double)weights[i], (double)map->weights[i], "a weight");
    for (int i = 0; i < across; i++)
        assert_int_equal(map->source[i].id, !decoder ? ids[0].ids[i] : i ? ids[1].ids[i - 1] : ATTEND_BEGIN);
    if (kind != ATTEND_ATTENTION_CROSS) {
        assert_ptr_equal(map->source, map->target);
        assert_string_equal(map->source_text, encoder ? source : target);
        assert_string_equal(map->source[decoder ? 0 : across - 1].text, decoder ? "<s>" : "</s>");
        assert_int_equal(map->source[decoder ? 0 : across - 1].word, -1);
    }
    if (encoder) {
        assert_true(!map->probability && !map->candidates && isnan(map->log_probability) && isnan(map->score));
        assert_false(map->forced);
    } else {
        near(log_p, map->log_probability, "log p");
        for (int i = decoder; i < down; i++) near(exp((double)rows[i - decoder]), map->probability[i], "a probability");
        if (decoder) assert_true(isnan(map->probability[0]) && !map->candidates[0].text);
        for (int i = decoder; i < down; i++) assert_non_null(map->candidates[i * ATTEND_MAP_CANDIDATES].text);
    }
    attend_map_free(map);
    attend_tokenizer_free(t);
    for (int i = 0; i < 2; i++) attend_ids_free(&ids[i]);
}

static void every_attention_kind(void **state)
{
    (void)state;
    const char *const models[] = { transformer, lstmn, text_transformer, text_lstmn, usual };
    static const char *const pairs[][2] = { { "a b c", "b ab" }, { "abc d", "d" } };
    for (int tokens = ATTEND_TOKENS_WORD; tokens <= ATTEND_TOKENS_BPE; tokens++)
        for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
            attend_model *m = model_of((attend_token_kind)tokens, models[k]);
            attend_ctx *c = NULL;
            assert_ok(attend_ctx_new(&c));
            for (int kind = 0; kind < 3; kind++)
                for (int p = 0; p < 2; p++)
                    if (attend_config_attention_layers(attend_model_config(m), (attend_attention_kind)kind) > 0)
                        same_as_the_model(m, c, (attend_attention_kind)kind, pairs[p][0], pairs[p][1]);
            attend_ctx_free(c);
            attend_model_free(m);
        }
}

/* The tokens of a decoder's map begin with "<s>", which belongs to no word; the others belong to their words. */
static void tokens_a_decoder_reads(void **state)
{
    (void)state;
    static const char *const texts[] = { "<s>", "a", "b", "", "c" };
    static const int words[] = { -1, 0, 0, -1, 1 };
    attend_model *m = model_of(ATTEND_TOKENS_CHAR, text_transformer);
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_DECODER, ATTEND_UNIT_AUTO, NULL, "ab c", NULL, 0, NAN));
    assert_true(map->target_count == 5 && map->target_word_count == 2);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(map->target[i].text, texts[i]);
        assert_int_equal(map->target[i].word, words[i]);
    }
    attend_map_free(map);
    attend_ctx_free(c);
    attend_model_free(m);
}

/* The decoder's map of an empty hypothesis has only "<s>". */
static void empty_hypothesis(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_WORD, transformer);
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_string out = { 0 };
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_DECODER, ATTEND_UNIT_AUTO, "a", NULL, NULL, 0, -1));
    assert_true(map->target_count == 1 && map->target_word_count == 0 && map->score == -1);
    near(1, (double)map->weights[0], "a weight");
    assert_true(map->log_probability < 0);
    assert_ok(attend_view_terminal(map, &o, &out));
    assert_non_null(strstr(out.text, "the text has no words"));
    attend_string_free(&out);
    attend_map_free(map);
    attend_ctx_free(c);
    attend_model_free(m);
}

/* Attention kinds that a model does not have, and sentences longer than its positions. */
static void refused_attention_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        attend_attention_kind kind;
        const char *why;
    } cases[] = { { usual, ATTEND_ATTENTION_ENCODER, "encoder has no self-attention" },
                  { usual, ATTEND_ATTENTION_DECODER, "decoder has no self-attention" },
                  { text_transformer, ATTEND_ATTENTION_CROSS, "no source" },
                  { text_transformer, ATTEND_ATTENTION_ENCODER, "encoder has no self-attention" },
                  { "task=language-model", ATTEND_ATTENTION_DECODER, "decoder has no self-attention" } };
    attend_ctx *c = NULL;
    attend_map *map = (attend_map *)1;
    assert_ok(attend_ctx_new(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attend_model *m = model_of(ATTEND_TOKENS_WORD, cases[i].words);
        assert_int_equal(attend_map_new(&map, c, m, cases[i].kind, ATTEND_UNIT_AUTO, "a", "a", NULL, 0, NAN),
                         ATTEND_BAD_USAGE);
        assert_null(map);
        if (!strstr(attend_message(), cases[i].why)) fail_msg("'%s' and not '%s'", attend_message(), cases[i].why);
        attend_model_free(m);
    }
    static const struct {
        const char *words;
        attend_attention_kind kind;
        const char *source, *target, *why; /* NULL: accepted */
    } lengths[] = {
        { "architecture=transformer positions=learned max-positions=4 embedding=0", ATTEND_ATTENTION_CROSS, "a b c d",
          "a", "the source has 4 tokens; the model has positions for 3" },
        { "architecture=transformer positions=learned max-positions=4 embedding=0", ATTEND_ATTENTION_CROSS, "a",
          "a b c d", "the target has 4 tokens; the model has positions for 3" },
        { "architecture=transformer positions=learned max-positions=4 embedding=0", ATTEND_ATTENTION_ENCODER, "a b c d",
          NULL, "the source has 4 tokens" },
        { "architecture=transformer positions=learned max-positions=4 embedding=0", ATTEND_ATTENTION_DECODER, "a b c",
          "a b c", NULL },
        { "task=language-model architecture=transformer positions=learned max-positions=4 embedding=0",
          ATTEND_ATTENTION_DECODER, NULL, "a b c d", "the text has 4 tokens" },
        { "attention=location max-positions=4 context=after readout=plain", ATTEND_ATTENTION_CROSS, "a b c d", "a",
          "the source has 4 tokens; the model has positions for 3" },
        { "attention=location max-positions=4 context=after readout=plain", ATTEND_ATTENTION_CROSS, "a b c", "a b c d",
          NULL },
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        attend_model *m = model_of(ATTEND_TOKENS_WORD, lengths[i].words);
        const int status = attend_map_new(&map, c, m, lengths[i].kind, ATTEND_UNIT_AUTO, lengths[i].source,
                                          lengths[i].target, NULL, 0, NAN);
        if (status != (lengths[i].why ? ATTEND_BAD_DATA : ATTEND_OK))
            fail_msg("%zu: %d, %s", i, status, attend_message());
        if (lengths[i].why && !strstr(attend_message(), lengths[i].why))
            fail_msg("'%s' and not '%s'", attend_message(), lengths[i].why);
        attend_map_free(map);
        attend_model_free(m);
    }
    attend_ctx_free(c);
}

/* The map of a hypothesis has the score, log p and weights of the search. */
static void same_as_the_search(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_BPE, usual);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    attend_ctx *c = NULL;
    const char *line = "ab d";
    const size_t size = 4;
    o.search.n_best = 3, o.search.weights = true;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_translator_new(&t, m, &o));
    assert_ok(attend_translator_run(t, 1, &line, &size));
    const attend_line_result *r = attend_translator_result(t, 0);
    for (int i = 0; i < r->count; i++) {
        const attend_hypothesis *h = &r->hypotheses[i];
        attend_map *map = NULL;
        float mean[4096];
        assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, line, NULL, h->tokens, h->count,
                                 h->score));
        assert_string_equal(map->target_text, h->text);
        assert_true(!map->forced && map->score == h->score && map->target_count == h->count + 1);
        near(h->log_probability, map->log_probability, "log p");
        attend_map_weights(map, -1, -1, mean);
        for (int k = 0; k < map->target_count * map->source_count; k++)
            near((double)h->weights[k], (double)mean[k], "a weight");
        attend_map_free(map);
    }
    attend_translator_free(t);
    attend_ctx_free(c);
    attend_model_free(m);
}

/* The texts of tokens, and the words they belong to. */
static void byte_pair_tokens(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_CHAR, usual);
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "ab \xe4\xbd\xa0", "c", NULL, 0,
                             NAN)); /* a character outside the vocabulary becomes its bytes */
    static const char *const texts[] = { "a", "b", "", "<0xE4>", "<0xBD>", "<0xA0>", "</s>" };
    static const int words[] = { 0, 0, -1, 1, 1, 1, -1 };
    assert_int_equal(map->source_count, 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(map->source[i].text, texts[i]);
        assert_int_equal(map->source[i].word, words[i]);
    }
    assert_string_equal(map->source_words[1], "\xe4\xbd\xa0");
    attend_map_free(map);
    attend_ctx_free(c);
    attend_model_free(m);
}

static void refused(attend_ctx *c, const attend_model *m, const char *source, const char *target, const char *why)
{
    attend_map *map = (attend_map *)1;
    assert_int_equal(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, source, target, NULL, 0, NAN),
                     ATTEND_BAD_DATA);
    assert_null(map);
    if (!strstr(attend_message(), why)) fail_msg("'%s' does not contain '%s'", attend_message(), why);
}

static void refusals(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_WORD, usual),
                 *bare = model_of(ATTEND_TOKENS_WORD, "attention=none readout=plain");
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    static char many[2 * ATTEND_MAP_MAX_TOKENS + 3];
    assert_ok(attend_ctx_new(&c));
    for (int i = 0; i < ATTEND_MAP_MAX_TOKENS + 1; i++) memcpy(many + 2 * i, "a ", 3);
    refused(c, m, "", "a", "the source is empty");
    refused(c, m, " \t", "a", "the source is empty");
    refused(c, m, "a", " ", "the target is empty");
    refused(c, m, "a\xff", "a", "UTF-8");
    refused(c, m, "a", "\xc0\x80", "UTF-8");
    refused(c, m, many, "a", "1001 tokens");
    refused(c, m, "a", many, "1001 tokens");
    many[2 * ATTEND_MAP_MAX_TOKENS] = '\0';
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, many, "a", NULL, 0, NAN));
    attend_map_free(map);
    const int wrong[] = { 1, 2, -1, 1000 };
    for (int i = 0; i < 4; i++)
        assert_int_equal(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "a", NULL, wrong + i, 1,
                                        NAN),
                         ATTEND_BAD_USAGE);
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "a", NULL, NULL, 0,
                             -1)); /* only the end */
    assert_true(map->target_count == 1 && map->target_word_count == 0 && map->score == -1);
    attend_map_free(map);
    assert_ok(attend_map_new(&map, c, bare, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "a", "b", NULL, 0, NAN));
    assert_null(map->weights);
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_string out = { 0 };
    assert_int_equal(attend_view_terminal(map, &o, &out), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_svg(map, &o, &out), ATTEND_BAD_USAGE);
    assert_ok(attend_view_json(map, &o, &out));
    assert_null(strstr(out.text, "weights"));
    attend_string_free(&out);
    attend_map_free(map);
    attend_map_free(NULL);
    attend_ctx_free(c);
    attend_model_free(bare);
    attend_model_free(m);
}

static void statistics(void **state)
{
    (void)state;
    static hand_map h;
    attend_map_statistics r;
    const char *source[] = { "a", "b", "c", "d", NULL }, *target[] = { "x", "y", NULL };
    attend_map_describe(hand_map_of(&h, source, target), -1, -1, &r);
    near(exp(h.map.log_probability / 3), r.confidence, "confidence");
    assert_int_equal(r.uncovered, 2); /* c has 0.125, d nothing */
    h.weights[2] = 0.5f;
    attend_map_describe(&h.map, -1, -1, &r);
    assert_int_equal(r.uncovered, 1);
    assert_false(r.is_repetitive);
    /* the mean of two heads has rows with 0.75 0.125, with 0.625 0.25 0.125, and with 1 */
    hand_map_of(&h, source, target);
    attend_map_describe(&h.map, -1, -1, &r);
    const double first = -0.75 * log2(0.75) - 0.125 * log2(0.125),
                 second = -0.625 * log2(0.625) - 0.25 * log2(0.25) - 0.125 * log2(0.125);
    near((first + second) / 3, r.entropy, "entropy");
    attend_map_describe(&h.map, 0, 1, &r); /* the second head attends to the first word only */
    near(0, r.entropy, "entropy of a head");
    assert_int_equal(r.uncovered, 3);
    const char *again[] = { "z", "a", "b", "c", "a", "b", "c", NULL },
               *almost[] = { "a", "b", "c", "a", "b", "d", "b", "d", NULL };
    attend_map_describe(hand_map_of(&h, source, again), -1, -1, &r);
    assert_true(r.is_repetitive);
    attend_map_describe(hand_map_of(&h, source, almost), -1, -1, &r);
    assert_false(r.is_repetitive);
}

/* log p of a pair by the map, in a precision. */
static double log_p_in(const attend_model *m, attend_compute_precision precision)
{
    attend_ctx *c = NULL;
    attend_map *map = NULL;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_ctx_set_compute(c, precision));
    assert_ok(attend_map_new(&map, c, m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "a b c", "b ab", NULL, 0, NAN));
    const double log_p = map->log_probability;
    attend_map_free(map);
    attend_ctx_free(c);
    return log_p;
}

/* All members of an ensemble compute in the precision of the context. */
static void members_compute_alike(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_WORD, usual), *member = model_of(ATTEND_TOKENS_WORD, usual);
    const double alone = log_p_in(m, ATTEND_COMPUTE_BF16), other = log_p_in(m, ATTEND_COMPUTE_FP32);
    assert_true(fabs(alone - other) > 1e-5);
    assert_ok(attend_model_add_member(m, member));
    assert_true(fabs(log_p_in(m, ATTEND_COMPUTE_BF16) - alone) < 1e-6);
    attend_model_free(m);
}

/* Each allocation fails in turn: an error, without a leak. */
static void no_memory_for(const char *words, attend_attention_kind kind)
{
    attend_model *m = model_of(ATTEND_TOKENS_BPE, words);
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    o.title = "a title";
    long n = 1;
    for (int status = ATTEND_NO_MEMORY; status != ATTEND_OK; n++) {
        attend_ctx *c = NULL;
        attend_map *map = NULL;
        attend_string out = { 0 };
        assert_ok(attend_ctx_new(&c));
        attend_memory_refuse(n);
        status = attend_map_new(&map, c, m, kind, ATTEND_UNIT_AUTO, "a b", "ab c", NULL, 0, NAN);
        if (status == ATTEND_OK) status = attend_view_terminal(map, &o, &out);
        if (status == ATTEND_OK) status = attend_view_json(map, &o, &out);
        if (status == ATTEND_OK) status = attend_view_svg(map, &o, &out);
        if (status == ATTEND_OK) status = attend_view_png(map, &o, &out);
        attend_memory_refuse(0);
        if (status != ATTEND_OK && status != ATTEND_NO_MEMORY)
            fail_msg("request %ld: %d, %s", n, status, attend_message());
        if (status != ATTEND_OK) assert_non_null(strstr(attend_message(), "no memory"));
        attend_map_free(map);
        attend_string_free(&out);
        attend_ctx_free(c);
    }
    assert_true(n > 100);
    attend_model_free(m);
}

static void no_memory(void **state)
{
    (void)state;
    no_memory_for(usual, ATTEND_ATTENTION_CROSS);
    no_memory_for(transformer, ATTEND_ATTENTION_ENCODER);
    no_memory_for(text_lstmn, ATTEND_ATTENTION_DECODER);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_as_the_scorer),
                                        cmocka_unit_test(every_attention_kind),
                                        cmocka_unit_test(tokens_a_decoder_reads),
                                        cmocka_unit_test(empty_hypothesis),
                                        cmocka_unit_test(refused_attention_kinds),
                                        cmocka_unit_test(same_as_the_search),
                                        cmocka_unit_test(byte_pair_tokens),
                                        cmocka_unit_test(refusals),
                                        cmocka_unit_test(statistics),
                                        cmocka_unit_test(members_compute_alike),
                                        cmocka_unit_test(no_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
