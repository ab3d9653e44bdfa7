/* xml.h: checks that a text is well-formed XML, with the features that pictures and pages use: declaration, comments,
 * elements, attributes, references. */
#ifndef ATTEND_TEST_XML_H
#define ATTEND_TEST_XML_H

#include <attend/text.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { XML_DEEPEST = 64 };

static inline size_t xml_name(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.");
}

/* Skips text up to one of `ends`; NULL if it has invalid references or control characters. */
static inline const char *xml_text(const char *at, const char *ends)
{
    while (*at && !strchr(ends, *at)) {
        if (*at == '<' || ((unsigned char)*at < ' ' && !strchr("\t\n\r", *at))) return NULL;
        if (*at == '&') {
            const size_t size = at[1] == '#' ? 1 + xml_name(at + 2) : xml_name(at + 1);
            if (size < 2 || at[1 + size] != ';') return NULL;
        }
        at++;
    }
    return at;
}

/* Skips attributes up to > or />. */
static inline const char *xml_attributes(const char *at)
{
    for (;;) {
        const size_t blanks = strspn(at, " \t\n");
        at += blanks;
        if (*at == '>' || (at[0] == '/' && at[1] == '>')) return at;
        const size_t size = xml_name(at);
        if (blanks == 0 || size == 0 || at[size] != '=' || at[size + 1] != '"') return NULL;
        at = xml_text(at + size + 2, "\"");
        if (!at || *at != '"') return NULL;
        at++;
    }
}

/* Returns NULL, or the position of the first error. *elements receives the number of elements. */
static inline const char *xml_fault(const char *text, int *elements)
{
    const char *open[XML_DEEPEST];
    size_t sizes[XML_DEEPEST];
    int depth = 0;
    const char *at = text;
    *elements = 0;
    if (attend_utf8_valid(text, strlen(text)) != strlen(text)) return text;
    if (strncmp(at, "<?xml ", 6) == 0) at = strstr(at, "?>") ? strstr(at, "?>") + 2 : at;
    while (*at) {
        const char *next = xml_text(at, "<");
        if (!next || (depth == 0 && strspn(at, " \t\n") != (size_t)(next - at))) return at;
        if (!*next) break;
        at = next + 1;
        const bool closes = *at == '/';
        at += closes;
        const size_t size = xml_name(at);
        if (size == 0) return at;
        if (closes) {
            if (depth == 0 || sizes[--depth] != size || strncmp(open[depth], at, size) != 0 || at[size] != '>')
                return at;
            at += size + 1;
            continue;
        }
        if (depth == XML_DEEPEST || (depth == 0 && *elements > 0)) return at;
        ++*elements;
        open[depth] = at, sizes[depth++] = size;
        next = xml_attributes(at + size);
        if (!next) return at;
        if (*next == '/') depth--, next++;
        at = next + 1;
    }
    return depth == 0 && *elements > 0 ? NULL : at;
}

#endif
