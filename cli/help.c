/* help.c: the text of --help. */
#include "option_table.h"
#include "result_text.h"

#include <stdarg.h>
#include <string.h>

/* Vocabulary sizes are configuration fields, but come from the data. */
static bool is_from_data(const attend_config_field *f)
{
    return strcmp(f->name, "source-vocab") == 0 || strcmp(f->name, "target-vocab") == 0;
}

/* ---- texts ---- */

static void __attribute__((format(printf, 2, 3))) add(option_shown *shown, const char *format, ...)
{
    const size_t length = strlen(shown->help);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shown->help + length, sizeof shown->help - length, format, arguments);
    va_end(arguments);
}

/* What the names of scores mean. */
static void add_formulas(option_shown *shown)
{
    for (const attend_score *const *s = attend_scores; *s; s++) add(shown, "; %s: %s", (*s)->name, (*s)->formula);
}

static void add_default(option_shown *shown, const verb *v)
{
    const chosen_option *chosen = v->shared ? v->shared->chosen : NULL;
    char value[64];
    if (strstr(shown->help, "efault")) return;
    while (chosen && chosen->name && strcmp(chosen->name, shown->name) != 0) chosen++;
    const bool may_be_chosen = chosen && chosen->name;
    if (may_be_chosen && chosen->always)
        add(shown, " (default: depends on the amount of data)");
    else if (options_default(v, shown->name, value, sizeof value))
        add(shown, " (default: %s%s)", value, may_be_chosen ? ", unless chosen from the amount of data" : "");
}

static void set_help(option_shown *shown, const verb *v, const char *help, bool names_scores)
{
    add(shown, "%s", help);
    if (names_scores) add_formulas(shown);
    add_default(shown, v);
}

bool options_shown(const verb *v, int i, option_shown *shown)
{
    const int count = options_count(v);
    int own = 0;
    while (own < count && !options_is_shared(v, own)) own++;
    const int helps = v->main_options ? 2 : 1;
    if (i >= own && i < own + helps) {
        *shown = (option_shown){ .name = i == own ? "help" : "help-all" };
        set_help(shown, v,
                 i > own           ? "show all options, then exit"
                 : v->main_options ? "show the main options, then exit"
                                   : "show this help, then exit",
                 false);
        return true;
    }
    if (i < count + helps) {
        const option *o = options_entry(v, i > own ? i - helps : i);
        *shown = (option_shown){ .name = o->name, .entry = o, .group = i > own ? SHARED_OPTION : OWN_OPTION };
        shown->argument = option_argument(o, shown->choices);
        set_help(shown, v, o->help, false);
        return true;
    }
    int left = i - count - helps;
    for (int f = 0; v->has_config && attend_config_field_at(f); f++) {
        const attend_config_field *field = attend_config_field_at(f);
        if (is_from_data(field) || left-- > 0) continue;
        *shown = (option_shown){ .name = field->name,
                                 .argument = field->values,
                                 .group = FIELD_OPTION,
                                 .value_is_optional = options_is_switch(f) };
        set_help(shown, v, field->help, field->type == ATTEND_FIELD_SCORE);
        return true;
    }
    return false;
}

/* ---- printing ---- */

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

static bool is_main(const verb *v, const option_shown *shown)
{
    if (!v->main_options || !strncmp(shown->name, "help", 4)) return true;
    for (const char *const *name = v->main_options; *name; name++)
        if (strcmp(*name, shown->name) == 0) return true;
    return false;
}

void options_help(const verb *v, FILE *to, bool all)
{
    attend_print(to, "attend %s: %s\n\nusage: ", v->name, v->summary);
    write_unchanged(to, v->synopsis);
    write_unchanged(to, "\n\n");
    write_unchanged(to, v->details);
    const bool is_part = v->main_options && !all;
    attend_print(to, "\n\n%soptions:\n", is_part ? "main " : "");
    option_shown shown;
    enum option_group_kind group = OWN_OPTION;
    int left_out = 0;
    for (int i = 0; options_shown(v, i, &shown); i++) {
        if (is_part && !is_main(v, &shown)) {
            left_out++;
            continue;
        }
        if (shown.group != group)
            attend_print(to, "\n%s options (%s):\n", shown.group == FIELD_OPTION ? "model" : v->shared->name,
                         shown.group == FIELD_OPTION ? "docs/models.md" : v->shared->document);
        group = shown.group;
        print_option(to, &shown);
    }
    if (left_out) attend_print(to, "\nattend %s --help-all shows all options, %d more.\n", v->name, left_out);
    if (!v->examples) return;
    write_unchanged(to, "\nexamples:\n");
    write_unchanged(to, v->examples);
}
