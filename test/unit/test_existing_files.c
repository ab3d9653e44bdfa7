/* Files that exist where training writes: other kinds of files are never overwritten, other trainings only with `fresh`. */
#include "unit/unit.h"

#include "format/tensor_file.h"
#include "support/trainings.h"
#include <attend/trainer.h>

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 60, 1);
    return 0;
}

static attend_train_options options_for(const char *model)
{
    static attend_pairs_spec train_spec;
    static char names[2][512];
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder(model));
    train_spec.source = names[0];
    o.train = &train_spec, o.train_count = 1;
    o.model = names[1];
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6;
    o.batch_tokens = 40, o.shard_tokens = 20;
    o.updates = 3, o.log_every = 1;
    return o;
}

static char *text_of(const char *name, size_t *size)
{
    return get_file(in_folder(name), size);
}

/* Training is refused with this text, and a file keeps its content. */
static void refused(const attend_train_options *o, const char *text, const char *name)
{
    size_t before, after;
    char *x = text_of(name, &before);
    assert_non_null(x);
    assert_int_equal(attend_train(o, NULL, NULL), ATTEND_BAD_USAGE);
    if (!strstr(attend_message(), text)) fail_msg("'%s' is not in: %s", text, attend_message());
    char *y = text_of(name, &after);
    assert_true(y && before == after && memcmp(x, y, before) == 0);
    free(x), free(y);
}

/* ---- models ---- */

static void a_model_without_a_checkpoint(void **state)
{
    (void)state;
    attend_train_options o = options_for("m");
    o.config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER, o.config.embedding = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_int_equal(unlink(in_folder("m.checkpoint")), 0);
    o = options_for("m");
    refused(&o, "m exists: a model of architecture transformer for translation, 8 and 8 tokens, ", "m");
    refused(&o, " kB, of 2", "m");
    refused(&o, "option 'init-from'", "m");
    refused(&o, "option 'fresh'", "m");
    assert_int_equal(access(in_folder("m.checkpoint"), F_OK), -1);
    assert_int_equal(access(in_folder("m.lock"), F_OK), -1);
    o.fresh = true;
    assert_ok(attend_train(&o, NULL, NULL));
    o.fresh = false, o.updates = 4;
    assert_ok(attend_train(&o, NULL, NULL)); /* resumes */
    remove_model("m");
    put_file(in_folder("m"), "", 0); /* as mktemp makes it */
    assert_ok(attend_train(&o, NULL, NULL));
    remove_model("m");
}

static void other_models_of_training(void **state)
{
    (void)state;
    attend_train_options o = options_for("m");
    o.keep = 1;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_int_equal(rename(in_folder("m"), in_folder("m.single")), 0);
    assert_int_equal(unlink(in_folder("m.checkpoint")), 0);
    refused(&o, "m.update-3 exists, a model of another training", "m.update-3");
    o.keep = 0;
    refused(&o, "m.single exists, a model of another training", "m.single");
    assert_int_equal(unlink(in_folder("m.single")), 0);
    refused(&o, "m.log.jsonl exists and is the log of another training", "m.log.jsonl"); /* of the same options */
    assert_int_equal(unlink(in_folder("m.log.jsonl")), 0);
    assert_ok(attend_train(&o, NULL, NULL)); /* kept models are not touched */
    assert_int_equal(access(in_folder("m.update-3"), F_OK), 0);
    remove_model("m");
}

/* ---- a model that was copied beside the checkpoint of another ---- */

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *bytes = text_of(from, &size);
    assert_non_null(bytes);
    put_file(in_folder(to), bytes, size);
    free(bytes);
}

