/* Tensor files: what is written is read back, the same input gives the same bytes, and every failure is clean. */
#include "core/memory.h"
#include "core/atomic_file.h"
#include "support/folder.h"
#include "support/sample_tensors.h"
#include <signal.h>
#include <sys/wait.h>

static sample s;

static void assert_is_sample(const attend_tensor_file *f)
{
    assert_int_equal(attend_tensor_file_count(f), SAMPLE_COUNT);
    for (int k = 0; k < SAMPLE_COUNT; k++) {
        const attend_tensor *expected = &s.tensors[k], *t = attend_tensor_file_find(f, expected->name);
        assert_non_null(t);
        assert_string_equal(t->name, expected->name);
        assert_int_equal(t->dtype, expected->dtype);
        assert_int_equal(t->rank, expected->rank);
        assert_memory_equal(t->shape, expected->shape, sizeof t->shape);
        assert_int_equal(t->bytes, expected->bytes);
        assert_non_null(t->data);
        assert_int_equal((uintptr_t)t->data % attend_dtype_size(t->dtype), 0);
        assert_memory_equal(t->data, expected->data, t->bytes);
    }
    assert_null(attend_tensor_file_find(f, "layer"));
    assert_null(attend_tensor_file_find(f, ""));
    assert_int_equal(attend_tensor_file_metadata_count(f), SAMPLE_METADATA);
    for (int i = 0; i < SAMPLE_METADATA; i++) {
        assert_string_equal(attend_tensor_file_metadata(f, sample_metadata[i].key), sample_metadata[i].value);
        const attend_metadata *m = attend_tensor_file_metadata_at(f, (size_t)i);
        assert_string_equal(attend_tensor_file_metadata(f, m->key), m->value);
        if (i > 0) assert_true(strcmp(m[-1].key, m->key) < 0);
    }
    assert_null(attend_tensor_file_metadata(f, "checksum"));
    assert_null(attend_tensor_file_metadata(f, "nothing"));
}

static void test_round_trip(void **state)
{
    (void)state;
    const char *path = in_folder("sample.safetensors");
    attend_tensor_file *f = NULL;
    sample_make(&s);
    assert_ok(sample_write(path));
    assert_ok(attend_tensor_file_open(&f, path, 0));
    assert_is_sample(f);
    /* larger elements first, otherwise in the given order; the data starts at a multiple of 64 */
    assert_int_equal((uintptr_t)attend_tensor_file_at(f, 0)->data % 64, 0);
    for (size_t i = 1; i < SAMPLE_COUNT; i++) {
        const attend_tensor *a = attend_tensor_file_at(f, i - 1), *b = attend_tensor_file_at(f, i);
        assert_true(attend_dtype_size(a->dtype) >= attend_dtype_size(b->dtype));
    }
    attend_tensor_file_close(f);
    assert_ok(attend_tensor_file_open(&f, path, ATTEND_TENSOR_SKIP_CHECKSUM));
    assert_is_sample(f);
    attend_tensor_file_close(f);
    attend_tensor_file_close(NULL);
}

/* Parsing at any address, which may be overwritten afterwards. */
static void test_parse_anywhere(void **state)
{
    (void)state;
    const char *path = in_folder("sample.safetensors");
    assert_ok(sample_write(path));
    size_t size;
    char *bytes = get_file(path, &size), *moved = malloc(size + 8);
    assert_non_null(moved);
    for (size_t shift = 0; shift < 8; shift++) {
        attend_tensor_file *f = NULL;
        memcpy(moved + shift, bytes, size);
        assert_ok(attend_tensor_file_parse(&f, moved + shift, size, "moved", 0));
        assert_is_sample(f);
        memset(moved, 0, size + 8); /* the file is a copy */
        assert_is_sample(f);
        attend_tensor_file_close(f);
    }
    free(moved);
    free(bytes);
}

static void test_same_bytes(void **state)
{
    (void)state;
    assert_ok(sample_write(in_folder("one")));
    assert_ok(sample_write(in_folder("two")));
    size_t sizes[2];
    char *one = get_file(in_folder("one"), &sizes[0]), *two = get_file(in_folder("two"), &sizes[1]);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(one, two, sizes[0]);
    free(one);
    free(two);
}

