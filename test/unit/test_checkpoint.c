/* Checkpoints with wrong numbers and arrays: each is refused with the name of the file and of what is wrong, and the
 * checkpoint stays as it is. */
#include "unit/unit.h"

#include "format/tensor_file.h"
#include "support/trainings.h"
#include <attend/trainer.h>
#include <math.h>

static attend_train_options options(void)
{
    static attend_pairs_spec spec;
    static char pairs[512], path[512];
    attend_train_options o = attend_train_defaults();
    snprintf(pairs, sizeof pairs, "%s", in_folder("train.tsv"));
    snprintf(path, sizeof path, "%s", in_folder("model"));
    spec.source = pairs;
    o.train = &spec, o.train_count = 1, o.model = path;
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6;
    o.batch_tokens = 40, o.shard_tokens = 20, o.updates = 3, o.average = 0.9;
    return o;
}

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 60, 1);
    attend_train_options o = options();
    if (attend_train(&o, NULL, NULL) != ATTEND_OK) return -1;
    return rename(in_folder("model.checkpoint"), in_folder("good"));
}

/* A tensor that a change replaces. */
typedef void (*change_fn)(attend_tensor *t);

/* Writes the good checkpoint with one value of its metadata replaced (value NULL: removed), or one tensor changed. */
static void write_checkpoint(const char *key, const char *value, const char *tensor, change_fn change)
{
    static attend_tensor tensors[256];
    static attend_metadata metadata[128];
    size_t count = 0, pairs = 0;
    attend_tensor_file *f = NULL;
    assert_ok(attend_tensor_file_open(&f, in_folder("good"), 0));
    bool found = false;
    for (size_t i = 0; i < attend_tensor_file_count(f); i++) {
        tensors[count] = *attend_tensor_file_at(f, i);
        const bool changed = tensor && strcmp(tensors[count].name, tensor) == 0;
        if (changed && change) change(&tensors[count]);
        count += !changed || change;
        found |= changed;
    }
    for (size_t i = 0; i < attend_tensor_file_metadata_count(f); i++) {
        metadata[pairs] = *attend_tensor_file_metadata_at(f, i);
        const bool changed = key && strcmp(metadata[pairs].key, key) == 0;
        if (changed) metadata[pairs].value = value;
        pairs += !changed || value;
        found |= changed;
    }
    if (!found) fail_msg("the checkpoint has neither %s nor %s", key ? key : "-", tensor ? tensor : "-");
    assert_ok(attend_tensor_file_write(in_folder("model.checkpoint"), tensors, count, metadata, pairs));
    attend_tensor_file_close(f);
}

static void refused(const char *what)
{
    attend_train_options o = options();
    size_t size, after;
    char *before = get_file(in_folder("model.checkpoint"), &size);
    o.updates = 4;
    const int status = attend_train(&o, NULL, NULL);
    if (status != ATTEND_BAD_MODEL) fail_msg("%s: status %d", what, status);
    if (!strstr(attend_message(), "model.checkpoint") || !strstr(attend_message(), what))
        fail_msg("'%s' does not name the file and %s", attend_message(), what);
    char *now = get_file(in_folder("model.checkpoint"), &after);
    assert_true(size == after && memcmp(before, now, size) == 0);
    free(before), free(now);
}

static void good_numbers_are_accepted(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        { "training.state.best", "nan" },       { "training.state.best", "-nan" },
        { "training.state.valid_loss", "inf" }, { "training.state.rate_share", "0.5" },
        { "training.state.loss", "1.5e-05" },   { "training.state.returns", "1" },
        { "training.state.valid_loss", "-1" },  { "training.state.valid_score", "inf" },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        attend_train_options o = options();
        write_checkpoint(good[i][0], good[i][1], NULL, NULL);
        o.updates = 4;
        assert_ok(attend_train(&o, NULL, NULL));
    }
}

