/* A GPU that fails in the middle of a computation: it is reported where results are read, no file is written with what it
 * computed since, and the same training, started again, ends in the same bytes. The plug-in for the CPU fails at the launch
 * that ATTEND_CUDA_FAULT names. A fault lasts until the process ends, so that each runs in a child process. */
#include "unit/unit.h"

#include "support/trainings.h"
#include <attend/trainer.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UPDATES = 6 };

/* The exit status of run(), in a child process with a fault at this launch; 0: none. */
static int in_child(int (*run)(void), long faulty_launch)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", faulty_launch);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("ATTEND_CUDA_FAULT", text, 1);
        _exit(run());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { WORKED, REPORTED, WRONG };

/* Whether the message of this thread says what has failed and what to do. */
static int reported(int status)
{
    if (status == ATTEND_FAILED && strstr(attend_message(), "cuda:0 (emulated GPU) has failed: ") &&
        strstr(attend_message(), "a fault for a test") && strstr(attend_message(), "start the program again"))
        return REPORTED;
    fprintf(stderr, "status %d: %s\n", status, attend_message());
    return WRONG;
}

static int compute(void)
{
    static const attend_real numbers[] = { 1, 2, 3, 4 };
    attend_ctx *c;
    if (attend_ctx_new(&c) != ATTEND_OK) return WRONG;
    attend_var *x = attend_input(c, 2, (const int[]){ 2, 2 }, numbers);
    attend_var *sum = attend_sum(c, attend_tanh(c, x));
    const bool has_value = attend_value(sum);
    const int status = attend_backward(c, sum);
    const bool has_gradient = attend_gradient(x);
    if (has_value && status == ATTEND_OK && has_gradient && attend_device_check() == ATTEND_OK) return WORKED;
    if (has_gradient || attend_ctx_status(c) != ATTEND_FAILED || attend_gradient(x) || attend_value(sum)) return WRONG;
    attend_fail(ATTEND_OK, "%s", "");
    return reported(attend_device_check());
}

static void test_results(void **state)
{
    (void)state;
    assert_int_equal(in_child(compute, 0), WORKED);
    int faults = 0;
    for (long launch = 1; launch < 30; launch++) {
        const int outcome = in_child(compute, launch);
        assert_int_not_equal(outcome, WRONG);
        if (outcome == REPORTED) assert_int_equal(++faults, launch);
    }
    assert_in_range(faults, 3, 28);
}

static const char *model;

static int train(void)
{
    static attend_pairs_spec spec;
    attend_train_options o = attend_train_defaults();
    spec.source = "train.tsv";
    o.train = o.valid = &spec, o.train_count = o.valid_count = 1;
    o.model = model;
    o.tokens[0].kind = o.tokens[1].kind = ATTEND_TOKENS_WORD;
    o.config.hidden = 8, o.config.embedding = 6, o.config.dropout = 0.2;
    o.batch_tokens = 40, o.average = 0.9;
    o.valid_every = 2, o.save_every = 1, o.log_every = 1, o.updates = UPDATES, o.patience = 0;
    const int status = attend_train(&o, NULL, NULL);
    return status == ATTEND_OK ? WORKED : reported(status);
}

/* Faults at launches further and further apart, until there are not so many. */
static void test_training(void **state)
{
    (void)state;
    model = "whole";
    assert_int_equal(in_child(train, 0), WORKED);
    int faults = 0, resumed = 0;
    for (long launch = 1, outcome = REPORTED; outcome == REPORTED; launch += 1 + launch / 3) {
        model = "interrupted";
        remove_model(model);
        outcome = in_child(train, launch);
        assert_int_not_equal(outcome, WRONG);
        faults += outcome == REPORTED;
        if (outcome == REPORTED && access("interrupted.checkpoint", F_OK) == 0) {
            assert_int_equal(in_child(train, 0), WORKED);
            same_file("whole", "interrupted", "");
            same_file("whole", "interrupted", ".checkpoint");
            same_log("whole", "interrupted");
            resumed++;
        }
    }
    printf("    %d faults, %d of them after a checkpoint\n", faults, resumed);
    assert_true(resumed > 3);
}

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 40, 1);
    return chdir(folder);
}

int main(void)
{
#ifndef EMULATED_PLUGIN /* builds with sanitizers do not have it */
#define EMULATED_PLUGIN ""
    printf("skipped: this build has no CUDA plug-in for the CPU\n");
    return 77;
#endif
    setenv("ATTEND_DEVICE", "cuda", 1);
    setenv("ATTEND_CUDA", EMULATED_PLUGIN, 1);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_results), cmocka_unit_test(test_training) };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