static void a_model_of_another_training(void **state)
{
    (void)state;
    static const char *const suffixes[] = { "", ".single" };
    attend_train_options o = options_for("other");
    o.seed = 7; /* of the same architecture and vocabularies */
    assert_ok(attend_train(&o, NULL, NULL));
    o = options_for("transformer");
    o.config.architecture = ATTEND_ARCHITECTURE_TRANSFORMER, o.config.embedding = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    o = options_for("m");
    assert_ok(attend_train(&o, NULL, NULL));
    copy_file("m", "own");
    o.updates = 4;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            char name[16];
            snprintf(name, sizeof name, "m%s", suffixes[k]);
            copy_file(i ? "transformer" : "other", name);
            refused(&o, "It is not of the training that", name);
            refused(&o, i ? "a model of architecture transformer" : "a model of architecture rnn", name);
            refused(&o, "m.checkpoint resumes", "m.checkpoint");
            assert_int_equal(unlink(in_folder(name)), 0);
            if (k == 0) copy_file("own", "m");
        }
    assert_ok(attend_train(&o, NULL, NULL));
    assert_int_equal(unlink(in_folder("m")), 0);
    o.updates = 5;
    assert_ok(attend_train(&o, NULL, NULL)); /* a model that was deleted is saved again */
    copy_file("other", "m");
    o.fresh = true;
    assert_ok(attend_train(&o, NULL, NULL));
    remove_model("m"), remove_model("other"), remove_model("transformer"), remove_model("own");
}

/* A training that was told to replace a model, and stopped before it saved its own, resumes beside that model. */
static void a_model_that_may_be_replaced(void **state)
{
    (void)state;
    attend_train_options o = options_for("old");
    assert_ok(attend_train(&o, NULL, NULL));
    o.seed = 9, o.model = in_folder("older");
    assert_ok(attend_train(&o, NULL, NULL));
    o = options_for("m");
    copy_file("old", "m");
    o.seed = 8, o.updates = 6, o.valid_every = 3, o.fresh = true, o.valid = o.train, o.valid_count = 1;
    stopper s = { 2 };
    const attend_train_events events = { .user = &s, .stop = stop_after };
    attend_train_end end;
    assert_ok(attend_train(&o, &events, &end));
    assert_int_equal(end, ATTEND_TRAIN_STOPPED);
    assert_true(are_same("m", "", "old", ""));
    o.fresh = false;
    copy_file("older", "m");
    refused(&o, "It is not of the training that", "m");
    copy_file("old", "m");
    assert_ok(attend_train(&o, NULL, NULL));
    assert_false(are_same("m", "", "old", ""));
    copy_file("old", "m"); /* it has its own model now */
    refused(&o, "It is not of the training that", "m");
    remove_model("m"), remove_model("old"), remove_model("older");
}

/* ---- other kinds of files ---- */

static void files_of_another_kind(void **state)
{
    (void)state;
    static const struct {
        const char *name, *content, *why;
    } files[] = { { "m", "text", "m exists and is not a model" },
                  { "m.checkpoint", "a text of the user", "m.checkpoint exists and is not a checkpoint" },
                  { "m.single", "a text of the user", "m.single exists and is not a model" },
                  { "m.svg", "<?xml version=\"1.0\"?><svg/>", "m.svg exists and is not a plot" },
                  { "m.lock", "{\"packages\": []}", "m.lock exists and is not a lock" },
                  { "m.log.jsonl", "{\"text\": \"of the user\"}\n", "m.log.jsonl exists and is not a training log" } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        attend_train_options o = options_for("m");
        put_file(in_folder(files[i].name), files[i].content, strlen(files[i].content));
        o.fresh = true;
        refused(&o, files[i].why, files[i].name);
        assert_int_equal(unlink(in_folder(files[i].name)), 0);
        assert_ok(attend_train(&o, NULL, NULL));
        remove_model("m");
    }
    /* a safetensors file of another program */
    const float numbers[4] = { 1, 2, 3, 4 };
    const attend_tensor tensor = {
        .name = "w", .dtype = ATTEND_F32, .rank = 1, .shape = { 4 }, .bytes = sizeof numbers, .data = numbers
    };
    assert_ok(attend_tensor_file_write(in_folder("m"), &tensor, 1, NULL, 0));
    attend_train_options o = options_for("m");
    o.fresh = true;
    refused(&o, "m exists and is not a model", "m");
    remove_model("m");
}

