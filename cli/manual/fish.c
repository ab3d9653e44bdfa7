/* fish.c: completion for fish. */
#include "manual.h"

#include <string.h>

/* Text inside single quotes, where only ' and \ are special. */
static void put(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (strchr("'\\", *text)) fputc('\\', to);
        fputc(*text, to);
    }
}

static void word(FILE *to, const char *text)
{
    put(to, text);
    fputc(' ', to);
}

static void entry(FILE *to, const verb *v, const option_shown *shown)
{
    fprintf(to, "complete -c attend -n '__attend_verb %s' -l %s", v->name, shown->name);
    switch (manual_value(shown)) {
    case VALUE_NONE:
        break;
    case VALUE_CHOICE: /* without -x, the value of a yes|no field is optional */
        fprintf(to, " %s -a '", shown->value_is_optional ? "-f" : "-x");
        manual_choices(shown, word, to);
        fputc('\'', to);
        break;
    case VALUE_FILE:
        fprintf(to, " -r -F");
        break;
    case VALUE_OTHER:
        fprintf(to, " -x");
        break;
    }
    fprintf(to, " -d '");
    put(to, shown->help);
    fprintf(to, "'\n");
}

void manual_fish(FILE *to)
{
    fprintf(to, "# fish completion for attend, generated from the option tables of the command.\n"
                "function __attend_no_verb\n"
                "    test (count (commandline -opc)) -eq 1\n"
                "end\n"
                "function __attend_verb\n"
                "    set -l words (commandline -opc)\n"
                "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
                "end\n"
                "complete -c attend -n __attend_no_verb -f -l help -d 'the verbs'\n"
                "complete -c attend -n __attend_no_verb -f -l version -d 'the version'\n");
    for (const verb *const *v = verbs; *v; v++) {
        option_shown shown;
        fprintf(to, "complete -c attend -n __attend_no_verb -f -a %s -d '", (*v)->name);
        put(to, (*v)->summary);
        fprintf(to, "'\n");
        for (int i = 0; options_shown(*v, i, &shown); i++) entry(to, *v, &shown);
    }
}
