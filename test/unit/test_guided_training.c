/* Training with guided alignment: links of the word aligner or of a file, stops and threads that change nothing, and what
 * is refused. */
#include "unit/unit.h"

#include "support/trainings.h"
#include "text/tokenizer.h"
#include "train/guided_links.h"
#include <attend/aligner.h>
#include <attend/scorer.h>
#include <attend/trainer.h>

enum { TRAIN = 400, VALID = 60 };

/* Sentences of words and their translations in another order: a reversal, with an article before each noun that has no
 * counterpart. */
static void write_pairs(const char *name, const char *links, int count, unsigned seed)
{
    FILE *f = fopen(in_folder(name), "wb");
    FILE *g = links ? fopen(in_folder(links), "wb") : NULL;
    assert_non_null(f);
    for (int i = 0; i < count; i++) {
        int words[6];
        const int n = 2 + i % 4;
        for (int k = 0; k < n; k++) {
            seed = seed * 1664525u + 1013904223u;
            words[k] = (int)((seed >> 16) % 12);
            fprintf(f, "%ssource%c", k ? " " : "", 'a' + words[k]);
        }
        fputc('\t', f);
        for (int k = n - 1; k >= 0; k--) {
            fprintf(f, "%sart target%c", k < n - 1 ? " " : "", 'a' + words[k]);
            if (g) fprintf(g, "%s%d-%d", k < n - 1 ? " " : "", k, 2 * (n - 1 - k) + 1);
        }
        fputc('\n', f);
        if (g) fputc('\n', g);
    }
    assert_int_equal(fclose(f), 0);
    if (g) assert_int_equal(fclose(g), 0);
}

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_pairs("train.tsv", "train.links", TRAIN, 1);
    write_pairs("valid.tsv", "valid.links", VALID, 77);
    return 0;
}

static attend_train_options options_for(const char *model, bool transformer)
{
    static attend_pairs_spec train_spec, valid_spec;
    static char names[2][512], model_name[512];
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(model_name, sizeof model_name, "%s", in_folder(model));
    train_spec = (attend_pairs_spec){ .source = names[0] }, valid_spec = (attend_pairs_spec){ .source = names[1] };
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = model_name;
    o.config.hidden = 16, o.config.embedding = transformer ? 0 : 12, o.config.dropout = 0;
    if (transformer) o.config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER, o.config.layers = 2, o.config.heads = 2;
    o.config.alignment_head = true;
    o.schedule.rate = 0.01;
    o.batch_tokens = 60, o.shard_tokens = 40;
    o.valid_every = 20, o.save_every = 7, o.log_every = 5;
    o.updates = 40, o.patience = 0;
    o.guided_alignment = "auto";
    o.guidance = 1;
    return o;
}

static double error_of(const char *model)
{
    attend_model *m = NULL;
    attend_scorer *s = NULL;
    attend_pairs_file *file = NULL;
    attend_text_pair pair;
    attend_aer_sums sums = { 0 };
    const attend_pairs_spec spec = { .source = in_folder("valid.tsv") };
    assert_ok(attend_pairs_file_open(&file, &spec, 1));
    assert_ok(attend_model_load(&m, in_folder(model), NULL));
    assert_ok(attend_scorer_new(&s, m, 1, true));
    while (attend_pairs_file_next(file, &pair) == ATTEND_OK && pair.source) {
        char texts[2][256];
        snprintf(texts[0], sizeof texts[0], "%.*s", (int)pair.source_size, pair.source);
        snprintf(texts[1], sizeof texts[1], "%.*s", (int)pair.target_size, pair.target);
        const char *sides[2] = { texts[0], texts[1] };
        assert_ok(attend_scorer_run(s, 1, &sides[0], &sides[1]));
        const attend_scored_pair *r = attend_scorer_result(s, 0);
        attend_word_link links[16], gold[8];
        int sources, targets;
        attend_scorer_word_counts(r, &sources, &targets);
        for (int k = 0; k < sources; k++)
            gold[k] = (attend_word_link){ .source = k, .target = 2 * (sources - 1 - k) + 1, .sure = true };
        assert_ok(attend_aer_add(&sums, links, attend_scorer_links(r, links, 16), gold, sources));
    }
    attend_pairs_file_close(file);
    attend_scorer_free(s);
    attend_model_free(m);
    return attend_aer(&sums);
}

/* After few updates, long before it translates, the model aligns; articles are linked to nothing. */
static void a_guided_model_aligns(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        attend_train_options o = options_for("model", k % 2);
        char file[512];
        snprintf(file, sizeof file, "%s", in_folder("train.links"));
        if (k / 2) o.guided_alignment = file;
        o.updates = 600, o.valid_every = 600;
        assert_ok(attend_train(&o, NULL, NULL));
        const double error = error_of("model");
        if (!(error < 0.05)) fail_msg("case %d: the alignment error rate is %g", k, error);
        remove_model("model");
    }
}

