/* hash_set.h: numbers that have been seen; {0} is empty.
 *
 * An open table of 64-bit numbers, at least 3/8 and at most 3/4 full: 11 to 21 bytes a number. */
#ifndef ATTEND_TEXT_HASH_SET_H
#define ATTEND_TEXT_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_hash_set {
    uint64_t *table; /* room; 0: free */
    size_t room, count;
} attend_hash_set;

bool attend_hash_set_has(const attend_hash_set *s, uint64_t number);
/* *had: it was there before. */
int attend_hash_set_add(attend_hash_set *s, uint64_t number, bool *had);
void attend_hash_set_free(attend_hash_set *s);

#endif
