/* unseen.h: characters and words of validation data that the training data does not have, for the data check.
 *
 * Ownership  {0} is empty; attend_unseen_free releases it. */
#ifndef ATTEND_TEXT_UNSEEN_H
#define ATTEND_TEXT_UNSEEN_H

#include "text/seen_words.h"

typedef struct attend_unseen {
    unsigned char *characters[2]; /* of each side: a bit for each code point; NULL: none yet */
    bool in_letters[2]; /* a Hangul syllable is seen if its letters are, as a model of letters (jamo) has it */
    attend_word_set words[2];
    attend_string normal; /* scratch: a line in NFC */
} attend_unseen;

/* Adds a line of the training data, which is valid UTF-8. ATTEND_NO_MEMORY. */
int attend_unseen_learn(attend_unseen *u, int side, const char *line, size_t size);

/* What a line has that the training data does not have. */
typedef struct attend_unseen_parts {
    const char *line; /* in NFC, valid until the next call */
    size_t size;
    int characters, words;
    attend_span first_character, first_word; /* in `line` */
} attend_unseen_parts;

/* Finds it. Words are not counted if most training lines of the side are a single word. ATTEND_NO_MEMORY. */
int attend_unseen_find(attend_unseen *u, int side, const char *line, size_t size, attend_unseen_parts *out);
void attend_unseen_free(attend_unseen *u);

#endif
