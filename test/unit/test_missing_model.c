/* A training that ends leaves a model: also if its last updates are skipped, and if the model was deleted. Otherwise it fails. */
#include "unit/unit.h"

#include "support/trainings.h"
#include <attend/trainer.h>
#include <math.h>

/* attend_optimizer_step, with a non-finite gradient from update `bad_from` to update `bad_to`. */
static uint64_t bad_from, bad_to, updates;
int __real_attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm);
int __wrap_attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm);
int __wrap_attend_optimizer_step(attend_optimizer *o, double rate, double max_norm, double *norm)
{
    updates++;
    if (updates < bad_from || updates > bad_to) return __real_attend_optimizer_step(o, rate, max_norm, norm);
    *norm = NAN;
    return ATTEND_OK;
}

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 60, 1);
    write_reversals("valid.tsv", 8, 77);
    return 0;
}

static attend_train_options options_for(const char *model)
{
    static attend_pairs_spec train_spec, valid_spec;
    static char names[3][512];
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(names[2], sizeof names[2], "%s", in_folder(model));
    train_spec.source = names[0], valid_spec.source = names[1];
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = names[2];
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6;
    o.batch_tokens = 40, o.shard_tokens = 20;
    o.valid_every = o.save_every = 1000, o.log_every = 2;
    o.updates = 8, o.patience = 0;
    return o;
}

static char notices[4096];

static void collect_notices(void *user, const char *text)
{
    (void)user;
    strncat(notices, text, sizeof notices - strlen(notices) - 1);
}

/* Trains with non-finite gradients in [from, to]. */
static int train(const attend_train_options *o, uint64_t from, uint64_t to)
{
    const attend_train_events events = { .notice = collect_notices };
    attend_train_end end;
    bad_from = from, bad_to = to, updates = 0, notices[0] = '\0';
    return attend_train(o, &events, &end);
}

static void same_weights(const char *a, const char *b)
{
    attend_model *x = NULL, *y = NULL;
    assert_ok(attend_model_load(&x, in_folder(a), NULL));
    assert_ok(attend_model_load(&y, in_folder(b), NULL));
    for (int i = 0; i < attend_params_count(attend_model_params(x)); i++) {
        const attend_param *p = attend_params_at(attend_model_params(x), i),
                           *q = attend_params_at(attend_model_params(y), i);
        assert_memory_equal(attend_param_value(p), attend_param_value(q), attend_param_size(p) * sizeof(attend_real));
    }
    attend_model_free(x);
    attend_model_free(y);
}

/* ---- the last update is skipped ---- */

static void the_end_saves_after_a_skipped_update(void **state)
{
    (void)state;
    for (int with_valid = 0; with_valid < 2; with_valid++)
        for (uint64_t skipped = 1; skipped <= 3; skipped += 2) {
            attend_train_options o = options_for("healthy");
            o.updates = 8 - skipped, o.valid_count = with_valid;
            assert_ok(train(&o, 0, 0));
            o = options_for("skipped");
            o.valid_count = with_valid;
            assert_ok(train(&o, 8 - skipped + 1, 8));
            same_weights("healthy", "skipped");
            same_weights("healthy", "skipped.checkpoint");
            char *log = log_of("skipped");
            assert_true(!with_valid || strstr(log, "{\"update\": 8, \"valid_loss\""));
            free(log);
            assert_ok(train(&o, 0, 0));
            assert_int_equal(updates, 0); /* it is done */
            remove_model("healthy");
            remove_model("skipped");
        }
}

/* Ten skipped updates roll back, also if they are the last ones. */
static void the_end_may_roll_back(void **state)
{
    (void)state;
    attend_train_options o = options_for("rolled");
    o.updates = 14, o.save_every = 2;
    assert_ok(train(&o, 5, 14));
    assert_non_null(strstr(notices, "rolled back to update 4"));
    assert_int_equal(updates, 14 + 10);
    same_weights("rolled", "rolled.checkpoint");
    remove_model("rolled");
}

/* ---- the model was deleted ---- */

static void the_last_model_is_restored(void **state)
{
    (void)state;
    for (int with_valid = 0; with_valid < 2; with_valid++) {
        attend_train_options o = options_for("whole");
        o.valid_count = with_valid, o.average = 0.9;
        assert_ok(train(&o, 0, 0));
        size_t size, again;
        char *before = file_of("whole", "", &size);
        assert_int_equal(unlink(in_folder("whole")), 0);
        assert_ok(train(&o, 0, 0));
        assert_int_equal(updates, 0);
        assert_non_null(strstr(notices, "saved again, with the weights of update 8"));
        char *after = file_of("whole", "", &again);
        assert_true(after && size == again && memcmp(before, after, size) == 0);
        free(before), free(after);
        remove_model("whole");
    }
}

