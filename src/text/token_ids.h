/* token_ids.h: growable arrays of token ids. The type is public (attend/text.h). */
#ifndef ATTEND_TEXT_TOKEN_IDS_H
#define ATTEND_TEXT_TOKEN_IDS_H

#include "core/string.h"
#include <attend/text.h>

/* Allocates memory for `more` ids. ATTEND_NO_MEMORY, or ATTEND_BAD_DATA if the count would exceed INT_MAX. */
int attend_ids_reserve(attend_ids *ids, size_t more);
/* Appends an id with its span. */
int attend_ids_add(attend_ids *ids, int id, size_t begin, size_t end);

#endif
