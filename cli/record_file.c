#include "record_file.h"

#include "array.h"

#include <attend/file.h>
#include <attend/lines.h>
#include <attend/parse.h>
#include <attend/status.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void record_free(record *r)
{
    free(r->list);
    *r = (record){ 0 };
}

static record_field *take(record *r)
{
    if (!array_reserve(&r->list, &r->capacity, (size_t)r->count + 1, sizeof *r->list)) {
        r->failed = true;
        return NULL;
    }
    return &r->list[r->count++];
}

void record_add(record *r, const char *name, const char *format, ...)
{
    va_list arguments;
    record_field *x = take(r);
    if (!x) return;
    snprintf(x->name, sizeof x->name, "%s", name);
    va_start(arguments, format);
    vsnprintf(x->text, sizeof x->text, format, arguments);
    va_end(arguments);
    for (char *s = x->text; *s; s++) /* one field, one line */
        if (*s == '\n' || *s == '\r') *s = ' ';
}

void record_add_number(record *r, const char *name, double x)
{
    char text[64];
    attend_format_real(text, sizeof text, x, 15);
    record_add(r, name, "%s", text);
}

const char *record_find(const record *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->list[i].name, name) == 0) return r->list[i].text;
    return NULL;
}

bool record_number(const record *r, const char *name, double *x)
{
    const char *text = record_find(r, name);
    return text && attend_parse_real(text, NULL, x);
}

const record_field *record_changed(const record *then, const record *now)
{
    for (int i = 0; i < now->count; i++) {
        const char *was = record_find(then, now->list[i].name);
        if (was && strcmp(was, now->list[i].text) != 0) return &now->list[i];
    }
    return NULL;
}

int record_write(const record *r, const char *path)
{
    attend_atomic_file *to = NULL;
    if (r->failed) return attend_fail(ATTEND_NO_MEMORY, "out of memory writing %s", path);
    int status = attend_atomic_file_begin(&to, path, 0);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i < r->count; i++)
        attend_atomic_file_printf(to, &status, "%s\t%s\n", r->list[i].name, r->list[i].text);
    if (status == ATTEND_OK) return attend_atomic_file_commit(to);
    attend_atomic_file_abandon(to);
    return status;
}

int record_read(record *r, const char *path, bool *found)
{
    enum { MAX_BYTES = 1 << 20 };
    attend_lines *from = NULL;
    *found = access(path, F_OK) == 0 || errno != ENOENT;
    if (!*found) return ATTEND_OK;
    int status = attend_lines_open(&from, path);
    if (status == ATTEND_OK) attend_lines_set_limit(from, MAX_BYTES);
    for (const char *text = ""; status == ATTEND_OK && text;) {
        size_t size;
        status = attend_lines_next(from, &text, &size);
        const char *tab = status == ATTEND_OK && text ? memchr(text, '\t', size) : NULL;
        char name[RECORD_NAME];
        if (!tab) continue;
        snprintf(name, sizeof name, "%.*s", (int)(tab - text), text);
        record_add(r, name, "%s", tab + 1);
    }
    attend_lines_close(from);
    return status == ATTEND_OK && r->failed ? attend_fail(ATTEND_NO_MEMORY, "out of memory reading %s", path) : status;
}
