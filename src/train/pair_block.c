#include "train/pair_block.h"

#include "core/memory.h"
#include "core/status.h"

static int read_lengths(pair_block *b, const attend_corpus *from, uint64_t first, int count, size_t sizes[2])
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        status = attend_corpus_lengths(from, first + (uint64_t)i, &b->lengths[0][i], &b->lengths[1][i]);
        for (int side = 0; side < 2; side++) sizes[side] += (size_t)b->lengths[side][i];
    }
    return status;
}

int attend_pair_block_read(pair_block *b, const attend_corpus *from, uint64_t first, int count)
{
    size_t sizes[2] = { 0, 0 };
    *b = (pair_block){ .pairs = { .count = 0 } };
    for (int side = 0; side < 2; side++) {
        b->lengths[side] = attend_memory_zeroed((size_t)count + 1, sizeof(int));
        if (!b->lengths[side]) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    }
    int status = read_lengths(b, from, first, count, sizes);
    if (status != ATTEND_OK) return status;
    for (int side = 0; side < 2; side++) {
        b->ids[side] = attend_memory_zeroed(sizes[side] + 1, sizeof(int));
        if (!b->ids[side]) return attend_fail(ATTEND_NO_MEMORY, "no memory for %d pairs", count);
    }
    int *source = b->ids[0], *target = b->ids[1];
    for (int i = 0; status == ATTEND_OK && i < count; source += b->lengths[0][i], target += b->lengths[1][i], i++)
        status = attend_corpus_ids(from, first + (uint64_t)i, source, target);
    b->pairs = (attend_pairs){ .count = count,
                               .source = b->ids[0],
                               .source_lengths = b->lengths[0],
                               .target = b->ids[1],
                               .target_lengths = b->lengths[1] };
    return status;
}

void attend_pair_block_free(pair_block *b)
{
    for (int side = 0; side < 2; side++) attend_memory_free(b->lengths[side]), attend_memory_free(b->ids[side]);
}
