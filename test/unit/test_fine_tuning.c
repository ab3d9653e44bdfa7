/* Training that begins with the weights of a model: with its vocabularies and with new ones, resumed, and refused. */
#include "unit/unit.h"

#include "support/trainings.h"
#include <attend/trainer.h>

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 200, 1);
    write_reversals("more.tsv", 60, 5);
    write_reversals("valid.tsv", 20, 77);
    return 0;
}

static char notices[4096];

static void collect_notices(void *user, const char *text)
{
    (void)user;
    strncat(notices, text, sizeof notices - strlen(notices) - 1);
}

static int train(const attend_train_options *o)
{
    const attend_train_events events = { .notice = collect_notices };
    notices[0] = '\0';
    return attend_train(o, &events, NULL);
}

static attend_train_options options_for(const char *model, const char *data)
{
    static attend_pairs_spec train_spec, valid_spec;
    static char names[3][512];
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder(data));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(names[2], sizeof names[2], "%s", in_folder(model));
    train_spec = (attend_pairs_spec){ .source = names[0] }, valid_spec = (attend_pairs_spec){ .source = names[1] };
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = names[2];
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 16, o.config.embedding = 8, o.config.dropout = 0;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 0.01;
    o.label_smoothing = 0;
    o.batch_tokens = 60, o.shard_tokens = 30;
    o.valid_every = 5, o.save_every = 3, o.log_every = 1;
    o.updates = 10, o.patience = 0;
    return o;
}

/* The path of the base, trained once. */
static const char *base(void)
{
    static char path[512];
    if (!*path) {
        attend_train_options o = options_for("base", "train.tsv");
        o.updates = 150, o.valid_every = 50;
        assert_ok(train(&o));
        snprintf(path, sizeof path, "%s", in_folder("base"));
    }
    return path;
}

static attend_train_options fine_tuned(const char *model, const char *data)
{
    const char *path = base();
    attend_train_options o = options_for(model, data);
    o.init_from = path;
    return o;
}

static attend_model *load(const char *name)
{
    attend_model *m = NULL;
    assert_ok(attend_model_load(&m, in_folder(name), NULL));
    return m;
}

static void same_weights(const char *a, const char *b)
{
    attend_model *x = load(a), *y = load(b);
    assert_int_equal(attend_params_count(attend_model_params(x)), attend_params_count(attend_model_params(y)));
    for (int i = 0; i < attend_params_count(attend_model_params(x)); i++) {
        const attend_param *p = attend_params_at(attend_model_params(x), i),
                           *q = attend_params_at(attend_model_params(y), i);
        assert_string_equal(attend_param_name(p), attend_param_name(q));
        assert_int_equal(attend_param_size(p), attend_param_size(q));
        assert_memory_equal(attend_param_value(p), attend_param_value(q), attend_param_size(p) * sizeof(attend_real));
    }
    attend_model_free(x);
    attend_model_free(y);
}

/* The first validation loss in the log of a model. */
static double first_loss(const char *model)
{
    char *log = log_of(model), *at = strstr(log, "\"valid_loss\": ");
    assert_non_null(at);
    const double loss = strtod(at + strlen("\"valid_loss\": "), NULL);
    free(log);
    return loss;
}

/* ---- with the vocabularies of the base ---- */

static void it_starts_where_the_base_ended(void **state)
{
    (void)state;
    size_t size, again;
    base();
    char *before = file_of("base", "", &size);
    attend_train_options o = fine_tuned("tuned", "more.tsv");
    assert_ok(train(&o));
    assert_non_null(strstr(notices, "starting with the weights and vocabularies of"));
    attend_train_options scratch = options_for("scratch", "more.tsv");
    assert_ok(train(&scratch));
    assert_true(first_loss("tuned") < 0.7 * first_loss("scratch"));
    char *after = file_of("base", "", &again);
    assert_true(size == again && memcmp(before, after, size) == 0);
    free(before), free(after);
    remove_model("tuned"), remove_model("scratch");
}

/* At learning rate 0 the weights stay those of the base. */
static void all_weights_are_taken_over(void **state)
{
    (void)state;
    static const char *const configs[] = { "",
                                           "architecture=transformer heads=2 embedding=16 positions=learned",
                                           "architecture=lstmn fusion=deep",
                                           "shared-vocab=yes",
                                           "shared-vocab=yes tie-embeddings=yes readout=plain embedding=16",
                                           "cell=lstm layers=2 attention=none",
                                           "task=language-model" };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        attend_train_options o = options_for("first", "train.tsv");
        char copy[128];
        snprintf(copy, sizeof copy, "%s", configs[i]);
        for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest));) {
            char *value = strchr(word, '=');
            *value++ = '\0';
            assert_ok(attend_config_set(&o.config, word, value));
        }
        const bool is_language_model = o.config.task == ATTEND_TASK_LANGUAGE_MODEL;
        const attend_pairs_spec lines = { .target = in_folder("train.tsv") };
        if (is_language_model) o.train = &lines, o.valid_count = 0;
        assert_ok(train(&o));
        o.model = in_folder("second"), o.init_from = in_folder("first");
        o.schedule.rate = 0, o.updates = 2, o.seed = 9;
        o.config.dropout = 0.5; /* may differ */
        assert_ok(train(&o));
        same_weights("first", "second");
        remove_model("first"), remove_model("second");
    }
}

