/* lines.c: line ends, gzip, damaged and foreign files, long lines, pipes, endless input. */
#include "core/memory.h"
#include "support/skipped.h"
#include "support/text_files.h"
#include <attend/lines.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* Reads a file and compares its lines with `lines` (NULL at the end). */
static void assert_lines(const char *path, const char *const *lines)
{
    attend_lines *l = NULL;
    const char *text;
    size_t size;
    assert_ok(attend_lines_open(&l, path));
    for (uint64_t i = 1; *lines; lines++, i++) {
        assert_ok(attend_lines_next(l, &text, &size));
        assert_non_null(text);
        assert_string_equal(text, *lines);
        assert_int_equal(size, strlen(*lines));
        assert_int_equal(attend_lines_number(l), i);
    }
    for (int again = 0; again < 2; again++) {
        assert_ok(attend_lines_next(l, &text, &size));
        assert_null(text);
    }
    attend_lines_close(l);
}

/* Reads until a failure; returns its status and the number of lines before it. */
static int read_all(const char *path, uint64_t *good)
{
    attend_lines *l = NULL;
    const char *text = "";
    size_t size;
    int status = attend_lines_open(&l, path);
    *good = 0;
    while (status == ATTEND_OK && text) {
        status = attend_lines_next(l, &text, &size);
        *good += status == ATTEND_OK && text;
    }
    attend_lines_close(l);
    return status;
}

static void assert_fails(const char *path, int status, uint64_t good, const char *word, const char *another)
{
    uint64_t is;
    assert_int_equal(read_all(path, &is), status);
    assert_int_equal(is, good);
    if (!strstr(attend_message(), word) || !strstr(attend_message(), another))
        fail_msg("'%s' should hold '%s' and '%s'", attend_message(), word, another);
}

static void test_endings(void **state)
{
    (void)state;
    static const char *const abc[] = { "a", "", "b c", NULL }, *const one[] = { "a", NULL }, *const none[] = { NULL },
                             *const empty[] = { "", NULL }, *const lone[] = { "a\rb", "c\r", NULL },
                             *const mark[] = { "\xef\xbb\xbf", NULL };
    assert_lines(text_file("t", "a\n\nb c\n"), abc);
    assert_lines(text_file("t", "a\n\nb c"), abc);
    assert_lines(text_file("t", "a\r\n\r\nb c\r\n"), abc);
    assert_lines(text_file("t", "\xef\xbb\xbf"
                                "a\r\n\r\nb c\r"),
                 abc);
    assert_lines(text_file("t", "a"), one);
    assert_lines(text_file("t", ""), none);
    assert_lines(text_file("t", "\n"), empty);
    assert_lines(text_file("t", "\xef\xbb\xbf"), none);
    assert_lines(text_file("t", "a\rb\nc\r\r\n"), lone); /* one CR belongs to the line end, others to the line */
    assert_lines(text_file("t", "\xef\xbb\xbf\xef\xbb\xbf\n"), mark);
}

static void test_gzip(void **state)
{
    (void)state;
    static const char *const abc[] = { "a", "b", "c", NULL };
    unsigned char bytes[512];
    size_t size = gzip_bytes(bytes, sizeof bytes,
                             "\xef\xbb\xbf"
                             "a\r\nb\n",
                             8);
    size += gzip_bytes(bytes + size, sizeof bytes - size, "c", 1); /* two members */
    const char *path = in_folder("t.gz");
    put_file(path, bytes, size);
    assert_lines(path, abc);
    put_file(in_folder("not-called-gz"), bytes, size);
    assert_lines(in_folder("not-called-gz"), abc);
    memset(bytes + size, 0, 100); /* zero padding */
    put_file(path, bytes, size + 100);
    assert_lines(path, abc);
    bytes[size] = 'x';
    put_file(path, bytes, size + 1);
    assert_fails(path, ATTEND_BAD_DATA, 2, "t.gz:3: ", "followed by other bytes");
}

