/* campaign.c: running the command in a campaign; see campaign.h. */
#define _GNU_SOURCE /* nftw, setgroups */
#include "hostile/campaign.h"

#include <attend/aligner.h>
#include <attend/model.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/attend-hostile-XXXXXX";
static char executable[4096];  /* the command, or a copy that every user can run */
enum { UNPRIVILEGED = 65534 }; /* the user of runs if this one is root */
static bool drops_root;
enum { MAX_REPORTED = 20 };
static char home[4096], program[4096]; /* of the campaign itself, for the command that repeats a case */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    if (strstr(folder, "XXXXXX") == NULL && chdir("/") == 0) file_remove(folder);
    exit(2);
}

/* ---- files ---- */

char *file_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    *size = 0;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0) {
        const long end = ftell(f);
        rewind(f);
        bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
        if (bytes) *size = fread(bytes, 1, (size_t)end, f);
        if (bytes) bytes[*size] = '\0';
    }
    fclose(f);
    return bytes;
}

void file_write(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0) give_up(path);
}

void file_copy(const char *from, const char *to)
{
    size_t size;
    char *bytes = file_read(from, &size);
    if (!bytes) give_up(from);
    file_write(to, bytes, size);
    free(bytes);
}

static int remove_one(const char *path, const struct stat *of_file, int kind, struct FTW *place)
{
    (void)of_file, (void)kind, (void)place;
    return remove(path);
}

void file_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_data(const char *from)
{
    DIR *d = opendir(from);
    char path[8192];
    if (!d) give_up(from);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", from, e->d_name);
        if (e->d_name[0] != '.') file_copy(path, e->d_name);
    }
    closedir(d);
}

/* ---- cases ---- */

static bool become_nobody(void)
{
    return setgroups(0, NULL) == 0 && setgid(UNPRIVILEGED) == 0 && setuid(UNPRIVILEGED) == 0;
}

