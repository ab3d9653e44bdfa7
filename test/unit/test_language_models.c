/* Language models from lines of text: training gives the same bytes on any number of threads and after any interruption, scores are sums over
 * tokens, and continuations do not depend on the rest of the batch. */
#include "core/memory.h"
#include "core/atomic_file.h"
#include "core/rng.h"
#include "support/text_files.h"
#include "support/trainings.h"
#include <attend/scorer.h>
#include <attend/trainer.h>
#include <attend/translator.h>
#include <math.h>
#include <sys/wait.h>

enum { TRAIN = 80, VALID = 12 };

/* Lines in which a word is usually followed by the next one of the list; some have TABs, and some are empty. */
static void write_lines(const char *name, int count, uint64_t seed)
{
    static const char *const words[] = { "ab", "cd", "ef", "gh", "ij" };
    FILE *f = fopen(in_folder(name), "wb");
    const attend_rng r = { seed, 0, 0 };
    uint64_t at = 0;
    assert_non_null(f);
    for (int i = 0; i < count; i++) {
        const int length = i % 20 == 7 ? 0 : 1 + (int)(attend_rng_uniform(&r, at++) * 6);
        int word = (int)(attend_rng_uniform(&r, at++) * 5);
        for (int j = 0; j < length; j++) {
            fprintf(f, "%s%s", j == 0 ? "" : i % 9 == 4 ? "\t" : " ", words[word]);
            word = attend_rng_uniform(&r, at++) < 0.8 ? (word + 1) % 5 : (int)(attend_rng_uniform(&r, at) * 5);
        }
        fputc('\n', f);
    }
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    const int made = folder_make(state);
    write_lines("train.txt", TRAIN, 1);
    write_lines("valid.txt", VALID, 77);
    return made;
}

static attend_pairs_spec train_spec, valid_spec;
static char names[2][512], model_name[512];

static attend_train_options options_for(const char *model)
{
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.txt"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.txt"));
    snprintf(model_name, sizeof model_name, "%s", in_folder(model));
    train_spec = (attend_pairs_spec){ .target = names[0] }, valid_spec = (attend_pairs_spec){ .target = names[1] };
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = model_name;
    o.tokens[0].kind = ATTEND_TOKENS_WORD;
    o.config.task = ATTEND_TASK_LANGUAGE_MODEL;
    o.config.cell = ATTEND_CELL_LSTM;
    o.config.hidden = 8, o.config.embedding = 6, o.config.dropout = 0.2;
    o.batch_tokens = 40, o.shard_tokens = 12, o.label_smoothing = 0;
    o.average = 0.9;
    o.valid_every = 4, o.save_every = 3, o.log_every = 2;
    o.updates = 13, o.patience = 0;
    return o;
}

static void same_training(const char *a, const char *b)
{
    same_file(a, b, "");
    same_file(a, b, ".checkpoint");
}

/* ---- training ---- */

/* Options for one kind of tokens. */
static attend_train_options options_of(const char *model, attend_token_kind kind)
{
    attend_train_options o = options_for(model);
    o.tokens[0].kind = kind;
    if (kind == ATTEND_TOKENS_BPE) o.bpe_dropout = 0.3, o.accumulate = 2;
    return o;
}

static void keep_plan(void *user, const attend_plan *plan)
{
    *(attend_plan *)user = *plan;
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++) {
        attend_plan plan;
        const attend_train_events events = { .user = &plan, .plan = keep_plan };
        attend_train_options o = options_of("reference", (attend_token_kind)kind);
        o.fresh = true;
        assert_ok(attend_train(&o, &events, NULL));
        assert_true(plan.task == ATTEND_TASK_LANGUAGE_MODEL && plan.pairs == 76 && plan.left_out == 4);
        assert_true(plan.source_tokens == 0 && plan.target_tokens > 76 && plan.valid_pairs == 11);
        for (int threads = 2; threads <= 3; threads++) {
            o = options_of("other", (attend_token_kind)kind);
            o.threads = threads;
            assert_ok(attend_train(&o, NULL, NULL));
            same_training("reference", "other");
            remove_model("other");
        }
    }
    remove_model("reference");
    attend_train_options o = options_for("reference");
    assert_ok(attend_train(&o, NULL, NULL));
}

