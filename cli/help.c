/* help.c: the text of --help. */
#include "option_table.h"

#include <string.h>

/* Vocabulary sizes are configuration fields, but come from the data. */
static bool is_from_data(const attend_config_field *f)
{
    return strcmp(f->name, "source-vocab") == 0 || strcmp(f->name, "target-vocab") == 0;
}

bool options_shown(const verb *v, int i, option_shown *shown)
{
    const int count = options_count(v);
    int own = 0;
    while (own < count && !options_is_shared(v, own)) own++;
    if (i == own) {
        *shown = (option_shown){ .name = "help", .help = "show this help, then exit" };
        return true;
    }
    if (i <= count) {
        const option *o = options_entry(v, i - (i > own));
        *shown = (option_shown){ .name = o->name,
                                 .argument = o->argument,
                                 .help = o->help,
                                 .entry = o,
                                 .group = i > own ? SHARED_OPTION : OWN_OPTION };
        return true;
    }
    int left = i - count - 1;
    for (int f = 0; v->has_config && attend_config_field_at(f); f++) {
        const attend_config_field *field = attend_config_field_at(f);
        if (is_from_data(field) || left-- > 0) continue;
        *shown = (option_shown){ .name = field->name,
                                 .argument = field->values,
                                 .help = field->help,
                                 .group = FIELD_OPTION,
                                 .value_is_optional = options_is_switch(f) };
        return true;
    }
    return false;
}

/* Prints a help text in the right column, broken at spaces. */
static void print_wrapped(FILE *to, const char *text, int indent)
{
    enum { WIDTH = 100 };
    int column = indent;
    while (*text) {
        const int size = (int)strcspn(text, " ");
        if (column > indent && column + 1 + size > WIDTH) {
            attend_print(to, "\n%*s", indent, "");
            column = indent;
        }
        column += attend_print(to, "%s%.*s", column > indent ? " " : "", size, text);
        text += size;
        text += strspn(text, " ");
    }
    attend_print(to, "\n");
}

static void print_option(FILE *to, const option_shown *shown)
{
    enum { COLUMN = 31 };
    char left[128];
    snprintf(left, sizeof left, "--%s%s%s", shown->name, shown->argument ? " " : "",
             shown->argument ? shown->argument : "");
    if (strlen(left) < COLUMN - 3)
        attend_print(to, "  %-*s", COLUMN - 2, left);
    else
        attend_print(to, "  %s\n%*s", left, COLUMN, "");
    print_wrapped(to, shown->help, COLUMN);
}

void options_help(const verb *v, FILE *to)
{
    attend_print(to, "attend %s: %s\n\nusage: ", v->name, v->summary);
    write_unchanged(to, v->synopsis);
    write_unchanged(to, "\n\n");
    write_unchanged(to, v->details);
    write_unchanged(to, "\n\noptions:\n");
    option_shown shown;
    enum option_group_kind group = OWN_OPTION;
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (shown.group != group)
            attend_print(to, "\n%s options (%s):\n", shown.group == FIELD_OPTION ? "model" : v->shared->name,
                         shown.group == FIELD_OPTION ? "docs/models.md" : v->shared->document);
        group = shown.group;
        print_option(to, &shown);
    }
    if (!v->examples) return;
    write_unchanged(to, "\nexamples:\n");
    write_unchanged(to, v->examples);
}
