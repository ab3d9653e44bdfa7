#include "metadata.h"

#include "core/atomic_file.h"
#include "core/status.h"
#include <attend/parse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void facts_free(facts *f)
{
    free(f->list);
    *f = (facts){ 0 };
}

static fact *take(facts *f)
{
    if (f->count == f->room) {
        fact *larger = realloc(f->list, (size_t)(2 * f->room + 32) * sizeof *larger);
        if (!larger) {
            f->failed = true;
            return NULL;
        }
        f->list = larger, f->room = 2 * f->room + 32;
    }
    return &f->list[f->count++];
}

void facts_add(facts *f, const char *name, const char *format, ...)
{
    va_list arguments;
    fact *x = take(f);
    if (!x) return;
    snprintf(x->name, sizeof x->name, "%s", name);
    va_start(arguments, format);
    vsnprintf(x->text, sizeof x->text, format, arguments);
    va_end(arguments);
    for (char *s = x->text; *s; s++) /* a line stays one */
        if (*s == '\n' || *s == '\r') *s = ' ';
}

void facts_add_number(facts *f, const char *name, double x)
{
    char text[64];
    attend_format_real(text, sizeof text, x, 15);
    facts_add(f, name, "%s", text);
}

const char *facts_find(const facts *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->list[i].name, name) == 0) return f->list[i].text;
    return NULL;
}

bool facts_number(const facts *f, const char *name, double *x)
{
    const char *text = facts_find(f, name);
    return text && attend_parse_real(text, NULL, x);
}

const fact *facts_changed(const facts *then, const facts *now)
{
    for (int i = 0; i < now->count; i++) {
        const char *was = facts_find(then, now->list[i].name);
        if (was && strcmp(was, now->list[i].text) != 0) return &now->list[i];
    }
    return NULL;
}

int facts_write(const facts *f, const char *path)
{
    attend_atomic_file *to = NULL;
    if (f->failed) return attend_fail(ATTEND_NO_MEMORY, "no memory to write %s", path);
    int status = attend_atomic_file_begin(&to, path, 0);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i < f->count; i++)
        attend_atomic_file_printf(to, &status, "%s\t%s\n", f->list[i].name, f->list[i].text);
    if (status == ATTEND_OK) return attend_atomic_file_commit(to);
    attend_atomic_file_abandon(to);
    return status;
}

int facts_read(facts *f, const char *path, bool *found)
{
    char line[FACT_NAME + FACT_TEXT + 8];
    FILE *from = fopen(path, "rb");
    *found = from != NULL;
    if (!from && errno == ENOENT) return ATTEND_OK;
    if (!from) return attend_fail(ATTEND_IO, "cannot read %s: %s", path, attend_errno_text(errno));
    while (fgets(line, sizeof line, from)) {
        char *tab = strchr(line, '\t');
        line[strcspn(line, "\n")] = '\0';
        if (!tab) continue;
        *tab = '\0';
        facts_add(f, line, "%s", tab + 1);
    }
    const bool read = !ferror(from);
    fclose(from);
    if (!read) return attend_fail(ATTEND_IO, "cannot read %s to its end", path);
    return f->failed ? attend_fail(ATTEND_NO_MEMORY, "no memory to read %s", path) : ATTEND_OK;
}
