/* nul_bytes.h: text that is handled as strings must not have a byte 0, behind which all of it would be lost. */
#ifndef ATTEND_CLI_BYTE_ZERO_H
#define ATTEND_CLI_BYTE_ZERO_H

#include <attend/pairs_file.h>
#include <stddef.h>
#include <stdint.h>

/* ATTEND_OK, or ATTEND_BAD_DATA with a message that has the file and the line. */
int byte_zero_refuse(const char *text, size_t size, const char *file, uint64_t line);
int byte_zero_refuse_pair(const attend_text_pair *p);

#endif
