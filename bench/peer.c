/* peer.c: PyTorch or CTranslate2 in a child process that makes one measurement for each request, so that both run
 * alternately. */
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
    FILE *requests, *answers;
    char version[64];
};

/* The path of a script: in the directory `peers` beside this program, or in the source tree. */
static void script_path(const char *script, char *path, size_t size)
{
    char self[512];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    snprintf(path, size, "%s/peers/%s", self, script);
    if (!slash || access(path, R_OK) != 0) snprintf(path, size, "%s/%s", BENCH_PEERS, script);
}

/* Tuned for a fair comparison: threads are pinned to cores, and malloc does not return memory to the system. */
static void exec_peer(const char *python, const char *script)
{
    setenv("OMP_NUM_THREADS", "2", 1);
    setenv("OMP_PROC_BIND", "true", 1);
    setenv("OMP_PLACES", "cores", 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=4294967295:glibc.malloc.trim_threshold=4294967295", 1);
    execlp(python, python, "-B", script, (char *)NULL);
    _exit(127);
}

void peer_stop(peer *p)
{
    if (!p) return;
    if (p->requests) fclose(p->requests);
    if (p->answers) fclose(p->answers);
    if (p->pid > 0) waitpid(p->pid, NULL, 0);
    free(p);
}

peer *peer_start(const char *script)
{
    const char *python = getenv("ATTEND_PEER_PYTHON");
    char path[1024];
    script_path(script, path, sizeof path);
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
        exec_peer(python && *python ? python : "python3", path);
    }
    close(to[0]), close(from[1]);
    peer *p = calloc(1, sizeof *p);
    if (!p || pid < 0) {
        close(to[1]), close(from[0]);
        free(p);
        return NULL;
    }
    p->pid = pid;
    p->requests = fdopen(to[1], "w");
    p->answers = fdopen(from[0], "r");
    /* the first line is the version; a Python without the package prints nothing */
    if (!p->requests || !p->answers || !fgets(p->version, sizeof p->version, p->answers)) {
        peer_stop(p);
        return NULL;
    }
    p->version[strcspn(p->version, "\n")] = '\0';
    return p;
}

double peer_seconds(peer *p, const char *task)
{
    char line[64];
    if (fprintf(p->requests, "%s\n", task) < 0 || fflush(p->requests) != 0 || !fgets(line, sizeof line, p->answers))
        return 0;
    return strtod(line, NULL);
}

const char *peer_version(const peer *p)
{
    return p->version;
}
