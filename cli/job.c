#include "job.h"

#include "content_hash.h"
#include "option_table.h"
#include "packed.h"
#include "shared_work.h"

#include <attend/processors.h>
#include <attend/status.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static attend_ranks *ranks;
static int printed = -1, terminal = -1; /* of a rank other than 0: what it prints, and the real standard error */

void job_begin(void)
{
    char path[] = "/tmp/attend-rank-XXXXXX";
    int rank;
    (void)attend_ranks_started(&rank);
    if (rank == 0) return;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    printed = mkstemp(path);
    if (printed >= 0)
        unlink(path);
    else
        printed = dup(nothing);
    terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (nothing < 0 || printed < 0 || terminal < 0) return;
    (void)dup2(nothing, STDOUT_FILENO);
    (void)dup2(printed, STDERR_FILENO);
    close(nothing);
}

bool job_writes(void)
{
    return terminal < 0;
}

bool job_refuse(const verb *v, int *status)
{
    int rank;
    const int count = attend_ranks_started(&rank);
    if (count < 2 || options_find(v, "rank-timeout") >= 0) return false;
    *status = 0; /* at the first failure, mpirun would end rank 0 before it speaks */
    if (rank == 0)
        *status = usage_error(v,
                              "this verb does not run on several ranks, and %d processes were started: start one "
                              "process, without mpirun or srun",
                              count);
    return true;
}

int job_join(const verb *v, long long timeout, int status)
{
    char host[64] = "";
    int rank;
    (void)attend_ranks_started(&rank);
    if (terminal >= 0) (void)dup2(terminal, STDERR_FILENO); /* what MPI prints while it begins says why it fails */
    const int joined = attend_ranks_join(&ranks, (double)timeout);
    if (joined != ATTEND_OK && status == 0) {
        /* no other rank can print the message */
        (void)gethostname(host, sizeof host - 1);
        if (terminal >= 0)
            attend_print(stderr, "attend %s (rank %d on %s): %s\n", v->name, rank, host, attend_message());
        status = terminal >= 0 ? joined : cli_fail(v, joined);
    }
    fflush(stderr);
    if (terminal >= 0) (void)dup2(printed, STDERR_FILENO);
    return status;
}

attend_ranks *job_ranks(void)
{
    return ranks;
}

bool job_speaks(void)
{
    return attend_ranks_rank(ranks) == 0;
}

/* ---- whether all ranks compute the same ---- */

enum { VERSION, KERNELS, MODELS, FACTS };

/* What must be the same on all ranks, as texts. */
static int describe(attend_string *own, const char *const *models, int count)
{
    attend_string all = { 0 };
    int status = packed_add_text(own, attend_version(), strlen(attend_version()));
    if (status == ATTEND_OK) status = packed_add_text(own, attend_kernel_name(), strlen(attend_kernel_name()));
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        content_hash hash;
        status = content_hash_file(&hash, models[i]);
        if (status == ATTEND_OK) status = attend_string_add(&all, hash.text, strlen(hash.text));
    }
    if (status == ATTEND_OK) status = packed_add_text(own, all.text ? all.text : "", all.size);
    attend_string_free(&all);
    return status;
}

static int compare(const attend_string *first, const attend_string *other, int rank, bool mixed)
{
    packed_reader a = packed_open(first), b = packed_open(other);
    const char *texts[2][FACTS];
    for (int i = 0; i < FACTS; i++) {
        texts[0][i] = packed_text(&a, NULL), texts[1][i] = packed_text(&b, NULL);
        if (!texts[0][i] || !texts[1][i]) return shared_work_damaged();
    }
    const char *const host = attend_ranks_host(ranks, rank);
    if (strcmp(texts[0][VERSION], texts[1][VERSION]) != 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "rank %d on %s is attend %s, and rank 0 is %s: install the same version on all machines",
                           rank, host, texts[1][VERSION], texts[0][VERSION]);
    if (!mixed && strcmp(texts[0][KERNELS], texts[1][KERNELS]) != 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "rank %d on %s computes with the kernels '%s', and rank 0 with '%s', so that results would "
                           "depend on which machines are used: use machines of one kind, set ATTEND_KERNEL to a name "
                           "that all of them have, or allow mixed machines (option 'mixed-ranks')",
                           rank, host, texts[1][KERNELS], texts[0][KERNELS]);
    if (strcmp(texts[0][MODELS], texts[1][MODELS]) != 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "rank %d on %s has another model than rank 0: all ranks must read the same file", rank,
                           host);
    return ATTEND_OK;
}

