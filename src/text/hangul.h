/* hangul.h: Hangul syllables and their letters (jamo): the arithmetic of the Unicode Standard, section 3.12. A syllable
 * is a leading consonant, a vowel and possibly a trailing consonant. */
#ifndef ATTEND_TEXT_HANGUL_H
#define ATTEND_TEXT_HANGUL_H

#include <stdbool.h>
#include <stddef.h>

enum { ATTEND_HANGUL_BYTES = 3 }; /* of a syllable and of a letter in UTF-8 */

/* Writes the letters of a syllable, in UTF-8 without a '\0', and returns their number, 2 or 3; 0: the character is no
 * syllable. */
int attend_hangul_letters(const char *character, size_t size, char letters[3 * ATTEND_HANGUL_BYTES]);

/* True for a vowel or a trailing consonant, which can be part of the syllable of the letters before it. */
bool attend_hangul_continues(const char *character, size_t size);

/* Replaces each sequence of letters that makes a syllable by that syllable; returns the new size. */
size_t attend_hangul_compose(char *text, size_t size);

/* The number of syllables of a text that is valid UTF-8. */
size_t attend_hangul_syllables(const char *text, size_t size);

#endif
