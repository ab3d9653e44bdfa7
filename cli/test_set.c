/* test_set.c: sources with their references, from pairs or from line-aligned files. */
#include "test_set.h"

#include "array.h"
#include "nul_bytes.h"
#include <attend/status.h>
#include <attend/string_table.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "out of memory reading the test set");
}

void test_set_free(test_set *s)
{
    text_lines_free(&s->sources);
    text_lines_free(&s->texts);
    free(s->references);
    free(s->begin);
    free(s->segment_of);
    *s = (test_set){ 0 };
}

/* Removes repeated references of a segment. */
static int drop_repeats(test_set *s)
{
    int kept = 0, status = ATTEND_OK;
    for (int i = 0, first, end; status == ATTEND_OK && i < s->count; i++) {
        attend_string_table known = { 0 };
        first = s->begin[i], end = s->begin[i + 1];
        s->begin[i] = kept;
        for (int j = first; status == ATTEND_OK && j < end; j++) {
            int number = j - first; /* if this is the only one */
            const int count = known.count;
            if (end - first > 1)
                status = attend_string_table_add(&known, s->references[j], strlen(s->references[j]), &number);
            if (number == count) s->references[kept++] = s->references[j];
        }
        attend_string_table_free(&known);
    }
    s->begin[s->count] = kept;
    return status;
}

/* Sorts the references by segment, keeping their order within each. */
static int arrange(test_set *s)
{
    if (s->count == 0) return attend_fail(ATTEND_BAD_DATA, "%s has no lines", s->from);
    s->begin = calloc((size_t)s->count + 2, sizeof *s->begin);
    s->references = calloc((size_t)s->texts.count + 1, sizeof *s->references);
    if (!s->begin || !s->references) return no_memory();
    for (int i = 0; i < s->texts.count; i++) s->begin[s->segment_of[i] + 2]++;
    for (int i = 0; i < s->count; i++) s->begin[i + 2] += s->begin[i + 1];
    for (int i = 0; i < s->texts.count; i++) s->references[s->begin[s->segment_of[i] + 1]++] = s->texts.items[i];
    return s->grouped ? drop_repeats(s) : ATTEND_OK;
}

/* ---- pairs ---- */

static int add_pair(test_set *s, attend_string_table *known, const attend_text_pair *p, int *capacity)
{
    int number, status = attend_string_table_add(known, p->source, p->source_size, &number);
    if (status == ATTEND_OK) status = nul_bytes_check_pair(p);
    if (status == ATTEND_OK && number == s->sources.count)
        status = text_lines_add_from(&s->sources, p->source, p->source_size, p->source_file, p->line);
    if (status == ATTEND_OK)
        status = text_lines_add_from(&s->texts, p->target, p->target_size, p->target_file, p->line);
    if (status != ATTEND_OK) return status;
    if (!array_reserve(&s->segment_of, capacity, (size_t)s->texts.count, sizeof *s->segment_of)) return no_memory();
    s->segment_of[s->texts.count - 1] = number;
    return ATTEND_OK;
}

int test_set_read_pairs(test_set *s, const pairs_list *pairs)
{
    attend_pairs_file *file = NULL;
    attend_string_table known = { 0 };
    int capacity = 0, status = attend_pairs_file_open(&file, pairs->items, pairs->count);
    while (status == ATTEND_OK) {
        attend_text_pair p;
        status = attend_pairs_file_next(file, &p);
        if (status != ATTEND_OK || !p.source) break;
        status = add_pair(s, &known, &p, &capacity);
    }
    attend_string_table_free(&known);
    attend_pairs_file_close(file);
    s->grouped = true;
    s->count = s->sources.count;
    snprintf(s->from, sizeof s->from, "%s", pairs->items[0].source);
    return status == ATTEND_OK ? arrange(s) : status;
}

/* ---- line by line ---- */

static int check_count(const char *path, int count, const char *other, int expected)
{
    if (count == expected) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_DATA, "%s has %d lines, but %s has %d; the numbers of lines must be equal", path,
                       count, other, expected);
}

int test_set_read_lines(test_set *s, const texts_list *references, const char *sources)
{
    int status = ATTEND_OK;
    snprintf(s->from, sizeof s->from, "%s", references->items[0]);
    for (int i = 0; status == ATTEND_OK && i < references->count; i++) {
        const char *path = references->items[i];
        const int before = s->texts.count;
        status = text_lines_read(&s->texts, path);
        if (i == 0) s->count = s->texts.count;
        if (status == ATTEND_OK) status = check_count(path, s->texts.count - before, s->from, s->count);
    }
    if (status == ATTEND_OK && sources) status = text_lines_read(&s->sources, sources);
    if (status == ATTEND_OK && sources) status = check_count(sources, s->sources.count, s->from, s->count);
    if (status != ATTEND_OK) return status;
    s->segment_of = calloc((size_t)s->texts.count + 1, sizeof *s->segment_of);
    if (!s->segment_of) return no_memory();
    for (int i = 0; i < s->texts.count; i++) s->segment_of[i] = i % s->count;
    return arrange(s);
}

/* ---- systems ---- */

/* Reduces one line per pair to one per segment; the lines of a segment must be equal. */
static int merge_lines(const test_set *s, text_lines *h, const char *path)
{
    int kept = 0;
    int *first = calloc((size_t)s->count + 1, sizeof *first); /* line of a segment's first pair, from 1 */
    int status = first ? ATTEND_OK : no_memory();
    for (int i = 0; status == ATTEND_OK && i < h->count; i++) {
        const int segment = s->segment_of[i];
        char *text = h->items[i];
        h->items[i] = NULL;
        if (segment == kept) { /* segments are numbered in the order of first occurrence */
            h->origins[kept] = h->origins[i];
            h->items[kept++] = text;
            first[segment] = i + 1;
            continue;
        }
        if (strcmp(text, h->items[segment]) != 0)
            status =
                attend_fail(ATTEND_BAD_DATA,
                            "%s:%d: the translation differs from that of line %d, but the sources are equal; write one "
                            "line for each different source, or use --reference instead of --input",
                            path, i + 1, first[segment]);
        free(text);
    }
    free(first);
    if (status == ATTEND_OK) h->count = kept;
    return status;
}

int test_set_read_system(const test_set *s, text_lines *hypotheses, const char *path)
{
    const int status = text_lines_read(hypotheses, path);
    if (status != ATTEND_OK || hypotheses->count == s->count) return status;
    if (!s->grouped) return check_count(path, hypotheses->count, s->from, s->count);
    if (hypotheses->count == s->texts.count) return merge_lines(s, hypotheses, path);
    return attend_fail(ATTEND_BAD_DATA,
                       "%s has %d lines, but %s has %d pairs with %d different sources; the numbers must be equal",
                       path, hypotheses->count, s->from, s->texts.count, s->count);
}

const char *test_set_reference_place(const test_set *s, int k, char place[TEXT_PLACE])
{
    int i = 0;
    while (s->texts.items[i] != s->references[k]) i++;
    return text_lines_place(&s->texts, i, place);
}

int test_set_reference_count(const test_set *s)
{
    const int first = s->count ? s->begin[1] - s->begin[0] : 0;
    for (int i = 1; i < s->count; i++)
        if (s->begin[i + 1] - s->begin[i] != first) return 0;
    return first;
}
