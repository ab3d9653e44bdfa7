/* peak_memory.c COMMAND ARGUMENTS...: runs a command, prints its peak memory in kB on a line of standard error after
 * what the command prints there, and exits with its status. Prints 0 under the sanitizers, which need memory of their
 * own. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
#ifdef ATTEND_ARENA_MALLOC
    used.ru_maxrss = 0;
#endif
    fprintf(stderr, "%ld\n", used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