/* At this learning rate the best model is not the last one. */
static attend_train_options unsteady(const char *model)
{
    attend_train_options o = options_for(model);
    o.schedule.rate = 0.3, o.valid_every = 1, o.save_every = 2, o.updates = 9;
    return o;
}

static void a_kept_model_is_restored(void **state)
{
    (void)state;
    attend_train_options o = unsteady("kept");
    o.keep = 9, o.save_every = 1;
    assert_ok(train(&o, 0, 0));
    size_t size, again;
    char *before = file_of("kept", "", &size);
    assert_int_equal(unlink(in_folder("kept")), 0);
    assert_ok(train(&o, 0, 0));
    assert_non_null(strstr(notices, "restored from"));
    char *after = file_of("kept", "", &again);
    assert_true(after && size == again && memcmp(before, after, size) == 0);
    free(before), free(after);
}

static void a_lost_best_model_is_replaced(void **state)
{
    (void)state;
    attend_train_options o = unsteady("lost");
    assert_ok(train(&o, 0, 0));
    assert_int_equal(unlink(in_folder("lost")), 0);
    assert_ok(train(&o, 0, 0));
    assert_non_null(strstr(notices, "replaced by that of update 9"));
    same_weights("lost", "lost.checkpoint");
    /* also while it is trained */
    assert_int_equal(unlink(in_folder("lost")), 0);
    o.updates = 12;
    assert_ok(train(&o, 0, 0));
    assert_non_null(strstr(notices, "replaced by that of update 9"));
    assert_int_equal(access(o.model, F_OK), 0);
}

static bool remove_model_file(void *user)
{
    unlink(user);
    return false;
}

static void a_model_deleted_while_it_is_trained(void **state)
{
    (void)state;
    attend_train_options o = unsteady("removed");
    const attend_train_events events = { .user = (void *)(uintptr_t)o.model, .stop = remove_model_file };
    bad_from = bad_to = 0;
    assert_ok(attend_train(&o, &events, NULL));
    assert_int_equal(access(o.model, F_OK), 0);
}

/* ---- there is no model ---- */

static void divergence_without_a_model_is_an_error(void **state)
{
    (void)state;
    attend_train_options o = options_for("wild");
    o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE, o.config.layers = 4;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e20, o.clip = 0;
    o.updates = 4;
    for (int times = 0; times < 2; times++) { /* and the same again */
        assert_int_equal(train(&o, 0, 0), ATTEND_FAILED);
        assert_non_null(strstr(attend_message(), "training diverged"));
        assert_non_null(strstr(attend_message(), "No model was written by this training"));
        assert_int_equal(access(o.model, F_OK), -1);
    }
    remove_model("wild");
    /* a model of another training is not taken for one of this training */
    attend_train_options good = options_for("wild");
    assert_ok(train(&good, 0, 0));
    o.model = good.model, o.fresh = true;
    size_t size, again;
    char *before = file_of("wild", "", &size);
    assert_int_equal(train(&o, 0, 0), ATTEND_FAILED);
    assert_non_null(strstr(attend_message(), "No model was written by this training"));
    char *after = file_of("wild", "", &again);
    assert_true(after && size == again && memcmp(before, after, size) == 0);
    free(before), free(after);
}

/* Without validation, the loss of a last update that is skipped says whether the weights are worth saving. */
static void divergence_without_validation_is_an_error(void **state)
{
    (void)state;
    attend_train_options o = options_for("blind");
    o.valid_count = 0;
    o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE, o.config.layers = 4;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e12, o.clip = 0;
    o.updates = 4;
    for (int times = 0; times < 2; times++) {
        assert_int_equal(train(&o, 0, 0), ATTEND_FAILED);
        assert_non_null(
            strstr(attend_message(), "training diverged: the loss is non-finite, also at half the learning rate"));
        assert_true(times > 0 || strstr(notices, "update 4: the loss is non-finite: rolled back to update 0"));
        assert_int_equal(access(o.model, F_OK), -1);
    }
    remove_model("blind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_saves_after_a_skipped_update),
        cmocka_unit_test(the_end_may_roll_back),
        cmocka_unit_test(the_last_model_is_restored),
        cmocka_unit_test(a_kept_model_is_restored),
        cmocka_unit_test(a_lost_best_model_is_replaced),
        cmocka_unit_test(a_model_deleted_while_it_is_trained),
        cmocka_unit_test(divergence_without_a_model_is_an_error),
        cmocka_unit_test(divergence_without_validation_is_an_error),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
