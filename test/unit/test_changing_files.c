/* Files that change while they are read, or after they were read: overwritten, truncated or replaced. What is used is
 * in private memory, so that the result is the file as it was, or an error; never a signal. The system calls read and
 * open are wrapped (test/CMakeLists.txt), so that a file changes exactly between two of them. */
#include "unit/unit.h"

#include "support/folder.h"
#include "support/tiny_pairs.h"
#include "support/trainings.h"
#include "format/tensor_file.h"
#include <attend/shortlist.h>
#include <attend/trainer.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>

/* ---- changes between system calls ---- */

static char watched[512];                     /* the path whose reads are counted */
static int reads, opens;                      /* of that file */
static int change_at;                         /* the read before which it changes; 0: never */
static void (*change)(void);

ssize_t __real_read(int file, void *to, size_t size);
ssize_t __wrap_read(int file, void *to, size_t size);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

ssize_t __wrap_read(int file, void *to, size_t size)
{
    struct stat of_file, of_path;
    if (watched[0] && fstat(file, &of_file) == 0 && stat(watched, &of_path) == 0 && of_file.st_ino == of_path.st_ino &&
        ++reads == change_at)
        change();
    return __real_read(file, to, size);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    opens += strcmp(path, watched) == 0;
    return __real_open(path, flags, mode);
}

static inline void watch(const char *path)
{
    snprintf(watched, sizeof watched, "%s", path);
    reads = opens = change_at = 0;
}

/* Writes into the file, which keeps its inode. */
static void overwrite(const char *path, const void *bytes, size_t size)
{
    const int file = __real_open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, size, 0), size);
    assert_int_equal(close(file), 0);
}

/* ---- tensor files ---- */

/* A file of one tensor of floats, all of them `value`. */
static void write_floats(const char *path, size_t count, float value)
{
    float *x = malloc(count * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++) x[i] = value;
    const attend_tensor t = { .name = "x",
                              .dtype = ATTEND_F32,
                              .rank = 1,
                              .shape = { (int64_t)count },
                              .bytes = count * sizeof *x,
                              .data = x };
    assert_ok(attend_tensor_file_write(path, &t, 1, NULL, 0));
    free(x);
}

static void an_open_file_keeps_its_content(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    const char *path = in_folder("floats");
    attend_tensor_file *f = NULL;
    size_t size;
    write_floats(path, COUNT, 2);
    char *other = get_file(path, &size);
    write_floats(path, COUNT, 1);
    assert_ok(attend_tensor_file_open(&f, path, ATTEND_TENSOR_SKIP_CHECKSUM));
    const float *x = attend_tensor_file_find(f, "x")->data;
    overwrite(path, other, size);
    for (int i = 0; i < COUNT; i++) assert_true(x[i] == 1);
    assert_int_equal(truncate(path, 0), 0);
    for (int i = 0; i < COUNT; i++) assert_true(x[i] == 1);
    attend_tensor_file_close(f);
    free(other);
}

/* ---- a header that alternates ---- */

enum { TENSORS = 300, HEADER = TENSORS * 80 };

/* A header of `count` empty tensors, padded to a fixed size. */
static void make_header(char bytes[8 + HEADER + 1], int count)
{
    memset(bytes, 0, 8);
    bytes[0] = (char)(HEADER & 255), bytes[1] = (char)(HEADER >> 8 & 255), bytes[2] = (char)(HEADER >> 16);
    char *at = bytes + 8;
    at += sprintf(at, "{");
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s\"tensor %d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i);
    *at++ = '}';
    memset(at, ' ', (size_t)(bytes + 8 + HEADER - at));
}

typedef struct flipper {
    char headers[2][8 + HEADER + 1];
    const char *path;
    volatile bool stop;
} flipper;

static void *flip(void *user)
{
    flipper *f = user;
    for (int i = 0; !f->stop; i++) overwrite(f->path, f->headers[i & 1], 8 + HEADER);
    return NULL;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_header_that_alternates_is_read_once(void **state)
{
    (void)state;
    static flipper f;
    static char path[512];
    snprintf(path, sizeof path, "%s", in_folder("flipped"));
    f.path = path;
    make_header(f.headers[0], 1);
    make_header(f.headers[1], TENSORS);
    put_file(path, f.headers[0], 8 + HEADER);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, flip, &f), 0);
    int accepted = 0, refused = 0;
    for (const double end = seconds() + 1; seconds() < end;) {
        attend_tensor_file *file = NULL;
        if (attend_tensor_file_open(&file, path, 0) == ATTEND_OK) {
            const size_t count = attend_tensor_file_count(file);
            for (size_t i = 0; i < count; i++) assert_non_null(attend_tensor_file_at(file, i)->name);
            accepted++;
        } else {
            refused++;
        }
        attend_tensor_file_close(file);
    }
    f.stop = true;
    pthread_join(thread, NULL);
    printf("    %d opened, %d refused\n", accepted, refused);
}