static void test_damaged_gzip(void **state)
{
    (void)state;
    enum { LINES = 1000, LENGTH = 8 };
    static char text[LINES * LENGTH + 1];
    static unsigned char bytes[sizeof text + 1024];
    for (int i = 0; i < LINES; i++) snprintf(text + i * LENGTH, LENGTH + 1, "%7d\n", i * 7919 % 999983);
    const size_t size = gzip_bytes(bytes, sizeof bytes, text, LINES * LENGTH);
    const char *path = in_folder("t.gz");
    uint64_t good, last = 0;
    for (size_t cut = 2; cut < size; cut += cut < 40 || cut + 40 > size ? 1 : 97) {
        char word[64];
        put_file(path, bytes, cut);
        assert_int_equal(read_all(path, &good), ATTEND_BAD_DATA);
        assert_true(good >= last && good <= LINES);
        snprintf(word, sizeof word, "t.gz:%d: ", (int)good + 1);
        assert_fails(path, ATTEND_BAD_DATA, good, word, "truncated");
        last = good;
    }
    bytes[size - 6] ^= 1; /* the checksum */
    put_file(path, bytes, size);
    assert_fails(path, ATTEND_BAD_DATA, LINES, "t.gz:1001: ", "damaged");
    bytes[size - 6] ^= 1;
    bytes[size / 2] ^= 0x55;
    put_file(path, bytes, size);
    assert_int_equal(read_all(path, &good), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "damaged"));
    put_file(path, "\x1f\x8bgarbage", 9);
    assert_fails(path, ATTEND_BAD_DATA, 0, "t.gz:1: ", "damaged");
    assert_fails(text_file("plain.gz", "plain\n"), ATTEND_BAD_DATA, 0, "plain.gz is not a gzip file", "rename it");
}

static void test_other_files(void **state)
{
    (void)state;
    assert_fails(in_folder("missing"), ATTEND_IO, 0, "missing", "No such file");
    assert_fails(folder, ATTEND_IO, 0, folder, "directory");
    assert_fails(text_file("t", "\xff\xfe"
                                "a"),
                 ATTEND_BAD_DATA, 0, "UTF-16", "iconv");
    assert_fails(text_file("t", "\xfd"
                                "7zXZ"),
                 ATTEND_BAD_DATA, 0, "xz", "unxz");
    assert_fails(text_file("t", "PK\3\4"), ATTEND_BAD_DATA, 0, "zip", "unzip");
    const char *path = text_file("secret", "a\n");
    chmod(path, 0);
    if (geteuid() != 0) assert_fails(path, ATTEND_IO, 0, "secret", "Permission denied");
}

