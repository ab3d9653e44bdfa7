/* abbreviations.h: words before a period that do not end a sentence. */
#ifndef ATTEND_TEXT_ABBREVIATIONS_H
#define ATTEND_TEXT_ABBREVIATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a word (without its period) is an abbreviation that is followed by another word, such as a title. */
bool attend_is_title(const char *word, size_t size);
/* Whether it is an abbreviation if a number follows: "No. 5", "fig. 2", "Jan. 3". */
bool attend_takes_number(const char *word, size_t size);
/* Whether it follows the day of a German date, or another German ordinal: "3. Oktober", "19. Jahrhundert". */
bool attend_follows_ordinal(const char *word, size_t size);

#endif
