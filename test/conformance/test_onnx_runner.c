/* test_onnx_runner.c: output and exit status of the program conformance_onnx on generated cases; above all, it fails if
 * a result is wrong. */
#include "encode.h"
#include "onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CONFORMANCE_ONNX
#error "CONFORMANCE_ONNX is to be the path of the program"
#endif

enum { PATH_ROOM = 512 };

static char root[64]; /* a temporary directory */
static char printed[4096];

/* ---- files ---- */

static const char *in_root(const char *name)
{
    static char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void write_file(const char *name, const encoder *e)
{
    FILE *f = fopen(in_root(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(e->bytes, 1, e->size, f), e->size);
    assert_int_equal(fclose(f), 0);
}

static void write_number(const char *name, int rank, float value)
{
    encoder e;
    unsigned char raw[4];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) raw[i] = (unsigned char)(bits >> (8 * i));
    encode_tensor(&e, ONNX_FLOAT, rank, (int64_t[]){ 1, 1, 1, 1 }, raw, sizeof raw);
    write_file(name, &e);
}

/* h = f(0.5 * 3), by a node with inputs "X", "W", "R" and outputs none, "Y_h", in a graph that lists them in another
 * order; `attribute` and `value` may be NULL. */
static void write_model(const char *op_type, const char *attribute, const char *value)
{
    encoder node = { .size = 0 }, model;
    encode_string(&node, 1, "X");
    encode_string(&node, 1, "W");
    encode_string(&node, 1, "R");
    encode_string(&node, 1, "");
    encode_string(&node, 2, "");
    encode_string(&node, 2, "Y_h");
    encode_string(&node, 4, op_type);
    if (attribute != NULL) encode_attribute_strings(&node, attribute, 1, &value);
    encode_model(&model, &node, (const char *[]){ "R", "X", "W", NULL }, (const char *[]){ "Y_h", NULL });
    write_file("cases/test_a/model.onnx", &model);
}

static void write_case(void)
{
    write_model("RNN", NULL, NULL);
    write_number("cases/test_a/test_data_set_0/input_0.pb", 3, 7);
    write_number("cases/test_a/test_data_set_0/input_1.pb", 3, 0.5f);
    write_number("cases/test_a/test_data_set_0/input_2.pb", 3, 3);
    write_number("cases/test_a/test_data_set_0/output_0.pb", 3, tanhf(1.5f));
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/onnx_runner_XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    int status = mkdir(in_root("cases"), 0700) | mkdir(in_root("empty"), 0700) | mkdir(in_root("cases/test_a"), 0700);
    return status | mkdir(in_root("cases/test_a/test_data_set_0"), 0700);
}

static int tear_down(void **state)
{
    static const char *const files[] = { "cases/test_a/test_data_set_0/input_0.pb",
                                         "cases/test_a/test_data_set_0/input_1.pb",
                                         "cases/test_a/test_data_set_0/input_2.pb",
                                         "cases/test_a/test_data_set_0/output_0.pb", "cases/test_a/model.onnx" };
    static const char *const directories[] = { "cases/test_a/test_data_set_0", "cases/test_a", "cases", "empty" };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) unlink(in_root(files[i]));
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) rmdir(in_root(directories[i]));
    return rmdir(root);
}

/* ---- the program ---- */

/* Returns the exit status; `printed` receives what it wrote to stdout and stderr. */
static int run(const char *options, const char *directory)
{
    char command[2 * PATH_ROOM];
    snprintf(command, sizeof command, "'%s' %s '%s' 2>&1", CONFORMANCE_ONNX, options, in_root(directory));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(printed, 1, sizeof printed - 1, pipe);
    printed[size] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(const char *options, const char *directory, int status, const char *words)
{
    int actual = run(options, directory);
    if (actual != status || strstr(printed, words) == NULL)
        fail_msg("exit %d with '%s', expected %d with '%s'", actual, printed, status, words);
}

static void test_passes(void **state)
{
    (void)state;
    write_case();
    expect("", "cases", 0, "");
    assert_string_equal(printed, "ok   test_a\n1 passed, 0 failed, 0 skipped\n");
    expect("", "cases/test_a", 0, "");
    assert_string_equal(printed, "ok   test_a\n1 passed, 0 failed, 0 skipped\n");
    expect("--if-present", "cases/test_a/", 0, "ok   test_a\n");
}

static void test_fails(void **state)
{
    (void)state;
    const char *output = "cases/test_a/test_data_set_0/output_0.pb";
    write_case();
    write_number(output, 3, 0.25f);
    expect("", "cases", 1, "FAIL test_a: output 0 element 0: 0.905148");
    assert_non_null(strstr(printed, " instead of 0.25\n0 passed, 1 failed, 0 skipped\n"));
    write_number(output, 3, NAN);
    expect("", "cases", 1, "instead of nan\n");
    write_number(output, 3, tanhf(1.5f) * 1.001f);
    expect("", "cases", 1, "FAIL test_a: output 0 element 0");
    write_number(output, 2, tanhf(1.5f));
    expect("", "cases", 1, "FAIL test_a: output 0: shape (1, 1, 1) instead of (1, 1)");
    write_file(output, &(encoder){ .bytes = { 8 }, .size = 1 });
    expect("", "cases", 1, "output_0.pb: byte 1: a number is cut off after 0 bytes");
    assert_int_equal(unlink(in_root(output)), 0);
    expect("", "cases", 1, "output_0.pb: No such file");
    write_case();
    write_number("cases/test_a/test_data_set_0/input_3.pb", 3, 0);
    expect("", "cases", 1, "FAIL test_a: input_3.pb: the graph has 3 inputs alone");
    assert_int_equal(unlink(in_root("cases/test_a/test_data_set_0/input_3.pb")), 0);
    write_number("cases/test_a/test_data_set_0/input_2.pb", 2, 3);
    expect("", "cases", 1, "FAIL test_a: input 1 has shape (1, 1) instead of (1, 1, 1)");
    assert_int_equal(unlink(in_root("cases/test_a/model.onnx")), 0);
    expect("", "cases", 1, "model.onnx: No such file");
}

static void test_skips(void **state)
{
    (void)state;
    write_case();
    write_model("Softmax", NULL, NULL);
    expect("", "cases", 0, "skip test_a: operator Softmax is not implemented\n0 passed, 0 failed, 1 skipped\n");
    write_model("Odd\nok   test_b", NULL, NULL);
    expect("", "cases", 0, "skip test_a: operator Odd?ok   test_b is not implemented\n");
    write_model("RNN", "activations", "Elu");
    expect("", "cases", 0, "skip test_a: activation Elu is not implemented");
    write_model("RNN", "clip", "1");
    expect("", "cases", 0, "skip test_a: clip is not implemented");
    write_model("RNN", "novelty", "1");
    expect("", "cases", 0, "skip test_a: attribute novelty is not implemented");
    write_model("RNN", "activations", "Relu");
    expect("", "cases", 1, ": 1.5 instead of 0.905148");
    write_model("RNN", "layout", "1");
    expect("", "cases", 1, "FAIL test_a: attribute layout is not an integer");
}

static void test_usage(void **state)
{
    (void)state;
    expect("", "empty", 2, "no cases");
    expect("", "none", 2, "No such file");
    expect("--if-present", "none", 77, "skipped: no conformance cases at ");
    expect("--if-present", "empty", 2, "no cases");
    expect("--unknown", "cases", 2, "unexpected '--unknown'");
    expect("cases", "cases", 2, "unexpected '");
    expect("--help", "cases", 0, "usage: conformance_onnx");
    expect("''", "cases", 2, "unexpected ''");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skips, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_usage, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
