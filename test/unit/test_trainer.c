/* attend_train: the same model on any number of threads, after any interruption and any failed write; refusals, memory limits, divergence. */
#include "unit/unit.h"

#include "core/memory.h"
#include "core/atomic_file.h"
#include "support/trainings.h"
#include <attend/trainer.h>
#include <math.h>
#include <sys/wait.h>

enum { TRAIN = 60, VALID = 8 };

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", TRAIN, 1);
    write_reversals("valid.tsv", VALID, 77);
    return 0;
}

static attend_pairs_spec train_spec, valid_spec;
static char names[2][512], model_name[512];

static attend_train_options options_for(const char *model)
{
    attend_train_options o = attend_train_defaults();
    snprintf(names[0], sizeof names[0], "%s", in_folder("train.tsv"));
    snprintf(names[1], sizeof names[1], "%s", in_folder("valid.tsv"));
    snprintf(model_name, sizeof model_name, "%s", in_folder(model));
    train_spec.source = names[0], valid_spec.source = names[1];
    o.train = &train_spec, o.train_count = 1, o.valid = &valid_spec, o.valid_count = 1;
    o.model = model_name;
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6, o.config.dropout = 0.2;
    o.batch_tokens = 40, o.shard_tokens = 20;
    o.valid_metric = ATTEND_VALID_BLEU;
    o.average = 0.9;
    o.valid_every = 4, o.save_every = 3, o.log_every = 2;
    o.updates = 13, o.patience = 0;
    o.keep = 2;
    return o;
}

static void train(const char *model, int threads)
{
    attend_train_options o = options_for(model);
    attend_train_end end;
    o.threads = threads;
    assert_ok(attend_train(&o, NULL, &end));
    assert_int_equal(end, ATTEND_TRAIN_DONE);
}

static void same_training(const char *a, const char *b)
{
    same_file(a, b, "");
    same_file(a, b, ".checkpoint");
    same_file(a, b, ".update-12");
    same_log(a, b);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    train("reference", 1);
    for (int threads = 2; threads <= 3; threads++) {
        train("other", threads);
        same_training("reference", "other");
        remove_model("other");
    }
    char *svg = get_file(in_folder("reference.svg"), NULL);
    assert_true(svg && strncmp(svg, "<svg", 4) == 0 && strstr(svg, "</svg>"));
    free(svg);
    assert_null(get_file(in_folder("reference.update-6"), NULL)); /* two models are kept */
}

/* ---- interruptions ---- */

static void a_stopped_training_resumes(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) { /* stopped every n updates, until it is done */
        attend_train_end end = ATTEND_TRAIN_STOPPED;
        int runs = 0;
        while (end == ATTEND_TRAIN_STOPPED) {
            attend_train_options o = options_for("stopped");
            stopper s = { .left = n };
            const attend_train_events events = { .user = &s, .stop = stop_after };
            o.threads = 1 + runs++ % 2;
            assert_ok(attend_train(&o, &events, &end));
            assert_true(runs < 30);
        }
        assert_null(get_file(in_folder(n == 1 ? "stopped.update-1" : "stopped.update-2"),
                             NULL)); /* a stop saves no kept model */
        /* a stop saves a checkpoint and changes nothing else */
        same_file("reference", "stopped", "");
        same_file("reference", "stopped", ".checkpoint");
        same_log("reference", "stopped");
        remove_model("stopped");
    }
}

static void die(void)
{
    _exit(77);
}