/* The smallest file, byte by byte, so that no change of format or checksum goes unnoticed. */
static void test_empty_file(void **state)
{
    (void)state;
    const char *path = in_folder("nothing");
    attend_tensor_file *f = NULL;
    assert_ok(attend_tensor_file_write(path, NULL, 0, NULL, 0));
    assert_ok(attend_tensor_file_open(&f, path, 0));
    assert_int_equal(attend_tensor_file_count(f), 0);
    assert_int_equal(attend_tensor_file_metadata_count(f), 0);
    assert_null(attend_tensor_file_find(f, "a"));
    attend_tensor_file_close(f);
    size_t size;
    char *bytes = get_file(path, &size);
    const char expected[] = "\x38\0\0\0\0\0\0\0{\"__metadata__\":{\"checksum\":\"xxh3-4a7c32c9ac5ed850\"}}   ";
    assert_int_equal(size, 64);
    assert_memory_equal(bytes, expected, 64);
    free(bytes);
}

/* The escapes of the header are part of the format: the same model gives the same bytes in every version. */
static void test_escapes_of_the_header(void **state)
{
    (void)state;
    const char *path = in_folder("escapes");
    const attend_metadata m = { "k", "\"\\/\n\x1f\x7f\xc3\xa9\xe2\x80\xa8<" };
    assert_ok(attend_tensor_file_write(path, NULL, 0, &m, 1));
    size_t size;
    char *bytes = get_file(path, &size);
    static const char expected[] = "\"k\":\"\\\"\\\\/\\u000a\\u001f\x7f\xc3\xa9\xe2\x80\xa8<\"}}";
    const size_t at = 8 + strlen("{\"__metadata__\":{\"checksum\":\"xxh3-0123456789abcdef\",");
    assert_true(size >= at + sizeof expected);
    assert_memory_equal(bytes + at, expected, sizeof expected - 1);
    free(bytes);
}

/* Data that was taken outlives the file, is aligned, and can be changed without changing the file. */
static void test_take(void **state)
{
    (void)state;
    const char *path = in_folder("taken");
    assert_ok(sample_write(path));
    size_t size;
    char *before = get_file(path, &size);
    attend_tensor_file *f = NULL;
    attend_tensor tensors[SAMPLE_COUNT];
    assert_ok(attend_tensor_file_open(&f, path, 0));
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        tensors[i] = *attend_tensor_file_at(f, i);
        assert_int_equal((uintptr_t)tensors[i].data % 64, 0);
    }
    void *taken = attend_tensor_file_take(f, false);
    assert_null(attend_tensor_file_take(f, false));
    attend_tensor_file_close(f);
    for (size_t i = 0; i < SAMPLE_COUNT; i++) memset((void *)(uintptr_t)tensors[i].data, 255, tensors[i].bytes);
    attend_memory_free(taken);
    char *after = get_file(path, NULL);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

/* The header alone, then parts of single tensors, then everything, with some tensors apart or not kept. */
static void test_header_only(void **state)
{
    (void)state;
    const char *path = in_folder("header");
    unsigned char data[SAMPLE_BYTES];
    sample_make(&s);
    assert_ok(sample_write(path));
    for (int kept = 0; kept < 2; kept++) {
        attend_tensor_file *f = NULL;
        assert_ok(attend_tensor_file_open(&f, path, ATTEND_TENSOR_HEADER_ONLY));
        assert_int_equal(attend_tensor_file_count(f), SAMPLE_COUNT);
        for (int i = 0; i < SAMPLE_COUNT; i++) {
            const attend_tensor *t = attend_tensor_file_find(f, s.names[i]);
            const size_t half = t->bytes / 2;
            assert_null(t->data);
            assert_ok(attend_tensor_file_read(f, t, half, data, t->bytes - half));
            assert_memory_equal(data, s.data[i] + half, t->bytes - half);
        }
        const attend_tensor_loading how = { .apart = "layer.1", .skip_apart = !kept };
        assert_ok(attend_tensor_file_load(f, &how));
        assert_ok(attend_tensor_file_check(f));
        void *rest = attend_tensor_file_take(f, false);
        for (int i = 0; i < SAMPLE_COUNT; i++) {
            const attend_tensor *t = attend_tensor_file_find(f, s.names[i]);
            const bool apart = strncmp(t->name, "layer.1", 7) == 0;
            if (apart && !kept)
                assert_null(t->data);
            else
                assert_memory_equal(t->data, s.data[i], t->bytes);
        }
        attend_memory_free(rest);
        attend_tensor_file_close(f);
    }
}

/* Replacing an open file does not change its content in memory. */
static void test_replace_while_open(void **state)
{
    (void)state;
    const char *path = in_folder("replaced");
    attend_tensor_file *f = NULL;
    sample_make(&s);
    assert_ok(sample_write(path));
    assert_ok(attend_tensor_file_open(&f, path, 0));
    assert_ok(attend_tensor_file_write(path, NULL, 0, NULL, 0));
    assert_is_sample(f);
    attend_tensor_file_close(f);
}

