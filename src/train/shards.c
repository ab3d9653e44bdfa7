#include "train/shards.h"

#include <stdint.h>

static int pair_tokens(const attend_pairs *p, int i)
{
    return p->source_lengths[i] + p->target_lengths[i] + 1;
}

/* As many shards as there would be if all but the last were as large as possible, or a few more, so that two and four ranks
 * or threads have the same number: an even number, and a multiple of four from eight on. */
static int count_shards(const attend_pairs *p, int max_tokens, int64_t *total)
{
    int shards = 1, tokens = 0;
    *total = 0;
    for (int i = 0; i < p->count; i++) {
        const int more = pair_tokens(p, i);
        if (tokens > 0 && tokens + more > max_tokens) shards++, tokens = 0;
        tokens += more, *total += more;
    }
    if (shards < 3) return shards;
    return shards < 8 ? (shards + 1) / 2 * 2 : (shards + 3) / 4 * 4;
}

/* Shards of nearly equal size, so that threads and ranks that run the same number of them end at the same time. */
int attend_cut_shards(const attend_pairs *p, int max_tokens, int *first)
{
    int64_t total, before = 0;
    const int wanted = count_shards(p, max_tokens, &total);
    int shards = 0, tokens = 0;
    first[0] = 0;
    for (int i = 0; i < p->count; i++) {
        const int more = pair_tokens(p, i);
        const int64_t end = total * (shards + 1) / wanted; /* of this shard, if all are equal */
        if (i > first[shards] && (tokens + more > max_tokens || before + more / 2 >= end)) {
            first[++shards] = i;
            tokens = 0;
        }
        tokens += more, before += more;
    }
    first[++shards] = p->count;
    return shards;
}
