#include "text/words.h"

#include "core/status.h"
#include "core/utf8.h"
#include <utf8proc.h>

const char *const attend_unit_names[] = { "auto", "word", "piece", "character", NULL };

const char *attend_unit_name(attend_unit unit)
{
    return (unsigned)unit <= ATTEND_UNIT_CHARACTER ? attend_unit_names[unit] : NULL;
}

size_t attend_white_space_length(const char *text, size_t left)
{
    int32_t c;
    if (left == 0) return 0;
    if (*text == ' ' || (*text >= '\t' && *text <= '\r')) return 1;
    if ((unsigned char)*text < 0xc2) return 0; /* ASCII, or inside a character */
    const size_t length = attend_utf8_next(text, left, &c);
    const bool space =
        c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f || c == 0x3000;
    return space ? length : 0;
}

bool attend_word_next(const char *text, size_t size, size_t *at, attend_span *word)
{
    ATTEND_REQUIRE(false, (text || size == 0) && at && word && *at <= size);
    size_t i = *at;
    for (size_t n; (n = attend_white_space_length(text + i, size - i)) > 0;) i += n;
    const size_t begin = i;
    while (i < size && attend_white_space_length(text + i, size - i) == 0) i++;
    *at = i;
    if (i == begin) return false;
    *word = (attend_span){ (int)begin, (int)i };
    return true;
}

int attend_word_count(const char *text, size_t size)
{
    ATTEND_REQUIRE(0, text || size == 0);
    int count = 0;
    attend_span word;
    for (size_t at = 0; attend_word_next(text, size, &at, &word);) count++;
    return count;
}

/* The length in bytes of the grapheme cluster at the beginning of a text of `left` bytes, at least 1. It ends before
 * white space. A byte that is not UTF-8 is one of its own. */
static size_t cluster_length(const char *text, size_t left)
{
    int32_t last, c, state = 0;
    size_t at = attend_utf8_next(text, left, &last), n;
    if (at == 0) return 1;
    while (attend_white_space_length(text + at, left - at) == 0 &&
           (n = attend_utf8_next(text + at, left - at, &c)) > 0 && !utf8proc_grapheme_break_stateful(last, c, &state))
        at += n, last = c;
    return at;
}

bool attend_unit_next(attend_unit unit, const char *text, size_t size, size_t *at, attend_span *span)
{
    ATTEND_REQUIRE(false, attend_unit_name(unit) && (text || size == 0) && at && span && *at <= size);
    if (unit != ATTEND_UNIT_CHARACTER) return attend_word_next(text, size, at, span);
    size_t i = *at;
    for (size_t n; (n = attend_white_space_length(text + i, size - i)) > 0;) i += n;
    *at = i;
    if (i == size) return false;
    *at += cluster_length(text + i, size - i);
    *span = (attend_span){ (int)i, (int)*at };
    return true;
}

int attend_unit_count(attend_unit unit, const char *text, size_t size)
{
    ATTEND_REQUIRE(0, attend_unit_name(unit) && (text || size == 0));
    int count = 0;
    attend_span span;
    for (size_t at = 0; attend_unit_next(unit, text, size, &at, &span);) count++;
    return count;
}

attend_word_reader attend_word_reader_of(attend_unit unit, const char *text, size_t size)
{
    attend_word_reader r = { .unit = unit, .text = text, .size = size, .index = -1 };
    if (unit != ATTEND_UNIT_PIECE) r.has_next = attend_unit_next(unit, text, size, &r.at, &r.next);
    return r;
}

/* Every token that is not white space alone is a unit. */
static int next_piece(attend_word_reader *r, attend_span token)
{
    attend_span word;
    const size_t size = (size_t)(token.end - token.begin);
    if (!attend_word_next(r->text + token.begin, size, &(size_t){ 0 }, &word)) return -1;
    r->word = token;
    return ++r->index;
}

int attend_word_of_token(attend_word_reader *r, attend_span token)
{
    if (r->unit == ATTEND_UNIT_PIECE) return next_piece(r, token);
    while (r->has_next && r->next.begin < token.end) {
        r->word = r->next, r->index++;
        r->has_next = attend_unit_next(r->unit, r->text, r->size, &r->at, &r->next);
    }
    return r->index >= 0 && r->word.end > token.begin && token.end > token.begin ? r->index : -1;
}

void attend_units_of_spans(attend_unit unit, const char *text, size_t size, const attend_span *spans, int count,
                           int *units)
{
    ATTEND_REQUIRE_VOID(attend_unit_name(unit) && (text || size == 0) && ((spans && units) || count < 1));
    attend_word_reader r = attend_word_reader_of(unit, text, size);
    for (int i = 0; i < count; i++) units[i] = attend_word_of_token(&r, spans[i]);
}

void attend_words_of_spans(const char *text, size_t size, const attend_span *spans, int count, int *words)
{
    ATTEND_REQUIRE_VOID((text || size == 0) && ((spans && words) || count < 1));
    attend_units_of_spans(ATTEND_UNIT_WORD, text, size, spans, count, words);
}

bool attend_are_single_words(uint64_t words, uint64_t lines)
{
    return (double)words < ATTEND_SINGLE_WORDS * (double)lines;
}

bool attend_are_symbols(uint64_t words, uint64_t characters, uint64_t lines)
{
    const double max_characters = 4.5; /* of a symbol, with the space after it */
    return !attend_are_single_words(words, lines) && (double)characters < max_characters * (double)words;
}
