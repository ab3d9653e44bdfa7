/* Translators: replacing unknown words, prefixes, ensembles, sampling, links, and the spans of detokenized text. */
#include "support/folder.h"

#include "core/memory.h"
#include "text/detokenize.h"
#include "support/tiny_pairs.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include <math.h>

static int next_line(void *user, const char **line, size_t *size)
{
    static const char *const words[] = { "a b c d", "b c", "a bcd" };
    int *next = user;
    if (*next == 3) return 0;
    *line = words[(*next)++];
    *size = strlen(*line);
    return 1;
}

static attend_tokenizer *tokenizer_of(attend_token_kind kind, int vocab_size)
{
    attend_tokenizer_options options = ATTEND_TOKENIZER_OPTIONS_INIT;
    attend_tokenizer *t = NULL;
    int next = 0;
    options.kind = kind, options.vocab_size = vocab_size;
    assert_ok(attend_tokenizer_learn(&t, &options, next_line, &next));
    return t;
}

/* A model with random weights, with source and target tokens of given kinds. */
static attend_model *model_of(attend_token_kind source, attend_token_kind target, const char *words, uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    attend_tokenizer *t[2] = { tokenizer_of(source, 0), tokenizer_of(target, 0) };
    assert_ok(tiny_config(&config, words));
    config.source_vocab = attend_tokenizer_size(t[0]), config.target_vocab = attend_tokenizer_size(t[1]);
    assert_ok(attend_model_new(&m, &config, 1));
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++)
        attend_param_fill_uniform(attend_params_at(attend_model_params(m), i), seed, 1.0);
    assert_ok(attend_tokenizer_attach(t[0], m, "source"));
    assert_ok(attend_tokenizer_attach(t[1], m, "target"));
    attend_tokenizer_free(t[0]), attend_tokenizer_free(t[1]);
    return m;
}

/* Makes a model generate unknown words only. */
static attend_model *unknowing(attend_token_kind source, attend_token_kind target, const char *words)
{
    attend_model *m = model_of(source, target, words, 3);
    attend_param *b = attend_params_find(attend_model_params(m), "output.b");
    assert_non_null(b);
    attend_param_edit(b)[ATTEND_UNKNOWN] = 50;
    attend_param_changed(b);
    return m;
}

static void run(attend_translator *t, int count, const char *const *lines, const char *const *prefixes)
{
    size_t sizes[128], prefix_sizes[128];
    assert_true(count <= 128);
    for (int i = 0; i < count; i++) sizes[i] = strlen(lines[i]), prefix_sizes[i] = prefixes ? strlen(prefixes[i]) : 0;
    assert_ok(attend_translator_run_from(t, count, lines, sizes, prefixes, prefix_sizes));
}

static attend_translator *translator_of(const attend_model *m, const attend_translator_options *o)
{
    attend_translator *t = NULL;
    assert_ok(attend_translator_new(&t, m, o));
    return t;
}

/* ---- unknown words ---- */

static const char *const strange[] = { "a zebra b", "zebra  yak", "d" };

/* Each word of a translation is the most attended source word, or its dictionary entry. */
static void check_replaced(const attend_translator *t, bool dictionary)
{
    for (int i = 0; i < 3; i++) {
        const attend_line_result *r = attend_translator_result(t, i);
        const attend_hypothesis *h = &r->hypotheses[0];
        char expected[512] = "", copy[64], *words[4];
        int count = 0;
        snprintf(copy, sizeof copy, "%s", strange[i]);
        for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest));) words[count++] = word;
        assert_int_equal(r->source_count, count + 1); /* source tokens are words */
        for (int k = 0; k < h->count; k++) {
            int best = 0;
            for (int j = 1; j < count; j++)
                if (h->weights[k * r->source_count + j] > h->weights[k * r->source_count + best]) best = j;
            const char *word = words[best];
            if (dictionary && strcmp(word, "zebra") == 0)
                word = "Z\xc3\xa9"
                       "bre rouge";
            if (dictionary && strcmp(word, "d") == 0) word = "delta";
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s", k ? " " : "", word);
        }
        assert_string_equal(h->text, expected);
        assert_true(h->count > 0);
    }
}

