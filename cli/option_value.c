/* option_value.c: values of options, from text and to text. */
#include "option_table.h"

#include "array.h"

#include <attend/parse.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers and words ---- */

static bool read_number(const char *text, double *x)
{
    return attend_parse_real(text, NULL, x) && !isnan(*x);
}

/* "512M" */
static bool read_size(const char *text, double *x)
{
    static const char units[] = "kMGT";
    const char *end;
    if (!attend_parse_real(text, &end, x)) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (*end && (!unit || end[1])) return false;
    for (long i = unit ? unit - units + 1 : 0; i > 0; i--) *x *= 1024;
    return true;
}

static int assign_number(const verb *v, const option *o, void *to, const char *value)
{
    double x;
    const bool read = o->kind == OPTION_SIZE ? read_size(value, &x) : read_number(value, &x);
    if (!read || !(x >= o->min && x <= o->max) || (o->kind == OPTION_INTEGER && x != floor(x)))
        return usage_error(v, "--%s '%s' is not %s from %g to %g", o->name, value,
                           o->kind == OPTION_INTEGER ? "an integer"
                           : o->kind == OPTION_SIZE  ? "a size (such as 512M or 2G)"
                                                     : "a number",
                           o->min, o->max);
    if (o->kind == OPTION_REAL)
        *(double *)to = x;
    else
        *(long long *)to = (long long)x;
    return 0;
}

static int assign_word(const verb *v, const option *o, void *to, const char *value)
{
    size_t n = 0;
    for (; o->choices[n]; n++)
        if (strcmp(o->choices[n], value) == 0) {
            *(int *)to = (int)n;
            return 0;
        }
    char choices[OPTION_ARGUMENT];
    option_argument(o, choices);
    const char *closest = attend_closest_word(value, o->choices, n);
    if (closest)
        return usage_error(v, "--%s '%s' is not one of %s; did you mean '%s'?", o->name, value, choices, closest);
    return usage_error(v, "--%s '%s' is not one of %s", o->name, value, choices);
}

const char *option_argument(const option *o, char text[OPTION_ARGUMENT])
{
    if (o->kind != OPTION_CHOICE) return o->argument;
    int length = 0;
    for (const char *const *choice = o->choices; *choice && length < OPTION_ARGUMENT; choice++)
        length += snprintf(text + length, OPTION_ARGUMENT - (size_t)length, "%s%s", length ? "|" : "", *choice);
    return text;
}

/* ---- lists ---- */

bool option_is_text(const option *o)
{
    switch (o->kind) {
    case OPTION_TEXT:
    case OPTION_INPUT:
    case OPTION_OUTPUT:
    case OPTION_FILE:
    case OPTION_TRAINING:
    case OPTION_DIRECTORY:
        return true;
    default:
        return false;
    }
}

bool option_is_texts(const option *o)
{
    return o->kind == OPTION_TEXTS || o->kind == OPTION_INPUTS || o->kind == OPTION_NAMED_INPUTS ||
           o->kind == OPTION_PLUGINS;
}

bool option_takes_files(const option *o)
{
    return o->kind == OPTION_PAIRS || o->kind == OPTION_DATA;
}

static int add_data(const verb *v, const option *o, pairs_list *list, const char *const *names, int count)
{
    if (!array_reserve(&list->names, &list->name_capacity, (size_t)list->name_count + (size_t)count,
                       sizeof *list->names))
        return usage_error(v, "--%s: out of memory", o->name);
    for (int i = 0; i < count; i++) list->names[list->name_count++] = (data_name){ names[i], i == 0 };
    return 0;
}

int option_add_files(const verb *v, const option *o, void *base, const char *const *names, int count)
{
    pairs_list *list = (pairs_list *)((char *)base + o->offset);
    if (o->kind == OPTION_DATA) return add_data(v, o, list, names, count);
    if (!array_reserve(&list->items, &list->capacity, (size_t)list->count + (size_t)count, sizeof *list->items))
        return usage_error(v, "--%s: out of memory", o->name);
    int added = 0;
    if (attend_pairs_specs(list->items + list->count, &added, names, count) != ATTEND_OK)
        return usage_error(v, "--%s: %s", o->name, attend_message());
    list->count += added;
    return 0;
}

