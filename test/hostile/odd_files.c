/* odd_files.c: a campaign (campaign.h) with files that a verb does not expect, for every option of every verb that names a
 * file, and for its arguments: directories, pipes, devices, sockets, links, files without permissions, empty, binary and
 * truncated ones, lines of megabytes, names that cannot be printed. A failure names the file or the option, and no file
 * changes but an output of the same kind. */
#define _DEFAULT_SOURCE /* usleep */
#include "hostile/option_list.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char long_name[301], long_path[6001];

static const char *const values[] = { "directory",
                                      "empty",
                                      "binary",
                                      "zeros",
                                      "line",
                                      "fields.tsv",
                                      "blank-lines",
                                      "one-column.tsv",
                                      "utf16",
                                      "cut.gz",
                                      "cut.model",
                                      "header.model",
                                      "numbers.json",
                                      "settings",
                                      "fifo",
                                      "socket",
                                      "loop",
                                      "dangling",
                                      "unreadable",
                                      "unreadable-directory/file",
                                      "read-only",
                                      "no/such/file",
                                      "pairs.tsv/file",
                                      "pairs.tsv",
                                      "input.txt",
                                      "rnn-bpe.model",
                                      "language-model.model",
                                      "stopped.model.checkpoint",
                                      "red\x1b[31m\x07",
                                      "not-utf8\xff.tsv",
                                      "percent%d%s%n",
                                      "",
                                      " ",
                                      "-",
                                      "--",
                                      ".",
                                      "..",
                                      "/",
                                      "/dev/null",
                                      "/dev/zero",
                                      "/dev/full",
                                      "/dev/urandom",
                                      "/dev/stdin",
                                      "/dev/stdout",
                                      "/dev/stderr",
                                      "/dev/fd/77",
                                      "/dev/tty",
                                      "/proc/self/mem",
                                      "/proc/self/cmdline",
                                      "/proc/self/fd",
                                      long_name,
                                      long_path };
enum { VALUES = sizeof values / sizeof *values };

/* ---- the files ---- */

static void write_repeated(const char *path, const char *text, size_t size, int count)
{
    FILE *f = fopen(path, "wb");
    for (int i = 0; f && i < count; i++) fwrite(text, 1, size, f);
    if (!f || fclose(f) != 0) fprintf(stderr, "%s: %s\n", path, strerror(errno)), exit(2);
}

static void write_random(const char *path, size_t size)
{
    char *bytes = malloc(size);
    uint64_t state = 1;
    for (size_t i = 0; bytes && i < size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (char)(state >> 56);
    }
    if (bytes) file_write(path, bytes, size);
    free(bytes);
}

static void write_beginning(const char *from, const char *to, size_t part)
{
    size_t size;
    char *bytes = file_read(from, &size);
    if (bytes) file_write(to, bytes, size / part);
    free(bytes);
}

static void make_socket(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s >= 0) bind(s, (struct sockaddr *)&address, sizeof address), close(s);
}

static void make_files(void)
{
    static const unsigned char gzip[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x54, 0xe4 };
    static const char header[] = "\xff\xff\xff\xff\xff\xff\xff\x7f{\"__metadata__\":{}}";
    static const char settings[] = "train pairs.tsv\nhidden 8\nupdates 1\nno-such-option 3\nmodel \xff\n";
    mkdir("directory", 0755);
    write_repeated("empty", "", 0, 0);
    write_random("binary", 20000);
    write_repeated("zeros", "\0", 1, 20000);
    write_repeated("line", "abc ", 4, 1 << 19);
    write_repeated("fields.tsv", "a\tb\tc\td\n", 8, 100);
    write_repeated("blank-lines", " \t \r\n", 5, 100);
    write_repeated("one-column.tsv", "a b c\n", 6, 100);
    write_repeated("utf16", "a\0\t\0b\0\n\0", 8, 100);
    file_write("cut.gz", gzip, sizeof gzip);
    write_beginning("rnn-bpe.model", "cut.model", 2);
    file_write("header.model", header, sizeof header - 1);
    write_repeated("numbers.json", "[1e999, -1, {\"a\": null}]\n", 25, 10);
    file_write("settings", settings, sizeof settings - 1);
    mkfifo("fifo", 0644);
    make_socket();
    if (symlink("loop", "loop") != 0 || symlink("nothing", "dangling") != 0) exit(2);
    file_copy("pairs.tsv", "unreadable"), chmod("unreadable", 0);
    mkdir("unreadable-directory", 0);
    file_copy("rnn-bpe.model", "read-only"), chmod("read-only", 0444);
    file_copy("pairs.tsv", "red\x1b[31m\x07");
    file_copy("pairs.tsv", "not-utf8\xff.tsv");
    file_copy("pairs.tsv", "percent%d%s%n");
}