static void unknown_words_are_replaced_by_source_words(void **state)
{
    (void)state;
    attend_model *m = unknowing(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, "hidden=8");
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.length_ratio = 1, o.search.length_extra = 3, o.search.weights = true;
    attend_translator *t = translator_of(m, &o);
    run(t, 3, strange, NULL);
    assert_non_null(strstr(attend_translator_result(t, 0)->hypotheses[0].text, "<unk> <unk>"));
    attend_translator_free(t);
    o.replace_unknown = true, o.search.weights = false; /* replace_unknown sets it */
    t = translator_of(m, &o);
    run(t, 3, strange, NULL);
    check_replaced(t, false);
    attend_translator_free(t);
    /* a decomposed e with accent is normalised, and the first entry is used */
    const char entries[] = "zebra\tZe\xcc\x81"
                           "bre rouge\r\n\nd\tdelta\nd\tomega\n";
    put_file(in_folder("dictionary"), entries, sizeof entries - 1);
    attend_dictionary *d = NULL;
    assert_ok(attend_dictionary_read(&d, in_folder("dictionary")));
    o.dictionary = d;
    t = translator_of(m, &o);
    run(t, 3, strange, NULL);
    check_replaced(t, true);
    attend_translator_free(t);
    attend_model_free(m);
    /* a source of subwords: still whole words */
    m = unknowing(ATTEND_TOKENS_BPE, ATTEND_TOKENS_WORD, "hidden=8");
    t = translator_of(m, &o);
    run(t, 2, (const char *const[]){ "zebra", "  bcd  " }, NULL);
    const char *text = attend_translator_result(t, 1)->hypotheses[0].text;
    assert_true(strncmp(text, "bcd bcd", 7) == 0);
    assert_true(strncmp(attend_translator_result(t, 0)->hypotheses[0].text, "Z\xc3\xa9", 3) == 0);
    attend_translator_free(t);
    attend_dictionary_free(d);
    attend_model_free(m);
}

/* The source word that the scorer gives each of `count` unknown words of a target, by the model's alignment. */
static void words_by_scoring(const attend_model *m, const char *source, int count, char *to, size_t size)
{
    char target[256] = "", copy[64], *words[4];
    const char *sides[2] = { source, target };
    attend_scorer *s = NULL;
    int sources = 0;
    for (int k = 0; k < count; k++) strcat(target, k ? " yyy" : "yyy");
    snprintf(copy, sizeof copy, "%s", source);
    for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest));) words[sources++] = word;
    assert_ok(attend_scorer_new(&s, m, 1, true));
    assert_ok(attend_scorer_run(s, 1, &sides[0], &sides[1]));
    const attend_scored_pair *r = attend_scorer_result(s, 0);
    assert_true(r->target_count == count && r->source_count == sources + 1);
    for (int k = 0; k < count; k++) {
        const attend_real *row = r->weights + k * r->source_count;
        int best = 0;
        for (int j = 1; j < sources; j++)
            if (row[j] > row[best]) best = j;
        snprintf(to + strlen(to), size - strlen(to), "%s%s", k ? " " : "", words[best]);
    }
    attend_scorer_free(s);
}

/* Unknown words are replaced by the alignment of the model: the same words as by scoring, and others if it is read
 * shifted or by the alignment head. */
