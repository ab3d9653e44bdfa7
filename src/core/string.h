/* string.h: growing arrays and strings (the public half is attend/string.h). */
#ifndef ATTEND_CORE_STRING_H
#define ATTEND_CORE_STRING_H

#include <attend/string.h>

/* Returns `old` with room for at least `min_count` elements of `element_size` bytes; the first `used` are kept, and
 * *capacity is updated. NULL: no memory, and everything is unchanged; the caller reports it with
 * attend_fail. */
void *attend_grow_array(void *old, size_t used, size_t min_count, size_t element_size, size_t *capacity);

/* Makes room for `more` bytes and a '\0' after the current end. */
int attend_string_reserve(attend_string *s, size_t more);

#endif
