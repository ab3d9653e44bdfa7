/* main.c: runs the verb named by the first argument. */
#include "options.h"
#include "standard_streams.h"

#include <attend/parse.h>
#include <signal.h>
#include <string.h>

static void usage(FILE *to)
{
    attend_print(to, "attend: sequence-to-sequence with attention\n\nusage: attend VERB [options]\n\n");
    for (const verb *const *v = verbs; *v; v++) attend_print(to, "  %-10s %s\n", (*v)->name, (*v)->summary);
    attend_print(to, "\nRun attend VERB --help for the options of a verb, and attend --version for the version.\n");
}

int main(int argc, char **argv)
{
    const int status = standard_streams_open(); /* before any other file is opened */
    if (status != 0) return status;
    if (argc > 0 && argv[0][0]) cli_program = argv[0];
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write error, not a signal */
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return cli_end(0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        attend_print(stdout, "attend %s (kernels: %s)\n", attend_version(), attend_kernel_name());
        return cli_end(0);
    }
    const char *names[32];
    size_t n = 0;
    for (const verb *const *v = verbs; *v; v++) {
        if (strcmp((*v)->name, argv[1]) == 0) return cli_end((*v)->run(argc - 1, argv + 1));
        names[n++] = (*v)->name;
    }
    const char *closest = attend_closest_word(argv[1], names, n);
    attend_print(stderr, "attend: unknown verb '%s'", argv[1]);
    if (closest) attend_print(stderr, "; did you mean '%s'?", closest);
    attend_print(stderr, " (attend --help lists the verbs)\n");
    return 2;
}
