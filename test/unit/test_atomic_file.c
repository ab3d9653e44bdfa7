/* At every moment the path holds the complete old content or the complete new content. */
#include "core/memory.h"
#include "core/atomic_file.h"
#include "support/folder.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char old_text[] = "the old content";
static const char *const pieces[] = { "the new ", "content, ", "which is longer" };
static const char new_text[] = "the new content, which is longer";

static int replace(const char *path)
{
    attend_atomic_file *r = NULL;
    int status = attend_atomic_file_begin(&r, path, sizeof new_text - 1);
    for (size_t i = 0; status == ATTEND_OK && i < 3; i++)
        status = attend_atomic_file_write(r, pieces[i], strlen(pieces[i]));
    if (status == ATTEND_OK) return attend_atomic_file_commit(r);
    attend_atomic_file_abandon(r);
    return status;
}

static void assert_holds(const char *path, const char *text)
{
    char *is = get_file(path, NULL);
    assert_non_null(is);
    assert_string_equal(is, text);
    free(is);
}

/* Fails with a message that contains both texts, and leaves no file. */
static void assert_refused(const char *path, const char *text, const char *other)
{
    int temporaries, before = folder_count(NULL, 0);
    int status = replace(path);
    if (status != ATTEND_IO) fail_msg("%s: status %d", path, status);
    if (!strstr(attend_message(), text) || !strstr(attend_message(), other))
        fail_msg("the message '%s' does not contain '%s' and '%s'", attend_message(), text, other);
    assert_int_equal(folder_count(&temporaries, 0), before);
    assert_int_equal(temporaries, 0);
}

static mode_t mode_of(const char *path)
{
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return s.st_mode & 0777;
}

static void test_new_and_old(void **state)
{
    (void)state;
    const char *path = in_folder("new");
    umask(027);
    assert_ok(replace(path));
    umask(022);
    assert_holds(path, new_text);
    assert_int_equal(mode_of(path), 0640);
    put_file(path, old_text, sizeof old_text - 1);
    chmod(path, 0604);
    assert_ok(replace(path));
    assert_holds(path, new_text);
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(folder_count(NULL, 0), 1);
}

static void test_abandon(void **state)
{
    (void)state;
    const char *path = in_folder("abandoned");
    put_file(path, old_text, sizeof old_text - 1);
    attend_atomic_file *r = NULL;
    assert_ok(attend_atomic_file_begin(&r, path, 0));
    assert_ok(attend_atomic_file_write(r, "x", 1));
    assert_ok(attend_atomic_file_write(r, NULL, 0));
    int temporaries;
    folder_count(&temporaries, 0);
    assert_int_equal(temporaries, 1);
    attend_atomic_file_abandon(r);
    attend_atomic_file_abandon(NULL);
    assert_holds(path, old_text);
    assert_int_equal(folder_count(NULL, 0), 1);
}

static void test_here(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    assert_ok(replace("plain"));
    assert_holds("plain", new_text);
    assert_int_equal(chdir(before), 0);
    assert_refused("/attend-no-such-folder/x", "directory /attend-no-such-folder does not exist", "create it first");
}

