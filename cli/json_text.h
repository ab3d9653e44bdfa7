/* json_text.h: a text as a JSON string, quotes included. */
#ifndef ATTEND_CLI_JSON_TEXT_H
#define ATTEND_CLI_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

void json_text(FILE *to, const char *text, size_t size);

#endif
