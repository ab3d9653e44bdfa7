/* nul_bytes.h: rejects text with NUL bytes, which would truncate a C string. */
#ifndef ATTEND_CLI_NUL_BYTES_H
#define ATTEND_CLI_NUL_BYTES_H

#include <attend/pairs_file.h>
#include <stddef.h>
#include <stdint.h>

/* ATTEND_OK, or ATTEND_BAD_DATA with a message that gives the file and the line. */
int nul_bytes_check(const char *text, size_t size, const char *file, uint64_t line);
int nul_bytes_check_pair(const attend_text_pair *p);

#endif
