/* aer.c: alignment error rate (Och, Ney 2003): 1 - (|A & S| + |A & P|) / (|A| + |S|), where A are the predicted
 * links, S the sure and P the possible gold links; S is a subset of P. */
#include "core/status.h"
#include "metric/ngrams.h"

#include <attend/metric.h>

/* The node of a link, a sequence of two symbols; 0 after a failure. */
static uint32_t link_node(attend_ngrams *links, const attend_word_link *l, int *status)
{
    if (l->source < 0 || l->target < 0) {
        *status = attend_fail(ATTEND_BAD_DATA, "invalid link %d-%d: word positions start at 0", l->source, l->target);
        return 0;
    }
    const uint32_t source = attend_ngrams_child(links, 0, (uint32_t)l->source);
    const uint32_t node = source ? attend_ngrams_child(links, source, (uint32_t)l->target) : 0;
    if (!node) *status = attend_fail(ATTEND_NO_MEMORY, "no memory for the links of a sentence");
    return node;
}

int attend_aer_add(attend_aer_sums *sums, const attend_word_link *predicted, int predicted_count,
                   const attend_word_link *gold, int gold_count)
{
    if (!sums || predicted_count < 0 || gold_count < 0 || (predicted_count && !predicted) || (gold_count && !gold))
        return attend_fail(ATTEND_BAD_USAGE, "alignment error needs sums and two lists of links");
    enum { POSSIBLE = 1, SURE = 2 };
    attend_ngrams links = { 0 };
    attend_aer_sums more = { 0 };
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < gold_count; i++) {
        const uint32_t node = link_node(&links, &gold[i], &status);
        if (!node) break;
        int *which = &links.nodes[node].reference;
        if (gold[i].sure && *which != SURE) *which = SURE, more.sure++;
        if (*which == 0) *which = POSSIBLE;
    }
    for (int i = 0; status == ATTEND_OK && i < predicted_count; i++) {
        const uint32_t node = link_node(&links, &predicted[i], &status);
        if (!node || links.nodes[node].hypothesis++) continue;
        more.predicted++;
        more.matched_sure += links.nodes[node].reference == SURE;
        more.matched_possible += links.nodes[node].reference != 0;
    }
    attend_ngrams_free(&links);
    if (status != ATTEND_OK) return status;
    sums->matched_sure += more.matched_sure;
    sums->matched_possible += more.matched_possible;
    sums->predicted += more.predicted;
    sums->sure += more.sure;
    return ATTEND_OK;
}

double attend_aer(const attend_aer_sums *sums)
{
    ATTEND_REQUIRE(0, sums);
    const double all = sums->predicted + sums->sure;
    return all > 0 ? 1 - (sums->matched_sure + sums->matched_possible) / all : 0;
}
