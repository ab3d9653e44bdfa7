/* normalize.h: Unicode normal form C (NFC, Unicode Standard Annex 15), without a copy if the text is in NFC
 * already. */
#ifndef ATTEND_TEXT_NORMALIZE_H
#define ATTEND_TEXT_NORMALIZE_H

#include <attend/text.h>

/* Sets *text and *size to the text in NFC: unchanged if it is in NFC already, otherwise in `own`, whose content is
 * replaced. ATTEND_BAD_DATA if the text is not UTF-8 or longer than ATTEND_MAX_TEXT_BYTES; ATTEND_NO_MEMORY. */
int attend_to_nfc(const char **text, size_t *size, attend_string *own);

#endif
