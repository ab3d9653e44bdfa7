/* The memory of the machine, from synthetic files of the system, and its use: what does not fit is refused before memory
 * is filled. */
#include "unit/unit.h"

#include "core/machine_memory.h"
#include "model/model.h"
#include "support/trainings.h"
#include <attend/trainer.h>

/* ---- reading the system's files ---- */

static void make_directories(const char *path)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *at = copy + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(copy, 0777);
        *at = '/';
    }
}

static void put_text(const char *name, const char *text)
{
    const char *path = in_folder(name);
    make_directories(path);
    put_file(path, text, strlen(text));
}

static void remove_all(const char *name)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", in_folder(name));
    assert_int_equal(system(command), 0);
}

static size_t memory_in(const char *name)
{
    return attend_machine_memory(in_folder(name));
}

static void the_least_limit_counts(void **state)
{
    (void)state;
    assert_true(memory_in("r") == SIZE_MAX); /* nothing can be read */
    put_text("r/proc/meminfo", "MemTotal:  9000 kB\nMemFree: 10 kB\nMemAvailable:   3000 kB\nSwapFree:  500 kB\n");
    assert_int_equal(memory_in("r"), 3500 << 10);
    put_text("r/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(memory_in("r"), 3500 << 10);
    put_text("r/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(memory_in("r"), 3500 << 10);
    put_text("r/sys/fs/cgroup/a/memory.max", "3000000\n"); /* of the parent */
    assert_int_equal(memory_in("r"), 3000000);
    put_text("r/sys/fs/cgroup/a/memory.current", "1000000\n");
    assert_int_equal(memory_in("r"), 2000000);
    put_text("r/sys/fs/cgroup/a/memory.stat", "anon 600000\nfile 400000\nfile_mapped 7\n");
    assert_int_equal(memory_in("r"), 2400000);
    put_text("r/sys/fs/cgroup/a/memory.current", "4000000\n");
    assert_int_equal(memory_in("r"), 0);
    assert_int_equal(attend_machine_memory_total(in_folder("r")), 3000000);
    put_text("r/sys/fs/cgroup/a/memory.max", "30000000\n");
    assert_int_equal(attend_machine_memory_total(in_folder("r")), 9000 << 10);
    remove_all("r");
}

static void version_1_of_control_groups(void **state)
{
    (void)state;
    put_text("r/proc/meminfo", "MemAvailable: 3000 kB\n");
    put_text("r/proc/self/cgroup", "12:cpu:/x\n5:blkio,memory:/box\n0::/\n");
    put_text("r/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put_text("r/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000000\n");
    put_text("r/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "700000\n");
    put_text("r/sys/fs/cgroup/memory/box/memory.stat", "cache 1\ntotal_cache 200000\n");
    assert_int_equal(memory_in("r"), 1500000);
    put_text("r/proc/meminfo", "MemAvailable: 1000 kB\n");
    assert_int_equal(memory_in("r"), 1000 << 10);
    remove_all("r");
}

static void nonsense_is_no_limit(void **state)
{
    (void)state;
    put_text("r/proc/meminfo", "MemAvailable:\nMemAvailable: kB\nx\n");
    put_text("r/proc/self/cgroup", "\n:\n0:\n0::\n0::/../../..\n::::\n");
    assert_true(memory_in("r") == SIZE_MAX);
    put_text("r/proc/meminfo", "MemAvailable: 99999999999999999999999 kB\n");
    assert_true(memory_in("r") == SIZE_MAX);
    remove_all("r");
    assert_true(attend_machine_memory("") > 0);
}

/* ---- using it ---- */

static attend_config wide(void)
{
    attend_config c = ATTEND_CONFIG_INIT;
    c.hidden = 64, c.embedding = 64, c.source_vocab = c.target_vocab = 100;
    return c;
}

static void parameters_are_counted_without_a_model(void **state)
{
    (void)state;
    static const char *const architectures[] = { "rnn", "transformer", "lstmn" };
    for (int i = 0; i < 3; i++)
        for (int tied = 0; tied < 2; tied++) {
            attend_config c = wide();
            attend_model *m = NULL;
            size_t count;
            assert_ok(attend_config_set(&c, "architecture", architectures[i]));
            c.tie_embeddings = tied != 0;
            assert_ok(attend_config_count_parameters(&c, &count));
            assert_ok(attend_model_new(&m, &c, 1));
            assert_int_equal(count, attend_params_size(attend_model_params(m)));
            attend_model_free(m);
        }
    attend_config c = wide();
    size_t count = 1;
    c.hidden = 0;
    assert_int_equal(attend_config_count_parameters(&c, &count), ATTEND_BAD_USAGE);
    assert_int_equal(count, 0);
}

static void assert_message(const char *a, const char *b, const char *c)
{
    if (!strstr(attend_message(), a) || !strstr(attend_message(), b) || !strstr(attend_message(), c))
        fail_msg("'%s' does not contain '%s', '%s' and '%s'", attend_message(), a, b, c);
}

static void a_model_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    attend_config c = wide();
    attend_model *m = NULL;
    size_t count;
    c.hidden = c.embedding = 1024;
    assert_ok(attend_config_count_parameters(&c, &count));
    attend_machine_memory_set(4 * count - 1);
    assert_int_equal(attend_model_new(&m, &c, 1), ATTEND_NO_MEMORY);
    assert_null(m);
    assert_message("MB", "are available", "hidden");
    attend_machine_memory_set(4 * count);
    assert_ok(attend_model_new(&m, &c, 1));
    assert_ok(attend_model_save(m, in_folder("model")));
    attend_model_free(m);
    attend_machine_memory_set(4 * count + 10000); /* tensors are aligned */
    assert_int_equal(attend_model_load(&m, in_folder("model"), NULL), ATTEND_OK);
    attend_model_free(m);
    attend_machine_memory_set(4 * count - 1);
    assert_int_equal(attend_model_load(&m, in_folder("model"), NULL), ATTEND_NO_MEMORY);
    assert_message("model needs", "MB of memory", "are available");
    attend_machine_memory_set((size_t)64 << 30); /* the largest configuration needs more; nothing is allocated */
    c.hidden = c.embedding = 16384, c.layers = c.decoder_layers = 8;
    assert_int_equal(attend_model_new(&m, &c, 1), ATTEND_NO_MEMORY);
    attend_machine_memory_set(0);
}

static attend_train_options options_for(const char *model)
{
    static attend_pairs_spec spec;
    static char pairs[512], path[512];
    attend_train_options o = attend_train_defaults();
    snprintf(pairs, sizeof pairs, "%s", in_folder("train.tsv"));
    snprintf(path, sizeof path, "%s", in_folder(model));
    spec.source = pairs;
    o.train = &spec, o.train_count = 1, o.model = path;
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 256, o.config.embedding = 256;
    o.batch_tokens = 40, o.shard_tokens = 20, o.updates = 1;
    return o;
}

static void keep_notice(void *user, const char *text)
{
    snprintf(user, 200, "%s", text);
}

static void training_is_planned_before_the_model_exists(void **state)
{
    (void)state;
    char notice[200] = "";
    const attend_train_events events = { .user = notice, .notice = keep_notice };
    attend_train_options o = options_for("trained");
    write_reversals("train.tsv", 60, 1);
    /* about 2.4 million parameters: weights, packed copies, gradients and moments take about ten times as much */
    o.threads = 4;
    attend_machine_memory_set((size_t)60 << 20);
    assert_int_equal(attend_train(&o, &events, NULL), ATTEND_NO_MEMORY);
    assert_message("million parameters", "62 MB of memory are available", "hidden");
    assert_null(get_file(in_folder("trained"), NULL));
    attend_machine_memory_set(0);
    o.memory = (size_t)60 << 20, o.config.hidden = 4096; /* too large even to be created for measuring */
    assert_int_equal(attend_train(&o, &events, NULL), ATTEND_BAD_USAGE);
    assert_message("million parameters", "the memory limit is 60M", "hidden");
    o.memory = 0, o.config.hidden = 256;
    size_t memory = 60;
    do attend_machine_memory_set((memory += 8) << 20); /* until it is enough, but not for four threads */
    while (memory < 400 && attend_train(&o, &events, NULL) != ATTEND_OK);
    assert_true(memory < 400);
    if (!strstr(notice, "of 4 threads")) fail_msg("threads were not reduced: '%s'", notice);
    attend_machine_memory_set((size_t)20 << 20); /* a resumed run: its checkpoint does not fit */
    o.updates = 2;
    assert_int_equal(attend_train(&o, &events, NULL), ATTEND_NO_MEMORY);
    attend_machine_memory_set(0);
    assert_ok(attend_train(&o, &events, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_counts),
        cmocka_unit_test(version_1_of_control_groups),
        cmocka_unit_test(nonsense_is_no_limit),
        cmocka_unit_test(parameters_are_counted_without_a_model),
        cmocka_unit_test(a_model_that_does_not_fit_is_refused),
        cmocka_unit_test(training_is_planned_before_the_model_exists),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
