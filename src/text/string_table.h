/* string_table.h: a set of strings, each with the number it got when it came and a count.
 *
 * Ownership  {0} is empty; attend_strings_free. Strings may hold any bytes; a '\0' follows each. Pointers to them are valid until the next
 *            string is added. */
#ifndef ATTEND_TEXT_STRING_TABLE_H
#define ATTEND_TEXT_STRING_TABLE_H

#include "text/buffers.h"

typedef struct attend_strings {
    attend_string bytes; /* all of them, one after another */
    struct attend_string_entry {
        size_t at, size; /* in `bytes` */
        int64_t count;
    } * entries;
    int count;
    size_t room;
    struct attend_string_slot {
        uint32_t hash;
        int number; /* + 1; 0: free */
    } * slots;
    size_t slot_count; /* a power of two, more than half of them free */
} attend_strings;

void attend_strings_free(attend_strings *s);
int attend_strings_find(const attend_strings *s, const char *bytes, size_t size); /* its number, or -1 */
/* The number of a string, which is added if it is new. */
int attend_strings_add(attend_strings *s, const char *bytes, size_t size, int *number);
/* The same, and `times` is added to its count. */
int attend_strings_count(attend_strings *s, const char *bytes, size_t size, int64_t times);

static inline const char *attend_strings_at(const attend_strings *s, int number)
{
    return s->bytes.text + s->entries[number].at;
}
static inline size_t attend_strings_size(const attend_strings *s, int number)
{
    return s->entries[number].size;
}

/* Below 0, 0 or above 0: by bytes, the shorter first if one begins the other. */
int attend_bytes_compare(const char *a, size_t a_size, const char *b, size_t b_size);

/* The numbers by falling count, in the order of their bytes where counts are equal; the caller frees. NULL: no memory, said so. */
int *attend_strings_by_count(const attend_strings *s);

#endif