/* ---- logs ---- */

static void the_log_of_another_training(void **state)
{
    (void)state;
    char log[512];
    snprintf(log, sizeof log, "%s", in_folder("a.log.jsonl"));
    attend_train_options o = options_for("a");
    assert_ok(attend_train(&o, NULL, NULL));
    attend_train_options other = options_for("b");
    other.seed = 2, other.log = log;
    refused(&other, "a.log.jsonl exists and is the log of another training", "a.log.jsonl"); /* a new one */
    other.log = NULL;
    assert_ok(attend_train(&other, NULL, NULL));
    other.log = log, other.updates = 4;
    refused(&other, "a.log.jsonl exists and is the log of another training", "a.log.jsonl"); /* one that resumes */
    other.log = NULL;
    assert_ok(attend_train(&other, NULL, NULL));
    /* the same training may go on in a log elsewhere */
    assert_int_equal(rename(in_folder("b.log.jsonl"), in_folder("elsewhere")), 0);
    other.log = in_folder("elsewhere"), other.updates = 5;
    assert_ok(attend_train(&other, NULL, NULL));
    char *text = get_file(other.log, NULL);
    assert_int_equal(strncmp(text, "{\"update\": 0, \"event\": \"started\", \"training\": \"", 47), 0);
    for (int update = 1; update <= 5; update++) {
        char line[32];
        snprintf(line, sizeof line, "\n{\"update\": %d,", update);
        assert_non_null(strstr(text, line));
    }
    free(text);
    /* a log of version 0.1 has no id: only a training that resumes may go on in it */
    put_file(log, "{\"update\": 1, \"loss\": 2}\n", 26);
    attend_train_options third = options_for("c");
    third.log = log;
    refused(&third, "is the log of another training", "a.log.jsonl");
    third.fresh = true;
    assert_ok(attend_train(&third, NULL, NULL));
    remove_model("a"), remove_model("b"), remove_model("c");
    unlink(in_folder("elsewhere"));
}

static void a_log_that_is_another_file_of_training(void **state)
{
    (void)state;
    static const char *const names[] = { "m", "m.checkpoint", "m.svg", "m.lock", "m.single", "./m", "link" };
    assert_int_equal(symlink("m.svg", in_folder("link")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        attend_train_options o = options_for("m");
        o.log = in_folder(names[i]);
        assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
        assert_non_null(strstr(attend_message(), "are the same file"));
    }
    attend_train_options o = options_for("m");
    o.log = in_folder("m.log.jsonl"); /* its own name may be given */
    assert_ok(attend_train(&o, NULL, NULL));
    o.log = NULL, o.updates = 4;
    assert_ok(attend_train(&o, NULL, NULL));
    remove_model("m");
    unlink(in_folder("link"));
}

static bool train_with_the_same_log(void *user)
{
    attend_train_options o = options_for("second");
    o.log = in_folder("first.log.jsonl"), o.fresh = true;
    *(int *)user = attend_train(&o, NULL, NULL);
    return true;
}

static void a_log_that_is_being_written(void **state)
{
    (void)state;
    int second = ATTEND_OK;
    const attend_train_events events = { .user = &second, .stop = train_with_the_same_log };
    attend_train_options o = options_for("first");
    assert_ok(attend_train(&o, &events, NULL));
    assert_int_equal(second, ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "the log of another process"));
    remove_model("first"), remove_model("second");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_without_a_checkpoint),
        cmocka_unit_test(other_models_of_training),
        cmocka_unit_test(a_model_of_another_training),
        cmocka_unit_test(a_model_that_may_be_replaced),
        cmocka_unit_test(files_of_another_kind),
        cmocka_unit_test(the_log_of_another_training),
        cmocka_unit_test(a_log_that_is_another_file_of_training),
        cmocka_unit_test(a_log_that_is_being_written),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