static void unknown_words_are_replaced_by_shifted_rows(void **state)
{
    (void)state;
    static const char *const models[] = { "hidden=8", "hidden=8 alignment-head=yes",
                                          "architecture=transformer hidden=8 embedding=0 heads=2 layers=2" };
    for (int k = 0; k < 3; k++) {
        attend_model *m = unknowing(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, models[k]);
        attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
        o.search.length_ratio = 1, o.search.length_extra = 3, o.replace_unknown = true;
        char texts[3][3][512] = { { "" } };
        for (int reading = 0; reading < (k == 1 ? 3 : 2); reading++) { /* as computed, shifted, by the head */
            const attend_alignment head = { .layer = attend_config_alignment_layer(attend_model_config(m)),
                                            .head = -1 },
                                   own = { .layer = 0, .head = -1, .shifted = reading == 1 };
            assert_ok(attend_model_set_alignment(m, reading == 2 ? head : own));
            attend_translator *t = translator_of(m, &o);
            run(t, 3, strange, NULL);
            for (int i = 0; i < 3; i++) {
                const attend_hypothesis *h = &attend_translator_result(t, i)->hypotheses[0];
                snprintf(texts[reading][i], sizeof texts[reading][i], "%s", h->text);
                char expected[512] = "";
                words_by_scoring(m, strange[i], h->count, expected, sizeof expected);
                assert_string_equal(h->text, expected);
            }
            attend_translator_free(t);
            for (int other = 0; other < reading; other++)
                if (memcmp(texts[other], texts[reading], sizeof texts[other]) == 0)
                    fail_msg("%s: readings %d and %d give the same words", models[k], other, reading);
        }
        attend_model_free(m);
    }
}

static void invalid_dictionaries(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *message;
    } wrong[] = { { "a\tb\nc", 5, ":2:" },   { "a\t\n", 3, ":1:" },     { "\tb\n", 3, ":1:" },
                  { "a\tb\tc\n", 6, ":1:" }, { "a\t\xff\n", 4, ":1:" }, { "a\tb\0c\n", 6, ":1:" } };
    attend_dictionary *d = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_file(in_folder("wrong"), wrong[i].text, wrong[i].size);
        assert_int_equal(attend_dictionary_read(&d, in_folder("wrong")), ATTEND_BAD_DATA);
        assert_null(d);
        assert_non_null(strstr(attend_message(), wrong[i].message));
    }
    assert_int_equal(attend_dictionary_read(&d, in_folder("none")), ATTEND_IO);
    put_file(in_folder("empty"), "", 0);
    assert_ok(attend_dictionary_read(&d, in_folder("empty")));
    assert_null(attend_dictionary_find(d, "a", 1));
    attend_dictionary_free(d);
    put_file(in_folder("good"), "a\tb\nc\td\n", 8);
    for (long n = 1, done = 0; !done; n++) {
        attend_memory_refuse(n);
        const int status = attend_dictionary_read(&d, in_folder("good"));
        attend_memory_refuse(0);
        done = status == ATTEND_OK;
        if (!done) assert_true(status == ATTEND_NO_MEMORY && !d);
    }
    assert_string_equal(attend_dictionary_find(d, "c", 1), "d");
    attend_dictionary_free(d);
}

/* ---- prefixes ---- */

static void translations_begin_with_their_prefixes(void **state)
{
    (void)state;
    static const char *const lines[] = { "a b", "", "c d a", "b", "a", "a b" }, *const prefixes[] = {
        "b zebra", "b", "", "\xff", "c c c c c c c c c c", "b zebra"
    };
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_model *m = model_of((attend_token_kind)kind, (attend_token_kind)kind, "hidden=8", 4);
        attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
        o.max_tokens = kind == ATTEND_TOKENS_WORD ? 5 : 9, o.search.n_best = 2;
        attend_translator *t = translator_of(m, &o), *plain = translator_of(m, &o);
        run(t, 6, lines, prefixes);
        run(plain, 6, lines, NULL);
        for (int j = 0; j < 2; j++)
            assert_int_equal(strncmp(attend_translator_result(t, 0)->hypotheses[j].text, "b zebra", 7), 0);
        assert_string_equal(attend_translator_result(t, 0)->hypotheses[0].text,
                            attend_translator_result(t, 5)->hypotheses[0].text);
        assert_string_equal(attend_translator_result(t, 1)->hypotheses[0].text, "");
        assert_null(attend_translator_result(t, 1)->fault);
        assert_string_equal(attend_translator_result(t, 2)->hypotheses[0].text,
                            attend_translator_result(plain, 2)->hypotheses[0].text);
        assert_string_equal(attend_translator_result(t, 3)->fault, "its prefix is not UTF-8");
        assert_string_equal(attend_translator_result(t, 4)->fault, "its prefix is too long");
        attend_translator_free(t), attend_translator_free(plain);
        attend_model_free(m);
    }
}