/* ---- with new vocabularies ---- */

/* Letters c to g, so that c, d and e are those of the base. */
static void write_other_letters(const char *name)
{
    FILE *f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "%c %c\t%c %c\n", 'c' + i % 5, 'c' + i / 5 % 5, 'c' + i / 5 % 5, 'c' + i % 5);
    assert_int_equal(fclose(f), 0);
}

static void compare_rows(const attend_model *m, const attend_model *from, const char *parameter, const char *side)
{
    attend_tokenizer *ours = NULL, *theirs = NULL;
    const attend_param *p = attend_params_find(attend_model_params(m), parameter),
                       *q = attend_params_find(attend_model_params(from), parameter);
    const size_t width = attend_param_rank(p) > 1 ? (size_t)attend_param_dim(p, 1) : 1;
    int shared = 0;
    assert_ok(attend_tokenizer_from_model(&ours, m, side));
    assert_ok(attend_tokenizer_from_model(&theirs, from, side));
    for (int i = 0; i < attend_tokenizer_size(ours); i++)
        for (int k = 0; k < attend_tokenizer_size(theirs); k++) {
            if (strcmp(attend_tokenizer_token(ours, i), attend_tokenizer_token(theirs, k)) != 0) continue;
            assert_memory_equal(attend_param_value(p) + (size_t)i * width, attend_param_value(q) + (size_t)k * width,
                                width * sizeof(attend_real));
            shared++;
        }
    assert_int_equal(shared, 6); /* three special tokens, c, d and e */
    attend_tokenizer_free(ours);
    attend_tokenizer_free(theirs);
}

static void tokens_are_taken_over_by_name(void **state)
{
    (void)state;
    write_other_letters("other.tsv");
    attend_train_options o = fine_tuned("renamed", "other.tsv");
    o.new_vocab = true, o.valid_count = 0, o.schedule.rate = 0, o.updates = 2, o.seed = 9;
    assert_ok(train(&o));
    assert_non_null(strstr(notices, "6 of 8 source tokens and 6 of 8 target tokens are in its vocabularies"));
    attend_model *m = load("renamed"), *from = load("base"), *random = NULL;
    compare_rows(m, from, "source.embedding", "source");
    compare_rows(m, from, "target.embedding", "target");
    compare_rows(m, from, "output.w", "target");
    compare_rows(m, from, "output.b", "target");
    assert_ok(attend_model_new(&random, attend_model_config(m), o.seed));
    for (int i = 0; i < attend_params_count(attend_model_params(m)); i++) {
        const attend_param *p = attend_params_at(attend_model_params(m), i),
                           *q = attend_params_at(attend_model_params(from), i),
                           *r = attend_params_at(attend_model_params(random), i);
        const bool has_tokens = strstr(attend_param_name(p), "embedding") || strstr(attend_param_name(p), "output.");
        if (!has_tokens)
            assert_memory_equal(attend_param_value(p), attend_param_value(q),
                                attend_param_size(p) * sizeof(attend_real));
        else if (attend_param_rank(p) > 1) /* the rows of f and g are random */
            for (int row = 0, found = 0; row < 8; row++) {
                const size_t width = (size_t)attend_param_dim(p, 1);
                found += memcmp(attend_param_value(p) + (size_t)row * width,
                                attend_param_value(r) + (size_t)row * width, width * sizeof(attend_real)) == 0;
                if (row == 7) assert_int_equal(found, 2);
            }
    }
    attend_model_free(m), attend_model_free(from), attend_model_free(random);
    remove_model("renamed");
    /* without them, letters that the base does not know are unknown words */
    o = fine_tuned("unknown", "other.tsv");
    o.valid_count = 0;
    assert_ok(train(&o));
    remove_model("unknown");
}

/* ---- interruption ---- */

