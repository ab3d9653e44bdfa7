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

value_kind manual_value(const option_shown *shown)
{
    static const char *const files[] = { "FILE", "PAIRS", "DIRECTORY" };
    if (!shown->argument) return VALUE_NONE;
    if (shown->entry && shown->entry->kind == OPTION_CHOICE) return VALUE_CHOICE;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strncmp(shown->argument, files[i], strlen(files[i])) == 0) return VALUE_FILE;
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
    return kind == OPTION_TEXTS || kind == OPTION_PAIRS || kind == OPTION_DATA;
}
