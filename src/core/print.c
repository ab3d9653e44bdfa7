/* print.c: printf whose arguments are safe to print (attend/print.h). It allocates nothing, so that a message about
 * missing memory can be printed. */
#include <attend/print.h>

#include "core/status.h"
#include "core/printable.h"
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

typedef struct output {
    FILE *to;
    char bytes[512];
    size_t used;
    int total; /* bytes written; -1: failed */
} output;

static void flush(output *o)
{
    if (o->used && o->total >= 0) {
        const bool written = fwrite(o->bytes, 1, o->used, o->to) == o->used;
        o->total = written ? o->total + (int)o->used : -1;
    }
    o->used = 0;
}

static void put(output *o, const char *bytes, size_t size)
{
    for (size_t n; size > 0; bytes += n, size -= n) {
        if (o->used == sizeof o->bytes) flush(o);
        n = sizeof o->bytes - o->used;
        if (n > size) n = size;
        memcpy(o->bytes + o->used, bytes, n);
        o->used += n;
    }
}

/* ---- conversions ---- */

/* %[flags][width][.precision][length]kind */
typedef struct conversion {
    char flags[8];
    int width, precision; /* 0: none; -1: none */
    char length;          /* 'h', 'l', 'z', 't', 'j', or 'L' for ll; 0: none */
    char kind;
} conversion;

static int read_number(const char **format, va_list *arguments)
{
    int n = 0;
    if (**format == '*') {
        ++*format;
        return va_arg(*arguments, int);
    }
    for (; **format >= '0' && **format <= '9'; ++*format) n = 10 * n + (**format - '0');
    return n;
}

/* Reads what follows a '%' and moves the format after it. */
static conversion read_conversion(const char **format, va_list *arguments)
{
    conversion c = { .precision = -1 };
    for (size_t i = 0; **format && strchr("-+ #0", **format); ++*format)
        if (i + 1 < sizeof c.flags) c.flags[i++] = **format;
    c.width = read_number(format, arguments);
    if (**format == '.') {
        ++*format;
        c.precision = read_number(format, arguments);
    }
    for (; **format && strchr("hlztj", **format); ++*format) c.length = c.length == 'l' ? 'L' : **format;
    c.kind = **format;
    if (c.kind) ++*format;
    return c;
}

static long long signed_argument(char length, va_list *arguments)
{
    /* NOLINTBEGIN(bugprone-branch-clone): the types are the same on this machine, not on every one */
    switch (length) {
    case 'l':
        return va_arg(*arguments, long);
    case 'L':
        return va_arg(*arguments, long long);
    case 'z':
    case 't':
        return va_arg(*arguments, ptrdiff_t);
    case 'j':
        return va_arg(*arguments, intmax_t);
    default:
        return va_arg(*arguments, int);
    }
    /* NOLINTEND(bugprone-branch-clone) */
}

static unsigned long long unsigned_argument(char length, va_list *arguments)
{
    /* NOLINTBEGIN(bugprone-branch-clone): as above */
    switch (length) {
    case 'l':
        return va_arg(*arguments, unsigned long);
    case 'L':
        return va_arg(*arguments, unsigned long long);
    case 'z':
    case 't':
        return va_arg(*arguments, size_t);
    case 'j':
        return va_arg(*arguments, uintmax_t);
    default:
        return va_arg(*arguments, unsigned);
    }
    /* NOLINTEND(bugprone-branch-clone) */
}

static void put_number(output *o, const conversion *c, va_list *arguments)
{
    char spec[32], text[512];
    const bool is_signed = strchr("di", c->kind), is_unsigned = strchr("uxXo", c->kind);
    snprintf(spec, sizeof spec, "%%%s*.*%s%c", c->flags, is_signed || is_unsigned ? "ll" : "", c->kind);
    int size;
    if (is_signed)
        size = snprintf(text, sizeof text, spec, c->width, c->precision, signed_argument(c->length, arguments));
    else if (is_unsigned)
        size = snprintf(text, sizeof text, spec, c->width, c->precision, unsigned_argument(c->length, arguments));
    else
        size = snprintf(text, sizeof text, spec, c->width, c->precision, va_arg(*arguments, double));
    if (size > 0) put(o, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

/* ---- text ---- */

static size_t escaped_size(const char *text, size_t size)
{
    char escaped[ATTEND_PRINTABLE_BYTES];
    size_t total = 0, written;
    for (size_t i = 0; i < size; total += written)
        i += attend_printable_next(text + i, size - i, ATTEND_PRINT_ALL, escaped, &written);
    return total;
}

static void put_spaces(output *o, size_t wanted, size_t size)
{
    for (; size < wanted; size++) put(o, " ", 1);
}

static void put_text(output *o, const conversion *c, const char *text)
{
    if (!text) text = "(null)";
    const size_t size = c->precision < 0 ? strlen(text) : strnlen(text, (size_t)c->precision);
    const bool left = c->width < 0 || strchr(c->flags, '-');
    const size_t width = (size_t)(c->width < 0 ? -(long)c->width : c->width);
    const size_t columns = width ? escaped_size(text, size) : 0;
    if (!left) put_spaces(o, width, columns);
    for (size_t i = 0, written; i < size;) {
        char escaped[ATTEND_PRINTABLE_BYTES];
        i += attend_printable_next(text + i, size - i, ATTEND_PRINT_ALL, escaped, &written);
        put(o, escaped, written);
    }
    if (left) put_spaces(o, width, columns);
}

static void put_conversion(output *o, const conversion *c, va_list *arguments)
{
    if (c->kind == 's') {
        put_text(o, c, va_arg(*arguments, const char *));
    } else if (c->kind == 'c') {
        const char text[2] = { (char)va_arg(*arguments, int), '\0' };
        conversion one = *c;
        one.precision = 1;
        put_text(o, &one, text);
    } else if (c->kind == '%') {
        put(o, "%", 1);
    } else {
        put_number(o, c, arguments);
    }
}

int attend_print_v(FILE *to, const char *format, va_list given)
{
    output o = { .to = to };
    va_list arguments; /* a copy, whose address can be taken whatever the type of va_list */
    va_copy(arguments, given);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        put(&o, format, plain);
        format += plain;
        if (!*format) break;
        format++;
        const conversion c = read_conversion(&format, &arguments);
        put_conversion(&o, &c, &arguments);
    }
    va_end(arguments);
    flush(&o);
    return o.total;
}

int attend_print(FILE *to, const char *format, ...)
{
    ATTEND_REQUIRE(-1, to && format);
    va_list arguments;
    va_start(arguments, format);
    const int written = attend_print_v(to, format, arguments);
    va_end(arguments);
    return written;
}
