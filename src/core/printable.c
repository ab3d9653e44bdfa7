#include "core/printable.h"

#include "core/utf8.h"
#include <stdio.h>
#include <string.h>

static bool is_invisible(int32_t c)
{
    return c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

static bool is_in(attend_printable_set set, int32_t c)
{
    return !attend_is_control(c) && !attend_overrides_direction(c) && !(set == ATTEND_PRINT_VISIBLE && is_invisible(c));
}

size_t attend_printable_next(const char *text, size_t left, attend_printable_set set, char out[ATTEND_PRINTABLE_BYTES],
                             size_t *written)
{
    static const char named[] = "\t\n\r", names[] = "tnr";
    int32_t c;
    const size_t size = attend_utf8_next(text, left, &c);
    const char *name = size && c > 0 && c < ' ' ? strchr(named, c) : NULL;
    if (size && is_in(set, c)) {
        memcpy(out, text, size);
        *written = size;
        return size;
    }
    char escape[ATTEND_PRINTABLE_BYTES + 1];
    if (name)
        *written = (size_t)snprintf(escape, sizeof escape, "\\%c", names[name - named]);
    else if (size && c)
        *written = (size_t)snprintf(escape, sizeof escape, "\\u{%x}", (unsigned)c);
    else
        *written = (size_t)snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)*text);
    memcpy(out, escape, *written);
    return size ? size : 1;
}
