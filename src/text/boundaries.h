/* boundaries.h: where letters, digits, other characters and scripts meet inside a word. */
#ifndef ATTEND_TEXT_BOUNDARIES_H
#define ATTEND_TEXT_BOUNDARIES_H

#include <stddef.h>

/* The end of the run that begins at `begin` < size, which is not a space: characters of one class up to the next space.
 * Classes are digits, letters of one script, white space, and all other characters. A mark, a joiner or a variation
 * selector continues any run. The text is valid UTF-8. */
size_t attend_boundary_next(const char *text, size_t size, size_t begin);

#endif
