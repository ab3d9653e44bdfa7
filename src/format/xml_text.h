/* xml_text.h: text as content or attribute value of XML and HTML. */
#ifndef ATTEND_FORMAT_XML_TEXT_H
#define ATTEND_FORMAT_XML_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { ATTEND_XML_CHARACTER = 8 };

/* Writes the first character of a text of `left` > 0 bytes to `out`, which ends with '\0': < > & " ' as numeric
 * references, U+FFFD for a byte that is not valid UTF-8, and nothing for control characters, overrides of the writing
 * direction and what else XML 1.0 does not allow. *code_point is
 * the character written, or -1. Returns the number of bytes that were read. */
size_t attend_xml_character(const char *text, size_t left, char out[ATTEND_XML_CHARACTER], int32_t *code_point);

#endif
