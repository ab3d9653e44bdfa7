/* page.c: man pages, in the man macros of troff (groff_man(7)): one for attend and one per verb, since options of the
 * same name differ between verbs. */
#include "manual.h"

#include <attend/parse.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- troff ---- */

/* Literal text: escapes what troff would interpret, and writes dashes as ASCII. */
static void put(FILE *to, const char *text)
{
    static const struct {
        char plain;
        const char *troff;
    } special[] = { { '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" }, { '`', "\\(ga" },
                    { '^', "\\(ha" }, { '~', "\\(ti" }, { '"', "\\(dq" } };
    bool at_start = true;
    for (; *text; text++) {
        const char *troff = NULL;
        for (size_t i = 0; i < sizeof special / sizeof *special; i++)
            if (*text == special[i].plain) troff = special[i].troff;
        if (at_start && *text == '.') fputs("\\&", to);
        if (troff)
            fputs(troff, to);
        else
            fputc(*text, to);
        at_start = *text == '\n';
    }
}

/* The same, ended by a line end. */
static void put_lines(FILE *to, const char *text)
{
    const size_t length = strlen(text);
    put(to, text);
    if (length == 0 || text[length - 1] != '\n') fputc('\n', to);
}

static void put_bold(FILE *to, const char *before, const char *text)
{
    fputs("\\fB", to);
    put(to, before);
    put(to, text);
    fputs("\\fR", to);
}

static void section(FILE *to, const char *name)
{
    fprintf(to, ".SH %s\n", name);
}

/* The date is SOURCE_DATE_EPOCH, if set, for reproducible builds; else none. */
static void title(FILE *to, const char *name)
{
    char date[32] = "";
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    long long seconds;
    const bool given = epoch && attend_parse_integer(epoch, NULL, &seconds);
    const time_t when = given ? (time_t)seconds : 0;
    struct tm parts;
    if (given && gmtime_r(&when, &parts)) strftime(date, sizeof date, "%Y-%m-%d", &parts);
    fprintf(to, ".\\\" Generated from the option tables of the command.\n.TH %s 1 \"%s\" \"attend %s\" \"attend\"\n",
            name, date, attend_version());
}

/* ---- common sections ---- */

static void exit_status(FILE *to)
{
    static const char *const codes[][2] = {
        { "0", "success" },
        { "1", "failure" },
        { "2", "wrong usage" },
        { "3", "invalid data" },
        { "4", "invalid model file" },
        { "5", "input or output error" },
        { "129, 130, 143", "stopped by SIGHUP, SIGINT or SIGTERM; training saves a checkpoint first" },
    };
    section(to, "EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) fprintf(to, ".TP\n%s\n%s\n", codes[i][0], codes[i][1]);
}

static void environment(FILE *to)
{
    static const char *const variables[][2] = {
        { "ATTEND_CUDA",
          "path of the CUDA plug-in (default: libattend_cuda.so beside the program, or where it is installed)" },
        { "ATTEND_CUDA_FAULT",
          "the number of a launch that fails, counted from 1, if the CUDA plug-in is the one for tests without a GPU" },
        { "ATTEND_CUDA_PROFILE",
          "if set, the CUDA plug-in waits for each kernel and prints their times at the end of the process" },
        { "ATTEND_DEVICE",
          "the device, for programs that do not choose one: cpu, cuda, cuda:N or auto; or guard, which computes as cpu "
          "does and ends with a fault if the program reads numbers outside of a computation, for tests (default: "
          "cpu)" },
        { "ATTEND_KERNEL", "plain, avx2, avx512, avx512vnni, neon or neondot: the compute kernels to use (default: the "
                           "fastest that the processor supports)" },
        { "ATTEND_MPI",
          "path of the MPI plug-in (default: attend-mpi.so beside the program, or where it is installed)" },
        { "COLUMNS", "width of attention maps if standard output is not a terminal (default: 80)" },
        { "COLORTERM", "truecolor or 24bit: attention maps use 24-bit colours" },
        { "LISTEN_FDS", "with LISTEN_PID: the number of sockets that systemd passes to attend serve" },
        { "LISTEN_PID", "the process for which LISTEN_FDS is meant" },
        { "NOTIFY_SOCKET", "socket on which attend serve tells systemd that it is ready, reloading or stopping" },
        { "NO_COLOR", "if set and not empty, attention maps have no colours" },
        { "OMPI_COMM_WORLD_SIZE",
          "set by mpirun: the number of ranks; OMPI_COMM_WORLD_RANK is the number of this one" },
        { "PMIX_RANK", "set by srun: the number of this rank; SLURM_STEP_NUM_TASKS is the number of ranks" },
        { "TERM",
          "attention maps use 256 colours if it contains 256color or direct; no colours if it is dumb or not set" },
        { "TMPDIR", "directory for temporary files (default: /tmp)" },
    };
    section(to, "ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        fprintf(to, ".TP\n.B %s\n%s\n", variables[i][0], variables[i][1]);
}

static void see_also(FILE *to, const verb *without)
{
    section(to, "SEE ALSO");
    fprintf(to, ".nh\n.ad l\n");
    if (without) fprintf(to, ".BR attend (1),\n");
    for (const verb *const *v = verbs; *v; v++)
        if (*v != without) {
            fprintf(to, ".BR attend\\-");
            put(to, (*v)->name);
            fprintf(to, " (1),\n");
        }
    fprintf(to, "and the files docs/*.md, which are installed with the documentation of attend.\n");
}

/* ---- options ---- */

/* The range of a number, if it is informative. */
static void bounds(FILE *to, const option *o)
{
    if (!o || (o->kind != OPTION_INTEGER && o->kind != OPTION_REAL)) return;
    if (o->max < 1e5)
        fprintf(to, "(%g to %g)\n", o->min, o->max);
    else if (o->min > 0)
        fprintf(to, "(%g or more)\n", o->min);
}

static void option_entry(FILE *to, const option_shown *shown)
{
    fprintf(to, ".TP\n");
    put_bold(to, "--", shown->name);
    if (shown->argument) {
        fprintf(to, " %s\\fI", shown->value_is_optional ? "[" : "");
        for (const char *at = shown->argument; *at; at++) { /* a long list may be broken after a bar */
            const char one[2] = { *at, '\0' };
            put(to, one);
            if (*at == '|') fputs("\\:", to);
        }
        fprintf(to, "\\fR%s", shown->value_is_optional ? "]" : "");
    }
    fputc('\n', to);
    put_lines(to, shown->help);
    bounds(to, shown->entry);
    if (manual_repeats(shown) && !strstr(shown->help, "repeated")) fprintf(to, "(may be repeated)\n");
}

/* The section of shared options or of configuration fields. */
static void group_section(FILE *to, const verb *v, enum option_group_kind group)
{
    const char *name = group == FIELD_OPTION ? "model" : v->shared->name;
    fputs(".SH ", to);
    for (const char *c = name; *c; c++) fputc(toupper((unsigned char)*c), to);
    fprintf(to, "\nOptions of %s%s; see %s.\n", group == FIELD_OPTION ? "the " : "", name,
            group == FIELD_OPTION ? "docs/models.md" : v->shared->document);
}

static void options(FILE *to, const verb *v)
{
    option_shown shown;
    enum option_group_kind group = OWN_OPTION;
    section(to, "OPTIONS");
    fprintf(to, "A value is written\n.B \\-\\-name VALUE\nor\n.BR \\-\\-name=VALUE .\n");
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (shown.group != group) group_section(to, v, shown.group);
        group = shown.group;
        option_entry(to, &shown);
    }
}

/* ---- pages ---- */

void manual_verb_page(FILE *to, const verb *v)
{
    char name[64];
    snprintf(name, sizeof name, "attend\\-%s", v->name);
    title(to, name);
    section(to, "NAME");
    fprintf(to, "%s \\- ", name);
    put_lines(to, v->summary);
    section(to, "SYNOPSIS");
    fprintf(to, ".nh\n.ad l\n");
    put_lines(to, v->synopsis);
    fprintf(to, ".ad b\n.hy\n");
    section(to, "DESCRIPTION");
    put_lines(to, v->details);
    options(to, v);
    if (v->has_config) {
        section(to, "CONFIGURATION FILES");
        fprintf(to, "A file given to\n.B \\-\\-config\ncontains one option per line: its name without dashes, a space "
                    "or an equals sign, "
                    "and the value:\n.PP\n.EX\n    hidden 256\n    attention = dot\n    fresh "
                    "no\n.EE\n.PP\n"
                    "A # starts a comment. Options on the command line override the file.\n");
    }
    if (v->examples) {
        section(to, "EXAMPLES");
        fprintf(to, ".EX\n");
        put_lines(to, v->examples);
        fprintf(to, ".EE\n");
    }
    exit_status(to);
    see_also(to, v);
}

/* The first example of a verb. */
static void first_example(FILE *to, const verb *v)
{
    char line[512];
    if (!v->examples) return;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(v->examples, "\n"), v->examples);
    put_lines(to, line);
}

void manual_page(FILE *to)
{
    title(to, "attend");
    section(to, "NAME");
    fprintf(to, "attend \\- sequence\\-to\\-sequence with attention\n");
    section(to, "SYNOPSIS");
    fprintf(to, ".B attend\n.I VERB\n.RI [ options ]\n.br\n.B attend\n.I VERB\n.B \\-\\-help\n.br\n.B attend "
                "\\-\\-help\n.br\n.B attend "
                "\\-\\-version\n");
    section(to, "DESCRIPTION");
    fprintf(
        to,
        "Trains sequence\\-to\\-sequence models with attention on pairs of lines (translations, pronunciations and the "
        "like), translates with them, evaluates them and shows their attention. Runs on the CPU; results do not depend "
        "on the number of threads. Data goes to standard output, messages to standard error.\n");
    section(to, "VERBS");
    fprintf(to, "Each verb has its own page.\n");
    for (const verb *const *v = verbs; *v; v++) {
        fprintf(to, ".TP\n.BR attend\\-");
        put(to, (*v)->name);
        fprintf(to, " (1)\n");
        put_lines(to, (*v)->summary);
    }
    section(to, "OPTIONS");
    fprintf(to, ".TP\n.B \\-\\-help\nlist the verbs; after a verb, its options\n.TP\n.B \\-\\-version\nshow the "
                "version and the compute kernels in use\n");
    section(to, "PAIRS");
    fprintf(to,
            "An argument\n.I PAIRS\nis one file whose name ends in .tsv, with a tab between source and target, or two "
            "line\\-aligned files; several of these may follow each other. Files compressed by gzip are read directly; "
            "\\- is standard input. See docs/data.md.\n");
    environment(to);
    section(to, "EXAMPLES");
    fprintf(to, ".EX\n");
    for (const verb *const *v = verbs; *v; v++) first_example(to, *v);
    fprintf(to, ".EE\n");
    exit_status(to);
    see_also(to, NULL);
}
