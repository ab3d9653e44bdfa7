/* main.c: runs the verb named by the first argument. */
#include "job.h"
#include "memory_option.h"
#include "options.h"
#include "standard_streams.h"

#include <attend/parse.h>
#include <signal.h>
#include <string.h>

static void usage(FILE *to)
{
    attend_print(to, "attend: sequence-to-sequence with attention\n\nusage: attend VERB [options]\n\n");
    for (const verb *const *v = verbs; *v; v++) attend_print(to, "  %-10s %s\n", (*v)->name, (*v)->summary);
    attend_print(to, "\nRun attend help VERB for the options of a verb, and attend --version for the version.\n");
}

/* The verb of this name; NULL after a message: there is none. */
static const verb *find(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (const verb *const *v = verbs; *v; v++) {
        if (strcmp((*v)->name, name) == 0) return *v;
        names[n++] = (*v)->name;
    }
    const char *closest = attend_closest_word(name, names, n);
    attend_print(stderr, "attend: unknown verb '%s'", name);
    if (closest) attend_print(stderr, "; did you mean '%s'?", closest);
    attend_print(stderr, " (attend --help lists the verbs)\n");
    return NULL;
}

/* attend help VERB [--all] */
static int help(int argc, char **argv)
{
    const verb *v = find(argv[0]);
    if (!v) return 2;
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--all") != 0)) {
        attend_print(stderr, "attend help: unexpected argument '%s'; usage: attend help VERB [--all]\n",
                     argv[argc > 2 ? 2 : 1]);
        return 2;
    }
    options_help(v, stdout, argc == 2);
    return 0;
}

int main(int argc, char **argv)
{
    const int status = standard_streams_open(); /* before any other file is opened */
    if (status != 0) return status;
    if (argc > 0 && argv[0][0]) cli_program = argv[0];
    memory_return_freed();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write error, not a signal */
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) return cli_end(help(argc - 2, argv + 2));
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return cli_end(0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        attend_print(stdout, "attend %s (kernels: %s)\n", attend_version(), attend_kernel_name());
        return cli_end(0);
    }
    const verb *v = find(argv[1]);
    int refused = 2;
    return !v || job_refuse(v, &refused) ? refused : cli_end(v->run(argc - 1, argv + 1));
}
