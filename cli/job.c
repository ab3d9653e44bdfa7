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

/* Without "attend VERB: ", which rank 0 prints, too. */
static const char *skip_verb(const char *line)
{
    static const char program[] = "attend ";
    const size_t n = sizeof program - 1;
    const char *const end = strstr(line, ": ");
    if (strncmp(line, program, n) != 0 || !end || memchr(line + n, ' ', (size_t)(end - line) - n)) return line;
    return end + 2;
}

/* What this rank has printed, as one line: as many of the last lines as there is room for, without those that are indented,
 * which are details. */
static void read_message(char *text, size_t size)
{
    char all[4096];
    const off_t end = lseek(printed, 0, SEEK_END), room = sizeof all - 1;
    const ssize_t got = pread(printed, all, sizeof all - 1, end > room ? end - room : 0);
    size_t n = got > 0 ? (size_t)got : 0, at = size - 1;
    text[at] = '\0';
    for (all[n] = '\0'; n > 0;) {
        while (n > 0 && all[n - 1] == '\n') all[--n] = '\0';
        while (n > 0 && all[n - 1] != '\n') n--; /* all + n: the last line */
        const char *const line = skip_verb(all + n), *const comma = text[at] ? "; " : "";
        const size_t length = strlen(line), needed = length + strlen(comma);
        if (needed > at && text[at]) break;
        const size_t kept = needed > at ? at : needed; /* of one that is too long, the beginning */
        if (length > 0 && *line != ' ') {
            at -= kept;
            memcpy(text + at, line, kept < length ? kept : length);
            memcpy(text + at + (kept < length ? kept : length), comma, strlen(comma));
        }
    }
    memmove(text, text + at, size - at);
}

int job_end(const verb *v, int status)
{
    char text[400] = "";
    fflush(NULL);
    /* a rank that is silent now could not be named while MPI ends */
    if ((status == 0 || status >= 128) && attend_ranks_wait(ranks) != ATTEND_OK) status = cli_fail(v, ATTEND_FAILED);
    if (status != 0 && status < 128 && !job_speaks() && printed >= 0) read_message(text, sizeof text);
    if (status != 0 && status < 128) attend_ranks_abort(ranks, status, *text ? text : "it has failed");
    /* rank 0 cannot speak if it is the one that is silent */
    if (terminal >= 0 && attend_ranks_is_broken(ranks) && strstr(text, "rank 0 on ")) {
        (void)dup2(terminal, STDERR_FILENO);
        attend_print(stderr, "attend (rank %d on %s): %s\n", attend_ranks_rank(ranks),
                     attend_ranks_host(ranks, attend_ranks_rank(ranks)), text);
    }
    attend_ranks_leave(ranks);
    ranks = NULL;
    return status;
}
