/* value.c: the possible values of an option, for completion. */
#include "manual.h"

#include <string.h>

/* Alternative `number` of an argument such as "auto|N,N,...", without placeholders (N,N,...). False after the last. */
static bool alternative(const char *argument, int number, char *word, size_t size)
{
    for (const char *at = argument; *at;) {
        const size_t length = strcspn(at, "|");
        const bool typed = length > 0 && length < size && strcspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.,= ") >= length;
        if (typed && number-- == 0) {
            snprintf(word, size, "%.*s", (int)length, at);
            return true;
        }
        at += length;
        if (*at == '|') at++;
    }
    return false;
}

static bool has_alternatives(const char *argument)
{
    char word[64];
    return strchr(argument, '|') && alternative(argument, 0, word, sizeof word);
}

static bool is_file(const option *o)
{
    switch (o->kind) {
    case OPTION_INPUT:
    case OPTION_INPUTS:
    case OPTION_NAMED_INPUTS:
    case OPTION_PLUGINS:
    case OPTION_OUTPUT:
    case OPTION_FILE:
    case OPTION_TRAINING:
    case OPTION_DIRECTORY:
    case OPTION_PAIRS:
    case OPTION_DATA:
        return true;
    default:
        return false;
    }
}

bool manual_files_are_declared(const verb *v)
{
    static const char *const files[] = { "FILE", "PAIRS", "DIRECTORY" };
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) {
        bool has_file_name = false;
        for (size_t k = 0; o->argument && k < sizeof files / sizeof *files; k++)
            has_file_name |= strncmp(o->argument, files[k], strlen(files[k])) == 0;
        has_file_name |= o->argument && strstr(o->argument, "=FILE");
        if (has_file_name == is_file(o) && !(o->kind == OPTION_DIRECTORY && !v->directory_files)) continue;
        fprintf(stderr,
                "attend_manual: attend %s --%s: an option whose value is a file needs a kind that says whether it is "
                "read or written, and a directory needs the verb's directory_files (cli/options.h)\n",
                v->name, o->name);
        return false;
    }
    return true;
}

value_kind manual_value(const option_shown *shown)
{
    if (!shown->argument) return VALUE_NONE;
    if (shown->entry && shown->entry->kind == OPTION_CHOICE) return VALUE_CHOICE;
    if (shown->entry && shown->entry->kind == OPTION_NAMED_INPUTS) return VALUE_OTHER;
    if (shown->entry && is_file(shown->entry)) return VALUE_FILE;
    return has_alternatives(shown->argument) ? VALUE_CHOICE : VALUE_OTHER;
}

void manual_choices(const option_shown *shown, void (*each)(FILE *to, const char *word), FILE *to)
{
    char word[64];
    if (shown->entry && shown->entry->kind == OPTION_CHOICE)
        for (const char *const *w = shown->entry->choices; *w; w++) each(to, *w);
    else
        for (int i = 0; alternative(shown->argument, i, word, sizeof word); i++) each(to, word);
}

bool manual_repeats(const option_shown *shown)
{
    if (!shown->entry) return false;
    const option_kind kind = shown->entry->kind;
    return kind == OPTION_TEXTS || kind == OPTION_INPUTS || kind == OPTION_NAMED_INPUTS || kind == OPTION_PLUGINS ||
           kind == OPTION_PAIRS || kind == OPTION_DATA;
}