/* ---- what must not change ---- */

static struct stat before[256];

static void remember(const campaign *c)
{
    for (int i = 0; i < c->kept_count; i++) lstat(c->kept[i], &before[i]);
}

static bool is_changed(const campaign *c, int i)
{
    struct stat now;
    const struct stat *b = &before[i];
    return lstat(c->kept[i], &now) != 0 || now.st_ino != b->st_ino || (now.st_mode & S_IFMT) != (b->st_mode & S_IFMT) ||
           (S_ISREG(b->st_mode) && (now.st_size != b->st_size || now.st_mtim.tv_sec != b->st_mtim.tv_sec ||
                                    now.st_mtim.tv_nsec != b->st_mtim.tv_nsec));
}

static bool is_one_of(const char *name, const char *const names[])
{
    while (*names && strcmp(name, *names) != 0) names++;
    return *names != NULL;
}

/* Whether the output of a run may replace this file: a text is replaced by text, a model by a model, an empty file by
 * anything, and a file without write permission by nothing. */
static bool may_be_replaced(const run *r, const listed_option *o, const char *value)
{
    static const char *const
        texts[] = { "line",      "fields.tsv", "blank-lines",     "one-column.tsv",   "numbers.json",  "settings",
                    "pairs.tsv", "input.txt",  "red\x1b[31m\x07", "not-utf8\xff.tsv", "percent%d%s%n", NULL },
        *const models[] = { "rnn-bpe.model", "language-model.model", NULL }, *const outputs[] = { "output",     "plot",
                                                                                                  "log",        "save",
                                                                                                  "dictionary", NULL };
    const bool is_trained = strcmp(o->verb, "train") == 0 && strcmp(o->name, "model") == 0;
    if (strcmp(o->name, "listen") == 0) return strcmp(value, "socket") == 0; /* which no process has open */
    if (strcmp(value, "empty") == 0) return is_trained || is_one_of(o->name, outputs);
    if (strcmp(o->name, "dictionary") == 0) return strcmp(o->verb, "align") == 0 && is_one_of(value, texts);
    if (strcmp(o->name, "output") != 0) return false;
    bool writes_text = strcmp(o->verb, "translate") == 0 || strcmp(o->verb, "evaluate") == 0;
    if (strcmp(o->verb, "show") == 0) writes_text = !is_one_of("--format", r->arguments);
    if (writes_text) return is_one_of(value, texts);
    return strcmp(o->verb, "convert") == 0 && is_one_of(value, models);
}

/* Only an output may be another file than before, if it may be replaced; it is made again. */
static void check_files(campaign *c, const run *r, const listed_option *o, const char *value)
{
    bool any = false;
    for (int i = 0; i < c->kept_count; i++) {
        if (!is_changed(c, i)) continue;
        any = true;
        if (!(may_be_replaced(r, o, value) && strcmp(c->kept[i], value) == 0))
            campaign_fault(c, r, "the file %s changed", c->kept[i]);
    }
    campaign_clean(c);
    if (!any) return;
    for (int i = 0; i < c->kept_count; i++) {
        char path[8192];
        file_remove(c->kept[i]);
        snprintf(path, sizeof path, "%s/%s", c->data, c->kept[i]);
        if (access(path, R_OK) == 0) file_copy(path, c->kept[i]);
    }
    make_files();
    remember(c);
}

/* ---- runs ---- */

