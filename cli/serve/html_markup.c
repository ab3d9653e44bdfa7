/* html_markup.c: tags, comments and declarations, as the tokenizer of the HTML standard delimits them. */
#include "serve/html.h"

#include <string.h>
#include <strings.h>

/* ---- names ---- */

static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool html_same_name(const char *a, size_t a_size, const char *b, size_t b_size)
{
    return a_size == b_size && strncasecmp(a, b, a_size) == 0;
}

/* Whether a name is in a list of names that spaces surround. */
static bool is_in(const char *list, const char *name, size_t size)
{
    for (const char *at = list + 1; *at;) {
        const size_t n = strcspn(at, " ");
        if (html_same_name(name, size, at, n)) return true;
        at += n + 1;
    }
    return false;
}

static const char blocks[] =
    " address article aside base blockquote body br button caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li link "
    "main menu meta nav noscript ol optgroup option p pre search section select summary table tbody td template tfoot "
    "th thead title tr ul ";
static const char singles[] = " area base br col embed hr img input link meta param source track wbr ";
static const char raw[] = " script style textarea xmp iframe noembed noframes plaintext ";
static const char copied[] = " pre code kbd samp svg math ";

/* ---- tags ---- */

static const char *skip_white(const char *at, const char *end)
{
    while (at < end && is_white(*at)) at++;
    return at;
}

/* The end of a value; NULL: it has none. */
static const char *skip_value(const char *at, const char *end)
{
    if (at < end && (*at == '"' || *at == '\'')) {
        const char *quote = memchr(at + 1, *at, (size_t)(end - at - 1));
        return quote ? quote + 1 : NULL;
    }
    while (at < end && !is_white(*at) && *at != '>') at++;
    return at;
}

static bool is_no(const char *value, const char *end)
{
    if (value < end && (*value == '"' || *value == '\'')) value++, end--;
    return html_same_name(value, end > value ? (size_t)(end - value) : 0, "no", 2);
}

/* Reads the attributes up to ">". NULL: there is none. */
static const char *skip_attributes(const char *at, const char *end, bool *is_untranslated)
{
    for (;;) {
        while (at < end && (is_white(*at) || *at == '/')) at++;
        if (at >= end) return NULL;
        if (*at == '>') return at + 1;
        const char *name = at++; /* a name may begin with "=" */
        while (at < end && !is_white(*at) && *at != '/' && *at != '>' && *at != '=') at++;
        const size_t size = (size_t)(at - name);
        const char *equals = skip_white(at, end);
        if (equals >= end || *equals != '=') continue;
        const char *value = skip_white(equals + 1, end);
        at = skip_value(value, end);
        if (!at) return NULL;
        *is_untranslated |= html_same_name(name, size, "translate", 9) && is_no(value, at);
    }
}

static bool read_tag(const char *at, const char *end, html_markup *m)
{
    const bool is_end = at[1] == '/';
    bool is_untranslated = false;
    m->name = at + 1 + is_end;
    const char *c = m->name;
    while (c < end && !is_white(*c) && *c != '/' && *c != '>') c++;
    m->name_size = (size_t)(c - m->name);
    m->end = skip_attributes(c, end, &is_untranslated);
    m->is_endless = !m->end;
    if (!m->end) return false;
    const bool is_single = is_in(singles, m->name, m->name_size);
    m->kind = is_end ? HTML_END : is_single ? HTML_SINGLE : HTML_START;
    m->is_block = is_in(blocks, m->name, m->name_size);
    m->is_raw = m->kind == HTML_START && is_in(raw, m->name, m->name_size);
    m->is_opaque = m->kind == HTML_START && (m->is_raw || is_untranslated || is_in(copied, m->name, m->name_size));
    return true;
}

/* ---- the rest ---- */

static const char *find(const char *at, const char *end, const char *text)
{
    const size_t size = strlen(text);
    for (; at < end && (size_t)(end - at) >= size; at++) {
        at = memchr(at, text[0], (size_t)(end - at) - size + 1);
        if (!at) return NULL;
        if (memcmp(at, text, size) == 0) return at + size;
    }
    return NULL;
}

static bool read_comment(const char *at, const char *end, html_markup *m)
{
    const char *from = at + 4;
    if (end - from >= 1 && from[0] == '>') return m->end = from + 1, true; /* "<!-->" */
    if (end - from >= 2 && from[0] == '-' && from[1] == '>') return m->end = from + 2, true;
    const char *usual = find(from, end, "-->");
    const char *other = find(from, usual ? usual : end, "--!>");
    m->end = other ? other : usual;
    m->is_endless = !m->end;
    return m->end != NULL;
}

bool html_read_markup(const char *at, const char *end, html_markup *m)
{
    *m = (html_markup){ .kind = HTML_COMMENT };
    if (end - at < 2) return false;
    if (is_letter(at[1]) || (at[1] == '/' && end - at > 2 && is_letter(at[2]))) return read_tag(at, end, m);
    if (end - at >= 4 && memcmp(at, "<!--", 4) == 0) return read_comment(at, end, m);
    if (at[1] != '!' && at[1] != '?' && at[1] != '/') return false;
    if (at[1] == '/' && end - at > 2 && at[2] == '>') return m->end = at + 3, true; /* "</>" is nothing */
    m->is_block = at[1] == '!' && end - at >= 9 && strncasecmp(at + 2, "doctype", 7) == 0;
    m->end = find(at, end, ">");
    m->is_endless = !m->end;
    return m->end != NULL;
}

const char *html_find_raw_end(const char *at, const char *end, const html_markup *m)
{
    for (; at < end; at++) {
        at = memchr(at, '<', (size_t)(end - at));
        if (!at) return end;
        const char *after = at + 2 + m->name_size;
        if (after < end && at[1] == '/' && html_same_name(at + 2, m->name_size, m->name, m->name_size) &&
            (is_white(*after) || *after == '/' || *after == '>'))
            return at;
    }
    return end;
}
