/* options.c: parses command lines and prints messages about them. */
#include "option_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_IO = 5 };

/* ---- messages ---- */

static const char *location = "";

void options_set_location(const char *where)
{
    location = where;
}

int usage_error(const verb *v, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    attend_print(stderr, "attend %s: %s", v->name, location);
    attend_print_v(stderr, format, arguments);
    attend_print(stderr, " (see attend %s --help)\n", v->name);
    va_end(arguments);
    return EXIT_USAGE;
}

const char *cli_program = "attend";

void cli_print_word(FILE *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,:@%=";
    if (*word && word[strspn(word, plain)] == '\0') {
        attend_print(to, "%s", word);
        return;
    }
    attend_print(to, "'");
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1)
        attend_print(to, "%.*s'\\''", (int)(quote - word), word);
    attend_print(to, "%s'", word);
}

const char *cli_plugin_hint(void)
{
    return strstr(attend_message(), ATTEND_SCORE_IS_MISSING) ? " (option --score-plugin FILE)" : "";
}

int cli_fail(const verb *v, int status)
{
    attend_print(stderr, "attend %s: %s%s\n", v->name, attend_message(), cli_plugin_hint());
    return status == ATTEND_NO_MEMORY ? 1 : status;
}

int cli_end(int status)
{
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (status != 0 || written) return status;
    attend_print(stderr, "attend: cannot write standard output: %s\n", attend_errno_text(errno));
    return EXIT_IO;
}

/* ---- the command line ---- */

/* File names: all arguments up to the next option. */
static int take_files(const verb *v, const option *o, void *base, const char *first, int argc, char **argv, int *next)
{
    const int from = *next;
    while (*next < argc && strncmp(argv[*next], "--", 2) != 0) ++*next;
    const char **names = calloc((size_t)(*next - from) + 1, sizeof *names);
    if (!names) return usage_error(v, "--%s: out of memory", o->name);
    names[0] = first;
    for (int i = from; i < *next; i++) names[i - from + 1] = argv[i];
    const int status = option_add_files(v, o, base, names, *next - from + 1);
    free(names);
    return status;
}

/* Empties the list of a repeatable option, so that the command line replaces what a configuration file set. */
static void clear_list(const option *o, void *base)
{
    void *list = (char *)base + o->offset;
    if (option_takes_files(o)) ((pairs_list *)list)->count = ((pairs_list *)list)->name_count = 0;
    if (option_is_texts(o)) ((texts_list *)list)->count = 0;
}

/* A yes|no field; the value may be omitted. */
static int take_switch(const verb *v, void *base, const char *name, int argc, char **argv, int *next)
{
    const char *value = *next < argc ? argv[*next] : "";
    const bool has_value = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    if (has_value) ++*next;
    return field_assign(v, base, name, has_value ? value : "yes");
}

/* Takes the option at argv[i]. *next becomes the index of the argument after it. */
static int take_option(const verb *v, void *base, parsed *p, int argc, char **argv, int i, int *next)
{
    char typed[64], choices[OPTION_ARGUMENT];
    const char *text = argv[i] + 2, *equals = strchr(text, '=');
    snprintf(typed, sizeof typed, "%.*s", (int)(equals ? equals - text : (long)strlen(text)), text);
    const char *const name = options_current_name(v, typed, equals ? equals + 1 : argv[i + 1] ? argv[i + 1] : "");
    const int number = options_find(v, name), f = options_find_field(v, name);
    *next = i + 1;
    if (number < 0 && f < 0) return unknown_option_error(v, name);
    const option *o = number >= 0 ? options_entry(v, number) : NULL;
    const bool again = o && option_is_text(o) && options_given(v, p, name) && !p->from_file[number];
    options_mark_given(v, p, name);
    if (o && o->kind == OPTION_FLAG)
        return equals ? usage_error(v, "--%s takes no value", name) : option_assign(v, o, base, NULL);
    const char *value = equals ? equals + 1 : NULL;
    if (!value && !o && options_is_switch(f)) return take_switch(v, base, name, argc, argv, next);
    if (!value && i + 1 >= argc)
        return usage_error(v, "--%s requires a value: %s", name,
                           o ? option_argument(o, choices) : attend_config_field_at(f)->values);
    if (!value && strncmp(argv[i + 1], "--", 2) == 0)
        return usage_error(v, "--%s requires a value, but %s is an option; write --%s=%s to use it as a value", name,
                           argv[i + 1], name, argv[i + 1]);
    if (!value) value = argv[(*next)++];
    if (again) /* the first value would be lost silently */
        return usage_error(v, "--%s is given twice, the second time with '%s'; it takes one value", name, value);
    if (!o) return field_assign(v, base, name, value);
    if (p->from_file[number]) clear_list(o, base);
    p->from_file[number] = false;
    if (option_takes_files(o)) return take_files(v, o, base, value, argc, argv, next);
    return option_assign(v, o, base, value);
}

/* The value of option `name` at argv[i]; NULL: another argument. */
static const char *value_of(const char *name, int argc, char **argv, int i)
{
    const size_t length = strlen(name);
    if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, length) != 0) return NULL;
    const char *end = argv[i] + 2 + length;
    return *end == '=' ? end + 1 : *end == '\0' && i + 1 < argc ? argv[i + 1] : NULL;
}

/* Loads the score plug-ins first, so that other options can name their score functions. */
static int load_plugins(const verb *v, int argc, char **argv)
{
    const int number = options_find(v, "score-plugin");
    int status = ATTEND_OK;
    for (int i = 1; number >= 0 && status == ATTEND_OK && i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *path = value_of("score-plugin", argc, argv, i);
        const attend_score *score;
        if (path) status = attend_score_plugin_load(&score, path);
    }
    return status == ATTEND_OK ? 0 : cli_fail(v, status);
}

/* Reads the files of --config first, so that the rest of the command line overrides them. */
static int read_configs(const verb *v, void *to, int argc, char **argv, parsed *p)
{
    int status = 0;
    for (int i = 1; v->has_config && status == 0 && i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *path = value_of("config", argc, argv, i);
        if (path) status = options_read_config(v, to, p, path);
    }
    return status;
}

int options_parse(const verb *v, void *to, int argc, char **argv, parsed *p)
{
    *p = (parsed){ .positional = calloc((size_t)argc + 1, sizeof *p->positional) };
    if (!p->positional) return usage_error(v, "out of memory");
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help-all") == 0) {
            options_help(v, stdout, strcmp(argv[i], "--help-all") == 0);
            p->help = true;
            return 0;
        }
    int status = load_plugins(v, argc, argv);
    if (status == 0) status = read_configs(v, to, argc, argv, p);
    bool options = true; /* until "--" */
    for (int i = 1, next; status == 0 && i < argc; i = next) {
        next = i + 1;
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && strncmp(argv[i], "--", 2) == 0)
            status = take_option(v, to, p, argc, argv, i, &next);
        else if (options && argv[i][0] == '-' && argv[i][1])
            status = usage_error(v, "'%s': options begin with two dashes; put a file of that name after --", argv[i]);
        else
            p->positional[p->positional_count++] = argv[i];
    }
    return status == 0 ? options_check_files(v, to, p) : status;
}

void options_free(const verb *v, void *to, parsed *p)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        void *list = (char *)to + o->offset;
        if (option_takes_files(o)) free(((pairs_list *)list)->items), free(((pairs_list *)list)->names);
        if (option_is_texts(o)) free(((texts_list *)list)->items);
    }
    for (int i = 0; i < p->text_count; i++) free(p->texts[i]);
    free(p->texts);
    free(p->positional);
}