/* A run that is stopped at any time, on any number of threads, gives the same model and log. */
static void stops_and_threads_change_nothing(void **state)
{
    (void)state;
    for (int transformer = 0; transformer < 2; transformer++) {
        attend_train_options o = options_for("whole", transformer);
        assert_ok(attend_train(&o, NULL, NULL));
        for (int k = 0; k < 4; k++) {
            stopper calls = { 3 + 9 * k };
            const attend_train_events events = { .user = &calls, .stop = stop_after };
            attend_train_end end;
            o = options_for("parts", transformer);
            o.threads = 1 + k % 3;
            assert_ok(attend_train(&o, &events, &end));
            assert_int_equal(end, ATTEND_TRAIN_STOPPED);
            assert_ok(attend_train(&o, NULL, &end));
            same_file("whole", "parts", "");
            same_log("whole", "parts");
            remove_model("parts");
        }
        remove_model("whole");
    }
}

static void refused(attend_train_options o, const char *what)
{
    const int status = attend_train(&o, NULL, NULL);
    if (status == ATTEND_OK || !strstr(attend_message(), what))
        fail_msg("'%s' was expected, status %d: %s", what, status, attend_message());
    remove_model("model");
}

static void what_is_refused(void **state)
{
    (void)state;
    attend_train_options o = options_for("model", false);
    o.bpe_dropout = 0.1;
    refused(o, "BPE dropout");
    o = options_for("model", false), o.crop = 0.1;
    refused(o, "crop");
    o = options_for("model", false), o.guidance = 0;
    refused(o, "guidance is 0");
    o = options_for("model", false), o.guided_alignment = NULL;
    refused(o, "an alignment head learns from links");
    o = options_for("model", false), o.config.attention = NULL, o.config.alignment_head = false;
    refused(o, "has none");
    char file[512];
    snprintf(file, sizeof file, "%s", in_folder("bad.links"));
    static const char *const bad[][2] = { { "0-0\n1-x\n", "bad.links:2: cannot parse links at '1-x'" },
                                          { "0-0 1\n", "cannot parse links at '1'" },
                                          { "0-99\n", "bad.links:1: link '0-99' is outside its pair" },
                                          { "0-0\n", "bad.links: the file ends after line 1" },
                                          { "0-0\n0-0\xff\n", "bad.links:2: byte 4 is NUL or not UTF-8" },
                                          { "\n", "bad.links: the file ends after line 1" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file(file, bad[i][0], strlen(bad[i][0]));
        o = options_for("model", false), o.guided_alignment = file;
        refused(o, bad[i][1]);
    }
    put_file(file, "0-0\n0-0\0\n", 9);
    refused(o, "bad.links:2: byte 4 is NUL");
    char blank[400];
    memset(blank, '\n', sizeof blank);
    put_file(file, blank, sizeof blank);
    refused(o, "bad.links has no link of a training pair");
}

/* A link that a line repeats counts once, and takes no memory for each time. */
static void repeated_links(void **state)
{
    (void)state;
    enum { TIMES = 400000 };
    char file[512], other[512];
    size_t size;
    snprintf(file, sizeof file, "%s", in_folder("train.links"));
    snprintf(other, sizeof other, "%s", in_folder("repeated.links"));
    char *text = get_file(file, &size), *many = malloc(4 * TIMES + size + 1);
    assert_true(text && many);
    assert_memory_equal(text + strcspn(text, " \n"), " ", 1);
    const size_t length = strcspn(text, " ");
    size_t used = 0;
    for (int i = 0; i < TIMES / 2; i++) memcpy(many + used, text, length + 1), used += length + 1;
    memcpy(many + used, text, size);
    put_file(other, many, used + size);
    attend_train_options o = options_for("model", false);
    o.guided_alignment = file, o.updates = 5;
    assert_ok(attend_train(&o, NULL, NULL));
    o.guided_alignment = other, o.updates = 6;
    assert_ok(attend_train(&o, NULL, NULL)); /* resumes: the links are the same */
    free(text), free(many);
    remove_model("model");
}

/* Training does not resume with other links. */
static void other_links_are_noticed(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", in_folder("train.links"));
    attend_train_options o = options_for("model", false);
    o.guided_alignment = file, o.updates = 5;
    assert_ok(attend_train(&o, NULL, NULL));
    o.updates = 9;
    assert_ok(attend_train(&o, NULL, NULL));
    size_t size;
    char *text = get_file(in_folder("train.links"), &size);
    assert_non_null(text);
    text[0] = '0'; /* another word */
    snprintf(file, sizeof file, "%s", in_folder("other.links"));
    put_file(file, text, size);
    free(text);
    o.updates = 12;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "guided-alignment"));
    remove_model("model");
}

/* Lines that are held out have links, too: the file has a line for each line of the training file. */
static void held_out_lines_have_links(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", in_folder("train.links"));
    attend_train_options o = options_for("model", false);
    attend_pairs_spec train[1] = { o.train[0] }, valid[1];
    assert_ok(attend_pairs_hold_out(train, valid, 1, 0.3, 0));
    o.train = train, o.valid = valid, o.guided_alignment = file;
    o.updates = 600, o.valid_every = 600;
    assert_ok(attend_train(&o, NULL, NULL));
    const double error = error_of("model"); /* with links of other lines it could not align */
    if (!(error < 0.05)) fail_msg("the alignment error rate is %g", error);
    remove_model("model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guided_model_aligns), cmocka_unit_test(stops_and_threads_change_nothing),
        cmocka_unit_test(what_is_refused),       cmocka_unit_test(other_links_are_noticed),
        cmocka_unit_test(repeated_links),        cmocka_unit_test(held_out_lines_have_links),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