/* ---- ensembles ---- */

static void ensembles_need_equal_vocabularies(void **state)
{
    (void)state;
    attend_model *a = model_of(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, "", 1);
    attend_model *b = model_of(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, "attention=none", 2);
    attend_model *other = model_of(ATTEND_TOKENS_WORD, ATTEND_TOKENS_CHAR, "", 2);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL, *one = translator_of(a, &o);
    const char *const lines[] = { "a b c", "d" };
    assert_ok(attend_translator_new_ensemble(&t, (const attend_model *const[]){ a, a, a }, 3, &o));
    run(t, 2, lines, NULL);
    run(one, 2, lines, NULL);
    for (int i = 0; i < 2; i++) {
        const attend_hypothesis *x = attend_translator_result(t, i)->hypotheses,
                                *y = attend_translator_result(one, i)->hypotheses;
        assert_string_equal(x->text, y->text);
        assert_true(x->log_probability == y->log_probability);
    }
    attend_translator_free(t), attend_translator_free(one);
    assert_ok(attend_translator_new_ensemble(&t, (const attend_model *const[]){ a, b }, 2, &o));
    run(t, 2, lines, NULL);
    attend_translator_free(t);
    assert_int_equal(attend_translator_new_ensemble(&t, (const attend_model *const[]){ a, b, other }, 3, &o),
                     ATTEND_BAD_USAGE);
    assert_non_null(
        strstr(attend_message(), "model 3 differs from model 1 in target.tokenizer: line 2 is 'kind char'"));
    assert_int_equal(attend_translator_new_ensemble(&t, NULL, 0, &o), ATTEND_BAD_USAGE);
    o.replace_unknown = true;
    assert_int_equal(attend_translator_new(&t, b, &o), ATTEND_BAD_USAGE);
    assert_ok(attend_translator_new_ensemble(&t, (const attend_model *const[]){ b, a }, 2, &o)); /* one has attention */
    attend_translator_free(t);
    attend_model_free(a), attend_model_free(b), attend_model_free(other);
}

/* ---- independence of batches ---- */

/* 64 lines: one by one, in one batch, on several threads, in two runs; by search and by sampling, with one model and
 * with two. */
static void results_do_not_depend_on_batches_threads_or_runs(void **state)
{
    (void)state;
    enum { LINES = 64 };
    char texts[LINES][64];
    const char *lines[LINES];
    for (int i = 0; i < LINES; i++) {
        lines[i] = texts[i], texts[i][0] = '\0';
        for (int j = 0; j < 1 + i * 7 % 13; j++)
            snprintf(texts[i] + strlen(texts[i]), 8, "%s%c", j ? " " : "", "abcd"[(i * 5 + j * j) % 4]);
    }
    attend_model *a = model_of(ATTEND_TOKENS_BPE, ATTEND_TOKENS_CHAR, "hidden=8 heads=2 attention-width=6", 3);
    attend_model *b = model_of(ATTEND_TOKENS_BPE, ATTEND_TOKENS_CHAR, "hidden=6 attention=dot bidirectional=no", 4);
    const attend_model *const models[] = { a, b };
    for (int mode = 0; mode < 4; mode++) {
        attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
        o.search.n_best = 2, o.search.sample = mode & 1, o.search.seed = 9, o.search.no_repeat_ngram = 3;
        attend_translator *t[4];
        const int batch_tokens[] = { 1, 100000, 100, 100 }, threads[] = { 1, 1, 2, 3 };
        for (int k = 0; k < 4; k++) {
            o.batch_tokens = batch_tokens[k], o.threads = threads[k];
            assert_ok(attend_translator_new_ensemble(&t[k], models, 1 + mode / 2, &o));
            if (k < 3) run(t[k], LINES, lines, NULL);
        }
        for (int part = 0; part < 2; part++) { /* the last one in two runs, so that line numbers continue */
            run(t[3], LINES / 2, lines + part * LINES / 2, NULL);
            for (int i = 0; i < LINES; i++)
                for (int j = 0; j < 2; j++) {
                    const attend_hypothesis *x = &attend_translator_result(t[0], i)->hypotheses[j];
                    for (int k = 1; k < 3; k++) {
                        assert_string_equal(x->text, attend_translator_result(t[k], i)->hypotheses[j].text);
                        assert_true(x->log_probability ==
                                    attend_translator_result(t[k], i)->hypotheses[j].log_probability);
                    }
                    if (i / (LINES / 2) == part)
                        assert_string_equal(x->text,
                                            attend_translator_result(t[3], i % (LINES / 2))->hypotheses[j].text);
                }
        }
        for (int k = 0; k < 4; k++) attend_translator_free(t[k]);
    }
    attend_model_free(a), attend_model_free(b);
}

