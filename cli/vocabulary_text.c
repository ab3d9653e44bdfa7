#include "vocabulary_text.h"

#include <stdio.h>

const char *vocabulary_text(char text[VOCABULARY_TEXT], attend_token_kind kind, int size, bool are_symbols)
{
    enum { SPECIAL = ATTEND_FIRST_TOKEN, BYTES = 256 };
    static const char *const names[] = { "words", "characters", "subwords", "characters and Hangul letters" };
    if (kind == ATTEND_TOKENS_WORD)
        snprintf(text, VOCABULARY_TEXT, "%d tokens: %d %s, %d special", size, size - SPECIAL,
                 are_symbols ? "symbols" : names[kind], SPECIAL);
    else
        snprintf(text, VOCABULARY_TEXT, "%d tokens: %d %s, %d bytes that spell other characters, %d special", size,
                 size - SPECIAL - BYTES, names[kind], BYTES, SPECIAL);
    return text;
}
