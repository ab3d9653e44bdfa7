/* normalize.c: normal form C (NFC): decompose every character, put combining marks into canonical order,
 * compose (Unicode Standard Annex 15).
 *
 * The tables are those of utf8proc. utf8proc_decompose is not used, because it sorts marks in quadratic time, which
 * takes hours on a malicious line; nor is utf8proc_map, because it allocates memory by itself. */
#include "text/normalize.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include "core/utf8.h"
#include <stdbool.h>
#include <string.h>
#include <utf8proc.h>

static const utf8proc_option_t compose_options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
enum { FIRST_MARK = 0x300 }; /* all code points below it are in NFC, whatever follows them */

/* The decomposition of a character, itself if it has none. Returns its size, which may be larger than `capacity`. */
static size_t decompose(int32_t point, int32_t *out, size_t capacity)
{
    int boundary = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char(point, out, (utf8proc_ssize_t)capacity,
                                                       UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &boundary);
    if (n > 0) return (size_t)n;
    if (capacity > 0) out[0] = point;
    return 1;
}

/* True if a character is certainly in NFC next to other such characters. May be false for a character that is in
 * NFC. */
static bool is_inert(int32_t c)
{
    enum { MAX_PARTS = 8 };
    int32_t parts[MAX_PARTS];
    if (c < FIRST_MARK || (c >= 0x4e00 && c < 0xa000) || (c >= 0xac00 && c < 0xd7a4)) return true;
    if (c >= 0x1100 && c < 0x1200) return false;   /* the parts of Hangul syllables */
    if (c >= 0x10000 && c < 0x1f000) return false; /* rare scripts; some have vowels that are letters and combine */
    const utf8proc_property_t *p = utf8proc_get_property(c);
    if (p->combining_class != 0) return false;
    if (p->category == UTF8PROC_CATEGORY_MN || p->category == UTF8PROC_CATEGORY_MC ||
        p->category == UTF8PROC_CATEGORY_ME)
        return false;
    const size_t n = decompose(c, parts, MAX_PARTS);
    if (n > 1 && n <= MAX_PARTS && utf8proc_normalize_utf32(parts, (utf8proc_ssize_t)n, compose_options) != 1)
        return false;
    return n <= MAX_PARTS && parts[0] == c; /* some characters normalize to another one */
}

static bool is_normal(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        int32_t point = 0;
        if ((unsigned char)text[i] < 0xcc) { /* below U+0300 */
            i += attend_utf8_length(text[i]);
            continue;
        }
        i += attend_utf8_next(text + i, size - i, &point);
        if (!is_inert(point)) return false;
    }
    return true;
}

/* ---- the general case ---- */

typedef struct points {
    int32_t *at;
    size_t count;
} points;

static int decompose_all(points *p, const char *text, size_t size)
{
    int32_t point = 0;
    size_t total = 0;
    for (size_t i = 0; i < size;) {
        i += attend_utf8_next(text + i, size - i, &point);
        total += decompose(point, NULL, 0);
    }
    p->at = attend_memory_aligned((total + 1) * sizeof *p->at); /* utf8proc may append a 0 */
    if (!p->at) return attend_fail(ATTEND_NO_MEMORY, "no memory to normalise a line of %zu bytes", size);
    for (size_t i = 0; i < size;) {
        i += attend_utf8_next(text + i, size - i, &point);
        p->count += decompose(point, p->at + p->count, total - p->count);
    }
    return ATTEND_OK;
}

static int class_of(int32_t point)
{
    return point < FIRST_MARK ? 0 : utf8proc_get_property(point)->combining_class;
}

/* Sorts marks by combining class, stably: insertion sort for few marks, counting sort for many. */
static int sort_marks(int32_t *marks, size_t n)
{
    enum { FEW = 32, CLASSES = 256 };
    if (n <= FEW) {
        for (size_t i = 1; i < n; i++) {
            const int32_t mark = marks[i];
            const int class = class_of(mark);
            size_t j = i;
            for (; j > 0 && class_of(marks[j - 1]) > class; j--) marks[j] = marks[j - 1];
            marks[j] = mark;
        }
        return ATTEND_OK;
    }
    size_t begin[CLASSES + 1] = { 0 };
    int32_t *sorted = attend_memory_aligned(n * sizeof *sorted);
    if (!sorted) return attend_fail(ATTEND_NO_MEMORY, "no memory to sort %zu combining marks", n);
    for (size_t i = 0; i < n; i++) begin[(class_of(marks[i]) & (CLASSES - 1)) + 1]++;
    for (int c = 0; c < CLASSES; c++) begin[c + 1] += begin[c];
    for (size_t i = 0; i < n; i++) sorted[begin[class_of(marks[i]) & (CLASSES - 1)]++] = marks[i];
    memcpy(marks, sorted, n * sizeof *marks);
    attend_memory_free(sorted);
    return ATTEND_OK;
}

static int sort_all(points *p)
{
    for (size_t i = 0, end; i < p->count; i = end + 1) {
        for (end = i; end < p->count && class_of(p->at[end]) != 0;) end++;
        const int status = end - i > 1 ? sort_marks(p->at + i, end - i) : ATTEND_OK;
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

static int write_all(attend_string *out, const points *p)
{
    size_t size = 0;
    char piece[4];
    for (size_t i = 0; i < p->count; i++) size += attend_utf8_put(piece, p->at[i]);
    const int status = attend_string_reserve(out, size);
    if (status != ATTEND_OK) return status;
    for (size_t i = 0; i < p->count; i++) {
        const size_t n = attend_utf8_put(piece, p->at[i]);
        memcpy(out->text + out->size, piece, n);
        out->size += n;
    }
    out->text[out->size] = '\0';
    return ATTEND_OK;
}

static int compose(attend_string *out, const char *text, size_t size)
{
    points p = { 0 };
    out->size = 0;
    int status = decompose_all(&p, text, size);
    if (status == ATTEND_OK) status = sort_all(&p);
    if (status == ATTEND_OK) {
        const utf8proc_ssize_t n = utf8proc_normalize_utf32(p.at, (utf8proc_ssize_t)p.count, compose_options);
        p.count = n > 0 ? (size_t)n : 0;
        status = write_all(out, &p);
    }
    attend_memory_free(p.at);
    return status;
}

int attend_to_nfc(const char **text, size_t *size, attend_string *own)
{
    if (*size > ATTEND_MAX_TEXT_BYTES)
        return attend_fail(ATTEND_BAD_DATA,
                           "the line has %zu bytes; the maximum is %d. Is this a text with line feeds?", *size,
                           ATTEND_MAX_TEXT_BYTES);
    const size_t valid = attend_utf8_valid(*text, *size);
    if (valid < *size)
        return attend_fail(
            ATTEND_BAD_DATA,
            "byte %zu of the line (0x%02x) is not UTF-8; if the text has another encoding, convert it with "
            "iconv -f ENCODING -t UTF-8",
            valid + 1, (unsigned char)(*text)[valid]);
    if (is_normal(*text, *size)) return ATTEND_OK;
    const int status = compose(own, *text, *size);
    *text = own->text;
    *size = own->size;
    return status;
}

int attend_normalize(attend_string *out, const char *text, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (text || size == 0));
    const char *normal = text;
    const int status = attend_to_nfc(&normal, &size, out);
    if (status != ATTEND_OK || normal != text) return status;
    out->size = 0;
    return attend_string_add(out, text, size);
}
