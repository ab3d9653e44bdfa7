/* option_table.c: lookup of options by name. */
#include "option_table.h"

#include <attend/parse.h>
#include <string.h>

static int table_length(const option *table)
{
    int n = 0;
    while (table && table[n].name) n++;
    return n;
}

static const option *shared_options(const verb *v)
{
    return v->shared ? v->shared->options : NULL;
}

int options_count(const verb *v)
{
    return table_length(v->options) + table_length(shared_options(v));
}

const option *options_entry(const verb *v, int i)
{
    const int own = table_length(v->options);
    if (i < own) return &v->options[i];
    return i < options_count(v) ? &shared_options(v)[i - own] : NULL;
}

int options_find(const verb *v, const char *name)
{
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++)
        if (strcmp(o->name, name) == 0) return i;
    return -1;
}

bool options_is_shared(const verb *v, int i)
{
    return i >= table_length(v->options) && i < options_count(v);
}

int options_find_field(const verb *v, const char *name)
{
    return v->has_config ? attend_config_field_find(name) : -1;
}

bool options_is_switch(int field)
{
    return attend_config_field_at(field)->type == ATTEND_FIELD_SWITCH;
}

bool options_given(const verb *v, const parsed *p, const char *name)
{
    const int number = options_find(v, name), f = options_find_field(v, name);
    return number >= 0 ? p->given[number] : f >= 0 && p->given[options_count(v) + f];
}

const bool *options_fields_given(const verb *v, const parsed *p)
{
    return p->given + options_count(v);
}

void options_mark_given(const verb *v, parsed *p, const char *name)
{
    const int number = options_find(v, name), f = options_find_field(v, name);
    p->given[number >= 0 ? number : options_count(v) + f] = true;
}

int unknown_option_error(const verb *v, const char *name)
{
    const char *names[MAX_OPTIONS + 2];
    size_t n = 0;
    const option *o;
    for (int i = 0; (o = options_entry(v, i)); i++) names[n++] = o->name;
    for (int i = 0; v->has_config && attend_config_field_at(i); i++) names[n++] = attend_config_field_at(i)->name;
    names[n++] = "help", names[n++] = "help-all";
    const char *closest = attend_closest_word(name, names, n);
    if (closest) return usage_error(v, "unknown option --%s; did you mean --%s?", name, closest);
    return usage_error(v, "unknown option --%s", name);
}

/* ---- old names ---- */

/* Whether an option of today has the name, and the value fits it. An old name that has another meaning today stays
 * accepted where its use tells which one is meant. */
static bool is_current_use(const verb *v, const char *name, const char *value)
{
    const int number = options_find(v, name);
    if (number < 0) return false;
    const option *o = options_entry(v, number);
    if (!value || o->kind != OPTION_CHOICE) return true;
    for (const char *const *choice = o->choices; *choice; choice++)
        if (strcmp(*choice, value) == 0) return true;
    return false;
}

const char *options_current_name(const verb *v, const char *name, const char *value)
{
    const char *current = name;
    const bool is_current = is_current_use(v, name, value);
    for (const option_alias *a = v->aliases; a && a->name && !is_current; a++)
        if (a->old_name && strcmp(a->old_name, name) == 0) current = a->name;
    const int field = options_find(v, current) < 0 ? options_find_field(v, current) : -1;
    if (field >= 0) current = attend_config_field_at(field)->name; /* fields have their own old names */
    const char *const current_value = value ? options_current_value(v, current, value) : NULL;
    if (current_value != value)
        attend_print(stderr, "attend %s: note: --%s %s is now --%s %s\n", v->name, name, value, current, current_value);
    else if (strcmp(current, name) != 0)
        attend_print(stderr, "attend %s: note: --%s is now --%s\n", v->name, name, current);
    return current;
}

const char *options_current_value(const verb *v, const char *name, const char *value)
{
    for (const option_alias *a = v->aliases; a && a->name; a++)
        if (a->old_value && strcmp(a->name, name) == 0 && strcmp(a->old_value, value) == 0) return a->value;
    return value;
}
