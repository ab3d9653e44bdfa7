/* interactive.c [--pairs] COMMAND ARGUMENTS...: talks with a program that answers lines, as a program does through two pipes.
 *
 * With --pairs, each line has a TAB. A complete line must be answered although the next one has only begun, and a single line must be answered without a
 * fixed delay. Exit code 1, with a message, otherwise. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 20, TRIES = 300, QUICK_MS = 10 };

static int to, from; /* the program's input and output */

static void quit(const char *what)
{
    fprintf(stderr, "interactive: %s\n", what);
    exit(1);
}

static void start(char **command)
{
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) quit("no pipe");
    const pid_t child = fork();
    if (child < 0) quit("no process");
    if (child == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        execvp(command[0], command);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    to = in[1], from = out[0];
}

static void put(const char *text)
{
    if (write(to, text, strlen(text)) != (ssize_t)strlen(text)) quit("the program does not read");
}

/* Reads one line of answer; false if there is none in time. */
static bool answer(void)
{
    char c = 0;
    while (c != '\n') {
        struct pollfd p = { .fd = from, .events = POLLIN };
        if (poll(&p, 1, SECONDS * 1000) <= 0) return false;
        if (read(from, &c, 1) != 1) quit("the program has ended");
    }
    return true;
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const bool pairs = argc > 1 && strcmp(argv[1], "--pairs") == 0;
    if (argc < 2 + pairs) quit("give a command");
    start(argv + 1 + pairs);
    for (int i = 0; i < 10; i++) { /* the half line arrives at different moments of the work on the line before it */
        put(pairs ? "a b\tc\n" : "a b c\n");
        nanosleep(&(struct timespec){ .tv_nsec = i * 1000000 }, NULL);
        put("d");
        if (!answer()) quit("a complete line is not answered while the next one is incomplete");
        put(pairs ? "\te\n" : " e\n");
        if (!answer()) quit("the completed line is not answered");
    }
    double quickest = 1e9;
    for (int i = 0; i < TRIES && quickest > QUICK_MS; i++) { /* one is enough: the machine may be busy */
        const double began = milliseconds();
        put(pairs ? "a\tb\n" : "a b\n");
        if (!answer()) quit("a line is not answered");
        const double took = milliseconds() - began;
        if (took < quickest) quickest = took;
    }
    close(to);
    int status;
    wait(&status);
    if (quickest > QUICK_MS) {
        fprintf(stderr, "interactive: the quickest of %d answers took %.1f ms\n", TRIES, quickest);
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
