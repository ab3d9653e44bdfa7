#include "view/text_writer.h"

#include "text/token_ids.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

attend_text_writer attend_text_writer_begin(attend_string *to)
{
    attend_text_writer w = { .to = to, .status = ATTEND_OK };
    to->size = 0;
    attend_put_bytes(&w, "", 0);
    return w;
}

void attend_put_bytes(attend_text_writer *w, const char *bytes, size_t size)
{
    if (w->status == ATTEND_OK) w->status = attend_string_add(w->to, bytes, size);
}

void attend_put_text(attend_text_writer *w, const char *text)
{
    attend_put_bytes(w, text, strlen(text));
}

void attend_put_times(attend_text_writer *w, char c, int times)
{
    for (int i = 0; i < times; i++) attend_put_bytes(w, &c, 1);
}

void attend_put(attend_text_writer *w, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size > 0) attend_put_bytes(w, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

void attend_put_trim(attend_text_writer *w)
{
    if (w->status != ATTEND_OK) return;
    while (w->to->size > 0 && w->to->text[w->to->size - 1] == ' ') w->to->size--;
    w->to->text[w->to->size] = '\0';
}