static void stopped_and_resumed(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n += 2) {
        attend_train_end end = ATTEND_TRAIN_STOPPED;
        for (int runs = 0; end == ATTEND_TRAIN_STOPPED; runs++) {
            attend_train_options o = options_for("stopped");
            stopper s = { .left = n };
            const attend_train_events events = { .user = &s, .stop = stop_after };
            o.threads = 1 + runs % 2;
            assert_ok(attend_train(&o, &events, &end));
            assert_true(runs < 30);
        }
        same_training("reference", "stopped");
        remove_model("stopped");
    }
}

static void die(void)
{
    _exit(77);
}

static void killed_and_resumed(void **state)
{
    (void)state;
    int killed = 0;
    long n = 1;
    for (;; n += 61, killed++) { /* test_trainer can try every call (make soak) */
        const pid_t child = fork();
        if (child == 0) {
            attend_train_options o = options_for("killed");
            attend_atomic_file_inject_fault(n, 0, die);
            _exit(attend_train(&o, NULL, NULL) == ATTEND_OK ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 77);
        attend_train_options o = options_for("killed");
        assert_ok(attend_train(&o, NULL, NULL));
        same_training("reference", "killed");
        remove_model("killed");
        int temporaries;
        folder_count(&temporaries, 1);
    }
    assert_true(killed >= 3);
    print_sampled("calls at which training was killed", (unsigned long long)killed, (unsigned long long)n - 1);
}

static void refuses(attend_train_options o, int status, const char *message)
{
    assert_int_equal(attend_train(&o, NULL, NULL), status);
    if (!strstr(attend_message(), message)) fail_msg("'%s' does not contain '%s'", attend_message(), message);
}

static void training_refuses_invalid_data_and_options(void **state)
{
    (void)state;
    attend_train_options o = options_for("refused");
    o.valid_metric = ATTEND_VALID_BLEU;
    refuses(o, ATTEND_BAD_USAGE, "compares translations");
    o = options_for("refused");
    train_spec = (attend_pairs_spec){ .source = names[0] };
    refuses(o, ATTEND_BAD_USAGE, "lines of text, and these are pairs");
    o = options_for("refused");
    valid_spec = (attend_pairs_spec){ .source = names[1] };
    refuses(o, ATTEND_BAD_USAGE, "lines of text, and these are pairs");
    o = options_for("refused");
    o.config.task = ATTEND_TASK_TRANSLATION;
    refuses(o, ATTEND_BAD_USAGE, "which are for task 'language-model'");
    text_file("empty.txt", "\n \n\n");
    o = options_for("refused");
    snprintf(names[0], sizeof names[0], "%s", in_folder("empty.txt"));
    refuses(o, ATTEND_BAD_DATA, "the vocabulary would be empty: all lines are empty");
    o = options_for("refused");
    snprintf(names[1], sizeof names[1], "%s", in_folder("empty.txt"));
    refuses(o, ATTEND_BAD_DATA, "there is no validation line: all are empty or too long");
    text_file("bytes.txt", "ab\ncd\n\xff\n");
    o = options_for("refused");
    snprintf(names[0], sizeof names[0], "%s", in_folder("bytes.txt"));
    refuses(o, ATTEND_BAD_DATA, "bytes.txt:3");
    o = options_for("reference");
    write_lines("train.txt", TRAIN, 2);
    refuses(o, ATTEND_BAD_USAGE, "training data '76 lines");
    write_lines("train.txt", TRAIN, 1);
}

static void training_without_memory(void **state)
{
    (void)state;
    attend_train_options o = options_for("short");
    o.updates = 2, o.valid_every = 2, o.fresh = true;
    attend_memory_refuse(-1);
    assert_ok(attend_train(&o, NULL, NULL));
    const long requests = attend_memory_requests();
    int failed = 0;
    for (long n = 1; n <= requests; n += requests / 40 + 1) {
        attend_memory_refuse(n);
        const int status = attend_train(&o, NULL, NULL);
        attend_memory_refuse(0);
        if (status == ATTEND_OK) continue;
        assert_int_equal(status, ATTEND_NO_MEMORY);
        failed++;
    }
    assert_true(failed > 20);
}

/* ---- a trained model ---- */

static attend_model *trained(attend_token_kind kind)
{
    attend_train_options o = options_of("trained", kind);
    attend_model *m = NULL;
    o.config.hidden = 24, o.config.embedding = 12, o.config.dropout = 0;
    o.updates = 150, o.average = 0, o.valid_every = 50, o.save_every = 100, o.fresh = true, o.threads = 2;
    o.schedule.rate = 1e-2;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_ok(attend_model_load(&m, in_folder("trained"), NULL));
    return m;
}

static const char *const lines[] = { "ab cd", "", "gh", "\xff", "ab cd ef gh", " ", "ij zebra ab", "ab cd" };
enum { LINES = sizeof lines / sizeof *lines };

static void scores_are_sums_over_tokens(void **state)
{
    (void)state;
    attend_model *m = trained(ATTEND_TOKENS_WORD);
    attend_scorer *s = NULL;
    size_t size;
    assert_null(attend_model_attached(m, "source.vocabulary", &size)); /* one vocabulary */
    assert_int_equal(attend_scorer_new(&s, m, 2, true), ATTEND_OK);
    assert_int_equal(attend_scorer_run(s, LINES, lines, lines), ATTEND_BAD_USAGE);
    assert_ok(attend_scorer_run(s, LINES, NULL, lines));
    attend_ctx *c = NULL;
    assert_ok(attend_ctx_new(&c));
    for (int i = 0; i < LINES; i++) {
        const attend_scored_pair *r = attend_scorer_result(s, i);
        const bool nothing = i == 1 || i == 3 || i == 5;
        assert_true((r->fault != NULL) == nothing);
        if (nothing) continue;
        assert_true(!r->weights && !r->source && r->source_count == 0 && *r->source_text == '\0');
        double sum = 0, alone;
        for (int k = 0; k < r->rows; k++) sum += (double)r->row_log_probability[k];
        const int none = 0;
        const attend_pairs line = {
            .count = 1, .source_lengths = &none, .target = r->target, .target_lengths = &r->target_count
        };
        assert_ok(attend_model_score(c, m, &line, &alone, NULL, ATTEND_ATTENTION_CROSS, NULL));
        assert_true(fabs(sum - r->log_probability) < 1e-5 && fabs(alone - r->log_probability) < 1e-5);
    }
    assert_int_equal(attend_scorer_result(s, 6)->target[1], ATTEND_UNKNOWN);
    /* validation computes the same perplexity */
    char *text = get_file(in_folder("valid.txt"), NULL), *log = get_file(in_folder("trained.log.jsonl"), NULL);
    double sum = 0, rows = 0;
    for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
        const char *one = line;
        assert_ok(attend_scorer_run(s, 1, NULL, &one));
        sum += attend_scorer_result(s, 0)->log_probability, rows += attend_scorer_result(s, 0)->rows;
    }
    char *best = strstr(log, "\"better\": true");
    for (char *next; (next = strstr(best + 1, "\"better\": true"));) best = next;
    while (strncmp(best, "\"valid_perplexity\": ", 20) != 0) best--;
    assert_true(fabs(strtod(best + 20, NULL) - exp(-sum / rows)) < 1e-3);
    assert_true(exp(-sum / rows) < 4.5); /* of five words and the end: the model has learned */
    free(text), free(log);
    attend_ctx_free(c);
    attend_scorer_free(s);
    attend_model_free(m);
}

