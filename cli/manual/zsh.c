/* zsh.c: completion for zsh, by its _arguments. */
#include "manual.h"

#include <string.h>

/* Text inside '..'; [, ], : and \ are special to _arguments. */
static void put(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

static void word(FILE *to, const char *text)
{
    put(to, text);
    fputc(' ', to);
}

static void entry(FILE *to, const option_shown *shown)
{
    const value_kind kind = manual_value(shown);
    fprintf(to, "      '%s--%s%s[", manual_repeats(shown) ? "*" : "", shown->name, kind == VALUE_NONE ? "" : "=");
    put(to, shown->help);
    fputc(']', to);
    if (kind != VALUE_NONE) {
        fputs(shown->value_is_optional ? "::" : ":", to);
        put(to, shown->argument);
        fputc(':', to);
    }
    if (kind == VALUE_FILE) fputs("_files", to);
    if (kind == VALUE_OTHER) fputc(' ', to);
    if (kind == VALUE_CHOICE) {
        fputc('(', to);
        manual_choices(shown, word, to);
        fputc(')', to);
    }
    fputs("' \\\n", to);
}

void manual_zsh(FILE *to)
{
    fprintf(to, "#compdef attend\n# zsh completion for attend, generated from the option tables of the command.\n"
                "_attend()\n{\n"
                "  local -a verbs\n"
                "  if (( CURRENT == 2 )); then\n"
                "    verbs=(\n");
    for (const verb *const *v = verbs; *v; v++) {
        fprintf(to, "      '%s:", (*v)->name);
        put(to, (*v)->summary);
        fprintf(to, "'\n");
    }
    fprintf(to, "    )\n"
                "    _describe -t verbs verb verbs\n"
                "    _arguments '--help[the verbs]' '--version[the version]'\n"
                "    return\n"
                "  fi\n"
                "  local verb=$words[2]\n"
                "  shift words\n"
                "  (( CURRENT-- ))\n"
                "  case $verb in\n");
    for (const verb *const *v = verbs; *v; v++) {
        option_shown shown;
        fprintf(to, "  %s)\n    _arguments \\\n", (*v)->name);
        for (int i = 0; options_shown(*v, i, &shown); i++) entry(to, &shown);
        fprintf(to, "      '*:file:_files'\n    ;;\n");
    }
    fprintf(to, "  esac\n}\n_attend \"$@\"\n");
}
