#include "segments.h"

#include "nul_bytes.h"
#include "core/status.h"
#include <attend/lines.h>
#include <attend/string_table.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the lines to evaluate");
}

int text_lines_add(text_lines *l, const char *text, size_t size)
{
    if (l->count == l->room) {
        if (l->room > INT_MAX / 4) return attend_fail(ATTEND_BAD_DATA, "more than %d lines", l->room);
        char **larger = realloc(l->items, (size_t)(2 * l->room + 256) * sizeof *larger);
        if (!larger) return no_memory();
        l->items = larger, l->room = 2 * l->room + 256;
    }
    char *copy = malloc(size + 1);
    if (!copy) return no_memory();
    memcpy(copy, text, size);
    copy[size] = '\0';
    l->items[l->count++] = copy;
    return ATTEND_OK;
}

void text_lines_free(text_lines *l)
{
    for (int i = 0; i < l->count; i++) free(l->items[i]);
    free(l->items);
    *l = (text_lines){ 0 };
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
        status = byte_zero_refuse(text, size, attend_lines_name(from), attend_lines_number(from));
        if (status == ATTEND_OK) status = text_lines_add(l, text, size);
    }
    attend_lines_close(from);
    return status;
}

void segments_free(segments *s)
{
    text_lines_free(&s->sources);
    text_lines_free(&s->texts);
    free(s->references);
    free(s->begin);
    free(s->segment_of);
    *s = (segments){ 0 };
}

/* Of equal references of a segment one is enough. */
static void drop_repeats(segments *s)
{
    int kept = 0;
    for (int i = 0, first, end; i < s->count; i++) {
        first = s->begin[i], end = s->begin[i + 1];
        const int begin = kept;
        for (int j = first; j < end; j++) {
            bool known = false;
            for (int k = begin; !known && k < kept; k++) known = strcmp(s->references[k], s->references[j]) == 0;
            if (!known) s->references[kept++] = s->references[j];
        }
        s->begin[i] = begin;
    }
    s->begin[s->count] = kept;
}

/* Sorts the references by their segments, keeping the order within each. */
static int arrange(segments *s)
{
    if (s->count == 0) return attend_fail(ATTEND_BAD_DATA, "%s has no lines", s->from);
    s->begin = calloc((size_t)s->count + 2, sizeof *s->begin);
    s->references = calloc((size_t)s->texts.count + 1, sizeof *s->references);
    if (!s->begin || !s->references) return no_memory();
    for (int i = 0; i < s->texts.count; i++) s->begin[s->segment_of[i] + 2]++;
    for (int i = 0; i < s->count; i++) s->begin[i + 2] += s->begin[i + 1];
    for (int i = 0; i < s->texts.count; i++) s->references[s->begin[s->segment_of[i] + 1]++] = s->texts.items[i];
    if (s->grouped) drop_repeats(s);
    return ATTEND_OK;
}

/* ---- pairs ---- */

static int add_pair(segments *s, attend_string_table *known, const attend_text_pair *p, int *room)
{
    int number, status = attend_string_table_add(known, p->source, p->source_size, &number);
    if (status == ATTEND_OK) status = byte_zero_refuse_pair(p);
    if (status == ATTEND_OK && number == s->sources.count)
        status = text_lines_add(&s->sources, p->source, p->source_size);
    if (status == ATTEND_OK) status = text_lines_add(&s->texts, p->target, p->target_size);
    if (status != ATTEND_OK) return status;
    if (s->texts.count > *room) {
        int *larger = realloc(s->segment_of, (size_t)s->texts.room * sizeof *larger);
        if (!larger) return no_memory();
        s->segment_of = larger, *room = s->texts.room;
    }
    s->segment_of[s->texts.count - 1] = number;
    return ATTEND_OK;
}

