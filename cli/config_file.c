/* config_file.c: options from a file, one per line: "hidden 256", "hidden = 256" or "fresh no". A # at the beginning
 * of a line or after a space starts a comment. */
#include "option_table.h"

#include "array.h"

#include <attend/utf8.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 20 }; /* guards against /dev/zero and the like */

static int cannot_read(const verb *v, const char *path, const char *why)
{
    attend_print(stderr, "attend %s: cannot read configuration file %s: %s\n", v->name, path, why);
    return ATTEND_IO;
}

/* Reads a whole file and terminates it with '\0'. */
static int read_text(const verb *v, const char *path, char **text, size_t *size)
{
    struct stat s;
    FILE *f = fopen(path, "rb");
    *text = NULL;
    if (!f) return cannot_read(v, path, attend_errno_text(errno));
    if (fstat(fileno(f), &s) == 0 && S_ISDIR(s.st_mode)) {
        fclose(f);
        return cannot_read(v, path, "it is a directory");
    }
    *text = malloc(MAX_BYTES + 2);
    *size = *text ? fread(*text, 1, MAX_BYTES + 1, f) : 0;
    const int error = ferror(f) ? errno : 0;
    fclose(f);
    if (!*text) return cannot_read(v, path, "out of memory");
    (*text)[*size] = '\0';
    if (error) return cannot_read(v, path, attend_errno_text(error));
    if (*size > MAX_BYTES) return cannot_read(v, path, "it is larger than 1 MiB");
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *strip(char *s)
{
    while (is_blank(*s)) s++;
    for (char *end = s + strlen(s); end > s && is_blank(end[-1]); end--) end[-1] = '\0';
    return s;
}

static void cut_comment(char *line)
{
    for (char *at = line; (at = strchr(at, '#')); at++)
        if (at == line || is_blank(at[-1])) {
            *at = '\0';
            return;
        }
}

/* File names are separated by spaces; a name with spaces can only be given on the command line. */
static int set_files(const verb *v, void *base, const option *o, char *value)
{
    enum { MAX_NAMES = 64 };
    const char *names[MAX_NAMES];
    int count = 0;
    for (char *rest = value, *name; count < MAX_NAMES && (name = strtok_r(rest, " \t", &rest));) names[count++] = name;
    if (count == MAX_NAMES)
        return usage_error(v, "--%s: more than %d files on one line; use several lines", o->name, MAX_NAMES - 1);
    return option_add_files(v, o, base, names, count);
}

/* One line: a name and its value. */
static int set_line(const verb *v, void *base, parsed *p, char *line)
{
    char choices[OPTION_ARGUMENT];
    cut_comment(line);
    char *typed = strip(line);
    if (!*typed) return 0;
    char *value = typed + strcspn(typed, " \t=");
    const bool equals = *value == '=';
    if (*value) *value++ = '\0';
    value = strip(value);
    if (!equals && *value == '=') value = strip(value + 1);
    if (strncmp(typed, "--", 2) == 0) typed += 2;
    const char *const name = options_current_name(v, typed, value);
    const int number = options_find(v, name), f = options_find_field(v, name);
    if (number < 0 && f < 0) return unknown_option_error(v, name);
    options_mark_given(v, p, name);
    const option *o = number >= 0 ? options_entry(v, number) : NULL;
    if (o && o->kind == OPTION_FLAG) {
        const bool yes = !*value || strcmp(value, "yes") == 0;
        if (!yes && strcmp(value, "no") != 0)
            return usage_error(v, "--%s '%s' is not yes or no (no value means yes)", name, value);
        *(bool *)((char *)base + o->offset) = yes;
        return 0;
    }
    if (!*value && !o && options_is_switch(f)) value = "yes";
    if (!*value)
        return usage_error(v, "--%s requires a value: %s", name,
                           o ? option_argument(o, choices) : attend_config_field_at(f)->values);
    if (o && strcmp(name, "config") == 0) return usage_error(v, "a configuration file cannot include another");
    if (o) p->from_file[number] = true;
    if (o && option_takes_files(o)) return set_files(v, base, o, value);
    return options_set(v, base, name, value);
}

int options_read_config(const verb *v, void *base, parsed *p, const char *path)
{
    char *text, where[512];
    size_t size;
    int status = read_text(v, path, &text, &size);
    if (!text || !array_reserve(&p->texts, &p->text_capacity, (size_t)p->text_count + 1, sizeof *p->texts)) {
        free(text);
        return status ? status : cannot_read(v, path, "out of memory");
    }
    p->texts[p->text_count++] = text; /* values point into it */
    char *line = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text, *end = text + size;
    for (int number = 1; status == 0 && line < end; number++) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        *next = '\0';
        snprintf(where, sizeof where, "%s:%d: ", path, number);
        options_set_location(where);
        const size_t length = (size_t)(next - line);
        if (strlen(line) < length)
            status = usage_error(v, "this line contains a NUL byte; a configuration file is text");
        else if (attend_utf8_valid(line, length) < length)
            status = usage_error(v, "this line is not UTF-8; a configuration file is text");
        else
            status = set_line(v, base, p, line);
        line = next + 1;
    }
    options_set_location("");
    return status;
}
