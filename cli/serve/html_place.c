/* html_place.c: the tags of a segment in its translation.
 *
 * Each target word belongs to the element whose words its source word is one of, on each level of elements. An element
 * encloses, of the words of the element around it, the run with most words of its own in which no word of a neighbour
 * is. Two such runs never overlap: each begins and ends with words of its own and contains none of the other. */
#include "serve/html.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>

/* The two sides of a segment. */
typedef struct placing {
    const html_document *d;
    const html_tag *tags; /* (tag_count) of the segment */
    int tag_count;
    const char *text, *target;
    size_t text_size, target_size;
    attend_span *source, *words; /* words of both sides */
    int source_count, word_count;
    int *link;  /* (word_count) the source word of a target word; -1: none */
    int *last;  /* (source_count) the last target word of a source word; -1: none */
    int *owner; /* (source_count) scratch: the child of an element to which a source word belongs */
    attend_string *out;
    int status;
} placing;

/* A part of the translation: words [first, end), bytes [from, to). */
typedef struct range {
    int first, end;
    size_t from, to;
} range;

/* A tag or an element of a list. */
typedef struct child {
    int tag, end;    /* end: the end tag; -1: none */
    int first, last; /* its source words; none: first > last */
    int best_first, best_last, best_count, run_first, run_count;
    bool has_words;
    range at;
} child;

/* ---- words ---- */

static int find_words(attend_span **out, int *count, attend_unit unit, const char *text, size_t size)
{
    size_t at = 0;
    *count = attend_unit_count(unit, text, size);
    *out = calloc((size_t)*count + 1, sizeof **out);
    if (!*out) return attend_fail(ATTEND_NO_MEMORY, "out of memory");
    for (int i = 0; i < *count; i++) attend_unit_next(unit, text, size, &at, &(*out)[i]);
    return ATTEND_OK;
}

/* Without links, words are aligned by their position. */
static void fill_links(placing *p, const html_target *t)
{
    for (int i = 0; i < p->word_count; i++)
        p->link[i] = t->links || p->source_count == 0
                         ? -1
                         : (int)((int64_t)i * p->source_count / (p->word_count > 0 ? p->word_count : 1));
    for (int i = 0; t->links && i < t->link_count; i++) {
        const attend_word_link *l = &t->links[i];
        if (l->source >= 0 && l->source < p->source_count && l->target >= 0 && l->target < p->word_count)
            p->link[l->target] = l->source;
    }
    for (int j = 0; j < p->source_count; j++) p->last[j] = -1;
    for (int i = 0; i < p->word_count; i++)
        if (p->link[i] >= 0) p->last[p->link[i]] = i;
}