/* ---- models ---- */

static attend_model *make_model(uint64_t seed)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, ""));
    config.hidden = 64, config.embedding = 64; /* several pages */
    config.source_vocab = config.target_vocab = 200;
    assert_ok(attend_model_new(&m, &config, seed));
    return m;
}

/* The best tokens of three steps, from the shortlist if the model has one. */
static void decode(const attend_model *m, int found[3])
{
    attend_ctx *c = NULL;
    attend_decoding *d = NULL;
    const int source[] = { 7, 150, ATTEND_END }, length = 3, one = 1, zero = 0;
    int token = ATTEND_BEGIN;
    assert_ok(attend_ctx_new(&c));
    assert_ok(attend_decoding_new(&d, c, m, 1, source, &length));
    if (attend_model_has_shortlist(m)) assert_ok(attend_decoding_use_shortlist(d));
    for (int i = 0; i < 3; i++) {
        assert_ok(attend_decoding_step(d, &one, &zero, &token));
        int count;
        const int *tokens;
        const attend_real *p = attend_decoding_row(d, 0, &count, &tokens);
        int best = 0;
        for (int k = 1; k < count; k++)
            if (p[k] > p[best]) best = k;
        found[i] = token = tokens ? tokens[best] : best;
    }
    attend_decoding_free(d);
    attend_ctx_free(c);
}

static void assert_decodes(const attend_model *m, const int expected[3])
{
    int found[3];
    decode(m, found);
    assert_memory_equal(found, expected, sizeof found);
}

/* A loaded model does not change with its file, whether its weights were used before or not. */
static void a_loaded_model_does_not_change(void **state)
{
    (void)state;
    const char *path = in_folder("model");
    attend_model *m = make_model(1), *other = make_model(2);
    int expected[3];
    size_t size;
    decode(m, expected);
    assert_ok(attend_model_save(other, path));
    char *bytes = get_file(path, &size);
    for (int used = 0; used < 2; used++) {
        attend_model *loaded = NULL;
        assert_ok(attend_model_save(m, path));
        assert_ok(attend_model_load(&loaded, path, NULL));
        if (used) assert_decodes(loaded, expected);
        overwrite(path, bytes, size);
        assert_decodes(loaded, expected);
        assert_int_equal(truncate(path, 100), 0);
        assert_decodes(loaded, expected);
        assert_ok(attend_model_save(loaded, path)); /* every weight and attachment is still there */
        attend_model_free(loaded);
        assert_ok(attend_model_load(&loaded, path, NULL));
        assert_decodes(loaded, expected);
        attend_model_free(loaded);
    }
    free(bytes);
    attend_model_free(m), attend_model_free(other);
}

static void a_loaded_shortlist_does_not_change(void **state)
{
    (void)state;
    const char *path = in_folder("model");
    attend_model *m = make_model(1), *loaded = NULL;
    attend_shortlist *list = NULL;
    int expected[3];
    assert_ok(attend_shortlist_new(&list, 200, 200));
    for (int i = 0; i < 200; i++)
        for (int j = 1; j < 5; j++) assert_ok(attend_shortlist_add(list, i, (i * j) % 200));
    assert_ok(attend_shortlist_attach(list, m, 10, 5));
    attend_shortlist_free(list);
    decode(m, expected);
    assert_ok(attend_model_save(m, path));
    assert_ok(attend_model_load(&loaded, path, NULL));
    size_t size, bytes;
    char *file = get_file(path, &size);
    attend_model_attached(loaded, "shortlist", &bytes);
    memset(file + size - bytes, 0x3f, bytes); /* bytes are the last tensors of a file */
    overwrite(path, file, size);
    assert_decodes(loaded, expected);
    free(file);
    attend_model_free(m), attend_model_free(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_file_keeps_its_content),
        cmocka_unit_test(a_header_that_alternates_is_read_once),
        cmocka_unit_test(a_loaded_model_does_not_change),
        cmocka_unit_test(a_loaded_shortlist_does_not_change),
    };
    extern void cmocka_set_test_filter(const char*); if (getenv("F")) cmocka_set_test_filter(getenv("F")); return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
