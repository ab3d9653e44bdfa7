/* config_file.c: options from a file, a line each: "hidden 256" or "hidden = 256". A # at the beginning of a line or behind a blank begins
 * a comment. */
#include "options_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 20 }; /* nobody writes more by hand; /dev/zero does */

static int cannot_read(const verb *v, const char *path, const char *why)
{
    fprintf(stderr, "attend %s: cannot read the configuration %s: %s\n", v->name, path, why);
    return ATTEND_IO;
}

/* All of it with a '\0' behind. */
static int read_text(const verb *v, const char *path, char **text, size_t *size)
{
    struct stat s;
    FILE *f = fopen(path, "rb");
    *text = NULL;
    if (!f) return cannot_read(v, path, strerror(errno));
    if (fstat(fileno(f), &s) == 0 && S_ISDIR(s.st_mode)) {
        fclose(f);
        return cannot_read(v, path, "it is a folder; name a file in it");
    }
    *text = malloc(MOST_BYTES + 2);
    *size = *text ? fread(*text, 1, MOST_BYTES + 1, f) : 0;
    const int error = ferror(f) ? errno : 0;
    fclose(f);
    if (!*text) return cannot_read(v, path, "no memory");
    (*text)[*size] = '\0';
    if (error) return cannot_read(v, path, strerror(error));
    if (*size > MOST_BYTES) return cannot_read(v, path, "it has more than 1 MiB, which no configuration has");
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

/* Names stand side by side; those with blanks in them are for the command line. */
static int set_pairs(const verb *v, void *base, const option *o, char *value)
{
    enum { MOST = 64 };
    const char *names[MOST];
    int count = 0;
    for (char *rest = value, *name; count < MOST && (name = strtok_r(rest, " \t", &rest));) names[count++] = name;
    if (count == MOST) return options_wrong(v, "--%s: more than %d files; write another line", o->name, MOST - 1);
    return options_add_pairs(v, o, base, names, count);
}

/* One line: a word and its value. */
static int set_line(const verb *v, void *base, parsed *p, char *line)
{
    cut_comment(line);
    char *name = strip(line);
    if (!*name) return 0;
    char *value = name + strcspn(name, " \t=");
    const bool equals = *value == '=';
    if (*value) *value++ = '\0';
    value = strip(value);
    if (!equals && *value == '=') value = strip(value + 1);
    if (strncmp(name, "--", 2) == 0) name += 2;
    const int number = options_find(v, name), f = options_find_field(v, name);
    if (number < 0 && f < 0) return options_unknown(v, name);
    options_mark(v, p, name);
    const option *o = number >= 0 ? options_entry(v, number) : NULL;
    if (o && o->kind == OPTION_FLAG) {
        const bool yes = !*value || strcmp(value, "yes") == 0;
        if (!yes && strcmp(value, "no") != 0)
            return options_wrong(v, "--%s is yes or no (alone: yes), and not '%s'", name, value);
        *(bool *)((char *)base + o->offset) = yes;
        return 0;
    }
    if (!*value && !o && options_is_switch(f)) value = "yes";
    if (!*value)
        return options_wrong(v, "--%s wants a value: %s", name, o ? o->argument : attend_config_field_at(f)->values);
    if (o && strcmp(name, "config") == 0) return options_wrong(v, "a configuration cannot name another");
    if (o) p->from_file[number] = true;
    if (o && options_has_files(o)) return set_pairs(v, base, o, value);
    return options_set(v, base, name, value);
}

int options_read_config(const verb *v, void *base, parsed *p, const char *path)
{
    char *text, where[512];
    size_t size;
    int status = read_text(v, path, &text, &size);
    char **texts = text ? realloc(p->texts, (size_t)(p->text_count + 1) * sizeof *texts) : NULL;
    if (!texts) {
        free(text);
        return status ? status : cannot_read(v, path, "no memory");
    }
    p->texts = texts;
    p->texts[p->text_count++] = text; /* values point into it */
    char *line = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text, *end = text + size;
    for (int number = 1; status == 0 && line < end; number++) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        if (!next) next = end;
        *next = '\0';
        snprintf(where, sizeof where, "%s:%d: ", path, number);
        options_at(where);
        status = strlen(line) < (size_t)(next - line)
                     ? options_wrong(v, "there is a NUL byte in this line; a configuration is text")
                     : set_line(v, base, p, line);
        line = next + 1;
    }
    options_at("");
    return status;
}