/* Trains in a child process that ends at the n-th system call of a save. Returns its exit code. */
static int train_and_die(const char *model, long n)
{
    const pid_t child = fork();
    if (child == 0) {
        attend_train_options o = options_for(model);
        attend_atomic_file_inject_fault(n, 0, die);
        _exit(attend_train(&o, NULL, NULL) == ATTEND_OK ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Testing every call takes minutes, because each save waits for the disk. All calls are tested with ATTEND_TEST_LONG in the environment (make soak),
 * otherwise every n-th. */
static long every(long n)
{
    return getenv("ATTEND_TEST_LONG") ? 1 : n;
}

static void killed_at_calls_of_a_save(void **state)
{
    (void)state;
    long n = 1, killed = 0;
    for (;; n += every(47), killed++) {
        const int ended = train_and_die("killed", n);
        if (ended == 0) break; /* there are fewer than n calls */
        assert_int_equal(ended, 77);
        train("killed", 1);
        same_training("reference", "killed");
        remove_model("killed");
        int temporaries;
        folder_count(&temporaries, 1);
    }
    assert_true(n > 500);
    print_sampled("calls at which training was killed", (unsigned long long)killed, (unsigned long long)n - 1);
}

static void failing_writes_lose_nothing(void **state)
{
    (void)state;
    static const int errors[] = { ENOSPC, EIO };
    int failed = 0;
    long tried = 0, calls = 0;
    for (size_t e = 0; e < 2; e++)
        for (long n = 1;; n += every(101), tried++) {
            attend_train_options o = options_for("failing");
            attend_atomic_file_inject_fault(n, errors[e], NULL);
            const int status = attend_train(&o, NULL, NULL);
            const bool reached = attend_atomic_file_calls() >= n;
            if (!reached) calls += attend_atomic_file_calls();
            attend_atomic_file_inject_fault(0, 0, NULL);
            if (status != ATTEND_OK) {
                assert_int_equal(status, ATTEND_IO);
                assert_non_null(strstr(attend_message(), "failing"));
                failed++;
            }
            train("failing", 1); /* resumes, or there is nothing left to do */
            same_training("reference", "failing");
            remove_model("failing");
            if (!reached) break;
        }
    assert_true(failed >= 10);
    print_sampled("failing calls", (unsigned long long)tried, (unsigned long long)calls);
}

/* ---- what is refused ---- */

static void other_options_are_refused(void **state)
{
    (void)state;
    attend_train_options o = options_for("reference");
    o.updates = 20;
    o.config.hidden = 9;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "hidden '8', and now it is '9'"));
    o = options_for("reference");
    o.seed = 2;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "seed"));
    write_reversals("train.tsv", TRAIN + 1, 1);
    o = options_for("reference");
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "training data"));
    write_reversals("train.tsv", TRAIN, 2);
    o = options_for("reference"); /* as many pairs of the same lengths, with other tokens */
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "training data"));
    write_reversals("train.tsv", TRAIN, 1);
    write_reversals("valid.tsv", VALID, 78);
    o = options_for("reference");
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "validation data"));
    write_reversals("valid.tsv", VALID, 77);
    o = options_for("reference");
    o.tokens[0].min_count = 3;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "min-count '1', and now it is '3'"));
    o = options_for("reference");
    o.optimizer.kind = ATTEND_SGD;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "optimizer 'adam', and now it is 'sgd'"));
    o = options_for("never");
    o.updates = 0;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "never end"));
    o = options_for("memory");
    o.memory = 10000;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "the memory limit"));
    o = options_for("no/such/folder/model");
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_IO);
}

static void a_damaged_checkpoint_is_reported(void **state)
{
    (void)state;
    train("damaged", 1);
    size_t size;
    char *bytes = get_file(in_folder("damaged.checkpoint"), &size);
    bytes[size / 2] ^= 1;
    put_file(in_folder("damaged.checkpoint"), bytes, size);
    attend_train_options o = options_for("damaged");
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_MODEL);
    put_file(in_folder("damaged.checkpoint"), bytes, size / 3);
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "truncated"));
    free(bytes);
    o.fresh = true;
    assert_ok(attend_train(&o, NULL, NULL));
    same_training("reference", "damaged");
}

/* ---- one at a time ---- */

static bool try_again(void *user)
{
    attend_train_options o = options_for("reference");
    *(int *)user = attend_train(&o, NULL, NULL);
    return true;
}

