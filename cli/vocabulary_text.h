/* vocabulary_text.h: what the tokens of a vocabulary are. */
#ifndef ATTEND_CLI_VOCABULARY_TEXT_H
#define ATTEND_CLI_VOCABULARY_TEXT_H

#include <attend/text.h>

enum { VOCABULARY_TEXT = 160 };
/* "290 tokens: 31 characters, 256 bytes to spell others, 3 special". are_symbols: words are
 * phonemes and the like. Returns `text`. */
const char *vocabulary_text(char text[VOCABULARY_TEXT], attend_token_kind kind, int size, bool are_symbols);

#endif
