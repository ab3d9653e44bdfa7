/* hash_set.h: a set of 64-bit hashes; {0} is empty.
 *
 * Open addressing, at least 3/8 and at most 3/4 full: 11 to 21 bytes per hash. */
#ifndef ATTEND_TEXT_HASH_SET_H
#define ATTEND_TEXT_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attend_hash_set {
    uint64_t *table; /* (capacity) 0: free */
    size_t capacity, count;
    uint64_t seed; /* of the slots: the hashes themselves have none, so that those of chosen lines can be chosen */
} attend_hash_set;

bool attend_hash_set_has(const attend_hash_set *s, uint64_t hash);
/* Adds a hash; *had: the set already contained it. ATTEND_NO_MEMORY. */
int attend_hash_set_add(attend_hash_set *s, uint64_t hash, bool *had);
void attend_hash_set_free(attend_hash_set *s);

#endif