static void refuses(attend_tensor t, attend_metadata m, const char *word)
{
    const char *path = in_folder("refused");
    const int status = attend_tensor_file_write(path, &t, t.name ? 1 : 0, &m, m.key ? 1 : 0);
    if (status != ATTEND_BAD_USAGE || !strstr(attend_message(), word))
        fail_msg("%d, '%s' does not contain '%s'", status, attend_message(), word);
    assert_int_equal(folder_count(NULL, 0), 0);
}

static void test_invalid_tensors_and_metadata(void **state)
{
    (void)state;
    static const float x[4];
    const attend_tensor good = { .name = "a", .dtype = ATTEND_F32, .rank = 1, .shape = { 4 }, .bytes = 16, .data = x };
    const attend_metadata none = { 0 };
    attend_tensor t;
    char name[600];
    memset(name, 'n', sizeof name);
    name[ATTEND_TENSOR_NAME + 1] = '\0';
    const char *const names[] = { "",         "__metadata__", "new\nline",        "\x7f", "\xc2\x85", "\xff",
                                  "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "\xe2\x82", name };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        t = good;
        t.name = names[i];
        refuses(t, none, "the name of tensor 0 must be");
        if (i != 1) refuses((attend_tensor){ 0 }, (attend_metadata){ names[i], "v" }, "the key of metadata 0 must be");
    }
    refuses((attend_tensor){ 0 }, (attend_metadata){ "checksum", "v" }, "the key of metadata 0 must be");
    refuses((attend_tensor){ 0 }, (attend_metadata){ "k", NULL }, "needs a value");
    refuses((attend_tensor){ 0 }, (attend_metadata){ "k", "\xff" }, "needs a value");
    refuses((attend_tensor){ 0 }, (attend_metadata){ "k", "xxh3-0123456789abcdef" }, "needs a value");
#define WITH(field, value, word) (t = good, t.field = value, refuses(t, none, word))
    WITH(dtype, ATTEND_DTYPES, "type");
    WITH(dtype, (attend_dtype)-1, "type");
    WITH(rank, 5, "rank 5");
    WITH(rank, -1, "rank -1");
    WITH(bytes, 12, "12 bytes");
    WITH(data, NULL, "NULL");
    WITH(shape[0], -1, "negative");
    WITH(shape[0], INT64_MAX, "larger than memory");
    attend_tensor twins[2] = { good, good };
    assert_int_equal(attend_tensor_file_write(in_folder("x"), twins, 2, NULL, 0), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "two tensors are named a"));
    const attend_metadata pairs[2] = { { "k", "1" }, { "k", "2" } };
    assert_int_equal(attend_tensor_file_write(in_folder("x"), NULL, 0, pairs, 2), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "two pairs of metadata are named k"));
    twins[1].name = "b";
    for (int i = 0; i < 2; i++) {
        twins[i].bytes = (size_t)1 << 62;
        twins[i].shape[0] = (int64_t)1 << 60;
    }
    assert_int_equal(attend_tensor_file_write(in_folder("x"), twins, 2, NULL, 0), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tensor_file_write(in_folder("x"), twins, ATTEND_TENSOR_COUNT + 1, NULL, 0),
                     ATTEND_BAD_USAGE);
    char *large = malloc(ATTEND_TENSOR_HEADER + 1);
    assert_non_null(large);
    memset(large, 'v', ATTEND_TENSOR_HEADER);
    large[ATTEND_TENSOR_HEADER] = '\0';
    refuses((attend_tensor){ 0 }, (attend_metadata){ "k", large }, "a header has at most");
    free(large);
    name[ATTEND_TENSOR_NAME] = '\0';
    t = good;
    t.name = name;
    assert_ok(attend_tensor_file_write(in_folder("longest"), &t, 1, NULL, 0));
    attend_tensor_file *f = NULL;
    assert_ok(attend_tensor_file_open(&f, in_folder("longest"), 0));
    assert_non_null(attend_tensor_file_find(f, name));
    attend_tensor_file_close(f);
}

/* --- faults --- */

