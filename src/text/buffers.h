/* buffers.h: arrays that grow (the public half is in attend/text.h). */
#ifndef ATTEND_TEXT_BUFFERS_H
#define ATTEND_TEXT_BUFFERS_H

#include <attend/text.h>

/* `old` with room for `least` elements of `each` bytes at least; the first `used` are kept, and *room is what there is now. NULL: no memory,
 * and everything is as it was. The caller says so with attend_fail. */
void *attend_grow_array(void *old, size_t used, size_t least, size_t each, size_t *room);

/* Room for `more` bytes and a '\0' behind what is there. */
int attend_string_reserve(attend_string *s, size_t more);
int attend_string_add(attend_string *s, const char *bytes, size_t size);

/* Room for `more` numbers. */
int attend_ids_reserve(attend_ids *ids, size_t more);
int attend_ids_add(attend_ids *ids, int id, size_t begin, size_t end);

#endif
