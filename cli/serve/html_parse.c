/* html_parse.c: divides a document into segments. */
#include "serve/html.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

/* The segment that is being read, and the elements of it that are open. */
typedef struct parser {
    html_document *d;
    size_t text_size; /* of all texts */
    html_segment now;
    bool is_begun;            /* it has a tag or a character */
    bool has_space;           /* white space follows the last word */
    bool is_after_space;      /* white space follows the last character or tag */
    int open[HTML_MAX_DEPTH]; /* tags */
    struct {
        const char *text;
        size_t size;
    } names[HTML_MAX_DEPTH];
    int depth;
} parser;

static void *grown(void *array, int *capacity, int count, size_t size)
{
    if (count < *capacity) return array;
    const int larger = *capacity ? 2 * *capacity : 16;
    void *moved = realloc(array, (size_t)larger * size);
    if (moved) *capacity = larger;
    return moved;
}

/* ---- segments ---- */

static void begin_item(parser *p, const char *at)
{
    if (p->is_begun) return;
    p->is_begun = true;
    p->now = (html_segment){ .begin = (uint32_t)(at - p->d->html),
                             .text = (uint32_t)p->text_size,
                             .first_tag = p->d->tag_count };
}

static int end_segment(parser *p)
{
    html_document *d = p->d;
    html_segment *s = &p->now;
    const bool is_begun = p->is_begun;
    p->is_begun = p->has_space = p->is_after_space = false;
    p->depth = 0;
    if (!is_begun) return ATTEND_OK;
    s->size = (uint32_t)p->text_size - s->text;
    if (attend_word_count(d->texts + s->text, s->size) == 0) { /* it is copied */
        d->tag_count = s->first_tag;
        p->text_size = s->text;
        return ATTEND_OK;
    }
    s->tag_count = d->tag_count - s->first_tag;
    for (int i = s->first_tag; i < d->tag_count; i++)
        if (d->tags[i].offset > s->size) d->tags[i].offset = s->size;
    html_segment *segments = grown(d->segments, &d->segment_capacity, d->segment_count, sizeof *segments);
    if (!segments) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    d->segments = segments;
    d->segments[d->segment_count++] = *s;
    return ATTEND_OK;
}

static void add_character(parser *p, const char *at, const char *next, const char *bytes, size_t size)
{
    if (size == 1 && (bytes[0] == ' ' || (bytes[0] >= '\t' && bytes[0] <= '\r'))) {
        p->has_space = p->is_begun && p->text_size > p->now.text;
        p->is_after_space = true;
        return;
    }
    begin_item(p, at);
    if (p->has_space) p->d->texts[p->text_size++] = ' ';
    memcpy(p->d->texts + p->text_size, bytes, size);
    p->text_size += size;
    p->has_space = p->is_after_space = false;
    p->now.end = (uint32_t)(next - p->d->html);
}

/* ---- tags ---- */

/* Finds the start of an element that ends here. What was opened in it and not closed has no end in it. */
static void match_end(parser *p, const html_markup *m, int tag)
{
    int at = p->depth - 1;
    while (at >= 0 && !html_same_name(p->names[at].text, p->names[at].size, m->name, m->name_size)) at--;
    if (at < 0) return;
    p->depth = at;
    p->d->tags[tag].partner = p->open[at] - p->now.first_tag;
    p->d->tags[p->open[at]].partner = tag - p->now.first_tag;
}

static int add_tag(parser *p, const char *at, const char *end, const html_markup *m, html_tag_kind kind)
{
    html_document *d = p->d;
    begin_item(p, at);
    html_tag *tags = grown(d->tags, &d->tag_capacity, d->tag_count, sizeof *tags);
    if (!tags) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    d->tags = tags;
    const int tag = d->tag_count++;
    const char *last = d->html + d->size;
    tags[tag] = (html_tag){ .begin = (uint32_t)(at - d->html),
                            .end = (uint32_t)(end - d->html),
                            .offset = (uint32_t)(p->text_size - p->now.text) + p->has_space,
                            .partner = -1,
                            .kind = kind,
                            .space_before = p->is_after_space && p->has_space,
                            .space_after = end < last && (*end == ' ' || (*end >= '\t' && *end <= '\r')) };
    p->now.end = tags[tag].end;
    p->is_after_space = false;
    if (kind == HTML_END) match_end(p, m, tag);
    if (kind == HTML_START && p->depth < HTML_MAX_DEPTH) {
        p->open[p->depth] = tag;
        p->names[p->depth].text = m->name, p->names[p->depth++].size = m->name_size;
    }
    return ATTEND_OK;
}

/* The end of an element that is copied; without an end tag, it is the rest of the document. */
static const char *end_of_element(const html_markup *start, const char *end)
{
    html_markup m;
    int depth = 1;
    for (const char *at = start->end; at < end;) {
        at = start->is_raw ? html_find_raw_end(at, end, start) : memchr(at, '<', (size_t)(end - at));
        if (!at || at == end) break;
        if (!html_read_markup(at, end, &m)) {
            if (m.is_endless) return end;
            at++;
            continue;
        }
        at = m.is_raw && !start->is_raw ? html_find_raw_end(m.end, end, &m) : m.end;
        if (!m.name || !html_same_name(m.name, m.name_size, start->name, start->name_size)) continue;
        depth += m.kind == HTML_START ? 1 : m.kind == HTML_END ? -1 : 0;
        if (depth == 0) return at;
    }
    return end;
}

/* Reads the markup at *at, which moves to its end. */
static int read_markup(parser *p, const char **at, const html_markup *m)
{
    const char *begin = *at;
    *at = m->is_opaque ? end_of_element(m, p->d->html + p->d->size) : m->end;
    if (m->is_block) return end_segment(p);
    return add_tag(p, begin, *at, m, m->is_opaque ? HTML_SINGLE : m->kind);
}

/* ---- documents ---- */

int html_parse(html_document *d, const char *html, size_t size)
{
    *d = (html_document){ .html = html, .size = size };
    parser p = { .d = d };
    d->texts = malloc(size + 1); /* decoded text is never longer than its source */
    if (!d->texts) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    int status = ATTEND_OK;
    bool has_tags = true; /* false: no ">" follows */
    for (const char *at = html, *end = html + size; status == ATTEND_OK && at < end;) {
        html_markup m;
        char bytes[4];
        size_t n = 1;
        if (*at == '<' && has_tags) has_tags = memchr(at, '>', (size_t)(end - at)) != NULL;
        if (*at == '<' && (has_tags || (end - at >= 4 && memcmp(at, "<!--", 4) == 0))) {
            if (html_read_markup(at, end, &m)) {
                status = read_markup(&p, &at, &m);
                continue;
            }
            if (m.is_endless) break;
        }
        const size_t length = *at == '&' ? html_decode_entity(at, end, bytes, &n) : 0;
        if (length == 0) bytes[0] = *at, n = 1;
        add_character(&p, at, at + (length ? length : 1), bytes, n);
        at += length ? length : 1;
    }
    return status == ATTEND_OK ? end_segment(&p) : status;
}

void html_free(html_document *d)
{
    free(d->texts);
    free(d->segments);
    free(d->tags);
    *d = (html_document){ 0 };
}

int html_write_between(attend_string *out, const html_document *d, int segment)
{
    const size_t from = segment > 0 ? d->segments[segment - 1].end : 0;
    const size_t to = segment < d->segment_count ? d->segments[segment].begin : d->size;
    return attend_string_add(out, d->html + from, to - from);
}
