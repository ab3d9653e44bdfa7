/* page.c: man pages, in troff's man macros (groff_man(7)). A page a verb, as the same option means different things to different verbs, and each
 * can be found by what it is for. */
#include "manual.h"

#include <attend/parse.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- troff ---- */

/* Text as it stands: nothing in it is a request or an escape, and a dash is the one that is typed. */
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

/* The same, and an end of line if it has none. */
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

/* The date is that of the sources, if whoever builds says it: the same sources give the same page. */
static void title(FILE *to, const char *name)
{
    char date[32] = "";
    const char *said = getenv("SOURCE_DATE_EPOCH");
    long long seconds;
    const bool given = said && attend_parse_integer(said, NULL, &seconds);
    const time_t when = given ? (time_t)seconds : 0;
    struct tm parts;
    if (given && gmtime_r(&when, &parts)) strftime(date, sizeof date, "%Y-%m-%d", &parts);
    fprintf(to, ".\\\" Made from the option tables of the command.\n.TH %s 1 \"%s\" \"attend %s\" \"attend\"\n", name,
            date, attend_version());
}

/* ---- what several pages say ---- */

static void exit_status(FILE *to)
{
    static const char *const codes[][2] = {
        { "0", "done" },
        { "1", "failed" },
        { "2", "wrong usage" },
        { "3", "the data is at fault" },
        { "4", "a model file is at fault" },
        { "5", "reading or writing failed" },
        { "129, 130, 143", "stopped by SIGHUP, SIGINT or SIGTERM; training has saved a checkpoint" },
    };
    section(to, "EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) fprintf(to, ".TP\n%s\n%s\n", codes[i][0], codes[i][1]);
}

static void environment(FILE *to)
{
    static const char *const variables[][2] = {
        { "ATTEND_KERNEL",
          "plain, avx2 or avx512: the kernels to use, where the machine can run them; the best unless said" },
        { "COLUMNS", "how wide a map of attention is where standard output is no terminal; 80 unless said" },
        { "COLORTERM", "truecolor or 24bit: the terminal has that many colours, which maps of attention use" },
        { "NO_COLOR", "if it is there and not empty, maps of attention are drawn by characters alone" },
        { "TERM", "256 colours if the word 256color or direct is in it; none if it is dumb, or not there" },
        { "TMPDIR", "where temporary files are kept; /tmp unless said" },
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
    fprintf(to, "and the files named docs/ in these pages, which are installed with attend's documentation.\n");
}

/* ---- options ---- */

/* The bounds the table has, where they say something. */
static void bounds(FILE *to, const option *o)
{
    if (!o || (o->kind != OPTION_WHOLE && o->kind != OPTION_REAL)) return;
    if (o->most < 1e5)
        fprintf(to, "(%g to %g)\n", o->least, o->most);
    else if (o->least > 0)
        fprintf(to, "(%g or more)\n", o->least);
}

static void option_entry(FILE *to, const option_shown *shown)
{
    fprintf(to, ".TP\n");
    put_bold(to, "--", shown->name);
    if (shown->argument) {
        fprintf(to, " %s\\fI", shown->may_stand_alone ? "[" : "");
        for (const char *at = shown->argument; *at; at++) { /* a long list of words can be broken behind a bar */
            const char one[2] = { *at, '\0' };
            put(to, one);
            if (*at == '|') fputs("\\:", to);
        }
        fprintf(to, "\\fR%s", shown->may_stand_alone ? "]" : "");
    }
    fputc('\n', to);
    put_lines(to, shown->help);
    bounds(to, shown->entry);
    if (manual_repeats(shown) && !strstr(shown->help, "several")) fprintf(to, "(may be given several times)\n");
}

static void options(FILE *to, const verb *v)
{
    option_shown shown;
    enum option_group group = OWN_OPTION;
    section(to, "OPTIONS");
    fprintf(to, "A value is written\n.B \\-\\-name VALUE\nor\n.BR \\-\\-name=VALUE .\n");
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (shown.group != group && shown.group == TRAINING_OPTION) {
            section(to, "TRAINING");
            fprintf(to, "Options that say how it is trained; docs/training.md explains them.\n");
        }
        if (shown.group != group && shown.group == FIELD_OPTION) {
            section(to, "THE MODEL");
            fprintf(to, "Options that say what the model is; docs/models.md explains them.\n");
        }
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
        fprintf(to,
                "A file given to\n.B \\-\\-config\nhas the names of options without their dashes, a line each, with a "
                "blank or an equals sign before the value:\n.PP\n.EX\n    hidden 256\n    attention = dot\n    fresh "
                "no\n.EE\n.PP\n"
                "A # begins a comment. What the command line says comes before it.\n");
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

/* Its first example: a line. */
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
    fprintf(to,
            "Takes files of pairs, trains a model that turns the one side into the other, and uses it: translations, "
            "pronunciations, whatever comes as lines. It runs on the CPU, and gives the same result on any number of "
            "threads. Data goes to standard output, messages to standard error.\n");
    section(to, "VERBS");
    fprintf(to, "Each has a page of its own.\n");
    for (const verb *const *v = verbs; *v; v++) {
        fprintf(to, ".TP\n.BR attend\\-");
        put(to, (*v)->name);
        fprintf(to, " (1)\n");
        put_lines(to, (*v)->summary);
    }
    section(to, "OPTIONS");
    fprintf(to, ".TP\n.B \\-\\-help\nthe verbs; behind a verb, its options\n.TP\n.B \\-\\-version\nthe version, and "
                "the kernels this "
                "machine runs\n");
    section(to, "PAIRS");
    fprintf(to, "Where an option takes\n.IR PAIRS ,\nthat is one file whose name ends in .tsv, with a tab between "
                "source and target, or "
                "two files, a line of the one for a line of the other; several of these may follow each other. "
                "What gzip has packed is read as it is; \\- is standard input. docs/data.md has the rest.\n");
    environment(to);
    section(to, "EXAMPLES");
    fprintf(to, ".EX\n");
    for (const verb *const *v = verbs; *v; v++) first_example(to, *v);
    fprintf(to, ".EE\n");
    exit_status(to);
    see_also(to, NULL);
}