static void every_number_is_checked(void **state)
{
    (void)state;
    static const char *const counts[] = { "update",         "position.epoch", "position.pool",
                                          "position.batch", "rows",           "loss_rows",
                                          "best_update",    "journal",        "since_best",
                                          "since_fall",     "falls",          "bad",
                                          "returns",        "steps",          NULL },
                             *const reals[] = { "loss",       "best",        "rate_share", "baseline",
                                                "valid_loss", "valid_score", NULL },
                             *const not_counts[] = { "x",    "",    "-1",  " 7",  "7 ",  "+7",
                                                     "0x10", "1e3", "1.0", "nan", "inf", "99999999999999999999",
                                                     NULL },
                             *const not_reals[] = { "x",     "",         " 1",     "+1",    "1 ",
                                                    "0x1p3", "infinity", "nan(1)", "1e999", NULL };
    char key[64];
    for (int i = 0; counts[i]; i++)
        for (int k = 0; not_counts[k]; k++) {
            snprintf(key, sizeof key, "training.state.%s", counts[i]);
            write_checkpoint(key, not_counts[k], NULL, NULL);
            refused(key);
        }
    for (int i = 0; reals[i]; i++)
        for (int k = 0; not_reals[k]; k++) {
            snprintf(key, sizeof key, "training.state.%s", reals[i]);
            write_checkpoint(key, not_reals[k], NULL, NULL);
            refused(key);
        }
    for (int i = 0; counts[i]; i++) {
        snprintf(key, sizeof key, "training.state.%s", counts[i]);
        write_checkpoint(key, NULL, NULL, NULL);
        refused(key);
    }
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        { "training.state.steps", "4" }, /* more than updates */
        { "training.state.best_update", "4" },
        { "training.state.since_best", "2147483648" },
        { "training.state.since_best", "4" }, /* more than updates */
        { "training.state.since_fall", "4" },
        { "training.state.falls", "4" },
        { "training.state.loss_rows", "9223372036854775807" }, /* more than rows */
        { "training.state.position.epoch", "4294967296" },
        { "training.state.position.pool", "1000" },
        { "training.state.position.batch", "1000" },
        { "training.state.best", "-5" },
        { "training.state.best", "inf" },
        { "training.state.best", "-inf" },
        { "training.state.valid_score", "-0.5" },
        { "training.state.id", "zz" },
        { "training.state.id", "" },
        { "training.state.id", "0000000000000000" },
        { "training.state.id", "0123456789ABCDEF" },
        { "training.state.id", "0123456789abcdef0" },
        { "training.state.update", "9223372036854775808" },
        { "training.state.rate_share", "0" },
        { "training.state.rate_share", "-1" },
        { "training.state.rate_share", "2" },
        { "training.state.rate_share", "nan" },
        { "training.state.loss", "nan" },
        { "training.state.loss", "inf" },
        { "training.state.baseline", "-inf" },
        { "training.option.shard-tokens", "0" },
        { "training.option.shard-tokens", "-20" },
        { "training.option.shard-tokens", "x" },
        { "training.option.shard-tokens", "2147483648" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_checkpoint(bad[i][0], bad[i][1], NULL, NULL);
        refused(bad[i][0]);
    }
}

static void to_nan(attend_tensor *t)
{
    ((float *)(uintptr_t)t->data)[0] = NAN;
}

static void to_negative(attend_tensor *t)
{
    ((float *)(uintptr_t)t->data)[0] = -1;
}

static void to_integers(attend_tensor *t)
{
    t->dtype = ATTEND_I32;
}

static void to_vector(attend_tensor *t)
{
    t->shape[0] *= t->shape[1];
    t->rank = 1;
}

static void arrays_are_checked(void **state)
{
    (void)state;
    static const char *const kinds[] = { "first", "second", "average" };
    static const change_fn changes[] = { NULL, to_nan, to_integers, to_vector };
    char name[64];
    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
            snprintf(name, sizeof name, "training.%s.output.w", kinds[kind]);
            write_checkpoint(NULL, NULL, name, changes[i]);
            refused(name);
        }
    write_checkpoint(NULL, NULL, "training.second.output.w", to_negative);
    refused("training.second.output.w");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_numbers_are_accepted),
        cmocka_unit_test(every_number_is_checked),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(arrays_are_checked),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
