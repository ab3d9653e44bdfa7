/* test_onnx_hostile.c: for any bytes, the reader of ONNX files returns an error or a well-formed result, and never
 * reads outside them. Most useful with sanitizers. */
#include "protobuf.h"
#include "reader_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deeply nested messages, in an unused field, in the node, and as groups. */
static void test_deep_nesting(void **state)
{
    (void)state;
    encoder *deep = calloc(1, sizeof *deep), *outer = calloc(1, sizeof *outer);
    assert_true(deep != NULL && outer != NULL);
    while (deep->size < ENCODE_ROOM - 64) {
        outer->size = 0;
        encode_message(outer, 7, deep);
        *deep = *outer;
    }
    assert_int_equal(try_model(deep->bytes, deep->size), CASE_FAILED);
    encoder e = sample_model();
    encode_tag(&e, 99, 2);
    encode_varint(&e, 12000);
    encode_raw(&e, deep->bytes, 12000);
    assert_int_equal(try_model(e.bytes, e.size), CASE_OK);
    e.size = 0;
    for (int i = 0; i < ENCODE_ROOM - 1; i++) encode_tag(&e, 1, 3);
    expect_model(&e, CASE_FAILED, "byte 0: field 1 is a group");
    free(deep);
    free(outer);
}

/* ---- every truncation, every changed byte, and random changes ---- */

typedef int (*attempt)(const uint8_t *bytes, size_t size);

static void mutate(attempt try, encoder e)
{
    assert_int_equal(try(e.bytes, e.size), CASE_OK);
    for (size_t size = 0; size < e.size; size++) try(e.bytes, size);
    for (size_t i = 0; i < e.size; i++) {
        uint8_t was = e.bytes[i];
        for (int value = 0; value < 256; value++) {
            e.bytes[i] = (uint8_t)value;
            try(e.bytes, e.size);
        }
        e.bytes[i] = was;
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Changes, inserts or removes a few bytes, and sometimes truncates. */
static void mutate_at_random(attempt try, const encoder *valid, int rounds)
{
    uint32_t seed = 20240607;
    for (int round = 0; round < rounds; round++) {
        uint8_t bytes[1024];
        size_t size = valid->size;
        assert_true(size + 8 < sizeof bytes);
        memcpy(bytes, valid->bytes, size);
        for (uint32_t changes = 1 + next_random(&seed) % 8; changes > 0; changes--) {
            size_t at = next_random(&seed) % size;
            uint8_t value = (uint8_t)(next_random(&seed) >> 8);
            switch (next_random(&seed) % 4) {
            case 0:
                memmove(bytes + at + 1, bytes + at, size++ - at);
                break;
            case 1:
                memmove(bytes + at, bytes + at + 1, --size - at);
                continue;
            default:
                break;
            }
            bytes[at] = value;
        }
        if (next_random(&seed) % 8 == 0) size = next_random(&seed) % (size + 1);
        try(bytes, size);
    }
    printf("    sampled: %d random mutations\n", rounds);
}

static void test_mutations(void **state)
{
    (void)state;
    encoder model = sample_model(), raw = sample_tensor(true), typed = sample_tensor(false);
    mutate(try_model, model);
    mutate(try_tensor, raw);
    mutate(try_tensor, typed);
    mutate_at_random(try_model, &model, 30000);
    mutate_at_random(try_tensor, &raw, 30000);
    mutate_at_random(try_tensor, &typed, 30000);
}

/* ---- files ---- */

static void expect_file(const char *path, const char *words)
{
    uint8_t *bytes;
    size_t size;
    assert_int_equal(pb_file_read(&bytes, &size, path, message), CASE_FAILED);
    if (strstr(message, path) == NULL || strstr(message, words) == NULL)
        fail_msg("'%s' and '%s' are not in '%s'", path, words, message);
}

static void test_files(void **state)
{
    (void)state;
    char directory[] = "/tmp/onnx_reader_XXXXXX", path[64];
    onnx_tensor t;
    encoder e = sample_tensor(true);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/file", directory);
    expect_file(path, "No such file");
    expect_file(directory, "not a regular file");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_file(path, "not a regular file");
    assert_int_equal(unlink(path), 0);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, e.bytes, e.size), (ssize_t)e.size);
    assert_int_equal(onnx_tensor_read(&t, path, message), CASE_OK);
    assert_int_equal(t.size, 6);
    onnx_tensor_free(&t);
    assert_int_equal(ftruncate(file, (off_t)e.size - 1), 0);
    assert_int_equal(onnx_tensor_read(&t, path, message), CASE_FAILED);
    assert_non_null(strstr(message, "/file: byte "));
    assert_int_equal(ftruncate(file, (off_t)PB_FILE_LIMIT + 1), 0);
    expect_file(path, "more than the limit");
    close(file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
