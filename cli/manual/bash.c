/* bash.c: completion for bash, without the bash-completion package. */
#include "manual.h"

static void word(FILE *to, const char *text)
{
    fprintf(to, " %s", text);
}

/* "train:--model|train:--config)": a case pattern of all options with this kind of value. */
static void options_of(FILE *to, const verb *v, value_kind kind, const char *what)
{
    option_shown shown;
    int count = 0;
    for (int i = 0; options_shown(v, i, &shown); i++)
        if (manual_value(&shown) == kind) fprintf(to, "%s%s:--%s", count++ ? "|" : "    ", v->name, shown.name);
    if (count) fprintf(to, ") %s ;;\n", what);
}

static void values(FILE *to, const verb *v)
{
    option_shown shown;
    options_of(to, v, VALUE_FILE, "kind=file");
    options_of(to, v, VALUE_OTHER, "kind=other");
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (manual_value(&shown) != VALUE_CHOICE) continue;
        fprintf(to, "    %s:--%s) words=\"", v->name, shown.name);
        manual_choices(&shown, word, to);
        fprintf(to, "\"%s ;;\n", shown.value_is_optional ? " kind=either" : "");
    }
}

static void names(FILE *to, const verb *v)
{
    option_shown shown;
    fprintf(to, "    %s) words=\"", v->name);
    for (int i = 0; options_shown(v, i, &shown); i++) fprintf(to, " --%s", shown.name);
    fprintf(to, "\" ;;\n");
}

void manual_bash(FILE *to)
{
    fprintf(to, "# bash completion for attend, generated from the option tables of the command.\n"
                "_attend()\n{\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} kind= words=\n"
                "    COMPREPLY=()\n"
                "    if ((COMP_CWORD == 1)); then\n"
                "        compopt +o default 2>/dev/null\n"
                "        COMPREPLY=($(compgen -W \"");
    for (const verb *const *v = verbs; *v; v++) fprintf(to, "%s ", (*v)->name);
    fprintf(to, "--help --version\" -- \"$word\"))\n"
                "        return\n"
                "    fi\n"
                "    # --name=value comes as three words\n"
                "    if [[ $word == = ]]; then\n"
                "        word=\n"
                "    elif [[ $before == = ]]; then\n"
                "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
                "    fi\n"
                "    case ${COMP_WORDS[1]}:$before in\n");
    for (const verb *const *v = verbs; *v; v++) values(to, *v);
    fprintf(to, "    esac\n"
                "    if [[ $word == -* ]]; then\n"
                "        case ${COMP_WORDS[1]} in\n");
    for (const verb *const *v = verbs; *v; v++) {
        fprintf(to, "    ");
        names(to, *v);
    }
    fprintf(to, "        esac\n"
                "    elif [[ $kind == other ]]; then\n"
                "        compopt +o default 2>/dev/null\n"
                "    fi\n"
                "    # no words: names of files, which is readline's default\n"
                "    if [[ -n $words ]]; then\n"
                "        [[ $kind == either ]] || compopt +o default 2>/dev/null\n"
                "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                "    fi\n"
                "}\n"
                "complete -o default -F _attend attend\n");
}
