/* string_table.h: a hash table of distinct strings, each with an index and a count.
 *
 * Purpose    Numbers strings in the order in which they are first added: 0, 1, 2, ... A string is any sequence of
 *            bytes.
 * Ownership  {0} is an empty table; attend_string_table_free releases it. A string returned by attend_string_table_at
 *            belongs to the table, has a '\0' after its last byte, and is valid until the next string is added. The
 *            members of the struct are private.
 * Threads    A table is changed by one thread at a time; an unchanging table can be read by many. */
#ifndef ATTEND_STRING_TABLE_H
#define ATTEND_STRING_TABLE_H

#include <attend/text.h>

#ifdef __cplusplus
extern "C" {
#endif

struct attend_string_entry {
    size_t at, size; /* position in `bytes` */
    int64_t count;
};

struct attend_string_slot {
    uint32_t hash;
    int number; /* index + 1; 0: free */
};

typedef struct attend_string_table {
    attend_string bytes; /* all strings, each followed by '\0' */
    struct attend_string_entry *entries;
    int count;       /* strings */
    size_t capacity; /* allocated entries */
    struct attend_string_slot *slots;
    size_t slot_count; /* a power of two; at most half of the slots are used */
    uint64_t seed;     /* of the hashes; random, and without effect on any result */
} attend_string_table;

/* Frees the content, not the struct; the table is then empty. */
void attend_string_table_free(attend_string_table *s);
/* The index of a string, or -1 if the table does not contain it. */
int attend_string_table_find(const attend_string_table *s, const char *bytes, size_t size);
/* Sets *number to the index of a string, which is added with a count of 0 if it is new. ATTEND_NO_MEMORY;
 * ATTEND_BAD_DATA if the table is full (2^30 strings). The table is unchanged after a failure. */
int attend_string_table_add(attend_string_table *s, const char *bytes, size_t size, int *number);
/* Adds `times` to the count of a string, which is added if it is new. Status codes as attend_string_table_add. */
int attend_string_table_count(attend_string_table *s, const char *bytes, size_t size, int64_t times);

/* The string with an index below `count`, and its size in bytes; NULL and 0 if there is none. */
static inline const char *attend_string_table_at(const attend_string_table *s, int number)
{
    return s && number >= 0 && number < s->count ? s->bytes.text + s->entries[number].at : NULL;
}
static inline size_t attend_string_table_size(const attend_string_table *s, int number)
{
    return s && number >= 0 && number < s->count ? s->entries[number].size : 0;
}

#ifdef __cplusplus
}
#endif
#endif
