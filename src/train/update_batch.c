#include "train/update_batch.h"

#include "core/memory.h"
#include "core/status.h"
#include "train/gradient_tree.h"
#include "train/shards.h"
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
        if (more && tokens[side]) memcpy(b->tokens[side] + b->token_count[side], tokens[side], more * sizeof(int));
        memcpy(b->lengths[side] + b->pair_count, lengths[side], (size_t)p->count * sizeof(int));
        b->token_count[side] += more;
    }
    b->pair_room = room[0];
    b->pair_count += (size_t)p->count;
    return true;
}

/* Where the target rows of each shard begin. */
static bool count_rows(update_batch *b)
{
    if (b->shards >= b->shard_rows_room) {
        attend_memory_free(b->shard_rows);
        b->shard_rows_room = 0;
        b->shard_rows = attend_memory_zeroed(2 * (size_t)b->shards + 1, sizeof *b->shard_rows);
        if (!b->shard_rows) return false;
        b->shard_rows_room = 2 * b->shards + 1;
    }
    size_t rows = 0;
    for (int i = 0; i < b->shards; i++) {
        b->shard_rows[i] = rows;
        const int first = b->shard_first[i], count = b->shard_first[i + 1] - first;
        rows += sum_of(b->pairs.target_lengths + first, count) + (size_t)count;
    }
    b->shard_rows[b->shards] = rows;
    return true;
}

/* Cuts the pairs into shards and counts their rows. */
static bool cut(update_batch *b, int shard_tokens)
{
    if (!ints_fit(&b->shard_first, &b->shard_room, 0, (size_t)b->pairs.count + 2)) return false;
    b->shards = attend_cut_shards(&b->pairs, shard_tokens, b->shard_first);
    return count_rows(b);
}

/* Appends the links of a batch, whose pairs will be appended next. */
static int append_links(update_batch *b, const attend_guided_links *links, const attend_batch *batch)
{
    int status = ATTEND_OK, count = 0;
    for (int i = 0; links && status == ATTEND_OK && i < batch->pairs.count; i++) {
        status = attend_guided_links_read(links, batch->numbers[i], (int)b->pair_count + i, &b->links,
                                          &b->link_capacity, b->link_count, &count);
        b->link_count += (size_t)count;
    }
    return status;
}

/* Notes which pairs a batch has, before they are appended. */
static bool append_numbers(update_batch *b, const attend_batch *batch)
{
    const size_t used = b->pair_count, more = (size_t)batch->pairs.count;
    if (used + more > b->number_room) {
        const size_t room = 2 * b->number_room + more;
        uint64_t *grown = attend_memory_zeroed(2 * room, sizeof *grown);
        if (!grown) return false;
        if (used) memcpy(grown, b->numbers, used * sizeof *grown);
        if (used) memcpy(grown + room, b->epochs, used * sizeof *grown);
        attend_memory_free(b->numbers);
        b->numbers = grown, b->epochs = grown + room, b->number_room = room;
    }
    memcpy(b->numbers + used, batch->numbers, more * sizeof *b->numbers);
    for (size_t i = used; i < used + more; i++) b->epochs[i] = batch->position.epoch;
    return true;
}

/* Reads the tokens of some shards. */
static int read_tokens(update_batch *b, attend_batches *batches, shard_range shards)
{
    if (shards.end <= shards.first) return ATTEND_OK;
    const int first = b->shard_first[shards.first], end = b->shard_first[shards.end];
    int status = ATTEND_OK, *to[2];
    to[0] = b->tokens[0] + sum_of(b->lengths[0], first), to[1] = b->tokens[1] + sum_of(b->lengths[1], first);
    for (int i = first; status == ATTEND_OK && i < end; i++) {
        status = attend_batches_pair(batches, b->epochs[i], b->numbers[i], to[0], to[1]);
        to[0] += b->lengths[0][i], to[1] += b->lengths[1][i];
    }
    return status;
}

int attend_update_batch_next(update_batch *b, attend_batches *batches, const attend_guided_links *links,
                             attend_batch_position *position, int accumulate, int shard_tokens, int ranks, int rank)
{
    const bool is_part = ranks > 1 && attend_batches_know_lengths(batches);
    b->pair_count = b->token_count[0] = b->token_count[1] = b->link_count = 0;
    for (int i = 0; i < accumulate; i++) {
        attend_batch batch;
        int status = is_part ? attend_batches_next_lengths(batches, position, &batch)
                             : attend_batches_next(batches, position, &batch);
        if (status == ATTEND_OK) status = append_links(b, links, &batch);
        if (status != ATTEND_OK) return status;
        if ((is_part && !append_numbers(b, &batch)) || !append(b, &batch.pairs))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d pairs", batch.pairs.count);
    }
    b->pairs = (attend_pairs){ .count = (int)b->pair_count,
                               .source = b->tokens[0],
                               .source_lengths = b->lengths[0],
                               .target = b->tokens[1],
                               .target_lengths = b->lengths[1],
                               .links = b->links,
                               .link_count = (int)b->link_count };
    b->rows = attend_pairs_rows(&b->pairs);
    if ((size_t)b->rows > b->nll_room) {
        attend_memory_free(b->nll);
        b->nll_room = 2 * (size_t)b->rows;
        b->nll = attend_memory_zeroed(b->nll_room, sizeof *b->nll);
    }
    if (!b->nll || !cut(b, shard_tokens))
        return attend_fail(ATTEND_NO_MEMORY, "no memory for an update of %d rows", b->rows);
    return is_part ? read_tokens(b, batches, attend_gradient_tree_own(b->shards, ranks, rank)) : ATTEND_OK;
}

void attend_update_batch_free(update_batch *b)
{
    for (int side = 0; side < 2; side++) {
        attend_memory_free(b->tokens[side]);
        attend_memory_free(b->lengths[side]);
    }
    attend_memory_free(b->shard_first);
    attend_memory_free(b->shard_rows);
    attend_memory_free(b->nll);
    attend_memory_free(b->links);
    attend_memory_free(b->numbers); /* and epochs */
    *b = (update_batch){ 0 };
}