/* False in a container that has one user. */
static bool can_drop_root(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) _exit(become_nobody() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void campaign_begin(campaign *c, int argc, char **argv)
{
    static char attend[4096];
    if (argc < 5 || argc > 6 || !realpath(argv[1], attend) || !realpath(argv[2], c->data)) {
        fprintf(stderr, "usage: %s ATTEND DATA SEED SECONDS [CASE]\n", argv[0]);
        exit(2);
    }
    const char *slash = strrchr(argv[0], '/');
    c->name = slash ? slash + 1 : argv[0];
    c->attend = attend;
    c->seed = strtoull(argv[3], NULL, 10);
    c->seconds = strtod(argv[4], NULL);
    c->only = argc > 5 ? strtol(argv[5], NULL, 10) : -1;
    c->min_cases = 10;
    c->began = now();
    c->tried = c->held = 0;
    memset(c->ended, 0, sizeof c->ended);
    if (!getcwd(home, sizeof home) || !realpath(argv[0], program) || !mkdtemp(folder) || chdir(folder) != 0)
        give_up("a temporary directory");
    copy_data(c->data);
    drops_root = geteuid() == 0 && can_drop_root();
    if (drops_root) {
        snprintf(executable, sizeof executable, "%s.attend", folder);
        file_copy(c->attend, executable);
        if (chmod(executable, 0755) != 0) give_up(executable);
    } else {
        snprintf(executable, sizeof executable, "%s", c->attend);
    }
    signal(SIGPIPE, SIG_IGN);
    setenv("ASAN_OPTIONS", "exitcode=99:allocator_may_return_null=1:abort_on_error=0", 0);
    setenv("UBSAN_OPTIONS", "print_stacktrace=1", 0);
}

bool campaign_case(campaign *c, long number)
{
    if (c->only >= 0 ? number != c->only : c->tried >= c->min_cases && now() - c->began > c->seconds) return false;
    c->number = number;
    c->random = c->seed * 0x9e3779b97f4a7c15u + (uint64_t)number * 0xd1342543de82ef95u + 1;
    for (int i = 0; i < 4; i++) campaign_random(c, 2);
    c->faulty = false;
    c->is_in_case = true;
    return true;
}

void campaign_case_end(campaign *c)
{
    c->tried++;
    c->held += !c->faulty;
    c->is_in_case = false;
}

void campaign_cover(campaign *c, const char *name, long item, long items)
{
    if (items > MAX_ITEMS || item < 0 || item >= items) give_up("MAX_ITEMS is too small");
    c->covered[item] = true;
    c->items = items;
    c->item_name = name;
}

long campaign_row(const campaign *c, long number, long cheap, long rows)
{
    const long row = number % rows, is_cheap = row < cheap;
    const long first = is_cheap ? 0 : cheap, count = is_cheap ? cheap : rows - cheap;
    return first + (long)(((uint64_t)(row - first) + c->seed % (uint64_t)count) % (uint64_t)count);
}

static void count_verb(campaign *c, const char *verb)
{
    struct verb_runs *v = c->verbs;
    while (v < c->verbs + MAX_VERBS - 1 && v->runs > 0 && strcmp(v->verb, verb) != 0) v++;
    snprintf(v->verb, sizeof v->verb, "%s", verb);
    v->runs++;
}

static void print_covered(const campaign *c)
{
    long covered = 0;
    for (long i = 0; i < c->items; i++) covered += c->covered[i];
    printf("%s: covered", c->name);
    if (c->items > 0) printf(" %ld of %ld %s;", covered, c->items, c->item_name);
    printf(" runs:");
    for (int i = 0; i < MAX_VERBS && c->verbs[i].runs > 0; i++)
        printf("%s %s %ld", i > 0 ? "," : "", c->verbs[i].verb, c->verbs[i].runs);
    printf("\n");
}

uint32_t campaign_random(campaign *c, uint32_t below)
{
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((c->random >> 33) % below);
}

/* Calls `visit` for each name in the directory. */
static void each_name(campaign *c, void (*visit)(campaign *c, const char *name))
{
    DIR *d = opendir(".");
    if (!d) give_up(folder);
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) visit(c, e->d_name);
    closedir(d);
}

static void keep(campaign *c, const char *name)
{
    if (c->kept_count == sizeof c->kept / sizeof *c->kept) give_up("too many files");
    c->kept[c->kept_count++] = strdup(name);
}

static void remove_unless_kept(campaign *c, const char *name)
{
    for (int i = 0; i < c->kept_count; i++)
        if (strcmp(c->kept[i], name) == 0) return;
    file_remove(name);
}

void campaign_clean(campaign *c)
{
    each_name(c, c->kept_count ? remove_unless_kept : keep);
}

int campaign_end(campaign *c)
{
    for (int i = 0; i < c->kept_count; i++) free(c->kept[i]);
    if (drops_root) file_remove(executable);
    if (chdir("/") == 0) file_remove(folder);
    print_covered(c);
    printf("%s: tried %ld, held %ld", c->name, c->tried, c->held);
    printf(" (exit status");
    for (int i = 0; i < 6; i++)
        if (c->ended[i]) printf(" %d: %ld", i, c->ended[i]);
    if (c->ended[6]) printf(" other: %ld", c->ended[6]);
    if (c->ended[7]) printf("; stopped after their time: %ld", c->ended[7]);
    printf(")");
    if (c->tried - c->held > MAX_REPORTED) printf("; the first %d faults are printed", MAX_REPORTED);
    printf("; seed %llu, %.0f s\n", (unsigned long long)c->seed, now() - c->began);
    return c->tried > 0 && c->held == c->tried ? 0 : 1;
}

/* ---- runs ---- */

void run_add(run *r, ...)
{
    va_list arguments;
    va_start(arguments, r);
    for (const char *a; (a = va_arg(arguments, const char *));)
        if (r->count + 1 < MAX_ARGUMENTS) r->arguments[r->count++] = a;
    va_end(arguments);
    r->arguments[r->count] = NULL;
}