/* Writes pairs into the pipe whenever something reads it. */
static pid_t start_writer(void)
{
    const pid_t child = fork();
    if (child != 0) return child;
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        const int f = open("fifo", O_WRONLY);
        if (f < 0) _exit(0);
        if (write(f, "a b\tc d\n", 8) < 0) usleep(1000);
        close(f);
        usleep(1000);
    }
}

/* What precedes the name of a file in the value of an option. */
static const char *prefix_of(const listed_option *o)
{
    if (strstr(o->argument, "=FILE")) return "en-fr=";
    return strcmp(o->argument, "ADDRESS") == 0 ? "unix:" : "";
}

static bool names_file(const listed_option *o)
{
    return !*o->name || *prefix_of(o) || strstr(o->argument, "FILE") || strstr(o->argument, "PAIRS") ||
           strstr(o->argument, "DIRECTORY");
}

/* The value as messages show it: its beginning, up to a character that is escaped. */
static bool is_named(const char *printed, const char *value)
{
    char part[40];
    size_t length = 0;
    while (value[length] > ' ' && value[length] <= '~' && length < sizeof part - 1)
        part[length] = value[length], length++;
    part[length] = '\0';
    return strstr(printed, part) || (strstr(value, "/dev/std") && strstr(printed, "standard ")) ||
           (strcmp(value, "-") == 0 && strstr(printed, "standard "));
}

/* The report of attend check is on standard output. An argument may be a sentence. A file may be what it has to be, and
 * not go with another option, which the message then names. */
static bool must_be_named(const listed_option *o, const run *r)
{
    if (strcmp(o->verb, "check") == 0) return false;
    if (!*o->name) return r->status != 2 && (strcmp(o->verb, "info") == 0 || strcmp(o->verb, "convert") == 0);
    return r->status != 2 || !strstr(r->printed, "--");
}

static void try_one(campaign *c, const listed_option *o, const char *value)
{
    static run r;
    static char given[sizeof long_path + 16];
    char name[80];
    option_list_base(c, &r, o);
    snprintf(name, sizeof name, "--%s", o->name);
    snprintf(given, sizeof given, "%s%s", prefix_of(o), value);
    if (*o->name) run_add(&r, name, NULL);
    run_add(&r, given, NULL);
    r.input = "pairs.tsv";
    const bool waits = strcmp(value, "fifo") == 0, serves = strcmp(o->verb, "serve") == 0;
    r.limit = waits ? 5 : serves ? 2 : 60;
    r.may_be_stopped = waits || serves; /* an output into a pipe that nothing reads; a server */
    const pid_t writer = waits ? start_writer() : 0;
    campaign_run(c, &r);
    if (writer > 0) kill(writer, SIGKILL), waitpid(writer, NULL, 0);
    if (r.status >= 2 && r.status <= 5 && must_be_named(o, &r) && !is_named(r.printed, value) &&
        !(*o->name && strstr(r.printed, o->name)))
        campaign_fault(c, &r, "the message names neither the file nor the option");
    check_files(c, &r, o, value);
}

int main(int argc, char **argv)
{
    static campaign c;
    static option_list list, files;
    campaign_begin(&c, argc, argv);
    memset(long_name, 'n', sizeof long_name - 1);
    for (size_t i = 0; i + 1 < sizeof long_path; i++) long_path[i] = i % 100 ? 'p' : '/';
    option_list_read(&list, &c);
    for (int i = 0; i < list.count; i++)
        if (names_file(&list.items[i])) files.items[files.count++] = list.items[i];
    make_files();
    campaign_clean(&c); /* keeps what is there */
    remember(&c);
    const listed_option *o;
    int value;
    for (long i = c.only >= 0 ? c.only : 0; option_list_pick(&files, &c, i, VALUES, &o, &value); i++) {
        if (!campaign_case(&c, i)) break;
        campaign_cover(&c, "options that name a file", o - files.items, files.count);
        try_one(&c, o, values[value]);
        campaign_case_end(&c);
        if (c.only >= 0) break;
    }
    return campaign_end(&c);
}