static void it_resumes_without_the_base(void **state)
{
    (void)state;
    for (int new_vocab = 0; new_vocab < 2; new_vocab++) {
        attend_train_options o = fine_tuned("whole", "more.tsv");
        o.new_vocab = new_vocab;
        assert_ok(train(&o));
        size_t size;
        char *bytes = file_of("base", "", &size);
        put_file(in_folder("copy"), bytes, size);
        attend_train_end end = ATTEND_TRAIN_STOPPED;
        for (int runs = 0; end == ATTEND_TRAIN_STOPPED; runs++) {
            o = options_for("parts", "more.tsv");
            stopper s = { .left = 3 };
            const attend_train_events events = { .user = &s, .stop = stop_after, .notice = collect_notices };
            o.init_from = in_folder("copy"), o.new_vocab = new_vocab, o.threads = 1 + runs % 2;
            notices[0] = '\0';
            assert_ok(attend_train(&o, &events, &end));
            assert_true(runs < 20);
            assert_true(runs == 0 || strstr(notices, "is not read again"));
            if (runs == 0) put_file(in_folder("copy"), "changed", 7);
            if (runs == 1) unlink(in_folder("copy"));
        }
        same_file("whole", "parts", "");
        same_file("whole", "parts", ".checkpoint");
        same_log("whole", "parts");
        free(bytes);
        remove_model("whole"), remove_model("parts");
    }
}

/* ---- what is refused ---- */

static void refused(const attend_train_options *o, int code, const char *text)
{
    const int status = train(o);
    if (status != code || !strstr(attend_message(), text))
        fail_msg("status %d, without '%s': %s", status, text, attend_message());
}

static void other_configurations_are_refused(void **state)
{
    (void)state;
    attend_train_options o = fine_tuned("refused", "more.tsv");
    o.config.hidden = 17;
    refused(&o, ATTEND_BAD_USAGE, "base has hidden '16', and now it is '17'");
    o = fine_tuned("refused", "more.tsv");
    o.config.attention = &attend_score_dot;
    refused(&o, ATTEND_BAD_USAGE, "base has attention 'additive', and now it is 'dot'");
    o = fine_tuned("refused", "more.tsv");
    o.config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER, o.config.embedding = 0;
    refused(&o, ATTEND_BAD_USAGE, "base has architecture 'rnn', and now it is 'transformer'");
    assert_int_equal(access(in_folder("refused"), F_OK), -1);
    assert_int_equal(access(in_folder("refused.checkpoint"), F_OK), -1);
    o = fine_tuned("refused", "more.tsv");
    o.init_from = in_folder("none");
    refused(&o, ATTEND_IO, "none");
    o.init_from = in_folder("train.tsv");
    refused(&o, ATTEND_BAD_MODEL, "train.tsv");
    attend_model *m = load("base");
    assert_ok(attend_model_quantize(m, ATTEND_INT8));
    assert_ok(attend_model_save(m, in_folder("small")));
    attend_model_free(m);
    o.init_from = in_folder("small");
    refused(&o, ATTEND_BAD_USAGE, "small is quantised and cannot be trained");
    /* the base is not an output, not even of a fresh training */
    o = fine_tuned("base", "more.tsv");
    o.fresh = true;
    refused(&o, ATTEND_BAD_USAGE, "are the same file");
    o = fine_tuned("base", "more.tsv");
    o.init_from = in_folder("base.checkpoint"), o.fresh = true;
    refused(&o, ATTEND_BAD_USAGE, "are the same file");
}

static void another_start_is_refused(void **state)
{
    (void)state;
    attend_train_options o = options_for("scratch", "more.tsv");
    assert_ok(train(&o));
    o = fine_tuned("scratch", "more.tsv");
    refused(&o, ATTEND_BAD_USAGE, "was not begun with the weights of another model");
    o = fine_tuned("tuned", "more.tsv");
    assert_ok(train(&o));
    o = options_for("tuned", "more.tsv");
    refused(&o, ATTEND_BAD_USAGE, "was begun with the weights of another model");
    o = fine_tuned("tuned", "more.tsv");
    o.new_vocab = true;
    refused(&o, ATTEND_BAD_USAGE, "init-from 'its vocabularies', and now it is 'new vocabularies'");
    remove_model("scratch"), remove_model("tuned");
}

/* ---- other bases ---- */

static void a_checkpoint_or_an_average_is_a_base(void **state)
{
    (void)state;
    const char *const paths[] = { in_folder("base.checkpoint"), base() };
    attend_model *mean = NULL;
    assert_ok(attend_models_average(&mean, paths, 2));
    assert_ok(attend_model_save(mean, in_folder("mean")));
    attend_model_free(mean);
    for (int i = 0; i < 2; i++) {
        attend_train_options o = options_for("next", "more.tsv");
        o.init_from = in_folder(i == 0 ? "base.checkpoint" : "mean"), o.schedule.rate = 0, o.updates = 1;
        assert_ok(train(&o));
        same_weights(i == 0 ? "base.checkpoint" : "mean", "next");
        remove_model("next");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_where_the_base_ended),       cmocka_unit_test(all_weights_are_taken_over),
        cmocka_unit_test(tokens_are_taken_over_by_name),        cmocka_unit_test(it_resumes_without_the_base),
        cmocka_unit_test(other_configurations_are_refused),     cmocka_unit_test(another_start_is_refused),
        cmocka_unit_test(a_checkpoint_or_an_average_is_a_base),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