void run_add_words(run *r, char *words)
{
    char *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) run_add(r, w, NULL);
}

/* Prints a word so that bash reads it back. */
static void print_word(const char *word)
{
    const size_t length = strlen(word);
    if (length > 0 &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+") == length) {
        printf(" %s", word);
        return;
    }
    printf(" $'");
    for (size_t i = 0; i < length && i < 200; i++) {
        const unsigned char b = (unsigned char)word[i];
        if (b < ' ' || b > '~' || b == '\'' || b == '\\')
            printf("\\x%02x", b);
        else
            putchar(b);
    }
    printf("'%s", length > 200 ? "(shortened)" : "");
}

void campaign_fault(campaign *c, const run *r, const char *format, ...)
{
    if (c->faulty) return;
    c->faulty = true;
    if (c->tried - c->held >= MAX_REPORTED) return;
    va_list arguments;
    va_start(arguments, format);
    printf("%s: case %ld: ", c->name, c->number);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n   ");
    for (int i = 0; i < r->count; i++) print_word(r->arguments[i]);
    if (r->input) printf(" <%s", r->input);
    const char *report = strstr(r->printed, "Sanitizer"), *error = strstr(r->printed, "runtime error:");
    const char *shown = report ? report : error ? error : r->printed;
    printf("\n    exit status %d, printed: %.3000s%s\n", r->status, shown, *shown ? "" : "(nothing)");
    printf("    to repeat it: (cd");
    print_word(home);
    printf(" &&");
    print_word(program);
    print_word(c->attend);
    print_word(c->data);
    printf(" %llu 0 %ld)\n", (unsigned long long)c->seed, c->number);
    fflush(stdout);
}

static void start(const campaign *c, const run *r, const int out[2], const int err[2])
{
    const char *argv[MAX_ARGUMENTS + 1] = { c->attend };
    memcpy(argv + 1, r->arguments, (size_t)(r->count + 1) * sizeof *argv);
    const int input = open(r->input ? r->input : "/dev/null", O_RDONLY);
    dup2(input, 0), dup2(out[1], 1), dup2(err[1], 2);
    for (int i = 3; i < 64; i++) close(i);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 256 << 20, 256 << 20 });
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    if (drops_root && !become_nobody()) _exit(126);
    execv(executable, (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* Reads what there is; false: the end. What does not fit is discarded. */
static bool drain(int from, char *text, size_t *size)
{
    char chunk[8192];
    const ssize_t count = read(from, chunk, sizeof chunk);
    if (count <= 0) return count < 0 && errno == EINTR;
    const size_t room = MAX_PRINTED - 1 - *size, kept = (size_t)count < room ? (size_t)count : room;
    memcpy(text + *size, chunk, kept);
    *size += kept;
    return true;
}

static double limit_of(const run *r)
{
    return r->limit > 0 ? r->limit : 60;
}

/* How much longer than alone a process takes on this machine now. */
static double slowness(void)
{
    double load = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1 || processors < 1 || load < (double)processors) return 1;
    return load / (double)processors;
}

/* Reads both streams until they end. After the limit the process is sent SIGTERM, after as long again, and 30 s, SIGKILL.
 * Returns whether it was killed. */
static bool watch(run *r, pid_t child, int out, int err)
{
    const double limit = limit_of(r) * (r->may_be_stopped ? 1 : slowness()), began = now();
    size_t out_size = 0, err_size = 0;
    struct pollfd streams[] = { { out, POLLIN, 0 }, { err, POLLIN, 0 } };
    bool killed = false;
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        poll(streams, 2, 100);
        if (streams[0].revents && !drain(out, r->output, &out_size)) streams[0].fd = -1;
        if (streams[1].revents && !drain(err, r->printed, &err_size)) streams[1].fd = -1;
        streams[0].revents = streams[1].revents = 0;
        const double spent = now() - began;
        if (spent > limit && !r->stopped) r->stopped = true, kill(child, SIGTERM);
        if (spent > 2 * limit + 30 * slowness() && !killed) killed = true, kill(-child, SIGKILL);
    }
    r->output[out_size] = r->printed[err_size] = '\0';
    for (size_t i = 0; i < err_size; i++) /* a NUL byte would hide the rest */
        if (!r->printed[i]) r->printed[i] = '\1';
    return killed;
}