/* Writes a file of a short line, one of `size` letters and a short line. */
static const char *long_line(size_t size, const char *ending)
{
    const char *path = in_folder("long");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    static char piece[1 << 16];
    memset(piece, 'x', sizeof piece);
    fputs("first\n", f);
    for (size_t left = size, now; left > 0; left -= now) {
        now = left < sizeof piece ? left : sizeof piece;
        assert_int_equal(fwrite(piece, 1, now, f), now);
    }
    fputs(ending, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void check_long(size_t size, const char *ending, bool fits, bool more)
{
    attend_lines *l = NULL;
    const char *text;
    size_t is;
    assert_ok(attend_lines_open(&l, long_line(size, ending)));
    assert_ok(attend_lines_next(l, &text, &is));
    assert_string_equal(text, "first");
    const int status = attend_lines_next(l, &text, &is);
    assert_int_equal(status, fits ? ATTEND_OK : ATTEND_BAD_DATA);
    if (fits) assert_int_equal(is, size);
    if (!fits) assert_non_null(strstr(attend_message(), "long:2: the line has more than 16 MiB"));
    assert_false(attend_lines_failed(l));
    assert_ok(attend_lines_next(l, &text, &is));
    assert_true(more == (text != NULL));
    if (more) assert_string_equal(text, "last");
    if (more) assert_int_equal(attend_lines_number(l), 3);
    attend_lines_close(l);
}

static void test_long_lines(void **state)
{
    (void)state;
    check_long(1000000, "\nlast\n", true, true);
    check_long(ATTEND_MAX_LINE_BYTES, "\r\nlast", true, true);
    check_long(ATTEND_MAX_LINE_BYTES, "", true, false);
    check_long(ATTEND_MAX_LINE_BYTES + 1, "\nlast\n", false, true);
    check_long(ATTEND_MAX_LINE_BYTES + 1, "", false, false);
    check_long(17 << 20, "\nlast\n", false, true);
    check_long(40 << 20, "\r\nlast\n", false, true);
}

/* Standard input, in chunks of any size. */
static void test_input(void **state)
{
    (void)state;
    static const char *const abc[] = { "ab", "c", NULL };
    const int kept = dup(STDIN_FILENO);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(write(ends[1],
                           "\xef\xbb\xbf"
                           "ab\r\nc",
                           8),
                     8);
    close(ends[0]);
    close(ends[1]);
    assert_lines("-", abc);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* not closed by the reader */
    dup2(kept, STDIN_FILENO);
    close(kept);
}

static void test_check(void **state)
{
    (void)state;
    size_t at = 99;
    assert_int_equal(attend_line_check("abc \xc3\xa9 \xf0\x9f\x98\x80", 11, &at), ATTEND_LINE_OK);
    assert_int_equal(attend_line_check("ab\0c", 4, &at), ATTEND_LINE_NUL);
    assert_int_equal(at, 2);
    static const char *const wrong[] = { "x\xff",         "x\xc3",         "x\xc0\x80",
                                         "x\xe0\x80\x80", "x\xed\xa0\x80", "x\xf4\x90\x80\x80",
                                         "x\x80",         "x\xe2\x82",     "x\xf5\x80\x80\x80" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(attend_line_check(wrong[i], strlen(wrong[i]), &at), ATTEND_LINE_NOT_UTF8);
        assert_int_equal(at, 1);
    }
}

static void test_memory(void **state)
{
    (void)state;
    static char text[300000];
    static unsigned char bytes[400000];
    memset(text, 'y', sizeof text);
    const char *const paths[2] = { in_folder("m"), in_folder("m.gz") };
    put_file(paths[0], text, sizeof text);
    put_file(paths[1], bytes, gzip_bytes(bytes, sizeof bytes, text, sizeof text));
    for (int i = 0; i < 2; i++) {
        uint64_t good;
        attend_memory_refuse(-1);
        assert_int_equal(read_all(paths[i], &good), ATTEND_OK);
        const long requests = attend_memory_requests();
        assert_true(requests > 4);
        for (long n = 1; n <= requests; n++) {
            attend_memory_refuse(n);
            assert_int_equal(read_all(paths[i], &good), ATTEND_NO_MEMORY);
            assert_non_null(strstr(attend_message(), "no memory"));
        }
        attend_memory_refuse(0);
    }
}

/* A pipe that is written slowly: the first line is available before the second is written, however short it is. */
static void test_slow_pipe(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    attend_lines *l = NULL;
    const char *text;
    size_t size;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "a\nb\nc", 5), 5);
    if (attend_lines_open(&l, path) != ATTEND_OK) { /* the system has no such path */
        close(ends[0]), close(ends[1]);
        skip_part("%s cannot be opened", path);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(attend_lines_wait(l, 0));
        assert_ok(attend_lines_next(l, &text, &size));
        assert_string_equal(text, i ? "b" : "a");
    }
    assert_false(attend_lines_wait(l, 0)); /* half a line */
    assert_int_equal(write(ends[1], "d\n", 2), 2);
    assert_true(attend_lines_wait(l, 0));
    assert_ok(attend_lines_next(l, &text, &size));
    assert_string_equal(text, "cd");
    assert_false(attend_lines_wait(l, 1));
    assert_int_equal(write(ends[1], "e", 1), 1);
    assert_false(attend_lines_wait(l, 5)); /* bytes can be read, but no line */
    assert_int_equal(write(ends[1], "f\ng", 3), 3);
    assert_true(attend_lines_wait(l, 0));
    assert_ok(attend_lines_next(l, &text, &size));
    assert_string_equal(text, "ef");
    assert_false(attend_lines_wait(l, 0));
    close(ends[1]);
    assert_true(attend_lines_wait(l, 0)); /* the end completes the last line */
    assert_ok(attend_lines_next(l, &text, &size));
    assert_string_equal(text, "g");
    assert_true(attend_lines_wait(l, 0)); /* the end can be read without blocking */
    assert_ok(attend_lines_next(l, &text, &size));
    assert_null(text);
    attend_lines_close(l);
    close(ends[0]);
}

/* gzip data through a slow pipe: lines are available as soon as their bytes are; so is the end of a member. */
static void test_slow_gzip(void **state)
{
    (void)state;
    int ends[2];
    char path[64];
    unsigned char bytes[256];
    attend_lines *l = NULL;
    const char *text;
    size_t size, length = gzip_bytes(bytes, sizeof bytes, "a\nb\n", 4);
    memset(bytes + length, 0, 8); /* padding */
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], bytes, length + 8), (ssize_t)length + 8);
    if (attend_lines_open(&l, path) != ATTEND_OK) {
        close(ends[0]), close(ends[1]);
        skip();
    }
    for (int i = 0; i < 2; i++) {
        assert_true(attend_lines_wait(l, 0));
        assert_ok(attend_lines_next(l, &text, &size));
        assert_string_equal(text, i ? "b" : "a");
    }
    assert_false(attend_lines_wait(l, 0));
    assert_int_equal(write(ends[1], "x", 1), 1); /* the second byte of a member decides */
    assert_false(attend_lines_wait(l, 0));
    close(ends[1]);
    assert_true(attend_lines_wait(l, 0));
    assert_int_equal(attend_lines_next(l, &text, &size), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "followed by other bytes"));
    attend_lines_close(l);
    close(ends[0]);
}

