/* text_writer.h: appends to a string; the first failure is kept, and later calls write nothing. */
#ifndef ATTEND_VIEW_TEXT_WRITER_H
#define ATTEND_VIEW_TEXT_WRITER_H

#include <attend/text.h>

typedef struct attend_text_writer {
    attend_string *to;
    int status;
} attend_text_writer;

/* Replaces what is in `to`. */
attend_text_writer attend_text_writer_begin(attend_string *to);
void attend_put_bytes(attend_text_writer *w, const char *bytes, size_t size);
void attend_put_text(attend_text_writer *w, const char *text);
void attend_put_times(attend_text_writer *w, char c, int times);
/* At most 255 bytes per call. */
void attend_put(attend_text_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes spaces from the end. */
void attend_put_trim(attend_text_writer *w);

#endif