static void a_second_training_is_refused(void **state)
{
    (void)state;
    attend_train_options o = options_for("reference");
    int second = ATTEND_OK;
    const attend_train_events events = { .user = &second, .stop = try_again };
    o.updates = 14;
    put_file(in_folder(".reference.checkpoint.0abc12.tmp"), "left", 4); /* by a killed process */
    assert_ok(attend_train(&o, &events, NULL));
    assert_int_equal(second, ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "another process"));
    assert_null(get_file(in_folder("reference.lock"), NULL));
    assert_null(get_file(in_folder(".reference.checkpoint.0abc12.tmp"), NULL));
    remove_model("reference");
    train("reference", 1);
}

static void a_device_is_refused(void **state)
{
    (void)state;
    attend_train_options o = options_for("x");
    o.model = "/dev/null";
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_IO);
    assert_int_equal(access("/dev/null.checkpoint", F_OK), -1);
    o.model = folder;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_IO);
    o.model = "";
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
}

/* ---- nothing is lost ---- */

/* If a fresh training fails before its first checkpoint, the old one is still there. */
static void fresh_keeps_the_old_checkpoint_until_a_new_one(void **state)
{
    (void)state;
    train("kept", 1);
    attend_train_options o = options_for("kept");
    const attend_pairs_spec missing = { .source = in_folder("none.tsv") };
    o.fresh = true;
    o.train = &missing;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_IO);
    same_training("reference", "kept");
}

static void a_missing_log_changes_no_model(void **state)
{
    (void)state;
    attend_train_options o = options_for("unlogged");
    stopper s = { .left = 7 };
    const attend_train_events events = { .user = &s, .stop = stop_after };
    assert_ok(attend_train(&o, &events, NULL));
    unlink(in_folder("unlogged.log.jsonl"));
    train("unlogged", 1);
    same_file("reference", "unlogged", "");
}

static void count_updates(void *user, const attend_progress *p)
{
    (void)p;
    ++*(int *)user;
}

static void patience_ends_training(void **state)
{
    (void)state;
    int updates = 0;
    const attend_train_events events = { .user = &updates, .progress = count_updates };
    attend_train_options o = options_for("impatient");
    attend_train_end end;
    o.patience = 1, o.valid_every = 1, o.updates = 500;
    assert_ok(attend_train(&o, &events, &end));
    assert_int_equal(end, ATTEND_TRAIN_PATIENCE);
    assert_in_range(updates, 1, 499);
    updates = 0;
    size_t size, again;
    char *before = get_file(in_folder("impatient.checkpoint"), &size);
    assert_ok(attend_train(&o, &events, &end));
    assert_int_equal(end, ATTEND_TRAIN_PATIENCE);
    assert_int_equal(updates, 0); /* it has ended, and a second call changes nothing */
    char *after = get_file(in_folder("impatient.checkpoint"), &again);
    assert_true(size == again && memcmp(before, after, size) == 0);
    free(before), free(after);
}

/* ---- memory ---- */

static void copy_plan(void *user, const attend_plan *p)
{
    *(attend_plan *)user = *p;
}

/* With little memory, shards are smaller and threads fewer, and the model still does not depend on the threads. */
static void memory_does_not_make_threads_matter(void **state)
{
    (void)state;
    attend_plan plan;
    const attend_train_events events = { .user = &plan, .plan = copy_plan };
    static const char *const models[] = { "small1", "small2" };
    for (int i = 0; i < 2; i++) {
        attend_train_options o = options_for(models[i]);
        o.shard_tokens = 800, o.threads = 1 + 6 * i, o.config.hidden = 64;
        o.memory = (size_t)24 << 20;
        assert_ok(attend_train(&o, &events, NULL));
        assert_true(plan.bytes <= o.memory);
    }
    same_training("small1", "small2");
    attend_train_options o = options_for("small2");
    o.shard_tokens = 800, o.config.hidden = 64, o.memory = (size_t)1 << 30, o.updates = 14;
    assert_ok(attend_train(&o, NULL, NULL)); /* more memory: the size of shards does not change */
    o.memory = 0, o.updates = 15;
    assert_ok(attend_train(&o, NULL, NULL));
}

