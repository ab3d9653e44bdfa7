#include "format/xml_text.h"

#include "core/printable.h"
#include "core/utf8.h"
#include <stdio.h>
#include <string.h>

size_t attend_xml_character(const char *text, size_t left, char out[ATTEND_XML_CHARACTER], int32_t *code_point)
{
    int32_t c;
    size_t size = attend_utf8_next(text, left, &c);
    if (size == 0) c = 0xfffd, size = 1;
    if (attend_is_control(c) || attend_overrides_direction(c) || c == 0xfffe || c == 0xffff) c = -1;
    if (c > 0 && c < 0x7f && strchr("<>&\"'", c))
        snprintf(out, ATTEND_XML_CHARACTER, "&#%d;", (int)(unsigned char)c);
    else
        out[c < 0 ? 0 : attend_utf8_put(out, c)] = '\0';
    *code_point = c;
    return size;
}
