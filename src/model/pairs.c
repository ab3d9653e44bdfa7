/* pairs.c: checks, slices and sizes of attend_pairs. */
#include "model/model.h"

#include "core/status.h"
#include <limits.h>

static bool has_lengths(const attend_pairs *pairs)
{
    return pairs->count < 1 || (pairs->source_lengths && pairs->target_lengths);
}

int attend_pairs_check(const attend_pairs *pairs)
{
    if (pairs->count < 0)
        return attend_fail(ATTEND_BAD_USAGE, "the number of pairs is %d; it must not be negative", pairs->count);
    if (!has_lengths(pairs)) return attend_fail(ATTEND_BAD_USAGE, "pairs need the lengths of sources and targets");
    for (int i = 0; i < pairs->count; i++)
        if (pairs->source_lengths[i] < 0 || pairs->target_lengths[i] < 0 || pairs->target_lengths[i] == INT_MAX ||
            (pairs->source_lengths[i] > 0 && !pairs->source) || (pairs->target_lengths[i] > 0 && !pairs->target))
            return attend_fail(ATTEND_BAD_USAGE, "pair %d has %d source and %d target tokens%s", i,
                               pairs->source_lengths[i], pairs->target_lengths[i],
                               pairs->source && pairs->target ? "" : ", but the array of a side is NULL");
    return ATTEND_OK;
}

int attend_sources_check(const attend_model *m, const int *lengths, int count)
{
    if (m->config.task == ATTEND_TASK_TRANSLATION) return ATTEND_OK;
    for (int i = 0; i < count; i++)
        if (lengths[i] > 0)
            return attend_fail(ATTEND_BAD_USAGE, "source %d has %d tokens, and a language model has no sources", i,
                               lengths[i]);
    return ATTEND_OK;
}

attend_pairs attend_pairs_slice(const attend_pairs *all, int first, int count)
{
    ATTEND_REQUIRE((attend_pairs){ 0 }, all && has_lengths(all) && first >= 0 && first <= all->count && count >= 0 &&
                                            count <= all->count - first);
    attend_pairs part = *all;
    for (int i = 0; i < first; i++) {
        if (all->source_lengths[i]) part.source += all->source_lengths[i]; /* source may be NULL if all lengths are 0 */
        if (all->target_lengths[i]) part.target += all->target_lengths[i];
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
    ATTEND_REQUIRE(0, pairs && has_lengths(pairs));
    int rows = 0;
    for (int i = 0; i < pairs->count; i++) rows += pairs->target_lengths[i] + 1;
    return rows;
}

size_t attend_pairs_weight_count(const attend_pairs *pairs, const attend_config *config, attend_attention_kind kind)
{
    ATTEND_REQUIRE(0, pairs && has_lengths(pairs) && config);
    size_t numbers = 0;
    const size_t maps =
        (size_t)attend_config_attention_layers(config, kind) * (size_t)attend_config_attention_heads(config, kind);
    for (int i = 0; maps > 0 && i < pairs->count; i++) {
        const size_t source = (size_t)pairs->source_lengths[i], target = (size_t)pairs->target_lengths[i] + 1;
        const size_t queries = kind == ATTEND_ATTENTION_ENCODER ? source : target;
        numbers += maps * queries * (kind == ATTEND_ATTENTION_DECODER ? target : source);
    }
    return numbers;
}
