#include "job.h"

#include "option_table.h"

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
