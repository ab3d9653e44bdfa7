#include "model/model.h"

#include <limits.h>

int attend_pairs_check(const attend_pairs *pairs)
{
    if (pairs->count < 0) return attend_fail(ATTEND_BAD_USAGE, "there are %d pairs", pairs->count);
    for (int i = 0; i < pairs->count; i++)
        if (pairs->source_lengths[i] < 0 || pairs->target_lengths[i] < 0 || pairs->target_lengths[i] == INT_MAX)
            return attend_fail(ATTEND_BAD_USAGE, "pair %d has %d source and %d target words", i,
                               pairs->source_lengths[i], pairs->target_lengths[i]);
    return ATTEND_OK;
}

attend_pairs attend_pairs_part(const attend_pairs *all, int first, int count)
{
    attend_pairs part = *all;
    for (int i = 0; i < first; i++) {
        part.source += all->source_lengths[i];
        part.target += all->target_lengths[i];
    }
    part.source_lengths += first;
    part.target_lengths += first;
    part.count = count;
    part.first_pair = all->first_pair + first;
    while (part.link_count > 0 && part.links[0].pair < part.first_pair) part.links++, part.link_count--;
    while (part.link_count > 0 && part.links[part.link_count - 1].pair >= part.first_pair + count) part.link_count--;
    return part;
}

int attend_pairs_rows(const attend_pairs *pairs)
{
    int rows = 0;
    for (int i = 0; i < pairs->count; i++) rows += pairs->target_lengths[i] + 1;
    return rows;
}

size_t attend_pairs_weights(const attend_pairs *pairs, const attend_config *config)
{
    size_t numbers = 0;
    const size_t heads = config->heads > 0 ? (size_t)config->heads : 1; /* 0, if nobody has checked it yet, is 1 */
    for (int i = 0; config->attention && i < pairs->count; i++)
        numbers += heads * ((size_t)pairs->target_lengths[i] + 1) * (size_t)pairs->source_lengths[i];
    return numbers;
}
