/* The end of a training, also after interruptions: checkpoint averaging, and the choice of the attention map for alignment. */
#include "unit/unit.h"

#include "core/memory.h"
#include "core/atomic_file.h"
#include "support/trainings.h"
#include <attend/trainer.h>
#include <sys/wait.h>

enum { TRAIN = 60, VALID = 60 };

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", TRAIN, 1);
    write_reversals("valid.tsv", VALID, 77);
    return 0;
}

/* At this learning rate weights fluctuate, and their mean is better than each of them. */
static attend_train_options options_for(const char *model)
{
    static attend_pairs_spec train_spec, valid_spec;
    static char names[2][512], model_name[512];
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(model_name, sizeof model_name, "%s", in_folder(model));
    train_spec.source = names[0], valid_spec.source = names[1];
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = model_name;
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6, o.config.dropout = 0.2;
    o.config.attention = &attend_score_projected, o.config.heads = 2;
    o.schedule.rate = 0.05;
    o.batch_tokens = 40, o.shard_tokens = 20;
    o.valid_every = 4, o.save_every = 3, o.log_every = 2;
    o.updates = 31, o.patience = 0;
    o.average_checkpoints = 4;
    return o;
}

static void train(const char *model, uint64_t updates, int threads)
{
    attend_train_options o = options_for(model);
    o.updates = updates, o.threads = threads;
    assert_ok(attend_train(&o, NULL, NULL));
}

static bool exists(const char *model, const char *suffix)
{
    char *bytes = file_of(model, suffix, NULL);
    free(bytes);
    return bytes;
}

static bool logged(const char *model, const char *text)
{
    char *log = log_of(model);
    const bool found = strstr(log, text);
    free(log);
    return found;
}

static void same_training(const char *a, const char *b)
{
    static const char *const suffixes[] = { "",           ".checkpoint", ".single",   ".update-31",
                                            ".update-30", ".update-27",  ".update-24" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) same_file(a, b, suffixes[i]);
    assert_false(exists(b, ".update-21"));
    same_log(a, b);
}

/* ---- the average ---- */

static void average_becomes_the_model_if_better(void **state)
{
    (void)state;
    train("reference", 31, 1);
    assert_true(logged("reference", "\"event\": \"averaged\", \"models\": 4,"));
    assert_true(logged("reference", "\"better\": true}\n{\"update\": 31, \"event\": \"aligns\""));
    /* it is the average of the kept models, with the choice of the map added */
    static const char *const suffixes[4] = { ".update-24", ".update-31", ".update-27", ".update-30" };
    char paths[4][512];
    const char *names[4];
    attend_model *mean = NULL, *made = NULL;
    for (int i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s%s", in_folder("reference"), suffixes[i]);
        names[i] = paths[i];
    }
    assert_ok(attend_models_average(&mean, names, 4));
    assert_ok(attend_model_load(&made, in_folder("reference"), NULL));
    assert_non_null(attend_model_attached(made, "alignment", NULL));
    assert_null(attend_model_attached(mean, "alignment", NULL));
    assert_ok(attend_model_set_alignment(mean, attend_model_alignment(made)));
    assert_ok(attend_model_save(mean, in_folder("mean")));
    assert_true(are_same("reference", "", "mean", ""));
    attend_model_free(mean);
    attend_model_free(made);
    /* and MODEL.single is the model of a training without averaging */
    attend_train_options o = options_for("unaveraged");
    o.average_checkpoints = 0, o.valid_count = 1;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_ok(attend_model_load(&made, in_folder("unaveraged"), NULL));
    attend_model *single = NULL;
    assert_ok(attend_model_load(&single, in_folder("reference.single"), NULL));
    for (int i = 0; i < attend_params_count(attend_model_params(made)); i++) {
        const attend_param *a = attend_params_at(attend_model_params(made), i),
                           *b = attend_params_at(attend_model_params(single), i);
        assert_memory_equal(attend_param_value(a), attend_param_value(b), attend_param_size(a) * sizeof(attend_real));
    }
    attend_model_free(made);
    attend_model_free(single);
    assert_true(are_same("unaveraged", ".checkpoint", "reference", ".checkpoint"));
}

static void average_is_dropped_if_not_better(void **state)
{
    (void)state;
    attend_train_options o = options_for("early"); /* every model is better than the one before it */
    o.schedule.rate = 0.01, o.updates = 6, o.save_every = o.valid_every = 1, o.config.dropout = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_true(logged("early", "\"event\": \"averaged\", \"models\": 4,"));
    assert_false(logged("early", "\"better\": true}\n{\"update\": 6, \"event\": \"aligns\""));
    assert_false(exists("early", ".single"));
    attend_model *best = NULL, *last = NULL;
    assert_ok(attend_model_load(&best, in_folder("early"), NULL));
    assert_ok(attend_model_load(&last, in_folder("early.update-6"), NULL));
    const attend_param *a = attend_params_at(attend_model_params(best), 0),
                       *b = attend_params_at(attend_model_params(last), 0);
    assert_memory_equal(attend_param_value(a), attend_param_value(b), attend_param_size(a) * sizeof(attend_real));
    attend_model_free(best);
    attend_model_free(last);
}

/* A training that ends and is then given more updates equals one that had them from the beginning, if validation was due where it ended. */
static void resuming_an_ended_training(void **state)
{
    (void)state;
    for (uint64_t first = 12; first <= 24; first += 12) {
        train("twice", first, 2);
        assert_true(logged("twice", "averaged"));
        train("twice", 31, 1);
        same_training("reference", "twice");
        train("twice", 31, 1); /* a further call changes nothing */
        same_training("reference", "twice");
        remove_model("twice");
    }
}

