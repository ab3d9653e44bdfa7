#include "result_text.h"

#include <attend/print.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool exactly;

void result_write_exactly(void)
{
    exactly = true;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* no_printf.h: here only */
bool write_unchanged_bytes(FILE *to, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, to) == size; /* a failure stays in the stream's error flag, too */
}
#pragma GCC diagnostic pop

void write_unchanged(FILE *to, const char *text)
{
    write_unchanged_bytes(to, text, strlen(text));
}

static bool is_terminal(FILE *to)
{
    const int before = errno, descriptor = fileno(to); /* -1: a stream in memory */
    const bool is = descriptor >= 0 && isatty(descriptor);
    errno = before;
    return is;
}

/* The bytes before the next newline, tab or NUL. */
static size_t plain_size(const char *text, size_t size)
{
    enum { MAX = 1 << 30 }; /* attend_print takes an int */
    size_t n = 0;
    while (n < size && n < MAX && text[n] != '\n' && text[n] != '\t' && text[n] != '\0') n++;
    return n;
}

bool result_write(FILE *to, const char *text, size_t size)
{
    if (exactly || !is_terminal(to)) return write_unchanged_bytes(to, text, size);
    bool written = true;
    for (size_t i = 0; written && i < size;) {
        const size_t n = plain_size(text + i, size - i);
        if (n > 0)
            written = attend_print(to, "%.*s", (int)n, text + i) >= 0;
        else if (text[i] == '\0')
            written = attend_print(to, "\\x00") >= 0;
        else
            written = write_unchanged_bytes(to, text + i, 1);
        i += n ? n : 1;
    }
    return written;
}