/* A line with non-finite probabilities is faulty; the other lines of its batch are unchanged. */
static void a_faulty_line_does_not_affect_others(void **state)
{
    (void)state;
    attend_model *m = model_of(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, "attention=none cell=simple activation=relu", 3);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    const char *const lines[] = { "a b", "d a", "b c" }; /* the second has the word d */
    attend_translator *t = translator_of(m, &o);
    run(t, 3, lines, NULL);
    char before[2][256];
    for (int i = 0; i < 2; i++) snprintf(before[i], 256, "%s", attend_translator_result(t, 2 * i)->hypotheses[0].text);
    attend_translator_free(t);
    attend_param *table = attend_params_find(attend_model_params(m), "source.embedding");
    attend_tokenizer *words = tokenizer_of(ATTEND_TOKENS_WORD, 0);
    attend_ids ids = { 0 };
    assert_ok(attend_tokenizer_encode(words, "d", 1, &ids, 0, 0, 0));
    for (int i = 0; i < 3; i++)
        attend_param_edit(table)[ids.ids[0] * 3 + i] = i % 2 ? (attend_real)-3e38 : (attend_real)3e38;
    attend_param_changed(table);
    t = translator_of(m, &o);
    run(t, 3, lines, NULL);
    assert_non_null(strstr(attend_translator_result(t, 1)->fault, "not finite"));
    assert_string_equal(attend_translator_result(t, 1)->hypotheses[0].text, "");
    for (int i = 0; i < 2; i++) {
        assert_null(attend_translator_result(t, 2 * i)->fault);
        assert_string_equal(attend_translator_result(t, 2 * i)->hypotheses[0].text, before[i]);
    }
    attend_translator_free(t);
    attend_ids_free(&ids);
    attend_tokenizer_free(words);
    attend_model_free(m);
}

/* ---- spans ---- */

/* Detokenizing equals decoding; spans are in order and have no gaps except spaces. */
static void detokenizing_equals_decoding(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_tokenizer *t = tokenizer_of((attend_token_kind)kind, 0);
        const int size = attend_tokenizer_size(t);
        uint64_t x = 1;
        for (int round = 0; round < 3000; round++) {
            int ids[12], count = round % 12;
            for (int i = 0; i < count; i++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                const int any = (int)(x >> 33) % (size - 2);
                ids[i] = any ? any + 2 : ATTEND_UNKNOWN; /* neither begin nor end */
                if (kind && round % 3 == 0 && i % 4) ids[i] = ATTEND_FIRST_BYTE + "\xe4\xb8\xad\xc3"[x >> 60 & 3];
                if (ids[i] >= size || ids[i] < 0) ids[i] = ATTEND_FIRST_BYTE + 0xe4;
            }
            attend_string said = { 0 }, decoded = { 0 };
            attend_span spans[12];
            assert_ok(attend_string_reserve(&said, 1));
            assert_ok(attend_detokenize(t, ids, count, NULL, &said, spans));
            assert_ok(attend_tokenizer_decode(t, ids, count, &decoded));
            for (int i = 0; i < count; i++) assert_true(spans[i].begin <= spans[i].end);
            assert_int_equal(said.size, decoded.size);
            assert_memory_equal(said.text, decoded.text, said.size);
            for (int i = 1; i < count; i++)
                assert_true(spans[i].begin >= spans[i - 1].begin && spans[i].end >= spans[i - 1].end);
            if (count) assert_int_equal(spans[count - 1].end, said.size);
            attend_string_free(&said), attend_string_free(&decoded);
        }
        attend_tokenizer_free(t);
    }
}

