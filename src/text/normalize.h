/* normalize.h: text in normal form C (Unicode Standard Annex 15), copied only if it is not in it already. */
#ifndef ATTEND_TEXT_NORMALIZE_H
#define ATTEND_TEXT_NORMALIZE_H

#include <attend/text.h>

/* Turns *text, *size into normal form C: as they are if they are in it, or else `own`, whose content is replaced. Refuses what
 * is not UTF-8 or longer than ATTEND_MAX_TEXT_BYTES. */
int attend_to_nfc(const char **text, size_t *size, attend_string *own);

#endif