/* If memory runs out at any request, there is an error and no crash, and the same options resume. */
static void running_out_of_memory(void **state)
{
    (void)state;
    attend_train_options o = options_for("short");
    o.updates = 2, o.valid_every = 2, o.fresh = true;
    attend_memory_refuse(-1);
    assert_ok(attend_train(&o, NULL, NULL));
    const long requests = attend_memory_requests();
    int failed = 0;
    for (long n = 1; n <= requests; n += n < 400 ? 7 : requests / 40 + 1) {
        attend_memory_refuse(n);
        const int status = attend_train(&o, NULL, NULL);
        attend_memory_refuse(0);
        if (status == ATTEND_OK) continue; /* a request that may fail */
        assert_int_equal(status, ATTEND_NO_MEMORY);
        failed++;
    }
    assert_true(failed > 40);
    assert_null(get_file(in_folder("short.lock"), NULL));
}

/* ---- the number of updates ---- */

/* Batches are not full, and the plan knows it. A checkpoint with the plan of version 0.1 keeps that. */
static void the_plan_has_the_updates_of_all_epochs(void **state)
{
    (void)state;
    for (int accumulate = 1; accumulate <= 3; accumulate += 2) {
        attend_train_options o = options_for("planned");
        attend_plan plan;
        attend_train_end end;
        const attend_train_events events = { .user = &plan, .plan = copy_plan };
        o.fresh = true;
        o.epochs = 5, o.updates = 0, o.batch_tokens = 25, o.accumulate = accumulate;
        o.schedule.kind = ATTEND_SCHEDULE_COSINE;
        assert_ok(attend_train(&o, &events, &end));
        uint64_t last = 0;
        char *log = log_of("planned");
        for (const char *at = log; (at = strstr(at, "\"update\": ")); at++) last = strtoull(at + 10, NULL, 10);
        free(log);
        assert_true(plan.updates == last && plan.schedule.updates == last);
        assert_true(plan.updates <= 5 * plan.updates_per_epoch && plan.updates + 5 > 5 * plan.updates_per_epoch);

        const uint64_t rows = plan.target_tokens + plan.pairs,
                       tokens = rows > plan.source_tokens ? rows : plan.source_tokens,
                       batch = (uint64_t)(25 * accumulate), before = 5 * ((tokens + batch - 1) / batch);
        assert_true(before < last || accumulate > 1);
        o.schedule.updates = before, o.updates = 6;
        assert_ok(attend_train(&o, &events, &end));
        o.fresh = false, o.schedule.updates = 0, o.updates = 0;
        assert_ok(attend_train(&o, &events, &end));
        assert_true(plan.resumed && plan.schedule.updates == before);
    }
}

/* ---- divergence ---- */

typedef struct notices {
    int skipped, rolled_back;
} notices;

static void count_notices(void *user, const char *text)
{
    notices *n = user;
    n->skipped += strstr(text, "was skipped") != NULL;
    n->rolled_back += strstr(text, "half the learning rate") != NULL;
}

static void divergence_rolls_back_and_then_stops(void **state)
{
    (void)state;
    train("wild", 1); /* a good model, which must not change */
    size_t size, after;
    char *before = get_file(in_folder("wild"), &size);
    attend_train_options o = options_for("wild");
    notices n = { 0, 0 };
    const attend_train_events events = { .user = &n, .notice = count_notices };
    o.fresh = true;
    o.updates = 200;
    o.config.activation = ATTEND_RELU; /* activations are unbounded */
    o.config.cell = ATTEND_CELL_SIMPLE;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e30, o.clip = 0;
    o.valid_every = 1000;
    assert_int_equal(attend_train(&o, &events, NULL), ATTEND_FAILED);
    assert_non_null(strstr(attend_message(), "diverged"));
    assert_int_equal(n.skipped, 20);
    assert_int_equal(n.rolled_back, 1);
    char *now = get_file(in_folder("wild"), &after);
    assert_true(size == after && memcmp(before, now, size) == 0);
    free(before), free(now);
}

