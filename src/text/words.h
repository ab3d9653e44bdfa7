/* words.h: the private part of attend/words.h: the words of tokens, one token after another. Words stand for any unit. */
#ifndef ATTEND_TEXT_WORDS_H
#define ATTEND_TEXT_WORDS_H

#include <attend/words.h>
#include <stdint.h>

/* The length in bytes of the white space character at the beginning of a text of `left` bytes; 0 if there is none. */
size_t attend_white_space_length(const char *text, size_t left);

/* Reads the words of a text from its beginning to its end. */
typedef struct attend_word_reader {
    attend_unit unit;
    const char *text;
    size_t size, at;
    attend_span word, next; /* the last word that was read, and the one after it */
    int index;              /* of `word`; -1 before the first */
    bool has_next;
} attend_word_reader;

attend_word_reader attend_word_reader_of(attend_unit unit, const char *text, size_t size);
/* The index of the word of a token, see attend_words_of_spans; its span is r->word. Tokens are passed in order. */
int attend_word_of_token(attend_word_reader *r, attend_span token);

/* Whether the lines of a text are single words, or short symbols separated by spaces: "HH AH0 L OW1". */
bool attend_are_single_words(uint64_t words, uint64_t lines);
bool attend_are_symbols(uint64_t words, uint64_t characters, uint64_t lines);

#endif
