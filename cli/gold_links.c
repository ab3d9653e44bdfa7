#include "gold_links.h"

#include "array.h"
#include "nul_bytes.h"

#include <attend/status.h>
#include <attend/lines.h>
#include <attend/parse.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_UNKNOWN, LINE_PER_PAIR, LINE_PER_LINK };
enum { MAX_WORDS = 1 << 24 };   /* of a sentence */
enum { MAX_BYTES = 256 << 20 }; /* of the file: a pipe may have no end */

static int add(gold_links *g, unsigned long long pair, attend_word_link link)
{
    if (!array_reserve(&g->pairs, &g->pair_capacity, g->count + 1, sizeof *g->pairs) ||
        !array_reserve(&g->links, &g->link_capacity, g->count + 1, sizeof *g->links))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory reading gold links");
    g->pairs[g->count] = pair;
    g->links[g->count++] = link;
    return ATTEND_OK;
}

/* An unsigned number. */
static bool number(const char **s, unsigned long long *n)
{
    uint64_t x;
    if (**s < '0' || **s > '9' || !attend_parse_unsigned(*s, s, &x)) return false;
    *n = x;
    return *n < ULLONG_MAX;
}

static const char *skip_spaces(const char *s)
{
    while (*s == ' ' || *s == '\t') s++;
    return s;
}

static int malformed(const gold_links *g, const char *path, const char *text)
{
    return attend_fail(
        ATTEND_BAD_DATA,
        "%s:%llu: cannot parse links '%.60s'; expected \"0-0 1?2\" for a pair, or \"1 1 1 S\" for a link", path,
        g->lines, text);
}

static int read_pair(gold_links *g, const char *path, const char *text)
{
    int status = ATTEND_OK;
    for (const char *s = skip_spaces(text); status == ATTEND_OK && *s; s = skip_spaces(s)) {
        unsigned long long source, target;
        if (!number(&s, &source) || !*s || !strchr("-?:", *s)) return malformed(g, path, text);
        const bool sure = *s++ == '-';
        if (!number(&s, &target) || (*s && *s != ' ' && *s != '\t') || source >= MAX_WORDS || target >= MAX_WORDS)
            return malformed(g, path, text);
        status = add(g, g->lines - 1, (attend_word_link){ .source = (int)source, .target = (int)target, .sure = sure });
    }
    return status;
}

static int read_link(gold_links *g, const char *path, const char *text)
{
    unsigned long long n[3];
    const char *s = text;
    for (int i = 0; i < 3; i++) {
        s = skip_spaces(s);
        if (!number(&s, &n[i]) || n[i] < 1 || (i > 0 && n[i] > MAX_WORDS)) return malformed(g, path, text);
    }
    s = skip_spaces(s);
    const char kind = *s ? *s++ : 'S';
    if ((kind != 'S' && kind != 'P') || *skip_spaces(s)) return malformed(g, path, text);
    return add(g, n[0] - 1,
               (attend_word_link){ .source = (int)n[1] - 1, .target = (int)n[2] - 1, .sure = kind == 'S' });
}

static int read_line(gold_links *g, const char *path, const char *text)
{
    unsigned long long n;
    const char *s = skip_spaces(text);
    if (!*s) return ATTEND_OK;
    const int format = number(&s, &n) && *s && strchr("-?:", *s) ? LINE_PER_PAIR : LINE_PER_LINK;
    if (g->format == FORMAT_UNKNOWN) g->format = format;
    if (g->format != format) return malformed(g, path, text);
    return format == LINE_PER_PAIR ? read_pair(g, path, text) : read_link(g, path, text);
}

typedef struct numbered {
    unsigned long long pair;
    attend_word_link link;
} numbered;

static int by_pair(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* Sorts the links by pair; the file may have them in any order. */
static int sort(gold_links *g)
{
    numbered *all = malloc((g->count + 1) * sizeof *all);
    if (!all) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading gold links");
    for (size_t i = 0; i < g->count; i++) all[i] = (numbered){ g->pairs[i], g->links[i] };
    qsort(all, g->count, sizeof *all, by_pair);
    for (size_t i = 0; i < g->count; i++) g->pairs[i] = all[i].pair, g->links[i] = all[i].link;
    free(all);
    return ATTEND_OK;
}

/* A link is stored twice while links are sorted, in arrays that may have just grown. */
enum { LINK_BYTES = 2 * (sizeof(unsigned long long) + sizeof(attend_word_link)) + sizeof(numbered) };

int gold_links_read(gold_links *g, const char *path, size_t memory)
{
    attend_lines *from = NULL;
    int status = attend_lines_open(&from, path);
    if (status == ATTEND_OK) attend_lines_set_limit(from, MAX_BYTES);
    while (status == ATTEND_OK) {
        const char *text;
        size_t size;
        status = attend_lines_next(from, &text, &size);
        if (status != ATTEND_OK || !text) break;
        g->lines++;
        status = nul_bytes_check(text, size, path, g->lines);
        if (status == ATTEND_OK) status = read_line(g, path, text);
        if (status == ATTEND_OK && memory > 0 && g->count > memory / LINK_BYTES)
            status = attend_fail(ATTEND_BAD_DATA, "%s:%llu: the gold links take more than the memory limit (--memory)",
                                 path, g->lines);
    }
    attend_lines_close(from);
    return status == ATTEND_OK ? sort(g) : status;
}

void gold_links_free(gold_links *g)
{
    free(g->pairs);
    free(g->links);
    *g = (gold_links){ 0 };
}

int gold_links_of(const gold_links *g, unsigned long long pair, const attend_word_link **links)
{
    size_t low = 0, high = g->count;
    while (low < high) { /* binary search for the first link of this pair or a later one */
        const size_t middle = low + (high - low) / 2;
        if (g->pairs[middle] < pair)
            low = middle + 1;
        else
            high = middle;
    }
    int n = 0;
    while (low + (size_t)n < g->count && g->pairs[low + (size_t)n] == pair) n++;
    *links = n ? g->links + low : NULL;
    return n;
}

int gold_links_check(const gold_links *g, const char *path, unsigned long long pairs)
{
    const unsigned long long last = g->count ? g->pairs[g->count - 1] + 1 : 0;
    if (g->format != LINE_PER_LINK && g->lines != pairs)
        return attend_fail(ATTEND_BAD_DATA,
                           "%s has %llu lines, but there are %llu pairs; it must have one line per pair", path,
                           g->lines, pairs);
    if (last > pairs)
        return attend_fail(ATTEND_BAD_DATA, "%s has links of pair %llu, but there are only %llu pairs", path, last,
                           pairs);
    return ATTEND_OK;
}