/* Writes a file, opens it, and parses it from unaligned memory. */
static int use_all(const char *path, const char *bytes, size_t size)
{
    attend_tensor_file *f = NULL;
    int status = sample_write(path);
    if (status == ATTEND_OK) status = attend_tensor_file_open(&f, path, 0);
    attend_tensor_file_close(f);
    f = NULL;
    if (status == ATTEND_OK) status = attend_tensor_file_parse(&f, bytes, size, "memory", 0);
    attend_tensor_file_close(f);
    return status;
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    const char *path = in_folder("memory");
    assert_ok(sample_write(path));
    size_t size;
    char *bytes = get_file(path, &size), *moved = malloc(size + 1);
    assert_non_null(moved);
    memcpy(moved + 1, bytes, size);
    attend_memory_refuse(-1);
    assert_ok(use_all(path, moved + 1, size));
    const long allocations = attend_memory_requests();
    assert_true(allocations > 15);
    for (long n = 1; n <= allocations; n++) {
        attend_memory_refuse(n);
        int status = use_all(path, moved + 1, size);
        attend_memory_refuse(0);
        if (status != ATTEND_NO_MEMORY) fail_msg("allocation %ld failed, but the status is %d", n, status);
        assert_non_null(strstr(attend_message(), "no memory"));
        size_t still;
        char *is = get_file(path, &still);
        assert_int_equal(still, size);
        assert_memory_equal(is, bytes, size);
        free(is);
        assert_int_equal(folder_count(NULL, 0), 1);
    }
    printf("%ld allocations failed in turn\n", allocations);
    free(bytes);
    free(moved);
}

/* Every system call fails, or the process is killed there: afterwards the old or the new file is present and valid. */
static void die(void)
{
    raise(SIGKILL); /* no leak report for the killed process */
}

static void test_every_system_call_fails(void **state)
{
    (void)state;
    const char *path = in_folder("disk");
    attend_atomic_file_inject_fault(-1, 0, NULL);
    assert_ok(sample_write(path));
    assert_ok(sample_write(path));
    long calls = attend_atomic_file_calls() / 2 + 1;
    int old = 0, new = 0;
    sample_make(&s);
    for (long n = 1; n <= calls; n++)
        for (int kill = 0; kill < 2; kill++) {
            attend_tensor_file *f = NULL;
            int status, temporaries;
            assert_ok(attend_tensor_file_write(path, NULL, 0, NULL, 0));
            pid_t child = fork();
            if (child == 0) {
                attend_atomic_file_inject_fault(n, kill ? 0 : ENOSPC, kill ? die : NULL);
                _exit(sample_write(path));
            }
            assert_int_equal(waitpid(child, &status, 0), child);
            if (WIFEXITED(status) && WEXITSTATUS(status) == ATTEND_OK) break; /* the process made fewer calls */
            if (kill)
                assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            else
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == ATTEND_IO);
            folder_count(&temporaries, 1);
            if (!kill) assert_int_equal(temporaries, 0);
            assert_ok(attend_tensor_file_open(&f, path, 0));
            if (attend_tensor_file_count(f) == 0) {
                old++;
            } else {
                assert_is_sample(f);
                new ++;
            }
            attend_tensor_file_close(f);
        }
    attend_atomic_file_inject_fault(0, 0, NULL);
    assert_int_equal(new, 2); /* only the last call follows the rename */
    assert_true(old > 30);
    printf("%ld system calls: %d times the old file, %d times the new one\n", calls, old, new);
}

/* Many tensors: sorting, searching, counting. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    attend_tensor *t = calloc(MANY, sizeof *t);
    char(*names)[16] = calloc(MANY, sizeof *names);
    assert_non_null(t);
    assert_non_null(names);
    static const uint64_t x = UINT64_C(0x0102030405060708);
    static const attend_dtype kinds[] = { ATTEND_U8, ATTEND_F64, ATTEND_F16, ATTEND_F32 };
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%d", (i * 7919) % MANY);
        t[i] = (attend_tensor){ .name = names[i], .dtype = kinds[i % 4], .data = &x };
        t[i].bytes = attend_dtype_size(t[i].dtype);
    }
    attend_tensor_file *f = NULL;
    assert_ok(attend_tensor_file_write(in_folder("many"), t, MANY, NULL, 0));
    assert_ok(attend_tensor_file_open(&f, in_folder("many"), 0));
    assert_int_equal(attend_tensor_file_count(f), MANY);
    for (int i = 0; i < MANY; i++) {
        const attend_tensor *found = attend_tensor_file_find(f, names[i]);
        assert_non_null(found);
        assert_int_equal(found->dtype, t[i].dtype);
        assert_memory_equal(found->data, &x, found->bytes);
    }
    attend_tensor_file_close(f);
    free(t);
    free(names);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_parse_anywhere),
        IN_FOLDER(test_same_bytes),
        IN_FOLDER(test_empty_file),
        IN_FOLDER(test_escapes_of_the_header),
        IN_FOLDER(test_take),
        IN_FOLDER(test_header_only),
        IN_FOLDER(test_replace_while_open),
        IN_FOLDER(test_invalid_tensors_and_metadata),
        IN_FOLDER(test_every_allocation_fails),
        IN_FOLDER(test_every_system_call_fails),
        IN_FOLDER(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
