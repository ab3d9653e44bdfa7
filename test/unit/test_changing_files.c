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

static char watched[512];    /* the path whose calls are counted */
static int reads, opens;     /* of that file */
static int change_at;        /* the read before which it changes; 0: none */
static void (*change)(void); /* changes it */

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

static void watch(const char *path)
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
    const attend_tensor t = {
        .name = "x", .dtype = ATTEND_F32, .rank = 1, .shape = { (int64_t)count }, .bytes = count * sizeof *x, .data = x
    };
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

/* The changes: each alters the file `target`. */

static const char *target = watched;

static void shorten(void)
{
    assert_int_equal(truncate(target, 1000), 0);
}

static void lengthen(void)
{
    struct stat s;
    assert_int_equal(stat(target, &s), 0);
    assert_int_equal(truncate(target, s.st_size + 1), 0);
}

static void write_into(void)
{
    overwrite(target, "\x38", 1);
}

static void replace(void)
{
    write_floats(in_folder("new"), 10, 2);
    assert_int_equal(rename(in_folder("new"), target), 0);
}

/* Changes before every single read. A replaced file is read to its end: it is complete. */
static void a_change_while_reading_is_reported(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    static const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    static void (*const changes[])(void) = { shorten, lengthen, write_into, replace };
    const char *path = in_folder("floats");
    int tried = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (int n = 1, done = 0; !done; n++) {
            attend_tensor_file *f = NULL;
            write_floats(path, COUNT, 1);
            assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0); /* so that any write changes the time */
            watch(path);
            change = changes[i], change_at = n;
            const int status = attend_tensor_file_open(&f, path, ATTEND_TENSOR_SKIP_CHECKSUM);
            done = reads < n;
            if (done || change == replace) {
                assert_int_equal(status, ATTEND_OK);
                assert_true(((const float *)attend_tensor_file_find(f, "x")->data)[COUNT - 1] == 1);
            } else {
                assert_int_equal(status, ATTEND_IO);
                assert_non_null(strstr(attend_message(), "changed while it was read"));
                tried++;
            }
            assert_int_equal(opens, 1);
            attend_tensor_file_close(f);
        }
    watched[0] = '\0';
    assert_true(tried > 10);
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
    for (const double end = seconds() + 0.5; seconds() < end;) {
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

/* An average reads its files twice, and notices a change in between. */
static void a_change_while_averaging_is_reported(void **state)
{
    (void)state;
    static const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    attend_model *m = make_model(1), *mean = NULL;
    int expected[3];
    decode(m, expected);
    char other[512];
    snprintf(other, sizeof other, "%s", in_folder("other"));
    assert_ok(attend_model_save(m, other));
    static void (*const changes[])(void) = { shorten, write_into };
    for (int i = 0; i < 2; i++) {
        const char *const paths[2] = { in_folder("model"), other };
        assert_ok(attend_model_save(m, paths[0]));
        assert_int_equal(utimensat(AT_FDCWD, paths[0], old, 0), 0);
        watch(other); /* is read when the first file has been read and checked */
        target = paths[0], change_at = 1, change = changes[i];
        assert_int_equal(attend_models_average(&mean, paths, 2), ATTEND_IO);
        assert_non_null(strstr(attend_message(), "changed while it was read"));
        assert_null(mean);
    }
    watched[0] = '\0', target = watched;
    const char *const same[2] = { other, other };
    assert_ok(attend_models_average(&mean, same, 2));
    assert_decodes(mean, expected);
    attend_model_free(m), attend_model_free(mean);
}

/* ---- checkpoints ---- */

static int setup(void **state)
{
    if (folder_make(state) != 0) return -1;
    write_reversals("train.tsv", 60, 1);
    return 0;
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
    o.config.hidden = 8, o.config.embedding = 6, o.config.activation = ATTEND_RELU, o.config.cell = ATTEND_CELL_SIMPLE;
    o.batch_tokens = 40, o.shard_tokens = 20, o.save_every = 100, o.updates = 200;
    return o;
}

/* Options with which gradients become non-finite at once, so that training rolls back to its first checkpoint. */
static attend_train_options diverging(const char *model)
{
    attend_train_options o = options_for(model);
    o.schedule.kind = ATTEND_SCHEDULE_CONSTANT, o.schedule.rate = 1e30, o.clip = 0;
    return o;
}

typedef struct swap {
    const char *with; /* the file that the checkpoint is overwritten with, in place; NULL: it stays */
    size_t size;      /* bytes of that file to use; 0: all */
    int skipped, rolled_back;
} swap;

/* Before the tenth skipped update leads to a rollback, the checkpoint changes in place. */
static void swap_checkpoint(void *user, const char *text)
{
    swap *x = user;
    if (strstr(text, "rolled back")) {
        x->rolled_back++;
        assert_int_equal(opens, 1); /* weights, state and moments are of one file */
    }
    if (!strstr(text, "was skipped") || ++x->skipped != 10) return;
    opens = 0;
    if (!x->with) return;
    size_t size;
    char *bytes = get_file(in_folder(x->with), &size);
    assert_non_null(bytes);
    if (x->size) size = x->size;
    assert_int_equal(truncate(watched, (off_t)size), 0);
    overwrite(watched, bytes, size);
    free(bytes);
}

static void refuse_rollback(const char *with, size_t size, const char *why)
{
    attend_train_options o = diverging("rolled");
    swap x = { .with = with, .size = size };
    const attend_train_events events = { .user = &x, .notice = swap_checkpoint };
    watch(in_folder("rolled.checkpoint"));
    const int status = attend_train(&o, &events, NULL);
    assert_true(status == ATTEND_BAD_MODEL || status == ATTEND_BAD_USAGE);
    if (!strstr(attend_message(), why)) fail_msg("'%s' does not contain '%s'", attend_message(), why);
    assert_int_equal(x.rolled_back, 0);
    watched[0] = '\0';
    remove_model("rolled");
}

/* A checkpoint of a training run with these options, under the name of the model. */
static void make_checkpoint(attend_train_options o)
{
    o.updates = 1;
    assert_ok(attend_train(&o, NULL, NULL));
}

static void a_checkpoint_swapped_before_a_rollback(void **state)
{
    (void)state;
    swap none = { .with = NULL };
    attend_train_options o = diverging("rolled");
    const attend_train_events events = { .user = &none, .notice = swap_checkpoint };
    watch(in_folder("rolled.checkpoint"));
    assert_int_equal(attend_train(&o, &events, NULL), ATTEND_FAILED); /* diverges again, after a rollback */
    assert_int_equal(none.rolled_back, 1);
    remove_model("rolled");

    o = diverging("wide");
    o.config.hidden = 16;
    make_checkpoint(o);
    refuse_rollback("wide.checkpoint", 0, "hidden");
    refuse_rollback("wide.checkpoint", 5000, "truncated");
    refuse_rollback("wide", 0, "hidden");
    refuse_rollback("train.tsv", 0, "text");

    write_reversals("train.tsv", 3, 5); /* fewer tokens */
    make_checkpoint(diverging("small"));
    write_reversals("train.tsv", 60, 1);
    refuse_rollback("small.checkpoint", 0, "vocabularies");
    attend_model *m = NULL;
    make_checkpoint(diverging("int8"));
    assert_ok(attend_model_load(&m, in_folder("int8"), NULL));
    assert_ok(attend_model_quantize(m, ATTEND_INT8));
    assert_ok(attend_model_save(m, in_folder("int8")));
    attend_model_free(m);
    refuse_rollback("int8", 0, "quantised");
}

static void a_run_resumes_from_one_file(void **state)
{
    (void)state;
    attend_train_options o = options_for("resumed");
    o.updates = 3;
    assert_ok(attend_train(&o, NULL, NULL));
    o.updates = 4;
    watch(in_folder("resumed.checkpoint"));
    assert_ok(attend_train(&o, NULL, NULL));
    assert_int_equal(opens, 1);
    watched[0] = '\0';
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_file_keeps_its_content),
        cmocka_unit_test(a_change_while_reading_is_reported),
        cmocka_unit_test(a_header_that_alternates_is_read_once),
        cmocka_unit_test(a_loaded_model_does_not_change),
        cmocka_unit_test(a_loaded_shortlist_does_not_change),
        cmocka_unit_test(a_change_while_averaging_is_reported),
        cmocka_unit_test(a_checkpoint_swapped_before_a_rollback),
        cmocka_unit_test(a_run_resumes_from_one_file),
    };
    return cmocka_run_group_tests(tests, setup, folder_remove);
}