/* The gradients would stay finite for long: the validation loss tells, whatever the metric. */
static void a_non_finite_validation_loss_is_divergence(void **state)
{
    (void)state;
    for (int metric = ATTEND_VALID_LOSS; metric <= ATTEND_VALID_LINE_ERROR; metric++) {
        attend_train_options o = options_for("wild");
        notices n = { 0, 0 };
        const attend_train_events events = { .user = &n, .notice = count_notices };
        o.fresh = true;
        o.updates = 200, o.valid_every = 1, o.average = 0;
        o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE;
        o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e30, o.clip = 0;
        o.valid_metric = (attend_valid_metric)metric;
        unlink(o.model);
        assert_int_equal(attend_train(&o, &events, NULL), ATTEND_FAILED);
        assert_non_null(strstr(attend_message(), "the validation loss is non-finite, also at half the learning rate"));
        assert_int_equal(n.rolled_back, 1);
        assert_int_equal(n.skipped, 0);
        assert_int_equal(access(o.model, F_OK), -1);
        char *log = log_of("wild");
        assert_non_null(strstr(log, "\"rolled back\""));
        free(log);
    }
}

/* Without validation MODEL is the latest model, but never one with non-finite weights. */
static void non_finite_weights_are_not_saved(void **state)
{
    (void)state;
    attend_train_options o = options_for("burst");
    o.valid_count = 0, o.average = 0;
    assert_ok(attend_train(&o, NULL, NULL));
    o.fresh = true;
    o.updates = 200, o.save_every = 1;
    o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e39, o.clip = 0; /* infinite as a float */
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_FAILED);
    assert_non_null(strstr(attend_message(), "also at half the learning rate")); /* after a rollback */
    attend_model *m = NULL;
    static const char *const files[] = { "burst", "burst.checkpoint" };
    for (int f = 0; f < 2; f++) {
        assert_ok(attend_model_load(&m, in_folder(files[f]), NULL));
        const attend_params *params = attend_model_params(m);
        for (int i = 0; i < attend_params_count(params); i++) {
            const attend_param *p = attend_params_at(params, i);
            for (size_t j = 0; j < attend_param_size(p); j++) assert_true(isfinite(attend_param_value(p)[j]));
        }
        attend_model_free(m);
    }
}

/* Every line of the log is JSON, which has no infinity and no NaN. */
static void the_log_is_json(void **state)
{
    (void)state;
    attend_train_options o = options_for("infinite");
    o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE;
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e5, o.clip = 0;
    o.average = 0, o.valid_every = 1, o.log_every = 1;
    attend_train(&o, NULL, NULL); /* may diverge */
    char *log = log_of("infinite");
    assert_null(strstr(log, "inf"));
    assert_null(strstr(log, "nan"));
    assert_non_null(strstr(log, "\"perplexity\": null"));
    free(log);
}

static void it_learns(void **state)
{
    (void)state;
    attend_train_options o = options_for("learns");
    o.config.hidden = 32, o.config.embedding = 16, o.config.dropout = 0;
    o.updates = 300, o.average = 0, o.valid_every = 50, o.save_every = 100;
    o.schedule.rate = 5e-3;
    o.valid_metric = ATTEND_VALID_EXACT;
    o.threads = 2;
    o.valid = &train_spec; /* sixty pairs can be memorised; they are too few to generalise */
    attend_train_end end;
    assert_ok(attend_train(&o, NULL, &end));
    char *log = log_of("learns"), *last = strstr(log, "valid_score");
    for (char *next; (next = strstr(last + 1, "valid_score"));) last = next;
    assert_true(strtod(last + strlen("valid_score\": "), NULL) > 60);
    free(log);
    attend_model *m = NULL;
    attend_tokenizer *t = NULL;
    assert_ok(attend_model_load(&m, in_folder("learns"), NULL));
    assert_ok(attend_tokenizer_from_model(&t, m, "source"));
    attend_tokenizer_free(t);
    attend_model_free(m);
}

