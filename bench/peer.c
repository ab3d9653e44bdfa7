/* peer.c: PyTorch in a child process that is asked for one measurement at a time, so that it and we run in turn. */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct peer {
    pid_t pid;
    FILE *ask, *answer;
    char version[64];
};

/* As fair as we can be: threads pinned to cores, and malloc kept from returning memory that is wanted again at once. */
static void become_peer(const char *python)
{
    setenv("OMP_NUM_THREADS", "2", 1);
    setenv("OMP_PROC_BIND", "true", 1);
    setenv("OMP_PLACES", "cores", 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=4294967295:glibc.malloc.trim_threshold=4294967295", 1);
    execlp(python, python, "-B", BENCH_PEERS "/torch_peer.py", (char *)NULL);
    _exit(127);
}

void peer_stop(peer *p)
{
    if (!p) return;
    if (p->ask) fclose(p->ask);
    if (p->answer) fclose(p->answer);
    if (p->pid > 0) waitpid(p->pid, NULL, 0);
    free(p);
}

peer *peer_start(void)
{
    const char *python = getenv("ATTEND_PEER_PYTHON");
    int to[2], from[2];
    if (pipe(to) != 0) return NULL;
    if (pipe(from) != 0) {
        close(to[0]), close(to[1]);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], 0), dup2(from[1], 1);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        become_peer(python && *python ? python : "python3");
    }
    close(to[0]), close(from[1]);
    peer *p = calloc(1, sizeof *p);
    if (!p || pid < 0) {
        close(to[1]), close(from[0]);
        free(p);
        return NULL;
    }
    p->pid = pid;
    p->ask = fdopen(to[1], "w");
    p->answer = fdopen(from[0], "r");
    /* the first line is its version; a python without torch says nothing */
    if (!p->ask || !p->answer || !fgets(p->version, sizeof p->version, p->answer)) {
        peer_stop(p);
        return NULL;
    }
    p->version[strcspn(p->version, "\n")] = '\0';
    return p;
}

double peer_seconds(peer *p, const char *task)
{
    char line[64];
    if (fprintf(p->ask, "%s\n", task) < 0 || fflush(p->ask) != 0 || !fgets(line, sizeof line, p->answer)) return 0;
    return strtod(line, NULL);
}

const char *peer_version(const peer *p)
{
    return p->version;
}
