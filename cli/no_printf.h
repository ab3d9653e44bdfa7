/* no_printf.h: the build includes this file before every source of the command. It makes the functions that print raw
 * text a warning, and so an error in CI: a message quotes file names, lines and tokens, and a terminal obeys the control
 * characters in them. attend_print (attend/print.h) escapes them; write_unchanged (options.h) is for results. */
#include <stdarg.h>

#define ATTEND_NO_PRINTF                                                                                               \
    __attribute__((deprecated("use attend_print (attend/print.h), or write_unchanged for results")))
/* The C library may define these as inline functions: an attribute must come first. */
int printf(const char *, ...) ATTEND_NO_PRINTF;
int vprintf(const char *, va_list) ATTEND_NO_PRINTF;
int puts(const char *) ATTEND_NO_PRINTF;
int putchar(int) ATTEND_NO_PRINTF;
void perror(const char *) ATTEND_NO_PRINTF;

#include <stdio.h>

int fprintf(FILE *, const char *, ...) ATTEND_NO_PRINTF;
int vfprintf(FILE *, const char *, va_list) ATTEND_NO_PRINTF;
int fputs(const char *, FILE *) ATTEND_NO_PRINTF;
int fputc(int, FILE *) ATTEND_NO_PRINTF;
#undef ATTEND_NO_PRINTF