static void bpe_with_dropout_does_not_depend_on_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        attend_train_options o = options_for(threads == 1 ? "bpe" : "bpe2");
        o.tokens[0].kind = ATTEND_TOKENS_BPE, o.tokens[1].kind = ATTEND_TOKENS_CHAR;
        o.bpe_dropout = 0.3;
        o.accumulate = 2;
        o.threads = threads;
        assert_ok(attend_train(&o, NULL, NULL));
    }
    same_file("bpe", "bpe2", "");
    same_file("bpe", "bpe2", ".checkpoint");
}

/* With crops, too, a model depends neither on threads nor on interruptions; crops make another model. */
static void crops_are_reproducible(void **state)
{
    (void)state;
    attend_train_options o = options_for("cropped");
    o.crop = 0.5;
    assert_ok(attend_train(&o, NULL, NULL));
    attend_train_end end = ATTEND_TRAIN_STOPPED;
    for (int runs = 0; end == ATTEND_TRAIN_STOPPED; runs++) {
        o = options_for("cropped2");
        stopper s = { .left = 5 };
        const attend_train_events events = { .user = &s, .stop = stop_after };
        o.crop = 0.5, o.threads = 1 + runs % 2;
        assert_ok(attend_train(&o, &events, &end));
        assert_true(runs < 30);
    }
    same_file("cropped", "cropped2", "");
    same_file("cropped", "cropped2", ".checkpoint");
    char text[64];
    assert_ok(attend_checkpoint_option(in_folder("cropped.checkpoint"), "crop", text, sizeof text));
    assert_string_equal(text, "0.5");
    assert_ok(attend_checkpoint_option(in_folder("cropped.checkpoint"), "hidden", text, sizeof text));
    assert_string_equal(text, "8");
    assert_ok(attend_checkpoint_option(in_folder("cropped.checkpoint"), "no-such-option", text, sizeof text));
    assert_string_equal(text, "");
    assert_int_equal(attend_checkpoint_option(in_folder("no.checkpoint"), "crop", text, sizeof text), ATTEND_IO);
    o = options_for("cropped");
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "crop '0.5', and now it is '0'"));
    o = options_for("both");
    o.crop = 0.5, o.bpe_dropout = 0.1;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "cannot be combined"));
    o.crop = 1, o.bpe_dropout = 0;
    assert_int_equal(attend_train(&o, NULL, NULL), ATTEND_BAD_USAGE);
    size_t size[2];
    char *cropped = get_file(in_folder("cropped"), &size[0]), *whole = get_file(in_folder("reference"), &size[1]);
    assert_true(cropped && whole && (size[0] != size[1] || memcmp(cropped, whole, size[0]) != 0));
    free(cropped), free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_stopped_training_resumes),
        cmocka_unit_test(killed_at_calls_of_a_save),
        cmocka_unit_test(failing_writes_lose_nothing),
        cmocka_unit_test(other_options_are_refused),
        cmocka_unit_test(a_damaged_checkpoint_is_reported),
        cmocka_unit_test(a_second_training_is_refused),
        cmocka_unit_test(a_device_is_refused),
        cmocka_unit_test(fresh_keeps_the_old_checkpoint_until_a_new_one),
        cmocka_unit_test(a_missing_log_changes_no_model),
        cmocka_unit_test(patience_ends_training),
        cmocka_unit_test(memory_does_not_make_threads_matter),
        cmocka_unit_test(running_out_of_memory),
        cmocka_unit_test(the_plan_has_the_updates_of_all_epochs),
        cmocka_unit_test(divergence_rolls_back_and_then_stops),
        cmocka_unit_test(a_non_finite_validation_loss_is_divergence),
        cmocka_unit_test(non_finite_weights_are_not_saved),
        cmocka_unit_test(the_log_is_json),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(bpe_with_dropout_does_not_depend_on_threads),
        cmocka_unit_test(crops_are_reproducible),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