/* The first source word that ends after an offset. */
static int word_after(const placing *p, size_t offset)
{
    int low = 0, high = p->source_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if ((size_t)p->source[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool is_punctuation(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", text[i]) || text[i] == '\0') return false;
    return size > 0;
}

/* ---- elements ---- */

/* The bytes of an element that encloses some words. If its tag is between a word and punctuation, it is in the
 * translation as well. */
static void set_range(const placing *p, child *c, int first, int last, const range *around)
{
    size_t from = (size_t)p->words[first].begin, to = (size_t)p->words[last].end;
    const size_t begin = p->tags[c->tag].offset, end = p->tags[c->end].offset;
    const attend_span *a = &p->source[c->first], *b = &p->source[c->last];
    if ((size_t)a->begin < begin && is_punctuation(p->text + a->begin, begin - (size_t)a->begin))
        while (from + 1 < (size_t)p->words[first].end && is_punctuation(p->target + from, 1)) from++;
    if ((size_t)b->end > end && is_punctuation(p->text + end, (size_t)b->end - end))
        while (to > from + 1 && to > (size_t)p->words[last].begin + 1 && is_punctuation(p->target + to - 1, 1)) to--;
    if (from < around->from) from = around->from;
    if (to > around->to) to = around->to;
    c->at = (range){ first, last + 1, from, to > from ? to : from };
    c->has_words = true;
}

/* Finds the run of each child among the words of the element around them. */
static void find_runs(placing *p, child *children, int count, const range *around, int first, int last)
{
    for (int j = first; j <= last; j++) p->owner[j] = -1;
    for (int i = 0; i < count; i++)
        for (int j = children[i].first; j <= children[i].last; j++)
            if (p->owner[j] < 0) p->owner[j] = i;
    int before = -1;
    for (int w = around->first; w < around->end; w++) {
        const int source = p->link[w], i = source >= first && source <= last ? p->owner[source] : -1;
        if (i < 0) continue;
        child *c = &children[i];
        if (i != before) c->run_first = w, c->run_count = 0;
        before = i;
        if (++c->run_count > c->best_count)
            c->best_count = c->run_count, c->best_first = c->run_first, c->best_last = w;
    }
}

/* Whether all source words are those of a child. */
static bool owns_all(const placing *p, const child *c, int index, int first, int last)
{
    if (c->end < 0 || first > last || c->first > first || c->last < last) return false;
    for (int j = first; j <= last; j++)
        if (p->owner[j] != index) return false;
    return true;
}

/* ---- what has no words ---- */

static bool wants_space(const html_tag *t)
{
    return t->kind == HTML_START || t->space_before;
}

/* Where a tag without words belongs: after the translation of the word before it. */
static size_t anchor(const placing *p, const html_tag *t, const range *around, int first, int last)
{
    int w = -1;
    if (first > last) return around->from;
    if (t->offset >= (size_t)p->source[last].end) return around->to;
    int next = word_after(p, t->offset);
    next += (size_t)p->source[next].begin < t->offset; /* the word around it is before it */
    for (int j = next - 1; j >= first && w < 0; j--)
        if (p->last[j] >= around->first && p->last[j] < around->end) w = p->last[j];
    if (w < 0) return around->from;
    size_t at =
        wants_space(t) ? (w + 1 < around->end ? (size_t)p->words[w + 1].begin : around->to) : (size_t)p->words[w].end;
    if (at < around->from) at = around->from;
    return at < around->to ? at : around->to;
}

/* Moves a position out of the elements of the same list that have words, of which there are few. */
static size_t outside(const child *children, const int *elements, int count, size_t at, int tag)
{
    for (int i = 0; i < count; i++) {
        const child *c = &children[elements[i]];
        if (at > c->at.from && at < c->at.to) return tag < c->tag ? c->at.from : c->at.to;
    }
    return at;
}

static void place_points(const placing *p, child *children, int count, int *elements, const range *around, int first,
                         int last)
{
    size_t reached = around->from; /* tags without partners keep their order */
    int element_count = 0;
    for (int i = 0; i < count; i++)
        if (children[i].has_words) elements[element_count++] = i;
    for (int i = 0; i < count; i++) {
        child *c = &children[i];
        const html_tag *t = &p->tags[c->tag];
        if (c->has_words) continue;
        size_t at = outside(children, elements, element_count, anchor(p, t, around, first, last), c->tag);
        if (c->end < 0 && (t->kind == HTML_START || t->kind == HTML_END)) {
            if (at < reached) at = reached;
            reached = at;
        }
        c->at = (range){ 0, 0, at, at };
    }
}

static int compare(const void *x, const void *y)
{
    const child *a = x, *b = y;
    if (a->at.from != b->at.from) return a->at.from < b->at.from ? -1 : 1;
    if (a->at.to != b->at.to) return a->at.to < b->at.to ? -1 : 1;
    return a->tag < b->tag ? -1 : 1;
}

/* ---- writing ---- */

static void put(placing *p, const char *bytes, size_t size)
{
    if (p->status == ATTEND_OK) p->status = attend_string_add(p->out, bytes, size);
}

static void put_text(placing *p, size_t from, size_t to)
{
    if (p->status == ATTEND_OK && to > from) p->status = html_escape(p->out, p->target + from, to - from);
}

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Images and the like keep the space next to them, which the translation of the words around them may not have. */
static void put_tag(placing *p, int tag, size_t at)
{
    const html_tag *t = &p->tags[tag];
    const bool is_single = t->kind == HTML_SINGLE;
    const char last = p->out->size > 0 ? p->out->text[p->out->size - 1] : ' ';
    if (is_single && t->space_before && !is_white(last)) put(p, " ", 1);
    put(p, p->d->html + t->begin, t->end - t->begin);
    if (is_single && t->space_after && at < p->target_size && !is_white(p->target[at])) put(p, " ", 1);
}

static void place(placing *p, int tag, int end, const range *around, int first, int last);

static void write_children(placing *p, const child *children, int count, const range *around)
{
    size_t at = around->from;
    for (int i = 0; i < count; i++) {
        const child *c = &children[i];
        put_text(p, at, c->at.from);
        put_tag(p, c->tag, c->at.from);
        if (c->end >= 0) {
            if (c->end == c->tag + 1)
                put_text(p, c->at.from, c->at.to);
            else
                place(p, c->tag + 1, c->end, &c->at, c->first, c->last);
            put_tag(p, c->end, c->at.to);
        }
        at = c->at.to;
    }
    put_text(p, at, around->to);
}

/* ---- lists ---- */

static int list_children(const placing *p, child *children, int tag, int end)
{
    int count = 0;
    for (int next; tag < end; tag = next) {
        const int partner = p->tags[tag].partner > tag ? p->tags[tag].partner : -1;
        child *c = &children[count++];
        *c = (child){ .tag = tag, .end = partner, .first = 0, .last = -1 };
        next = partner >= 0 ? partner + 1 : tag + 1;
        if (partner < 0) continue;
        c->first = word_after(p, p->tags[tag].offset);
        c->last = word_after(p, p->tags[partner].offset);
        if (c->last == p->source_count || (size_t)p->source[c->last].begin >= p->tags[partner].offset) c->last--;
    }
    return count;
}

/* Writes a part of the translation with the tags [tag, end), whose elements have source words from first to last. */
static void place(placing *p, int tag, int end, const range *around, int first, int last)
{
    child *children = calloc((size_t)(end - tag) + 1, sizeof *children);
    int *elements = calloc((size_t)(end - tag) + 1, sizeof *elements);
    if (!children || !elements) {
        free(children);
        free(elements);
        if (p->status == ATTEND_OK) p->status = attend_fail(ATTEND_NO_MEMORY, "out of memory");
        return;
    }
    const int count = list_children(p, children, tag, end);
    find_runs(p, children, count, around, first, last);
    for (int i = 0; i < count; i++) {
        child *c = &children[i];
        if (around->end > around->first && owns_all(p, c, i, first, last))
            set_range(p, c, around->first, around->end - 1, around);
        else if (c->best_count > 0)
            set_range(p, c, c->best_first, c->best_last, around);
    }
    place_points(p, children, count, elements, around, first, last);
    free(elements);
    qsort(children, (size_t)count, sizeof *children, compare);
    write_children(p, children, count, around);
    free(children);
}

int html_write_segment(attend_string *out, const html_document *d, int segment, const html_target *t)
{
    const html_segment *s = &d->segments[segment];
    if (s->tag_count == 0) return html_escape(out, t->text, strlen(t->text)); /* the document may have no tags */
    placing p = { .d = d, .tags = d->tags + s->first_tag, .tag_count = s->tag_count, .out = out };
    p.text = d->texts + s->text, p.text_size = s->size;
    p.target = t->text, p.target_size = strlen(t->text);
    int status = find_words(&p.source, &p.source_count, t->source_unit, p.text, p.text_size);
    if (status == ATTEND_OK) status = find_words(&p.words, &p.word_count, t->target_unit, p.target, p.target_size);
    const size_t sources = (size_t)p.source_count + 1;
    p.link = calloc((size_t)p.word_count + 2 * sources, sizeof *p.link);
    if (status == ATTEND_OK && !p.link) status = attend_fail(ATTEND_NO_MEMORY, "out of memory");
    if (status == ATTEND_OK) {
        p.last = p.link + p.word_count, p.owner = p.last + sources;
        fill_links(&p, t);
        place(&p, 0, p.tag_count, &(range){ 0, p.word_count, 0, p.target_size }, 0, p.source_count - 1);
        status = p.status;
    }
    free(p.source);
    free(p.words);
    free(p.link);
    return status;
}