/* The links of a translation equal those of scoring the same pair. Returns their number. */
static int check_links(const attend_model *m)
{
    const char *const lines[] = { "a b c", "d  bcd a", "c" };
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.weights = true, o.search.length_ratio = 1, o.search.n_best = 3;
    attend_translator *t = translator_of(m, &o);
    attend_scorer *s = NULL;
    int total = 0;
    assert_ok(attend_scorer_new(&s, m, 1, true));
    run(t, 3, lines, NULL);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const attend_line_result *r = attend_translator_result(t, i);
            const attend_hypothesis *h = &r->hypotheses[j];
            attend_word_link found[64], scored[64];
            const int count = attend_hypothesis_links(r, h, found, 64);
            if (h->count == 0) continue;
            assert_ok(attend_scorer_run(s, 1, &lines[i], &h->text));
            assert_int_equal(count, attend_scorer_links(attend_scorer_result(s, 0), scored, 64));
            for (int k = 0; k < count; k++)
                assert_true(found[k].source == scored[k].source && found[k].target == scored[k].target);
            total += count;
        }
    attend_scorer_free(s);
    attend_translator_free(t);
    return total;
}

static void links_are_those_of_scoring(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++)
        for (int head = 0; head < 2; head++) {
            attend_model *m = model_of((attend_token_kind)kind, ATTEND_TOKENS_WORD,
                                       head ? "hidden=8 alignment-head=yes" : "hidden=8", head ? 4 : 6);
            assert_true(check_links(m) > 10);
            assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = -1, .shifted = true }));
            assert_true(check_links(m) > 10);
            attend_model_free(m);
        }
}

/* ---- memory ---- */

static void memory_that_runs_out(void **state)
{
    (void)state;
    attend_model *m = unknowing(ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD, "hidden=8");
    const attend_model *const models[] = { m, m };
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.replace_unknown = true, o.search.length_ratio = 0, o.search.length_extra = 2;
    const char *const prefixes[] = { "yak", "", "a" };
    size_t sizes[3], prefix_sizes[3];
    for (int i = 0; i < 3; i++) sizes[i] = strlen(strange[i]), prefix_sizes[i] = strlen(prefixes[i]);
    for (int mode = 0; mode < 2; mode++) {
        o.search.sample = mode;
        for (long n = 1, done = 0; !done; n += 1 + n / 50) {
            attend_translator *t = NULL;
            attend_memory_refuse(n);
            int status = attend_translator_new_ensemble(&t, models, 2, &o);
            if (status == ATTEND_OK) status = attend_translator_run_from(t, 3, strange, sizes, prefixes, prefix_sizes);
            attend_memory_refuse(0);
            done = status == ATTEND_OK;
            if (!done) assert_int_equal(status, ATTEND_NO_MEMORY);
            if (t) run(t, 3, strange, prefixes); /* then it works again */
            attend_translator_free(t);
        }
    }
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(unknown_words_are_replaced_by_source_words),
                                        cmocka_unit_test(unknown_words_are_replaced_by_shifted_rows),
                                        cmocka_unit_test(invalid_dictionaries),
                                        cmocka_unit_test(translations_begin_with_their_prefixes),
                                        cmocka_unit_test(ensembles_need_equal_vocabularies),
                                        cmocka_unit_test(results_do_not_depend_on_batches_threads_or_runs),
                                        cmocka_unit_test(a_faulty_line_does_not_affect_others),
                                        cmocka_unit_test(detokenizing_equals_decoding),
                                        cmocka_unit_test(links_are_those_of_scoring),
                                        cmocka_unit_test(memory_that_runs_out) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
