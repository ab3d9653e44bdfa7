/* string_order.h: the order of strings by bytes and by count. */
#ifndef ATTEND_TEXT_STRING_ORDER_H
#define ATTEND_TEXT_STRING_ORDER_H

#include <attend/string_table.h>

/* Compares byte strings like memcmp; a prefix comes before a longer string. Returns a value below, equal to or above
 * 0. */
int attend_bytes_compare(const char *a, size_t a_size, const char *b, size_t b_size);

/* The indices of a table's strings by decreasing count, then by bytes: an array of s->count, freed by
 * attend_memory_free. NULL, with the message set, if memory runs out. */
int *attend_string_table_by_count(const attend_string_table *s);

#endif
