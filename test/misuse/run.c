/* run.c: calls every public function with every argument wrong in turn. A call that ends its process, takes too long, or does not report what it must is a
 * failure. run [NAME]: only the functions whose names contain NAME. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "misuse/objects.h"
#include "misuse/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 }; /* for one call, on a busy machine and under a sanitizer */

/* Shared with the process that calls. */
typedef struct progress {
    int number; /* of the current call */
    int faults;
} progress;

/* A size that is wrong must not take the machine's memory. AddressSanitizer reserves address space of its own; it has an option for this. */
static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit limit = { (rlim_t)3 << 30, (rlim_t)3 << 30 };
    setrlimit(RLIMIT_AS, &limit);
#endif
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

static const char *fault_of(const misuse_function *f, const misuse_case *c, const misuse_outcome *o)
{
    const bool failed = f->returns == RETURNS_STATUS ? o->status != ATTEND_OK : o->pointer == NULL;
    if (f->returns == RETURNS_OTHER) return NULL;
    if (c->expected == MUST_SUCCEED && failed) return attend_message();
    if (c->expected == MUST_FAIL && !failed) return "the call succeeds";
    if (f->returns == RETURNS_STATUS && failed && !*attend_message()) return "it sets no message";
    return NULL;
}

static void call_from(const misuse_function *f, progress *p)
{
    limit_memory();
    for (int i = p->number; i < f->count; i++) {
        misuse_outcome o = { 0 };
        p->number = i;
        objects_begin();
        attend_fail(ATTEND_OK, "%s", "");
        alarm(SECONDS);
        f->call(i, &o);
        const char *fault = fault_of(f, &f->cases[i], &o);
        if (!fault) continue;
        printf("%s with %s: %s\n", f->name, f->cases[i].what, fault);
        p->faults++;
    }
    fflush(stdout);
    _exit(0); /* nothing of this process is freed */
}

/* Calls a function in all its ways; after a crash, continues with the next call. */
static void run(const misuse_function *f, progress *p)
{
    p->number = 0;
    while (p->number < f->count) {
        fflush(stdout);
        const pid_t child = fork();
        int status = 0;
        if (child < 0) perror("fork"), exit(1);
        if (child == 0) call_from(f, p);
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        if (WIFSIGNALED(status))
            printf("%s with %s: %s\n", f->name, f->cases[p->number].what, strsignal(WTERMSIG(status)));
        else
            printf("%s with %s: exit status %d\n", f->name, f->cases[p->number].what, WEXITSTATUS(status));
        p->faults++, p->number++;
    }
}

int main(int argc, char **argv)
{
    progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    objects_prepare();
    int functions = 0, calls = 0;
    for (const misuse_function *f = misuse_functions; f->name; f++) {
        if (argc > 1 && !strstr(f->name, argv[1])) continue;
        run(f, p);
        functions++, calls += f->count;
    }
    objects_remove();
    printf("%d functions: tried %d, held %d\n", functions, calls, calls - p->faults);
    return p->faults > 0;
}
