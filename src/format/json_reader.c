/* json_reader.c: see attend/json_reader.h. (jansson 2.14 writes past a buffer if memory runs out inside a string, and needs
 * 16 to 73 times the size of the header of a model.) */
#include <attend/json_reader.h>

#include "core/status.h"
#include "core/utf8.h"
#include <attend/parse.h>
#include <math.h>
#include <string.h>

bool attend_json_reader_fail(attend_json_reader *j, const char *error)
{
    ATTEND_REQUIRE(false, j && error);
    if (!j->error) j->error = error;
    return false;
}

static void skip_space(attend_json_reader *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
}

bool attend_json_accept(attend_json_reader *j, char c)
{
    ATTEND_REQUIRE(false, j);
    skip_space(j);
    if (j->at == j->end || *j->at != c) return false;
    j->at++;
    return true;
}

bool attend_json_expect(attend_json_reader *j, char c)
{
    ATTEND_REQUIRE(false, j);
    if (attend_json_accept(j, c)) return true;
    switch (c) {
    case '{':
        return attend_json_reader_fail(j, "'{' is missing");
    case '}':
        return attend_json_reader_fail(j, "',' or '}' is missing");
    case '[':
        return attend_json_reader_fail(j, "'[' is missing");
    case ']':
        return attend_json_reader_fail(j, "',' or ']' is missing");
    case ':':
        return attend_json_reader_fail(j, "':' is missing");
    default:
        return attend_json_reader_fail(j, "',' is missing");
    }
}

bool attend_json_expect_end(attend_json_reader *j)
{
    ATTEND_REQUIRE(false, j);
    skip_space(j);
    return j->at == j->end || attend_json_reader_fail(j, "text follows the end of the object");
}

/* The value of the four hex digits after "\u", or -1. */
static int hex4(attend_json_reader *j)
{
    if (j->end - j->at < 4) return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = *j->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Decodes the escape after "\u": a character, or a surrogate pair of two escapes. */
static bool unicode_escape(attend_json_reader *j)
{
    int c = hex4(j);
    if (c < 0) return attend_json_reader_fail(j, "\\u is not followed by four hex digits");
    if (c == 0) return attend_json_reader_fail(j, "a string contains the character U+0000");
    if (c >= 0xd800 && c < 0xe000) {
        bool pair = c < 0xdc00 && j->end - j->at >= 2 && j->at[0] == '\\' && j->at[1] == 'u';
        if (pair) j->at += 2;
        int low = pair ? hex4(j) : -1;
        if (low < 0xdc00 || low >= 0xe000)
            return attend_json_reader_fail(j, "a string contains half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
    }
    j->pool += attend_utf8_put(j->pool, c);
    return true;
}

static const char escapes[] =
    "\"\"\\\\//b\bf\fn\nr\rt\t"; /* pairs: the character after the backslash, the decoded character */

static bool escape(attend_json_reader *j)
{
    if (j->at == j->end) return attend_json_reader_fail(j, "a string is not terminated");
    char c = *j->at++;
    if (c == 'u') return unicode_escape(j);
    for (const char *e = escapes; *e; e += 2)
        if (c == e[0]) {
            *j->pool++ = e[1];
            return true;
        }
    return attend_json_reader_fail(j, "a string contains an invalid escape");
}

bool attend_json_read_string(attend_json_reader *j, const char **string, const char **at)
{
    ATTEND_REQUIRE(false, j && string && at);
    if (!attend_json_accept(j, '"')) return attend_json_reader_fail(j, "a string is missing");
    *string = j->pool;
    *at = j->at;
    while (j->at < j->end && *j->at != '"') {
        unsigned char c = (unsigned char)*j->at;
        if (c == '\\') {
            j->at++;
            if (!escape(j)) return false;
            continue;
        }
        if (c < 0x20) return attend_json_reader_fail(j, "a string contains a control character");
        int32_t code_point;
        size_t length = attend_utf8_next(j->at, (size_t)(j->end - j->at), &code_point);
        if (length == 0) return attend_json_reader_fail(j, "a string is not valid UTF-8");
        for (; length > 0; length--) *j->pool++ = *j->at++;
    }
    if (j->at == j->end) return attend_json_reader_fail(j, "a string is not terminated");
    j->at++;
    *j->pool++ = '\0'; /* fits: the two quotes are not copied */
    return true;
}

bool attend_json_read_integer(attend_json_reader *j, int64_t *number)
{
    ATTEND_REQUIRE(false, j && number);
    skip_space(j);
    if (j->at < j->end && *j->at == '-') return attend_json_reader_fail(j, "a number is negative");
    const char *first = j->at;
    int64_t n = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++) {
        int digit = *j->at - '0';
        if (n > (INT64_MAX - digit) / 10) return attend_json_reader_fail(j, "a number is too large");
        n = 10 * n + digit;
    }
    if (j->at == first) return attend_json_reader_fail(j, "an integer is missing");
    if (*first == '0' && j->at - first > 1) return attend_json_reader_fail(j, "a number starts with 0");
    if (j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E'))
        return attend_json_reader_fail(j, "a number is not an integer");
    *number = n;
    return true;
}

/* Consumes a literal name if it comes next. */
static bool accept_name(attend_json_reader *j, const char *name)
{
    const size_t size = strlen(name);
    skip_space(j);
    if ((size_t)(j->end - j->at) < size || memcmp(j->at, name, size) != 0) return false;
    j->at += size;
    return true;
}

static int digits(const char **s)
{
    const char *first = *s;
    while (**s >= '0' && **s <= '9') ++*s;
    return (int)(*s - first);
}

/* Whether a text is a number as JSON defines it: -0.5e+3, but not .5, 05, +5 or inf. */
static bool is_number(const char *s)
{
    s += *s == '-';
    const bool zero = *s == '0';
    const int count = digits(&s);
    if (count == 0 || (zero && count > 1)) return false;
    if (*s == '.' && (s++, digits(&s) == 0)) return false;
    if (*s != 'e' && *s != 'E') return *s == '\0';
    s++;
    s += *s == '+' || *s == '-';
    return digits(&s) > 0 && *s == '\0';
}

bool attend_json_read_number(attend_json_reader *j, double *number)
{
    ATTEND_REQUIRE(false, j && number);
    char text[64];
    size_t size = 0;
    *number = NAN;
    if (accept_name(j, "null")) return true;
    for (; j->at < j->end && size + 1 < sizeof text && *j->at && strchr("0123456789+-.eE", *j->at); j->at++)
        text[size++] = *j->at;
    text[size] = '\0';
    return (is_number(text) && attend_parse_real(text, NULL, number)) ||
           attend_json_reader_fail(j, "a number is missing");
}

bool attend_json_read_bool(attend_json_reader *j, bool *value)
{
    ATTEND_REQUIRE(false, j && value);
    *value = accept_name(j, "true");
    return *value || accept_name(j, "false") || attend_json_reader_fail(j, "true or false is missing");
}

bool attend_json_skip_scalar(attend_json_reader *j)
{
    ATTEND_REQUIRE(false, j);
    const char *string, *at;
    double number;
    bool value;
    skip_space(j);
    if (j->at < j->end && *j->at == '"') return attend_json_read_string(j, &string, &at);
    if (j->at < j->end && (*j->at == 't' || *j->at == 'f')) return attend_json_read_bool(j, &value);
    return attend_json_read_number(j, &number);
}
