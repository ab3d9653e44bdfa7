/* sentences.c: the end of a sentence, by rules. */
#include <attend/sentences.h>

#include "core/status.h"
#include "core/utf8.h"
#include "text/abbreviations.h"
#include "text/words.h"
#include <limits.h>
#include <utf8proc.h>

/* ---- characters ---- */

/* Opening and closing brackets, and quotes that are as unambiguous: “ and » open in one language and close in another. */
static const int32_t brackets[ATTEND_BRACKET_KINDS][2] = {
    { '(', ')' },       { '[', ']' },       { '{', '}' },       { 0xff08, 0xff09 }, { 0x300c, 0x300d },
    { 0x300e, 0x300f }, { 0x300a, 0x300b }, { 0x3010, 0x3011 }, { 0x3008, 0x3009 },
};

/* The kind of a bracket; -1: it is none. which: 0 opening, 1 closing. */
static int bracket_kind(int32_t c, int which)
{
    for (int kind = 0; kind < ATTEND_BRACKET_KINDS; kind++)
        if (brackets[kind][which] == c) return kind;
    return -1;
}

static bool is_quote(int32_t c)
{
    return c == '"' || c == '\'' || c == 0xab || c == 0xbb || (c >= 0x2018 && c <= 0x201f) || c == 0x2039 ||
           c == 0x203a;
}

/* Marks that end a sentence before white space. */
static bool is_weak_end(int32_t c)
{
    return c == '.' || c == '!' || c == '?' || c == 0x2026 || c == 0x203c || (c >= 0x2047 && c <= 0x2049) ||
           c == 0xff0e;
}

/* Marks that end a sentence wherever they are: Armenian, Arabic, Urdu, Devanagari, Burmese, Ethiopic, Khmer, Chinese and
 * Japanese. */
static bool is_strong_end(int32_t c)
{
    switch (c) {
    case 0x589:
    case 0x61f:
    case 0x6d4:
    case 0x964:
    case 0x965:
    case 0x104b:
    case 0x1362:
    case 0x1367:
    case 0x17d4:
    case 0x3002:
    case 0xff01:
    case 0xff1f:
    case 0xff61:
        return true;
    default:
        return false;
    }
}

/* Scripts without spaces between sentences: Chinese and Japanese, with their punctuation. */
static bool is_spaceless(int32_t c)
{
    return (c >= 0x3000 && c <= 0x312f) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff01 && c <= 0xff9f) || (c >= 0x20000 && c <= 0x3ffff);
}

