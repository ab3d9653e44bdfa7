#include "core/status.h"
#include "text/words.h"

#include "core/utf8.h"

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

attend_word_reader attend_word_reader_of(const char *text, size_t size)
{
    attend_word_reader r = { .text = text, .size = size, .index = -1 };
    r.has_next = attend_word_next(text, size, &r.at, &r.next);
    return r;
}

int attend_word_of_token(attend_word_reader *r, attend_span token)
{
    while (r->has_next && r->next.begin < token.end) {
        r->word = r->next, r->index++;
        r->has_next = attend_word_next(r->text, r->size, &r->at, &r->next);
    }
    return r->index >= 0 && r->word.end > token.begin && token.end > token.begin ? r->index : -1;
}

void attend_words_of_spans(const char *text, size_t size, const attend_span *spans, int count, int *words)
{
    ATTEND_REQUIRE_VOID((text || size == 0) && ((spans && words) || count < 1));
    attend_word_reader r = attend_word_reader_of(text, size);
    for (int i = 0; i < count; i++) words[i] = attend_word_of_token(&r, spans[i]);
}