static void test_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("inner"), 0755), 0);
    put_file(in_folder("inner/target"), old_text, sizeof old_text - 1);
    assert_int_equal(symlink("inner/target", in_folder("relative")), 0);
    assert_int_equal(symlink(in_folder("relative"), in_folder("absolute")), 0);
    assert_ok(replace(in_folder("absolute")));
    assert_holds(in_folder("inner/target"), new_text);
    struct stat s;
    assert_int_equal(lstat(in_folder("absolute"), &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(lstat(in_folder("relative"), &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    /* a target that does not exist yet */
    assert_int_equal(unlink(in_folder("inner/target")), 0);
    assert_ok(replace(in_folder("relative")));
    assert_holds(in_folder("inner/target"), new_text);
    assert_int_equal(unlink(in_folder("inner/target")), 0);
    /* a loop */
    assert_int_equal(symlink("b", in_folder("a")), 0);
    assert_int_equal(symlink("a", in_folder("b")), 0);
    assert_refused(in_folder("a"), "cannot write", "links");
}

static void test_invalid_paths(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("folder"), 0755), 0);
    put_file(in_folder("file"), old_text, sizeof old_text - 1);
    assert_refused(in_folder("folder"), "is a directory", "name a file in it");
    assert_refused(in_folder("folder/"), "is a directory", "name a file in it");
    assert_refused(folder, "is a directory", "name a file in it");
    assert_refused(".", "is a directory", "");
    assert_refused("/", "is a directory", "");
    assert_refused("", "path is empty", "");
    assert_refused(in_folder("missing/x"), "does not exist", "create it first");
    assert_refused(in_folder("file/x"), "is not a directory", "file");
    assert_refused("/dev/null", "device", "");
    assert_refused("/proc/attend", "cannot create a file in its directory", "/proc/attend");
    char name[300], path[5000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_refused(in_folder(name), "name too long", "");
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_refused(path, "name too long", "pppp");
    name[255] = '\0'; /* the maximum length of a name: that of the temporary file must not be longer */
    assert_ok(replace(in_folder(name)));
    assert_holds(in_folder(name), new_text);
}

static void test_read_only_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("locked"), 0555), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t child = fork();
    if (child == 0) { /* without the rights of root, who may write anywhere */
        if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
        int status = replace(in_folder("locked/x"));
        _exit(status == ATTEND_IO && strstr(attend_message(), "Permission denied") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Every call fails in turn, with and without an old file. */
static void test_every_call_fails(void **state)
{
    const char *path = in_folder("every");
    const int errors[] = { ENOSPC, EIO, EDQUOT, EROFS };
    long calls = 0;
    (void)state;
    for (int existed = 0; existed < 2; existed++) {
        if (existed) put_file(path, old_text, sizeof old_text - 1);
        attend_atomic_file_inject_fault(-1, 0, NULL);
        assert_ok(replace(path));
        calls = attend_atomic_file_calls();
        /* create, (permissions,) write three times, flush, close, rename, flush the directory */
        assert_int_equal(calls, 8 + existed);
        for (long n = 1; n <= calls; n++)
            for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
                if (existed)
                    put_file(path, old_text, sizeof old_text - 1);
                else
                    unlink(path);
                attend_atomic_file_inject_fault(n, errors[e], NULL);
                int status = replace(path), temporaries;
                attend_atomic_file_inject_fault(0, 0, NULL);
                if (status != ATTEND_IO) fail_msg("call %ld failed, and the status is %d", n, status);
                assert_non_null(strstr(attend_message(), strerror(errors[e])));
                assert_non_null(strstr(attend_message(), path));
                folder_count(&temporaries, 0);
                assert_int_equal(temporaries, 0);
                if (n == calls) { /* the file is in place already */
                    assert_holds(path, new_text);
                    assert_non_null(strstr(attend_message(), "power failure"));
                } else if (existed) {
                    assert_holds(path, old_text);
                    if (n > 1) assert_non_null(strstr(attend_message(), "the old file is unchanged"));
                } else {
                    assert_int_equal(access(path, F_OK), -1);
                }
            }
    }
    printf("%ld calls, %zu errors each\n", 2 * calls - 1, sizeof errors / sizeof *errors);
}

/* Not failures: interruptions, partial writes, a file system that cannot flush directories. */
static void test_every_call_is_interrupted(void **state)
{
    const char *path = in_folder("falters");
    (void)state;
    for (long n = 1; n <= 9; n++) {
        put_file(path, old_text, sizeof old_text - 1);
        attend_atomic_file_inject_fault(n, ATTEND_SHORT_WRITE, NULL);
        assert_ok(replace(path));
        assert_holds(path, new_text);
        if (n == 2 || n == 8) continue; /* chmod and rename are not interrupted */
        put_file(path, old_text, sizeof old_text - 1);
        attend_atomic_file_inject_fault(n, EINTR, NULL);
        assert_ok(replace(path));
        assert_holds(path, new_text);
    }
    attend_atomic_file_inject_fault(9, EINVAL, NULL);
    assert_ok(replace(path));
    attend_atomic_file_inject_fault(0, 0, NULL);
    assert_int_equal(folder_count(NULL, 0), 1);
}

static void die(void)
{
    _exit(42);
}

/* The process is killed before every call. */
static void test_killed_at_every_call(void **state)
{
    const char *path = in_folder("killed");
    (void)state;
    for (long n = 1; n <= 9; n++) {
        put_file(path, old_text, sizeof old_text - 1);
        pid_t child = fork();
        if (child == 0) {
            attend_atomic_file_inject_fault(n, 0, die);
            _exit(replace(path) == ATTEND_OK ? 0 : 1);
        }
        int status, temporaries;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 42);
        assert_holds(path, n <= 8 ? old_text : new_text); /* the eighth is the rename */
        folder_count(&temporaries, 1);
        assert_int_equal(temporaries, n >= 2 && n <= 8);
        assert_ok(replace(path)); /* the next replacement works */
        assert_holds(path, new_text);
    }
}

/* A full disk, simulated by a limit of the file size and by an injected ENOSPC. */
static void test_full_disk(void **state)
{
    (void)state;
    const char *path = in_folder("full");
    put_file(path, old_text, sizeof old_text - 1);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = { 20, 20 };
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
        int status = replace(path);
        _exit(status == ATTEND_IO && strstr(attend_message(), "File too large while writing (20 of 32 bytes written)")
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_holds(path, old_text);
    assert_int_equal(folder_count(NULL, 0), 1);
    attend_atomic_file_inject_fault(5, ENOSPC, NULL);
    assert_int_equal(replace(path), ATTEND_IO);
    attend_atomic_file_inject_fault(0, 0, NULL);
    assert_non_null(strstr(attend_message(),
                           "No space left on device while writing (17 of 32 bytes written); the old file "
                           "is unchanged; free some space and try again"));
}

static void test_no_memory(void **state)
{
    (void)state;
    attend_memory_refuse(1);
    assert_int_equal(replace(in_folder("memory")), ATTEND_NO_MEMORY);
    attend_memory_refuse(0);
    assert_int_equal(folder_count(NULL, 0), 0);
}

/* Two writers and a reader: the reader sees one of the two contents, never a mixture or nothing. */
enum { LENGTH = 50000, ROUNDS = 60 };

static int write_letter(const char *path, char letter)
{
    static char text[LENGTH];
    memset(text, letter, LENGTH);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < ROUNDS; i++) {
        attend_atomic_file *r = NULL;
        status = attend_atomic_file_begin(&r, path, 0);
        for (int part = 0; status == ATTEND_OK && part < 5; part++)
            status = attend_atomic_file_write(r, text + part * (LENGTH / 5), LENGTH / 5);
        if (status == ATTEND_OK) status = attend_atomic_file_commit(r);
    }
    return status;
}

static void test_two_writers(void **state)
{
    (void)state;
    const char *path = in_folder("shared");
    for (int i = 0; i < 2; i++)
        if (fork() == 0) _exit(write_letter(path, "ab"[i]));
    for (int ended = 0, seen = 0; ended < 2;) {
        size_t size = 0;
        char *text = get_file(path, &size);
        assert_true(text || !seen);
        if (text) {
            seen = 1;
            assert_int_equal(size, LENGTH);
            for (size_t i = 1; i < size; i++)
                if (text[i] != text[0]) fail_msg("byte %zu is '%c' among '%c'", i, text[i], text[0]);
        }
        free(text);
        int status;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            ended++;
        }
    }
    assert_int_equal(folder_count(NULL, 0), 1);
}