int segments_read_pairs(segments *s, const pairs_list *pairs)
{
    attend_pairs_spec *specs = calloc((size_t)pairs->count + 1, sizeof *specs);
    attend_pairs_file *file = NULL;
    attend_string_table known = { 0 };
    int status = specs ? ATTEND_OK : no_memory(), room = 0;
    for (int i = 0; status == ATTEND_OK && i < pairs->count; i++)
        specs[i] = (attend_pairs_spec){ pairs->items[i].first, pairs->items[i].second };
    if (status == ATTEND_OK) status = attend_pairs_file_open(&file, specs, pairs->count);
    while (status == ATTEND_OK) {
        attend_text_pair p;
        status = attend_pairs_file_next(file, &p);
        if (status != ATTEND_OK || !p.source) break;
        status = add_pair(s, &known, &p, &room);
    }
    attend_string_table_free(&known);
    attend_pairs_file_close(file);
    free(specs);
    s->grouped = true;
    s->count = s->sources.count;
    snprintf(s->from, sizeof s->from, "%s", pairs->items[0].first);
    return status == ATTEND_OK ? arrange(s) : status;
}

/* ---- line by line ---- */

static int must_agree(const char *path, int count, const char *other, int wanted)
{
    if (count == wanted) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "%s has %d lines, and %s has %d: they must have as many lines", path, count,
                       other, wanted);
}

int segments_read_lines(segments *s, const texts_list *references, const char *sources)
{
    int status = ATTEND_OK;
    snprintf(s->from, sizeof s->from, "%s", references->items[0]);
    for (int i = 0; status == ATTEND_OK && i < references->count; i++) {
        const char *path = references->items[i];
        const int before = s->texts.count;
        status = text_lines_read(&s->texts, path);
        if (i == 0) s->count = s->texts.count;
        if (status == ATTEND_OK) status = must_agree(path, s->texts.count - before, s->from, s->count);
    }
    if (status == ATTEND_OK && sources) status = text_lines_read(&s->sources, sources);
    if (status == ATTEND_OK && sources) status = must_agree(sources, s->sources.count, s->from, s->count);
    if (status != ATTEND_OK) return status;
    s->segment_of = calloc((size_t)s->texts.count + 1, sizeof *s->segment_of);
    if (!s->segment_of) return no_memory();
    for (int i = 0; i < s->texts.count; i++) s->segment_of[i] = i % s->count;
    return arrange(s);
}

/* ---- systems ---- */

/* A line a pair: one for each segment is left, if those of a segment agree. */
static int merge_lines(const segments *s, text_lines *h, const char *path)
{
    int kept = 0;
    int *first = calloc((size_t)s->count + 1, sizeof *first); /* line of a segment's first pair, from 1 */
    int status = first ? ATTEND_OK : no_memory();
    for (int i = 0; status == ATTEND_OK && i < h->count; i++) {
        const int segment = s->segment_of[i];
        char *text = h->items[i];
        h->items[i] = NULL;
        if (segment == kept) { /* sources are numbered as they come */
            h->items[kept++] = text;
            first[segment] = i + 1;
            continue;
        }
        if (strcmp(text, h->items[segment]) != 0)
            status = attend_fail(ATTEND_BAD_DATA,
                                 "%s:%d: another translation than in line %d, and their sources are equal: write one "
                                 "line for each different source, or give --reference instead of --input",
                                 path, i + 1, first[segment]);
        free(text);
    }
    free(first);
    if (status == ATTEND_OK) h->count = kept;
    return status;
}

int segments_read_system(const segments *s, text_lines *hypotheses, const char *path)
{
    const int status = text_lines_read(hypotheses, path);
    if (status != ATTEND_OK || hypotheses->count == s->count) return status;
    if (!s->grouped) return must_agree(path, hypotheses->count, s->from, s->count);
    if (hypotheses->count == s->texts.count) return merge_lines(s, hypotheses, path);
    return attend_fail(ATTEND_BAD_DATA,
                       "%s has %d lines, and %s has %d pairs with %d different sources: they must have as many lines",
                       path, hypotheses->count, s->from, s->texts.count, s->count);
}

int segments_reference_count(const segments *s)
{
    const int first = s->count ? s->begin[1] - s->begin[0] : 0;
    for (int i = 1; i < s->count; i++)
        if (s->begin[i + 1] - s->begin[i] != first) return 0;
    return first;
}
