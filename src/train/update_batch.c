#include "train/update_batch.h"

#include "core/memory.h"
#include "core/status.h"
#include <string.h>

static bool ints_fit(int **array, size_t *room, size_t used, size_t more)
{
    if (used + more <= *room) return true;
    const size_t larger = 2 * *room + more;
    int *grown = attend_memory_zeroed(larger, sizeof *grown);
    if (!grown) return false;
    if (used) memcpy(grown, *array, used * sizeof *grown);
    attend_memory_free(*array);
    *array = grown, *room = larger;
    return true;
}

static size_t sum_of(const int *numbers, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++) sum += (size_t)numbers[i];
    return sum;
}

/* Appends a copy of a batch: its arrays are valid only until the next one is read. */
static bool append(update_batch *b, const attend_pairs *p)
{
    const int *tokens[2] = { p->source, p->target }, *lengths[2] = { p->source_lengths, p->target_lengths };
    size_t room[2] = { b->pair_room, b->pair_room };
    for (int side = 0; side < 2; side++) {
        const size_t more = sum_of(lengths[side], p->count);
        if (!ints_fit(&b->tokens[side], &b->token_room[side], b->token_count[side], more) ||
            !ints_fit(&b->lengths[side], &room[side], b->pair_count, (size_t)p->count))
            return false;
        if (more) memcpy(b->tokens[side] + b->token_count[side], tokens[side], more * sizeof(int));
        memcpy(b->lengths[side] + b->pair_count, lengths[side], (size_t)p->count * sizeof(int));
        b->token_count[side] += more;
    }
    b->pair_room = room[0];
    b->pair_count += (size_t)p->count;
    return true;
}

static bool add_shard(update_batch *b, int first, int count)
{
    size_t room = (size_t)b->shard_room, other = (size_t)b->shard_room;
    if (!ints_fit(&b->shard_first, &room, (size_t)b->shards, 1) ||
        !ints_fit(&b->shard_count, &other, (size_t)b->shards, 1))
        return false;
    b->shard_room = (int)room;
    b->shard_first[b->shards] = first;
    b->shard_count[b->shards++] = count;
    return true;
}

static bool cut(update_batch *b, int shard_tokens)
{
    int first = 0, tokens = 0;
    b->shards = 0;
    for (int i = 0; i < b->pairs.count; i++) {
        const int more = b->pairs.source_lengths[i] + b->pairs.target_lengths[i] + 1;
        if (i > first && tokens + more > shard_tokens) {
            if (!add_shard(b, first, i - first)) return false;
            first = i, tokens = 0;
        }
        tokens += more;
    }
    return add_shard(b, first, b->pairs.count - first);
}

int attend_update_batch_next(update_batch *b, attend_batches *batches, attend_batch_position *position, int accumulate,
                             int shard_tokens)
{
    b->pair_count = b->token_count[0] = b->token_count[1] = 0;
    for (int i = 0; i < accumulate; i++) {
        attend_batch batch;
        int status = attend_batches_next(batches, position, &batch);
        if (status != ATTEND_OK) return status;
        if (!append(b, &batch.pairs))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d pairs", batch.pairs.count);
    }
    b->pairs = (attend_pairs){ .count = (int)b->pair_count,
                               .source = b->tokens[0],
                               .source_lengths = b->lengths[0],
                               .target = b->tokens[1],
                               .target_lengths = b->lengths[1] };
    b->rows = attend_pairs_rows(&b->pairs);
    if ((size_t)b->rows > b->nll_room) {
        attend_memory_free(b->nll);
        b->nll_room = 2 * (size_t)b->rows;
        b->nll = attend_memory_zeroed(b->nll_room, sizeof *b->nll);
    }
    if (!b->nll || !cut(b, shard_tokens))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for an update of %d rows", b->rows);
    return ATTEND_OK;
}

void attend_update_batch_free(update_batch *b)
{
    for (int side = 0; side < 2; side++) {
        attend_memory_free(b->tokens[side]);
        attend_memory_free(b->lengths[side]);
    }
    attend_memory_free(b->shard_first);
    attend_memory_free(b->shard_count);
    attend_memory_free(b->nll);
    *b = (update_batch){ 0 };
}