/* Stale temporary files are removed; files with similar names stay. */
static void removes_only_stale_files(void **state)
{
    (void)state;
    static const char *const gone[] = { ".m.abc123.tmp", ".m.zzzzzz.tmp" },
                             *const numbered[] = { ".m.update-7.abc123.tmp", ".m.update-12.000000.tmp" },
                             *const kept[] = { ".m.abc12.tmp",          ".m.abc1234.tmp",
                                               ".m.ABC123.tmp",         ".n.abc123.tmp",
                                               "m.abc123.tmp",          ".m.abc123.tm",
                                               ".m.small.abc123.tmp",   ".m.abc123.tmp2",
                                               ".m.update-.abc123.tmp", "m" };
    for (size_t i = 0; i < 2; i++) put_file(in_folder(gone[i]), "x", 1), put_file(in_folder(numbered[i]), "x", 1);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) put_file(in_folder(kept[i]), "x", 1);
    assert_int_equal(symlink("m", in_folder(".m.link00.tmp")), 0);
    assert_int_equal(mkdir(in_folder(".m.folder.tmp"), 0700), 0);
    attend_atomic_file_remove_stale(in_folder("m"), false);
    for (size_t i = 0; i < 2; i++) assert_int_equal(access(in_folder(gone[i]), F_OK), -1);
    for (size_t i = 0; i < 2; i++) assert_int_equal(access(in_folder(numbered[i]), F_OK), 0);
    attend_atomic_file_remove_stale(in_folder("m.update-"), true);
    for (size_t i = 0; i < 2; i++) assert_int_equal(access(in_folder(numbered[i]), F_OK), -1);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(access(in_folder(kept[i]), F_OK), 0);
        unlink(in_folder(kept[i]));
    }
    assert_int_equal(unlink(in_folder(".m.link00.tmp")), 0); /* links are not removed */
    assert_int_equal(rmdir(in_folder(".m.folder.tmp")), 0);
    attend_atomic_file_remove_stale(in_folder("no/such/folder"), false);
    attend_atomic_file_remove_stale("", false);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(removes_only_stale_files),
        IN_FOLDER(test_new_and_old),
        IN_FOLDER(test_abandon),
        IN_FOLDER(test_here),
        IN_FOLDER(test_links),
        IN_FOLDER(test_invalid_paths),
        IN_FOLDER(test_read_only_folder),
        IN_FOLDER(test_every_call_fails),
        IN_FOLDER(test_every_call_is_interrupted),
        IN_FOLDER(test_killed_at_every_call),
        IN_FOLDER(test_full_disk),
        IN_FOLDER(test_no_memory),
        IN_FOLDER(test_two_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