int job_check(const char *const *models, int count, bool mixed)
{
    const int n = attend_ranks_count(ranks);
    if (n < 2) return ATTEND_OK;
    attend_string own = { 0 }, *all = calloc((size_t)n, sizeof *all);
    int status = all ? describe(&own, models, count) : attend_fail(ATTEND_NO_MEMORY, "out of memory for %d ranks", n);
    if (status == ATTEND_OK) status = attend_ranks_collect(ranks, &own, all);
    for (int i = 1; job_speaks() && status == ATTEND_OK && i < n; i++) status = compare(&all[0], &all[i], i, mixed);
    for (int i = 0; all && i < n; i++) attend_string_free(&all[i]);
    free(all);
    attend_string_free(&own);
    if (status != ATTEND_OK) attend_ranks_abort(ranks, status, attend_message());
    return status == ATTEND_OK ? attend_ranks_wait(ranks) : status;
}

/* A launcher may bind each rank to cores of its own; then all of these are this rank's. */
int job_threads(void)
{
    const attend_processors p = attend_processors_read();
    int here = 0;
    for (int i = 0; i < attend_ranks_count(ranks); i++)
        here += strcmp(attend_ranks_host(ranks, i), attend_ranks_host(ranks, attend_ranks_rank(ranks))) == 0;
    if (here < 2 || p.allowed < p.online) return p.threads;
    return p.threads / here > 0 ? p.threads / here : 1;
}

/* The last line that this rank has printed. */
static void read_message(char *text, size_t size)
{
    const off_t end = lseek(printed, 0, SEEK_END), first = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    const ssize_t got = pread(printed, text, size - 1, first);
    text[got > 0 ? got : 0] = '\0';
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
    const char *line = strrchr(text, '\n');
    if (line) memmove(text, line + 1, strlen(line + 1) + 1);
    static const char program[] = "attend ";
    char *const verb_end = strstr(text, ": ");
    if (strncmp(text, program, sizeof program - 1) != 0 || !verb_end ||
        memchr(text + sizeof program - 1, ' ', (size_t)(verb_end - text) - (sizeof program - 1)))
        return;
    memmove(text, verb_end + 2, strlen(verb_end + 2) + 1);
}

int job_end(const verb *v, int status)
{
    char text[400] = "it has failed";
    fflush(NULL);
    /* a rank that is silent now could not be named while MPI ends */
    if ((status == 0 || status >= 128) && attend_ranks_wait(ranks) != ATTEND_OK) status = cli_fail(v, ATTEND_FAILED);
    if (status != 0 && status < 128 && !job_speaks() && printed >= 0) read_message(text, sizeof text);
    if (status != 0 && status < 128) attend_ranks_abort(ranks, status, text);
    /* rank 0 cannot speak if it is the one that is silent */
    if (terminal >= 0 && attend_ranks_is_broken(ranks) && strncmp(text, "rank 0 ", 7) == 0) {
        (void)dup2(terminal, STDERR_FILENO);
        attend_print(stderr, "attend (rank %d on %s): %s\n", attend_ranks_rank(ranks),
                     attend_ranks_host(ranks, attend_ranks_rank(ranks)), text);
    }
    attend_ranks_leave(ranks);
    ranks = NULL;
    return status;
}
