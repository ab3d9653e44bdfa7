/* conformance_onnx.c: runs the node cases of the ONNX backend tests on attend.
 *
 *     conformance_onnx [--if-present] DIR
 *
 * Exit status: 0 no case failed, 1 a case failed, 2 no case was found. */
#include "case.h"
#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: conformance_onnx [--if-present] DIR\n"
    "\n"
    "Runs each ONNX node case under DIR (directories with model.onnx and test_data_set_0), or the one that DIR is,\n"
    "and compares its outputs with those expected. A line a case: ok, FAIL with the first difference, or skip\n"
    "with the reason.\n"
    "\n"
    "  --if-present   exit with 77 if DIR does not exist\n"
    "  --help         this text\n"
    "\n"
    "exit: 0 no case failed, 1 some did, 2 wrong usage, DIR cannot be read or holds no case\n";

enum { EXIT_NO_FAILURE = 0, EXIT_CASES_FAILED = 1, EXIT_NOTHING_RUN = 2, EXIT_SKIPPED = 77 };

/* ---- the directories of cases ---- */

typedef struct names {
    char **at;
    size_t count;
} names;

static void names_free(names *n)
{
    for (size_t i = 0; i < n->count; i++) free(n->at[i]);
    free(n->at);
}

static bool names_add(names *n, const char *name)
{
    char **larger = realloc(n->at, (n->count + 1) * sizeof *larger);
    if (larger == NULL) return false;
    n->at = larger;
    n->at[n->count] = strdup(name);
    if (n->at[n->count] == NULL) return false;
    n->count++;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds an entry of `directory` to the list if it is a case. */
static bool names_consider(names *n, const char *directory, const char *entry)
{
    if (strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0) return true;
    char *path = case_path(directory, entry);
    if (path == NULL) return false;
    bool fine = !case_exists(path) || names_add(n, entry);
    free(path);
    return fine;
}

/* 0, or an errno. */
static int names_find(names *n, const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) return errno;
    int error = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            error = errno;
            break;
        }
        if (!names_consider(n, directory, entry->d_name)) {
            error = ENOMEM;
            break;
        }
    }
    closedir(dir);
    if (n->count > 0) qsort(n->at, n->count, sizeof *n->at, by_name);
    return error;
}

/* ---- running the cases ---- */

typedef struct tally {
    size_t count[3]; /* by CASE_OK, CASE_FAILED, CASE_SKIPPED */
} tally;

/* Prints text from a file as printable ASCII. */
static void print_plain(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) putchar(*c >= 0x20 && *c < 0x7f ? *c : '?');
}

static void run_one(const char *directory, const char *name, tally *t)
{
    static const char *const words[] = { "ok   ", "FAIL ", "skip " };
    char message[MESSAGE_SIZE] = "";
    int status = case_run(directory, message);
    t->count[status]++;
    fputs(words[status], stdout);
    print_plain(name);
    if (status != CASE_OK) {
        fputs(": ", stdout);
        print_plain(message);
    }
    putchar('\n');
    fflush(stdout);
}

/* The last component of a path, without trailing slashes; changes `path`. */
static const char *last_part(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') path[--length] = '\0';
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static int run_all(const char *directory, const names *n, tally *t)
{
    for (size_t i = 0; i < n->count; i++) {
        char *path = case_path(directory, n->at[i]);
        if (path == NULL) return fprintf(stderr, "conformance_onnx: no memory\n"), EXIT_NOTHING_RUN;
        run_one(path, n->at[i], t);
        free(path);
    }
    return EXIT_NO_FAILURE;
}

static int run_single(char *directory, tally *t)
{
    const char *name = last_part(directory);
    run_one(directory, name, t);
    return EXIT_NO_FAILURE;
}

static int run_directory(char *directory, tally *t)
{
    names n = { NULL, 0 };
    int error = names_find(&n, directory);
    int status = EXIT_NOTHING_RUN;
    if (error != 0)
        fprintf(stderr, "conformance_onnx: %s: %s\n", directory, strerror(error));
    else if (case_exists(directory))
        status = run_single(directory, t);
    else if (n.count == 0)
        fprintf(stderr, "conformance_onnx: %s: no cases (directories with model.onnx) in it\n", directory);
    else
        status = run_all(directory, &n, t);
    names_free(&n);
    return status;
}

int main(int argc, char **argv)
{
    bool if_present = false;
    char *directory = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return fputs(usage, stdout) < 0 ? EXIT_NOTHING_RUN : EXIT_NO_FAILURE;
        if (strcmp(argv[i], "--if-present") == 0) {
            if_present = true;
        } else if (argv[i][0] == '-' || argv[i][0] == '\0' || directory != NULL) {
            fprintf(stderr, "conformance_onnx: unexpected '%s'\n%s", argv[i], usage);
            return EXIT_NOTHING_RUN;
        } else {
            directory = argv[i];
        }
    }
    if (directory == NULL) return fprintf(stderr, "conformance_onnx: no DIR given\n%s", usage), EXIT_NOTHING_RUN;
    struct stat info;
    if (if_present && stat(directory, &info) != 0 && errno == ENOENT) {
        printf("skipped: no conformance cases at %s\n", directory);
        return EXIT_SKIPPED;
    }
    tally t = { { 0 } };
    int status = run_directory(directory, &t);
    if (status != EXIT_NO_FAILURE) return status;
    printf("%zu passed, %zu failed, %zu skipped\n", t.count[CASE_OK], t.count[CASE_FAILED], t.count[CASE_SKIPPED]);
    if (fflush(stdout) != 0 || ferror(stdout)) return EXIT_NOTHING_RUN;
    return t.count[CASE_FAILED] > 0 ? EXIT_CASES_FAILED : EXIT_NO_FAILURE;
}
