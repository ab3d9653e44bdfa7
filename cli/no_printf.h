/* no_printf.h: the build includes this file before every source of the command. It makes the functions that write raw
 * text a warning, and so an error in CI: messages and results quote file names, lines and tokens, and a terminal obeys
 * the control characters in them. attend_print (attend/print.h) escapes them; result_write (result_text.h) does so on a
 * terminal and leaves results for programs unchanged. */
#include <stdarg.h>
#include <stddef.h>

#define ATTEND_NO_PRINTF                                                                                               \
    __attribute__((deprecated("use attend_print (attend/print.h), or result_write (result_text.h) for results")))
/* The C library may define these as inline functions: an attribute must come first. */
int printf(const char *, ...) ATTEND_NO_PRINTF;
int vprintf(const char *, va_list) ATTEND_NO_PRINTF;
int puts(const char *) ATTEND_NO_PRINTF;
int putchar(int) ATTEND_NO_PRINTF;
int putchar_unlocked(int) ATTEND_NO_PRINTF;
int dprintf(int, const char *, ...) ATTEND_NO_PRINTF;
int vdprintf(int, const char *, va_list) ATTEND_NO_PRINTF;
void perror(const char *) ATTEND_NO_PRINTF;

#include <stdio.h>

int fprintf(FILE *, const char *, ...) ATTEND_NO_PRINTF;
int vfprintf(FILE *, const char *, va_list) ATTEND_NO_PRINTF;
int fputs(const char *, FILE *) ATTEND_NO_PRINTF;
int fputc(int, FILE *) ATTEND_NO_PRINTF;
int putc(int, FILE *) ATTEND_NO_PRINTF;
size_t fwrite(const void *, size_t, size_t, FILE *) ATTEND_NO_PRINTF; /* result_text.c may */
#undef ATTEND_NO_PRINTF
