/* packed.h: numbers and texts in one string, to send them to another rank of the same version. */
#ifndef ATTEND_CLI_PACKED_H
#define ATTEND_CLI_PACKED_H

#include <attend/string.h>
#include <stdbool.h>
#include <stdint.h>

/* Append. ATTEND_NO_MEMORY. */
int packed_add_number(attend_string *s, uint64_t number);
int packed_add_real(attend_string *s, double number);
/* Any bytes, followed by '\0'; NULL is kept apart from "". */
int packed_add_text(attend_string *s, const char *text, size_t size);

/* Reads what was appended, in the same order. */
typedef struct packed_reader {
    const char *at;
    size_t left;
    bool is_damaged; /* it ended early: all that follows is 0 or NULL */
} packed_reader;

packed_reader packed_open(const attend_string *s);
uint64_t packed_number(packed_reader *r);
double packed_real(packed_reader *r);
/* A text inside the string; size may be NULL. */
const char *packed_text(packed_reader *r, size_t *size);

#endif
