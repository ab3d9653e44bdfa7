#include <attend/string_table.h>

#include "core/hash.h"
#include "core/memory.h"
#include "core/status.h"
#include "text/token_ids.h"
#include <string.h>

enum { MAX_STRINGS = 1 << 30 };

void attend_string_table_free(attend_string_table *s)
{
    if (!s) return;
    attend_string_free(&s->bytes);
    attend_memory_free(s->entries);
    attend_memory_free(s->slots);
    *s = (attend_string_table){ 0 };
}

static uint32_t hash_of(const attend_string_table *s, const char *bytes, size_t size)
{
    return (uint32_t)attend_hash_bytes(bytes, size, s->seed);
}

/* The slot of a string, or the free one for it. */
static struct attend_string_slot *slot_of(const attend_string_table *s, uint32_t hash, const char *bytes, size_t size)
{
    for (size_t i = hash;; i++) {
        struct attend_string_slot *slot = &s->slots[i & (s->slot_count - 1)];
        if (slot->number == 0) return slot;
        if (slot->hash != hash) continue;
        const struct attend_string_entry *e = &s->entries[slot->number - 1];
        if (e->size == size && memcmp(s->bytes.text + e->at, bytes, size) == 0) return slot;
    }
}

int attend_string_table_find(const attend_string_table *s, const char *bytes, size_t size)
{
    ATTEND_REQUIRE(-1, s && (bytes || size == 0));
    if (s->slot_count == 0) return -1;
    return slot_of(s, hash_of(s, bytes, size), bytes, size)->number - 1;
}

/* Doubles the slots if more than half of them would be used. */
static int reserve_slot(attend_string_table *s)
{
    enum { MIN_SLOTS = 64 };
    if (2 * ((size_t)s->count + 1) <= s->slot_count) return ATTEND_OK;
    const size_t wider = s->slot_count ? 2 * s->slot_count : MIN_SLOTS;
    struct attend_string_slot *slots = attend_memory_zeroed(wider, sizeof *slots);
    if (!slots) return attend_fail(ATTEND_NO_MEMORY, "no memory for more than %d distinct words", s->count);
    if (s->slot_count == 0) s->seed = attend_hash_seed();
    for (size_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].number == 0) continue;
        size_t to = s->slots[i].hash & (wider - 1);
        while (slots[to].number) to = (to + 1) & (wider - 1);
        slots[to] = s->slots[i];
    }
    attend_memory_free(s->slots);
    s->slots = slots;
    s->slot_count = wider;
    return ATTEND_OK;
}

int attend_string_table_add(attend_string_table *s, const char *bytes, size_t size, int *number)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && (bytes || size == 0) && number);
    int status = reserve_slot(s);
    if (status != ATTEND_OK) return status;
    const uint32_t hash = hash_of(s, bytes, size);
    struct attend_string_slot *slot = slot_of(s, hash, bytes, size);
    if (slot->number) {
        *number = slot->number - 1;
        return ATTEND_OK;
    }
    if (s->count == MAX_STRINGS) return attend_fail(ATTEND_BAD_DATA, "more than %d distinct words", MAX_STRINGS);
    if ((size_t)s->count == s->capacity) {
        void *more = attend_grow_array(s->entries, s->capacity, s->capacity + 1, sizeof *s->entries, &s->capacity);
        if (!more) return attend_fail(ATTEND_NO_MEMORY, "no memory for more than %d distinct words", s->count);
        s->entries = more;
    }
    const size_t at = s->bytes.size;
    status = attend_string_reserve(&s->bytes, size + 1);
    if (status != ATTEND_OK) return status;
    if (size) memcpy(s->bytes.text + at, bytes, size);
    s->bytes.text[at + size] = '\0';
    s->bytes.size += size + 1;
    s->entries[s->count] = (struct attend_string_entry){ at, size, 0 };
    *number = s->count++;
    *slot = (struct attend_string_slot){ hash, s->count };
    return ATTEND_OK;
}

int attend_string_table_count(attend_string_table *s, const char *bytes, size_t size, int64_t times)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, s && (bytes || size == 0));
    int number;
    const int status = attend_string_table_add(s, bytes, size, &number);
    if (status == ATTEND_OK) s->entries[number].count += times;
    return status;
}
