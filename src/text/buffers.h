/* buffers.h: arrays of token ids that grow (the public half is in attend/text.h). */
#ifndef ATTEND_TEXT_BUFFERS_H
#define ATTEND_TEXT_BUFFERS_H

#include "core/string.h"
#include <attend/text.h>

/* Room for `more` numbers. */
int attend_ids_reserve(attend_ids *ids, size_t more);
int attend_ids_add(attend_ids *ids, int id, size_t begin, size_t end);

#endif