static bool is_letter(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_digit(int32_t c)
{
    return utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

/* The character at a position; 0, with length 0, at the end and where the text is not UTF-8. */
static int32_t char_at(const attend_sentence_reader *r, size_t at, size_t *length)
{
    int32_t c = 0;
    *length = attend_utf8_next(r->text + at, r->size - at, &c);
    return *length > 0 ? c : 0;
}

static size_t skip_white_space(const attend_sentence_reader *r, size_t at)
{
    for (size_t n; (n = attend_white_space_length(r->text + at, r->size - at)) > 0;) at += n;
    return at;
}

static bool is_space_or_end(const attend_sentence_reader *r, size_t at)
{
    return at >= r->size || attend_white_space_length(r->text + at, r->size - at) > 0;
}

/* ---- the end of a sentence ---- */

/* The state within one sentence. */
typedef struct scan {
    size_t begin, at;
    int open[ATTEND_BRACKET_KINDS]; /* brackets that will be closed */
    int depth;
    size_t outermost; /* position of the bracket at depth 1 */
} scan;

/* Counts a bracket at s->at. An opening one counts only if the text has a closing one for it. */
static void count_bracket(attend_sentence_reader *r, scan *s, int32_t c)
{
    const int opening = bracket_kind(c, 0), closing = bracket_kind(c, 1);
    if (opening >= 0 && r->closing_brackets[opening] > s->open[opening]) {
        if (s->depth++ == 0) s->outermost = s->at;
        s->open[opening]++;
    }
    if (closing < 0) return;
    r->closing_brackets[closing]--;
    if (s->open[closing] > 0) s->open[closing]--, s->depth--;
}

/* The word before a period at `end`: from the last white space, bracket or quote on. */
static size_t word_before(const attend_sentence_reader *r, const scan *s, size_t end)
{
    size_t begin = end;
    while (begin > s->begin) {
        size_t at = begin - 1, length;
        while (at > s->begin && ((unsigned char)r->text[at] & 0xc0) == 0x80) at--;
        const int32_t c = char_at(r, at, &length);
        if (is_space_or_end(r, at) || is_quote(c) || bracket_kind(c, 0) >= 0 || c == '/') break;
        begin = at;
    }
    return begin;
}

/* "J", "U.S", "z.B", "J.-P": a letter alone, or after another period. */
static bool is_initial(const attend_sentence_reader *r, size_t begin, size_t end)
{
    size_t last = begin, length;
    for (size_t i = begin; i < end; i++)
        if (r->text[i] == '.' || r->text[i] == '-') last = i + 1;
    const int32_t c = char_at(r, last, &length);
    return last + length == end && is_letter(c) && !is_spaceless(c);
}

static bool is_number(const attend_sentence_reader *r, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (r->text[i] < '0' || r->text[i] > '9') return false;
    return end > begin;
}

/* Whether the period at `end` belongs to the word before it. `next`: the beginning of the following word. */
static bool is_abbreviation(const attend_sentence_reader *r, const scan *s, size_t end, size_t next)
{
    size_t length, after = next;
    const size_t begin = word_before(r, s, end), size = end - begin;
    const char *const word = r->text + begin;
    if (is_initial(r, begin, end)) return true;
    while (!is_space_or_end(r, after) && after - next < 40 && is_letter(char_at(r, after, &length))) after += length;
    if (is_number(r, begin, end))
        return begin == skip_white_space(r, s->begin) ||
               (size <= 2 && attend_follows_ordinal(r->text + next, after - next));
    /* "p.ej": the part after the last period */
    size_t last = begin;
    for (size_t i = begin; i < end; i++)
        if (r->text[i] == '.') last = i + 1;
    if (attend_is_title(r->text + last, end - last)) return true;
    return attend_takes_number(word, size) && is_digit(char_at(r, next, &length));
}

/* The position of the first letter or digit at or after `at`, after opening quotes and brackets. */
static size_t skip_opening(const attend_sentence_reader *r, size_t at)
{
    for (size_t length;; at += length) {
        const int32_t c = char_at(r, at, &length);
        const bool opens = is_quote(c) || bracket_kind(c, 0) >= 0 || c == 0xbf || c == 0xa1 || c == 0x201e;
        if (length == 0 || !opens) return at;
    }
}

/* Passes marks that end a sentence, and the quotes and brackets that close after them. *mark: the first mark, if it is
 * the only one, else 0. */
static void pass_marks(attend_sentence_reader *r, scan *s, int32_t *mark, bool *strong)
{
    size_t length;
    int32_t c = char_at(r, s->at, &length);
    *mark = c, *strong = false;
    for (int count = 0; length > 0 && (is_weak_end(c) || is_strong_end(c)); c = char_at(r, s->at, &length)) {
        *strong = *strong || is_strong_end(c);
        if (count++ > 0) *mark = 0;
        s->at += length;
    }
    for (; length > 0 && (is_quote(c) || bracket_kind(c, 1) >= 0); c = char_at(r, s->at, &length)) {
        count_bracket(r, s, c);
        s->at += length;
    }
}

/* Passes closing quotes that stand alone after white space, as in French: "Vraiment ? » dit-il". */
static size_t pass_separate_quotes(const attend_sentence_reader *r, size_t at)
{
    for (;;) {
        size_t length;
        const size_t quote = skip_white_space(r, at);
        const int32_t c = char_at(r, quote, &length);
        if (quote == at || (c != 0xbb && c != 0x203a && c != 0x201d) || !is_space_or_end(r, quote + length)) return at;
        at = quote + length;
    }
}

/* Whether a sentence ends with the marks at s->at, which are passed. *next: where the following one begins. */
static bool ends_here(attend_sentence_reader *r, scan *s, size_t *next)
{
    int32_t mark;
    bool strong;
    size_t length;
    const size_t begin = s->at;
    const bool was_inside = s->depth > 0;
    pass_marks(r, s, &mark, &strong);
    if (s->depth > 0 || (!strong && !is_space_or_end(r, s->at))) return false;
    s->at = pass_separate_quotes(r, s->at);
    *next = skip_white_space(r, s->at);
    if (*next == r->size) return true;
    const int32_t c = char_at(r, *next, &length);
    if (was_inside &&
        (s->outermost != skip_white_space(r, s->begin) || (!is_space_or_end(r, s->at) && bracket_kind(c, 0) < 0)))
        return false;                                     /* a bracket within a sentence */
    if (is_weak_end(c) || is_strong_end(c)) return false; /* more marks after white space */
    if (strong) return true;
    const size_t word = skip_opening(r, *next);
    if (utf8proc_category(char_at(r, word, &length)) == UTF8PROC_CATEGORY_LL) return false;
    return mark != '.' || !is_abbreviation(r, s, begin, word);
}

/* ---- public ---- */

attend_sentence_reader attend_sentences_begin(const char *text, size_t size)
{
    attend_sentence_reader r = { .text = text, .size = size };
    if ((!text && size > 0) || size > INT_MAX) {
        attend_refuse(__func__, "(text || size == 0) && size <= INT_MAX");
        return (attend_sentence_reader){ .text = "" };
    }
    size_t length;
    for (size_t at = 0; at < size && attend_utf8_next(text + at, size - at, &(int32_t){ 0 }) > 0; at += length) {
        const int kind = bracket_kind(char_at(&r, at, &length), 1);
        if (kind >= 0) r.closing_brackets[kind]++;
    }
    return r;
}

bool attend_sentence_next(attend_sentence_reader *r, attend_span *sentence)
{
    ATTEND_REQUIRE(false, r && r->text && sentence && r->at <= r->size && r->size <= INT_MAX);
    if (r->at == r->size) return false;
    scan s = { .begin = r->at, .at = r->at };
    size_t next = r->size;
    for (size_t length; s.at < r->size; s.at += length) {
        const int32_t c = char_at(r, s.at, &length);
        if (length == 0) break; /* not UTF-8 */
        if (is_weak_end(c) || is_strong_end(c)) {
            if (ends_here(r, &s, &next)) break;
            next = r->size, length = 0;
            continue;
        }
        count_bracket(r, &s, c);
    }
    *sentence = (attend_span){ (int)r->at, (int)next };
    r->at = next;
    return true;
}

int attend_sentences_append(attend_string *text, const char *sentence, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, text && (sentence || size == 0));
    size_t begin = 0, end = size;
    for (size_t n; (n = attend_white_space_length(sentence + begin, size - begin)) > 0;) begin += n;
    for (size_t at = begin; at < size;) { /* the end of the last word */
        const size_t n = attend_white_space_length(sentence + at, size - at);
        at += n ? n : 1;
        if (n == 0) end = at;
    }
    if (begin == size) return ATTEND_OK;
    size_t last = text->size;
    while (last > 0 && ((unsigned char)text->text[last - 1] & 0xc0) == 0x80) last--;
    int32_t c = 0;
    if (last > 0) attend_utf8_next(text->text + last - 1, text->size - last + 1, &c);
    const size_t before = text->size;
    int status = text->size > 0 && !is_spaceless(c) ? attend_string_add(text, " ", 1) : ATTEND_OK;
    if (status == ATTEND_OK) status = attend_string_add(text, sentence + begin, end - begin);
    if (status != ATTEND_OK && text->size > before) text->text[text->size = before] = '\0';
    return status;
}