static attend_translator *continue_lines(const attend_model *m, int threads, int batch_tokens, bool sample,
                                         uint64_t seed)
{
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    size_t sizes[LINES];
    for (int i = 0; i < LINES; i++) sizes[i] = strlen(lines[i]);
    o.threads = threads, o.batch_tokens = batch_tokens;
    o.search.sample = sample, o.search.seed = seed, o.search.n_best = 2, o.search.length_extra = 12;
    assert_ok(attend_translator_new(&t, m, &o));
    assert_ok(attend_translator_run(t, LINES, lines, sizes));
    return t;
}

static bool same_results(const attend_translator *a, const attend_translator *b)
{
    bool same = true;
    for (int i = 0; i < LINES; i++) {
        const attend_line_result *x = attend_translator_result(a, i), *y = attend_translator_result(b, i);
        assert_int_equal(x->count, y->count);
        for (int k = 0; k < x->count; k++) same &= strcmp(x->hypotheses[k].text, y->hypotheses[k].text) == 0;
    }
    return same;
}

/* A result begins with the given line, and its score is that of the whole text. */
static void check_results(const attend_model *m, const attend_translator *t)
{
    attend_scorer *s = NULL;
    assert_ok(attend_scorer_new(&s, m, 1, false));
    for (int i = 0; i < LINES; i++) {
        const attend_line_result *r = attend_translator_result(t, i);
        assert_true((r->fault != NULL) == (i == 3));
        assert_null(r->source);
        if (r->fault) continue;
        assert_int_equal(r->count, 2);
        for (int k = 0; k < r->count; k++) {
            const attend_hypothesis *h = &r->hypotheses[k];
            const char *given = i == 5 ? "" : lines[i]; /* white space is dropped */
            assert_int_equal(h->prefix_size, strlen(given));
            assert_int_equal(strncmp(h->text, given, h->prefix_size), 0);
            const char *text = h->text;
            if (!*text || strstr(text, "<unk>")) continue;
            assert_ok(attend_scorer_run(s, 1, NULL, &text));
            const attend_scored_pair *scored = attend_scorer_result(s, 0);
            if (scored->target_count == h->count) /* the text may be tokenized differently */
                assert_true(fabs(scored->log_probability - h->log_probability) < 1e-3);
        }
    }
    attend_scorer_free(s);
}

