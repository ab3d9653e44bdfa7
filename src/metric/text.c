#include "metric/text.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "text/lowercase.h"
#include <string.h>

/* ---- characters ---- */

/* Decodes the character at `s`, a string that ends in '\0'. A byte that starts no valid UTF-8 becomes a lone
 * surrogate, as Python's "surrogateescape" does. */
static uint32_t decode(const char *s, size_t *length)
{
    int32_t code_point;
    *length = attend_utf8_next(s, 4, &code_point);
    if (*length > 0) return (uint32_t)code_point;
    *length = 1;
    return 0xdc00u + (unsigned char)s[0];
}

bool attend_metric_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

void attend_metric_text_free(attend_metric_text *t)
{
    attend_memory_free(t->c);
    *t = (attend_metric_text){ 0 };
}

attend_metric_text attend_metric_strip(const attend_metric_text *t)
{
    attend_metric_text s = *t;
    while (s.n > 0 && attend_metric_is_space(s.c[s.n - 1])) s.n--;
    while (s.n > 0 && attend_metric_is_space(s.c[0])) s.c++, s.n--;
    return s;
}

void attend_metric_remove_spaces(attend_metric_text *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!attend_metric_is_space(t->c[i])) t->c[n++] = t->c[i];
    t->n = n;
}

/* ---- reading ---- */

int attend_metric_text_read(attend_metric_text *t, const char *line, bool lowercase)
{
    enum { MAX_BYTES = 1 << 26 }; /* keeps n-gram nodes and counts within 31 bits */
    const size_t bytes = strlen(line);
    *t = (attend_metric_text){ 0 };
    if (bytes > MAX_BYTES)
        return attend_fail(ATTEND_BAD_DATA, "the line has %zu bytes; the maximum is %d", bytes, MAX_BYTES);
    uint32_t *c = attend_memory_zeroed(bytes, sizeof *c);
    uint32_t *lower = c && lowercase ? attend_memory_zeroed(2 * bytes, sizeof *lower) : NULL;
    if (!c || (lowercase && !lower)) {
        attend_memory_free(c);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for a line of %zu bytes", bytes);
    }
    size_t n = 0;
    for (size_t at = 0, length; at < bytes; at += length) c[n++] = decode(line + at, &length);
    *t = (attend_metric_text){ c, n };
    if (lowercase) {
        *t = (attend_metric_text){ lower, attend_lowercase_points(c, n, lower) };
        attend_memory_free(c);
    }
    return ATTEND_OK;
}

/* ---- words ---- */

void attend_metric_words_free(attend_metric_words *w)
{
    attend_memory_free(w->id);
    *w = (attend_metric_words){ 0 };
}

/* Finds the word at or after *begin: [*begin, *end); false if there is none. */
static bool next_word(const attend_metric_text *t, size_t *begin, size_t *end)
{
    while (*begin < t->n && attend_metric_is_space(t->c[*begin])) ++*begin;
    *end = *begin;
    while (*end < t->n && !attend_metric_is_space(t->c[*end])) ++*end;
    return *end > *begin;
}

static bool between(uint32_t c, uint32_t low, uint32_t high)
{
    return c >= low && c <= high;
}

static bool is_punctuation(uint32_t c)
{
    return between(c, '!', '/') || between(c, ':', '@') || between(c, '[', '`') || between(c, '{', '~');
}

/* The position at which a word is split; its end if it is not. */
static size_t cut(const attend_metric_text *t, size_t begin, size_t end)
{
    if (end - begin == 1) return end;
    if (is_punctuation(t->c[end - 1])) return end - 1;
    return is_punctuation(t->c[begin]) ? begin + 1 : end;
}

static bool put_word(attend_metric_words *w, attend_ngrams *names, const uint32_t *c, size_t n)
{
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        node = attend_ngrams_child(names, node, c[i]);
        if (!node) return false;
    }
    w->id[w->n++] = node;
    return true;
}

int attend_metric_words_read(attend_metric_words *w, attend_ngrams *names, const attend_metric_text *t,
                             bool cut_punctuation)
{
    size_t words = 0, begin, end;
    for (begin = 0; next_word(t, &begin, &end); begin = end) words++;
    *w = (attend_metric_words){ attend_memory_zeroed(cut_punctuation ? 2 * words : words, sizeof *w->id), 0 };
    bool has_memory = w->id != NULL;
    for (begin = 0; has_memory && next_word(t, &begin, &end); begin = end) {
        size_t middle = cut_punctuation ? cut(t, begin, end) : end;
        has_memory = put_word(w, names, t->c + begin, middle - begin);
        if (has_memory && middle < end) has_memory = put_word(w, names, t->c + middle, end - middle);
    }
    if (has_memory) return ATTEND_OK;
    attend_metric_words_free(w);
    return attend_fail(ATTEND_NO_MEMORY, "no memory for a line of %zu words", words);
}