static void die(void)
{
    _exit(77);
}

/* Every second call of the last saves, which are those of the end, and some of the earlier ones. */
static void killed_at_calls_of_the_end(void **state)
{
    (void)state;
    attend_atomic_file_inject_fault(-1, 0, NULL);
    train("killed", 31, 1);
    const long calls = attend_atomic_file_calls();
    attend_atomic_file_inject_fault(0, 0, NULL);
    remove_model("killed");
    const bool all = getenv("ATTEND_TEST_LONG");
    int killed = 0;
    for (long n = calls; n > 0; n -= all ? 1 : calls - n < 45 ? 2 : 61, killed++) {
        const pid_t child = fork();
        if (child == 0) {
            attend_atomic_file_inject_fault(n, 0, die);
            train("killed", 31, 1);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 77);
        train("killed", 31, 1);
        same_training("reference", "killed");
        remove_model("killed");
        folder_count(&status, 1);
    }
    print_sampled("calls at which training was killed", (unsigned long long)killed, (unsigned long long)calls);
}

static void without_validation_the_average_is_the_model(void **state)
{
    (void)state;
    attend_train_options o = options_for("blind");
    o.valid_count = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_true(are_same("blind", ".single", "blind", ".update-31"));
    assert_false(are_same("blind", "", "blind", ".update-31"));
    o.average_checkpoints = 0; /* no longer requested */
    assert_ok(attend_train(&o, NULL, NULL));
    assert_true(are_same("blind", "", "blind", ".update-31"));
    assert_false(exists("blind", ".single"));
}

static char notices[4096];

static void collect_notices(void *user, const char *text)
{
    (void)user;
    strncat(notices, text, sizeof notices - strlen(notices) - 1);
}

static void missing_models_are_reported(void **state)
{
    (void)state;
    const attend_train_events events = { .notice = collect_notices };
    attend_train_options o = options_for("holes");
    o.updates = 10;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_int_equal(unlink(in_folder("holes.update-6")), 0);
    assert_ok(attend_train(&o, &events, NULL));
    assert_non_null(strstr(notices, "holes.update-6 does not exist"));
    assert_true(logged("holes", "\"models\": 3,"));
    for (int i = 3; i < 10; i += 6) {
        char name[32];
        snprintf(name, sizeof name, "holes.update-%d", i);
        unlink(in_folder(name));
    }
    assert_ok(attend_train(&o, &events, NULL));
    assert_non_null(strstr(notices, "fewer than two models"));
    assert_false(exists("holes", ".single")); /* MODEL is the best single model again */
}

/* If memory runs out at the end, MODEL is still a model, and the end can be repeated. */
static void running_out_of_memory_at_the_end(void **state)
{
    (void)state;
    enum { TRIALS = 50 };
    train("without", 31, 1);
    attend_train_options o = options_for("without");
    attend_memory_refuse(-1);
    assert_ok(attend_train(&o, NULL, NULL)); /* repeats the end only */
    const long requests = attend_memory_requests();
    int failed = 0;
    for (long n = requests / TRIALS; n < requests; n += requests / TRIALS) {
        attend_model *m = NULL;
        attend_memory_refuse(n);
        const int status = attend_train(&o, NULL, NULL);
        attend_memory_refuse(0);
        assert_true(status == ATTEND_OK || status == ATTEND_NO_MEMORY); /* some requests may fail */
        if (status == ATTEND_OK) same_file("reference", "without", ""); /* without consequences */
        failed += status != ATTEND_OK;
        assert_ok(attend_model_load(&m, o.model, NULL));
        attend_model_free(m);
        assert_ok(attend_train(&o, NULL, NULL));
        if (!are_same("reference", "", "without", "")) fail_msg("after request %ld of %ld", n, requests);
    }
    assert_true(failed > TRIALS / 2);
    remove_model("without");
}

static void refused_options_change_nothing(void **state)
{
    (void)state;
    attend_train_options o = options_for("reference");
    size_t size;
    char *before = file_of("reference", "", &size);
    o.seed = 5, o.updates = 40;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    put_file(in_folder("before"), before, size);
    free(before);
    assert_true(are_same("reference", "", "before", ""));
    assert_true(exists("reference", ".single"));
    o = options_for("reference");
    o.average_checkpoints = 1;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "2 to 1000"));
    o = options_for("reference"); /* a fresh training removes the old MODEL.single */
    o.fresh = true, o.average_checkpoints = 0, o.updates = 2;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_false(exists("reference", ".single"));
}

/* ---- the choice of the map ---- */

static void few_pairs_make_no_choice(void **state)
{
    (void)state;
    write_reversals("valid.tsv", 49, 77);
    attend_train_options o = options_for("few");
    o.updates = 4, o.average_checkpoints = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    assert_false(logged("few", "aligns"));
    write_reversals("valid.tsv", 50, 77);
    o.model = in_folder("enough");
    assert_ok(attend_train(&o, NULL, NULL));
    assert_true(logged("enough", "aligns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_becomes_the_model_if_better),
        cmocka_unit_test(average_is_dropped_if_not_better),
        cmocka_unit_test(resuming_an_ended_training),
        cmocka_unit_test(killed_at_calls_of_the_end),
        cmocka_unit_test(without_validation_the_average_is_the_model),
        cmocka_unit_test(missing_models_are_reported),
        cmocka_unit_test(running_out_of_memory_at_the_end),
        cmocka_unit_test(refused_options_change_nothing),
        cmocka_unit_test(few_pairs_make_no_choice),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
