/* writer.h: text that is put together bit by bit; the first failure is kept, and nothing more is written after it. */
#ifndef ATTEND_VIEW_WRITER_H
#define ATTEND_VIEW_WRITER_H

#include <attend/text.h>

typedef struct attend_writer {
    attend_string *to;
    int status;
} attend_writer;

/* Writes in the place of what is in `to`. */
attend_writer attend_writer_begin(attend_string *to);
void attend_put_bytes(attend_writer *w, const char *bytes, size_t size);
void attend_put_text(attend_writer *w, const char *text);
void attend_put_times(attend_writer *w, char c, int times);
/* At most 255 bytes at a time. */
void attend_put(attend_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes back the spaces at the end. */
void attend_put_trim(attend_writer *w);

#endif