static void lines_are_continued(void **state)
{
    (void)state;
    for (int kind = ATTEND_TOKENS_WORD; kind <= ATTEND_TOKENS_BPE; kind++)
        for (int sample = 0; sample < 2; sample++) {
            attend_model *m = trained((attend_token_kind)kind);
            attend_translator *one = continue_lines(m, 1, 1000, sample, 5);
            check_results(m, one);
            for (int variant = 0; variant < 3; variant++) {
                attend_translator *other = continue_lines(m, 1 + variant, variant == 0 ? 1 : 30, sample, 5);
                assert_true(same_results(one, other));
                attend_translator_free(other);
            }
            attend_translator *seed = continue_lines(m, 1, 1000, sample, 6);
            assert_true(same_results(one, seed) == !sample);
            attend_translator_free(seed);
            attend_translator_free(one);
            attend_model_free(m);
        }
}

static void invalid_continuations_are_refused(void **state)
{
    (void)state;
    attend_model *m = trained(ATTEND_TOKENS_WORD);
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    attend_translator *t = NULL;
    o.replace_unknown = true;
    assert_int_equal(attend_translator_new(&t, m, &o), ATTEND_BAD_USAGE);
    o.replace_unknown = false, o.search.shortlist = true;
    assert_int_equal(attend_translator_new(&t, m, &o), ATTEND_BAD_USAGE);
    o.search.shortlist = false, o.max_tokens = 2, o.search.max_length = 3;
    assert_ok(attend_translator_new(&t, m, &o));
    const size_t sizes[2] = { 5, 8 };
    const char *const both[2] = { "ab cd", "ab cd ef" };
    assert_int_equal(attend_translator_run_from(t, 2, both, sizes, both, sizes), ATTEND_BAD_USAGE);
    assert_ok(attend_translator_run(t, 2, both, sizes));
    assert_null(attend_translator_result(t, 0)->fault);
    assert_true(attend_translator_result(t, 0)->hypotheses[0].count <= 3);
    assert_string_equal(attend_translator_result(t, 1)->fault,
                        "it is too long: it has more tokens than the maximum input length");
    attend_translator_free(t);
    attend_model_free(m);
}

static void continuing_without_memory(void **state)
{
    (void)state;
    attend_model *m = trained(ATTEND_TOKENS_BPE);
    const size_t sizes[2] = { 5, 0 };
    const char *const both[2] = { "ab cd", "" };
    attend_translator_options o = ATTEND_TRANSLATOR_OPTIONS_INIT;
    o.search.sample = true;
    for (long n = 1;; n++) {
        attend_translator *t = NULL;
        attend_scorer *s = NULL;
        attend_memory_refuse(n);
        int status = attend_translator_new(&t, m, &o);
        if (status == ATTEND_OK) status = attend_translator_run(t, 2, both, sizes);
        if (status == ATTEND_OK) status = attend_scorer_new(&s, m, 1, false);
        if (status == ATTEND_OK) status = attend_scorer_run(s, 2, NULL, both);
        const bool reached = attend_memory_requests() >= n;
        attend_memory_refuse(0);
        attend_translator_free(t);
        attend_scorer_free(s);
        if (!reached) {
            assert_int_equal(status, ATTEND_OK);
            break;
        }
        if (status != ATTEND_OK) assert_int_equal(status, ATTEND_NO_MEMORY);
    }
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),     cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(killed_and_resumed),        cmocka_unit_test(training_refuses_invalid_data_and_options),
        cmocka_unit_test(training_without_memory),   cmocka_unit_test(scores_are_sums_over_tokens),
        cmocka_unit_test(lines_are_continued),       cmocka_unit_test(invalid_continuations_are_refused),
        cmocka_unit_test(continuing_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