/* A pipe into which a child process writes one byte without end. */
static int endless_pipe(char byte, pid_t *child)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *child = fork();
    assert_true(*child >= 0);
    if (*child == 0) {
        static char block[1 << 16];
        memset(block, byte, sizeof block);
        close(ends[0]);
        signal(SIGPIPE, SIG_DFL);
        while (write(ends[1], block, sizeof block) > 0) {
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static void check_endless(char byte, bool wait, int opened, const char *why)
{
    pid_t child;
    char path[64];
    attend_lines *l = NULL;
    const char *text;
    size_t size;
    const int file = endless_pipe(byte, &child);
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    const int status = attend_lines_open(&l, path);
    if (opened == ATTEND_OK && status == ATTEND_OK) {
        if (wait) assert_true(attend_lines_wait(l, 60000)); /* until it fails */
        assert_int_equal(attend_lines_next(l, &text, &size), ATTEND_BAD_DATA);
        assert_true(attend_lines_failed(l));
    }
    if (!strstr(attend_message(), why)) fail_msg("'%s' is not in: %s", why, attend_message());
    attend_lines_close(l);
    close(file);
    waitpid(child, NULL, 0); /* SIGPIPE ends it */
}

static void test_endless(void **state)
{
    (void)state;
    attend_lines *l = NULL;
    const char *const devices[] = { "/dev/zero", "/dev/urandom", "/dev/full" };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (access(devices[i], R_OK) != 0) continue;
        assert_int_equal(attend_lines_open(&l, devices[i]), ATTEND_IO);
        assert_non_null(strstr(attend_message(), "it is a device"));
    }
    uint64_t good;
    assert_int_equal(read_all("/dev/null", &good), ATTEND_OK);
    assert_int_equal(good, 0);
    check_endless('x', false, ATTEND_OK, ":1: no line feed in 256 MiB");
    check_endless('x', true, ATTEND_OK, ":1: no line feed in 256 MiB");
    check_endless('\0', false, ATTEND_BAD_DATA, "begins with NUL bytes only");
}

static void test_limit(void **state)
{
    (void)state;
    attend_lines *l = NULL;
    const char *text;
    size_t size;
    char block[4096];
    memset(block, '\n', sizeof block);
    put_file(in_folder("feeds"), block, sizeof block);
    assert_ok(attend_lines_open(&l, in_folder("feeds")));
    attend_lines_set_limit(l, sizeof block);
    int count = 0;
    while (attend_lines_next(l, &text, &size) == ATTEND_OK && text) count++;
    assert_int_equal(count, sizeof block);
    assert_false(attend_lines_failed(l));
    attend_lines_close(l);
    assert_ok(attend_lines_open(&l, in_folder("feeds")));
    attend_lines_set_limit(l, sizeof block - 1);
    assert_true(attend_lines_wait(l, 0)); /* an error is available; it is reported by reading, with its own message */
    attend_fail(ATTEND_IO, "another message");
    assert_int_equal(attend_lines_next(l, &text, &size), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "feeds has more than 0 MiB of text"));
    assert_true(attend_lines_failed(l));
    assert_int_equal(attend_lines_next(l, &text, &size), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "after an earlier failure"));
    attend_lines_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_endings),      cmocka_unit_test(test_gzip),
                                        cmocka_unit_test(test_damaged_gzip), cmocka_unit_test(test_other_files),
                                        cmocka_unit_test(test_long_lines),   cmocka_unit_test(test_input),
                                        cmocka_unit_test(test_check),        cmocka_unit_test(test_memory),
                                        cmocka_unit_test(test_slow_pipe),    cmocka_unit_test(test_slow_gzip),
                                        cmocka_unit_test(test_endless),      cmocka_unit_test(test_limit) };
    return test_status(cmocka_run_group_tests(tests, folder_make, folder_remove));
}
