/* json_check.h: a strict check that a text is JSON (RFC 8259), independent of the library. It also finds names of the
 * outermost object. */
#ifndef ATTEND_TEST_JSON_CHECK_H
#define ATTEND_TEST_JSON_CHECK_H

#include <stdbool.h>
#include <string.h>

enum { DEEPEST = 32, NAMES = 16 };

typedef struct reader {
    const char *at;
    int depth;
    char *const *names; /* to find in the outermost object */
    int name_count;
    bool seen[NAMES];
} reader;

static bool value(reader *r); /* reads one value; false: invalid */

static void blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') r->at++;
}

static bool take(reader *r, char c)
{
    blanks(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

/* The length of a UTF-8 sequence; 0: invalid. Does not detect overlong forms. */
static int sequence(const unsigned char *s)
{
    const int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return length;
}

static bool string(reader *r)
{
    if (!take(r, '"')) return false;
    while (*r->at != '"') {
        const int length = sequence((const unsigned char *)r->at);
        if ((unsigned char)*r->at < 0x20 || length == 0) return false;
        if (*r->at == '\\') {
            r->at++;
            if (!*r->at || !strchr("\"\\/bfnrtu", *r->at)) return false;
            if (*r->at == 'u' && strspn(r->at + 1, "0123456789abcdefABCDEF") < 4) return false;
            r->at += *r->at == 'u' ? 4 : 0;
        }
        r->at += length;
    }
    r->at++;
    return true;
}

static bool digits(reader *r)
{
    const size_t n = strspn(r->at, "0123456789");
    r->at += n;
    return n > 0;
}

static bool number(reader *r)
{
    if (*r->at == '-') r->at++;
    if (*r->at == '0' && r->at[1] >= '0' && r->at[1] <= '9') return false;
    if (!digits(r)) return false;
    if (*r->at == '.' && (r->at++, !digits(r))) return false;
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        if (*r->at == '+' || *r->at == '-') r->at++;
        return digits(r);
    }
    return true;
}

static bool member(reader *r)
{
    blanks(r);
    const char *name = r->at + 1;
    if (!string(r)) return false;
    const size_t size = (size_t)(r->at - name) - 1;
    for (int i = 0; r->depth == 1 && i < r->name_count; i++)
        if (strlen(r->names[i]) == size && memcmp(r->names[i], name, size) == 0) r->seen[i] = true;
    return take(r, ':') && value(r);
}

/* Reads members or values up to `end`. */
static bool list(reader *r, char end, bool (*item)(reader *r))
{
    bool ok = ++r->depth < DEEPEST;
    r->at++;
    if (!take(r, end)) {
        do ok = ok && item(r);
        while (ok && take(r, ','));
        ok = ok && take(r, end);
    }
    r->depth--;
    return ok;
}

static bool value(reader *r)
{
    static const char *const words[] = { "true", "false", "null" };
    blanks(r);
    if (*r->at == '{') return list(r, '}', member);
    if (*r->at == '[') return list(r, ']', value);
    if (*r->at == '"') return string(r);
    for (int i = 0; i < 3; i++)
        if (strncmp(r->at, words[i], strlen(words[i])) == 0) {
            r->at += strlen(words[i]);
            return true;
        }
    return number(r);
}

#endif