static int add_text(const verb *v, const option *o, texts_list *list, const char *value)
{
    if (!array_reserve(&list->items, &list->capacity, (size_t)list->count + 1, sizeof *list->items))
        return usage_error(v, "--%s: out of memory", o->name);
    list->items[list->count++] = value;
    return 0;
}

static int add_plugin(const verb *v, const option *o, texts_list *list, const char *path)
{
    const attend_score *score;
    const int status = attend_score_plugin_load(&score, path); /* once for each file */
    return status == ATTEND_OK ? add_text(v, o, list, path) : cli_fail(v, status);
}

/* ---- options and fields ---- */

int option_assign(const verb *v, const option *o, void *base, const char *value)
{
    void *to = (char *)base + o->offset;
    if (value) value = options_current_value(v, o->name, value);
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)to = true;
        break;
    case OPTION_TEXT:
    case OPTION_INPUT:
    case OPTION_OUTPUT:
    case OPTION_FILE:
    case OPTION_TRAINING:
    case OPTION_DIRECTORY:
        *(const char **)to = value;
        break;
    case OPTION_TEXTS:
    case OPTION_INPUTS:
    case OPTION_NAMED_INPUTS:
        return add_text(v, o, to, value);
    case OPTION_PLUGINS:
        return add_plugin(v, o, to, value);
    case OPTION_PAIRS:
    case OPTION_DATA:
        return option_add_files(v, o, base, &value, 1);
    case OPTION_INTEGER:
    case OPTION_REAL:
    case OPTION_SIZE:
        return assign_number(v, o, to, value);
    case OPTION_CHOICE:
        return assign_word(v, o, to, value);
    }
    return 0;
}

int field_assign(const verb *v, void *base, const char *name, const char *value)
{
    if (attend_config_set((attend_config *)((char *)base + v->config), name, value) == ATTEND_OK) return 0;
    return usage_error(v, "--%s%s", attend_message(), cli_plugin_hint());
}

int options_set(const verb *v, void *to, const char *name, const char *value)
{
    const int number = options_find(v, name);
    return number >= 0 ? option_assign(v, options_entry(v, number), to, value) : field_assign(v, to, name, value);
}

bool options_get(const verb *v, const void *from, const char *name, char *text, size_t size)
{
    const int number = options_find(v, name);
    if (number < 0)
        return v->has_config && attend_config_get((const attend_config *)((const char *)from + v->config), name, text,
                                                  size) == ATTEND_OK;
    const option *o = options_entry(v, number);
    const void *at = (const char *)from + o->offset;
    int length = -1;
    if (o->kind == OPTION_CHOICE) length = snprintf(text, size, "%s", o->choices[*(const int *)at]);
    if (o->kind == OPTION_REAL) length = attend_format_real(text, size, *(const double *)at, 6);
    if (o->kind == OPTION_INTEGER || o->kind == OPTION_SIZE)
        length = snprintf(text, size, "%lld", *(const long long *)at);
    return length >= 0 && (size_t)length < size;
}

/* ---- defaults ---- */

/* Whether the value of a number or choice is one that the option accepts; another one means that it is not given. */
static bool is_accepted(const option *o, const void *at)
{
    int choices = 0;
    switch (o->kind) {
    case OPTION_INTEGER:
        return (double)*(const long long *)at >= o->min && (double)*(const long long *)at <= o->max;
    case OPTION_REAL:
        return *(const double *)at >= o->min && *(const double *)at <= o->max;
    case OPTION_CHOICE:
        while (o->choices[choices]) choices++;
        return *(const int *)at >= 0 && *(const int *)at < choices;
    default:
        return false;
    }
}

bool options_default(const verb *v, const char *name, char *text, size_t size)
{
    const int number = options_find(v, name);
    const void *settings = v->defaults ? v->defaults() : NULL;
    if (!settings) return false;
    if (number < 0) return options_get(v, settings, name, text, size);
    const option *o = options_entry(v, number);
    const void *at = (const char *)settings + o->offset;
    if (!option_is_text(o)) return is_accepted(o, at) && options_get(v, settings, name, text, size);
    const char *const initial = *(const char *const *)at;
    return initial && snprintf(text, size, "%s", initial) < (int)size;
}
