/* closest_word.h: which word was meant? */
#ifndef ATTEND_CORE_CLOSEST_WORD_H
#define ATTEND_CORE_CLOSEST_WORD_H

#include <stddef.h>

/* Letters to change, insert, leave out or swap with their neighbour to get from one word to the other. */
int attend_word_distance(const char *a, const char *b);

/* The word of `list` (count) nearest to `word`, if it is near enough to have been meant; NULL otherwise. */
const char *attend_closest_word(const char *word, const char *const *list, size_t count);

#endif
