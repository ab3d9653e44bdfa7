/* lines.h: lines of text for tests, from a string or random; and a tokenizer learned from them. */
#ifndef ATTEND_TEST_LINES_H
#define ATTEND_TEST_LINES_H

#include "unit/unit.h"
#include "core/utf8.h"

typedef struct lines {
    char **lines;
    size_t *sizes;
    size_t count, next;
} lines;

static inline void lines_add(lines *l, const char *text, size_t size)
{
    l->lines = realloc(l->lines, (l->count + 1) * sizeof *l->lines);
    l->sizes = realloc(l->sizes, (l->count + 1) * sizeof *l->sizes);
    char *copy = malloc(size + 1);
    if (!l->lines || !l->sizes || !copy) abort();
    memcpy(copy, text, size);
    copy[size] = '\0';
    l->lines[l->count] = copy;
    l->sizes[l->count++] = size;
}

static inline void lines_free(lines *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->lines[i]);
    free(l->lines);
    free(l->sizes);
    *l = (lines){ 0 };
}

/* Splits a string at its line feeds. */
static inline lines lines_of(const char *text)
{
    lines l = { 0 };
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchr(text, '\n');
        if (!end) end = text + strlen(text);
        lines_add(&l, text, (size_t)(end - text));
    }
    return l;
}

/* An attend_line_fn. */
static inline int lines_next(void *user, const char **line, size_t *size)
{
    lines *l = user;
    if (l->next == l->count) return 0;
    *line = l->lines[l->next];
    *size = l->sizes[l->next++];
    return 1;
}

static inline int lines_learn(attend_tokenizer **t, lines *l, attend_token_kind kind, int vocab_size, int min_count)
{
    const attend_tokenizer_options options = { .kind = kind, .vocab_size = vocab_size, .min_count = min_count };
    l->next = 0;
    return attend_tokenizer_learn(t, &options, lines_next, l);
}

/* ---- random text ---- */

static uint64_t lines_state = 88172645463325252u;

static inline size_t lines_below(size_t n)
{
    lines_state ^= lines_state << 13;
    lines_state ^= lines_state >> 7;
    lines_state ^= lines_state << 17;
    return (size_t)(lines_state >> 11) % n;
}

/* A random code point: a difficult one, or any. */
static inline int32_t any_point(void)
{
    static const int32_t trouble[] = { 0,      '\n',   '\t',   '\r',   ' ',    ' ',    ' ',     'a',    'a',     'b',
                                       '<',    's',    '>',    '/',    0x2581, 0x301,  0x323,   0x307,  0xe9,    0xa0,
                                       0x1100, 0x1161, 0x11a8, 0xac00, 0x212b, 0x2126, 0x1f600, 0x3099, 0x304b,  0xfffd,
                                       0x9be,  0x9c7,  0x344,  0x958,  0xfb1d, 0x2000, 0x3000,  0xfeff, 0x10ffff };
    if (lines_below(4)) return trouble[lines_below(sizeof trouble / sizeof *trouble)];
    int32_t c = (int32_t)lines_below(lines_below(2) ? 0x3000 : 0x110000);
    return c >= 0xd800 && c < 0xe000 ? 'x' : c;
}

/* Writes at most `points` random code points to `text`, four bytes each at most; returns the bytes written. */
static inline size_t any_text(char *text, size_t points)
{
    size_t size = 0;
    for (size_t i = lines_below(points + 1); i > 0; i--) size += attend_utf8_put(text + size, any_point());
    return size;
}

#endif
