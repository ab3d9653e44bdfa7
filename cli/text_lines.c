#include "text_lines.h"

#include <attend/status.h>
#include "array.h"
#include "nul_bytes.h"
#include "output_file.h"
#include <attend/lines.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "out of memory reading lines");
}

int text_lines_add(text_lines *l, const char *text, size_t size)
{
    enum {
        MAX_LINES = INT_MAX / 4,
        OVERHEAD = 56
    }; /* OVERHEAD: the pointer and origin of a line, and what malloc adds */
    const size_t max_bytes = l->max_bytes ? l->max_bytes : TEXT_LINES_MAX_BYTES;
    if (l->count == MAX_LINES) return attend_fail(ATTEND_BAD_DATA, "more than %d lines", MAX_LINES);
    if (size > max_bytes - l->bytes || max_bytes - l->bytes - size < OVERHEAD)
        return attend_fail(ATTEND_BAD_DATA, "the lines take more than %zu MiB of memory, the limit", max_bytes >> 20);
    if (!array_reserve(&l->items, &l->capacity, (size_t)l->count + 1, sizeof *l->items)) return no_memory();
    char *copy = malloc(size + 1);
    if (!copy) return no_memory();
    memcpy(copy, text, size);
    copy[size] = '\0';
    l->items[l->count++] = copy;
    l->bytes += size + OVERHEAD;
    return ATTEND_OK;
}

static int add_file(text_lines *l, const char *name)
{
    if (l->file_count > 0 && strcmp(l->files[l->file_count - 1], name) == 0) return ATTEND_OK;
    if (!array_reserve(&l->files, &l->file_capacity, (size_t)l->file_count + 1, sizeof *l->files)) return no_memory();
    char *copy = strdup(name);
    if (!copy) return no_memory();
    l->files[l->file_count++] = copy;
    return ATTEND_OK;
}

int text_lines_add_from(text_lines *l, const char *text, size_t size, const char *file, unsigned long long line)
{
    int status = text_lines_add(l, text, size);
    if (status == ATTEND_OK) status = add_file(l, file);
    if (status != ATTEND_OK) return status;
    if (!array_reserve(&l->origins, &l->origin_capacity, (size_t)l->origin_count + 1, sizeof *l->origins))
        return no_memory();
    l->origins[l->origin_count++] = (text_origin){ l->file_count - 1, line };
    return ATTEND_OK;
}

const char *text_lines_place(const text_lines *l, int i, char text[TEXT_PLACE])
{
    if (i < l->origin_count)
        snprintf(text, TEXT_PLACE, "%.255s:%llu", l->files[l->origins[i].file], l->origins[i].line);
    else
        snprintf(text, TEXT_PLACE, "line %d", i + 1);
    return text;
}

void text_lines_free(text_lines *l)
{
    for (int i = 0; i < l->file_count; i++) free(l->files[i]);
    free(l->files);
    free(l->origins);
    for (int i = 0; i < l->count; i++) free(l->items[i]);
    free(l->items);
    *l = (text_lines){ 0 };
}

/* Adds the file and the line to the message. */
static int at_line(int status, const attend_lines *from)
{
    char why[256];
    snprintf(why, sizeof why, "%s", attend_message());
    return attend_fail(status, "%s:%llu: %s", attend_lines_name(from), (unsigned long long)attend_lines_number(from),
                       why);
}

int text_lines_read(text_lines *l, const char *path)
{
    attend_lines *from = NULL;
    int status = attend_lines_open(&from, path);
    while (status == ATTEND_OK) {
        const char *text;
        size_t size;
        status = attend_lines_next(from, &text, &size);
        if (status != ATTEND_OK || !text) break;
        status = nul_bytes_check(text, size, attend_lines_name(from), attend_lines_number(from));
        if (status != ATTEND_OK) break;
        status = text_lines_add_from(l, text, size, attend_lines_name(from), attend_lines_number(from));
        if (status != ATTEND_OK) status = at_line(status, from);
    }
    attend_lines_close(from);
    return status;
}

int text_lines_write(const text_lines *l, const char *path)
{
    output_file *to = NULL;
    int status = output_open(&to, path);
    for (int i = 0; status == ATTEND_OK && i < l->count; i++) {
        status = output_text(to, l->items[i]);
        if (status == ATTEND_OK) status = output_text(to, "\n");
    }
    const int closed = output_close(to, status == ATTEND_OK);
    return status == ATTEND_OK ? closed : status;
}
