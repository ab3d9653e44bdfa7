#include "text/shared_counts.h"

#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include <string.h>

typedef struct entry {
    uint64_t size;
    int64_t count;
} entry;

/* Collects `own` of all ranks on rank 0, which passes each to `add`. */
static int collect(attend_ranks *ranks, const attend_string *own, int (*add)(void *user, const attend_string *part),
                   void *user)
{
    const int count = attend_ranks_count(ranks);
    attend_string *parts = attend_memory_zeroed((size_t)count, sizeof *parts);
    int status = parts ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to add the counts of %d ranks", count);
    if (status == ATTEND_OK) status = attend_ranks_collect(ranks, own, parts);
    for (int i = 1; parts && attend_ranks_rank(ranks) == 0 && status == ATTEND_OK && i < count; i++)
        status = add(user, &parts[i]);
    for (int i = 0; parts && i < count; i++) attend_string_free(&parts[i]);
    attend_memory_free(parts);
    return status;
}

static int damaged(void)
{
    return attend_fail(ATTEND_FAILED,
                       "another rank sent counts that cannot be read: install the same version of attend "
                       "on all machines");
}

/* ---- strings ---- */

static int pack_table(attend_string *to, const attend_string_table *table)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < table->count; i++) {
        const entry e = { attend_string_table_size(table, i), table->entries[i].count };
        status = attend_string_add(to, (const char *)&e, sizeof e);
        if (status == ATTEND_OK) status = attend_string_add(to, attend_string_table_at(table, i), (size_t)e.size);
    }
    return status;
}

static int add_table(attend_string_table *table, const char *at, size_t left)
{
    int status = ATTEND_OK;
    while (status == ATTEND_OK && left > 0) {
        entry e;
        if (left < sizeof e) return damaged();
        memcpy(&e, at, sizeof e);
        at += sizeof e, left -= sizeof e;
        if (e.size > left) return damaged();
        status = attend_string_table_count(table, at, (size_t)e.size, e.count);
        at += e.size, left -= (size_t)e.size;
    }
    return status;
}

typedef struct sums {
    attend_string_table *table;
    uint64_t *numbers;
    int count;
} sums;

static int add_sums(void *user, const attend_string *part)
{
    const sums *s = user;
    const size_t head = (size_t)s->count * sizeof(uint64_t);
    if (part->size < head) return damaged();
    for (int i = 0; i < s->count; i++) {
        uint64_t number;
        memcpy(&number, part->text + (size_t)i * sizeof number, sizeof number);
        s->numbers[i] += number;
    }
    return add_table(s->table, part->text + head, part->size - head);
}

/* Rank 0's bytes become those of all ranks. */
static int share(attend_ranks *ranks, attend_string *bytes)
{
    uint64_t size = bytes->size;
    int status = attend_ranks_share(ranks, &size, sizeof size);
    if (status != ATTEND_OK) return status;
    if (attend_ranks_rank(ranks) > 0) bytes->size = 0;
    if (attend_ranks_rank(ranks) > 0) status = attend_string_reserve(bytes, (size_t)size);
    if (status == ATTEND_OK) status = attend_ranks_share(ranks, bytes->text, (size_t)size);
    bytes->size = (size_t)size;
    return status;
}

int attend_shared_counts(attend_ranks *ranks, attend_string_table *table, uint64_t *numbers, int count)
{
    if (!attend_ranks_are_several(ranks)) return ATTEND_OK;
    const size_t head = (size_t)count * sizeof *numbers;
    sums s = { table, numbers, count };
    attend_string own = { 0 };
    const bool is_first = attend_ranks_rank(ranks) == 0;
    int status = attend_string_add(&own, (const char *)numbers, head);
    if (status == ATTEND_OK && !is_first) status = pack_table(&own, table);
    if (status == ATTEND_OK) status = collect(ranks, &own, add_sums, &s);
    own.size = 0;
    if (status == ATTEND_OK && is_first) status = attend_string_add(&own, (const char *)numbers, head);
    if (status == ATTEND_OK && is_first) status = pack_table(&own, table);
    if (status == ATTEND_OK) status = share(ranks, &own);
    if (status == ATTEND_OK && own.size < head) status = damaged();
    if (status == ATTEND_OK && !is_first) {
        attend_string_table_free(table);
        memcpy(numbers, own.text, head);
        status = add_table(table, own.text + head, own.size - head);
    }
    attend_string_free(&own);
    return status;
}

/* ---- words ---- */

static int add_words(void *user, const attend_string *part)
{
    attend_word_set *words = user;
    uint64_t head[2], hash;
    int status = ATTEND_OK;
    bool had;
    if (part->size < sizeof head || (part->size - sizeof head) % sizeof hash != 0) return damaged();
    memcpy(head, part->text, sizeof head);
    words->lines += head[0], words->words += head[1];
    for (size_t at = sizeof head; status == ATTEND_OK && at < part->size; at += sizeof hash) {
        memcpy(&hash, part->text + at, sizeof hash);
        status = attend_hash_set_add(&words->hashes, hash, &had);
    }
    return status;
}

int attend_shared_words(attend_ranks *ranks, attend_word_set *words)
{
    if (!attend_ranks_are_several(ranks)) return ATTEND_OK;
    const uint64_t head[2] = { words->lines, words->words };
    const attend_hash_set *hashes = &words->hashes;
    attend_string own = { 0 };
    int status = attend_string_add(&own, (const char *)head, sizeof head);
    for (size_t i = 0; attend_ranks_rank(ranks) > 0 && status == ATTEND_OK && i < hashes->capacity; i++)
        if (hashes->table[i]) status = attend_string_add(&own, (const char *)&hashes->table[i], sizeof *hashes->table);
    if (status == ATTEND_OK) status = collect(ranks, &own, add_words, words);
    attend_string_free(&own);
    return status;
}