static bool has_control_characters(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') return true;
    return false;
}

static void judge(campaign *c, const run *r, int status, bool killed)
{
    const int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (killed)
        campaign_fault(c, r, "SIGTERM did not end it");
    else if (r->stopped && !r->may_be_stopped)
        campaign_fault(c, r, "it took longer than %.0f s on a free processor", limit_of(r));
    else if (signal_number && !(r->stopped && signal_number == SIGTERM))
        campaign_fault(c, r, "it ended by signal %d, %s", signal_number, strsignal(signal_number));
    else if (strstr(r->printed, "Sanitizer") || strstr(r->printed, "runtime error:"))
        campaign_fault(c, r, "a sanitizer reports");
    else if (!signal_number && r->status > 5 && !(r->stopped && r->status == 128 + SIGTERM))
        campaign_fault(c, r, "the exit status is not documented");
    else if (r->status > 0 && r->status <= 5 && !r->printed[0] && !r->output[0])
        campaign_fault(c, r, "it failed without a message"); /* attend check reports on standard output */
    else if (has_control_characters(r->printed))
        campaign_fault(c, r, "its messages have control characters");
}

static void give_away(campaign *c, const char *name)
{
    (void)c;
    if (lchown(name, UNPRIVILEGED, UNPRIVILEGED) != 0 && errno != ENOENT)
        give_up(name); /* another process may remove it */
}

void campaign_run(campaign *c, run *r)
{
    int out[2], err[2], status = 0;
    if (pipe(out) != 0 || pipe(err) != 0) give_up("pipe");
    r->stopped = false;
    fflush(stdout);
    if (drops_root) give_away(c, "."), each_name(c, give_away);
    const pid_t child = fork();
    if (child < 0) give_up("fork");
    if (child == 0) start(c, r, out, err);
    close(out[1]), close(err[1]);
    const bool killed = watch(r, child, out[0], err[0]);
    close(out[0]), close(err[0]);
    waitpid(child, &status, 0);
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (c->is_in_case) count_verb(c, r->arguments[0]);
    c->ended[r->stopped ? 7 : r->status >= 0 && r->status <= 5 ? r->status : 6]++;
    judge(c, r, status, killed);
    if (c->only < 0) return;
    for (int i = 0; i < r->count; i++) print_word(r->arguments[i]);
    printf("\n    exit status %d%s\n%s%s", r->status, r->stopped ? ", stopped" : "", r->output, r->printed);
}

/* ---- files that the data does not have ---- */

void file_make_aligner(const char *path)
{
    static const char *const sources[] = { "one two", "two three", "three one", "one" }, *const targets[] = {
        "zwei eins", "drei zwei", "eins drei", "eins"
    };
    attend_aligner_options o = attend_aligner_defaults();
    attend_aligner *a = NULL;
    o.threads = 1;
    int status = attend_aligner_new(&a, &o);
    if (status == ATTEND_OK) status = attend_aligner_add(a, 4, sources, targets);
    if (status == ATTEND_OK) status = attend_aligner_train(a);
    if (status == ATTEND_OK) status = attend_aligner_save(a, path);
    attend_aligner_free(a);
    if (status != ATTEND_OK) give_up(path);
}

void file_make_ensemble(const char *path, const char *model)
{
    attend_model *all = NULL, *other = NULL;
    int status = attend_model_load(&all, model, NULL);
    if (status == ATTEND_OK) status = attend_model_load(&other, model, NULL);
    if (status == ATTEND_OK) status = attend_model_add_member(all, other);
    if (status == ATTEND_OK) status = attend_model_save(all, path);
    if (status != ATTEND_OK) give_up(path);
    attend_model_free(all);
}
