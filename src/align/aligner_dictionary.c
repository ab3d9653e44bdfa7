/* aligner_dictionary.c: the best translation of each source word, from the lexicon of a trained aligner:
 *     argmax_t sqrt(p(t | s) p(s | t)) */
#include "align/aligner.h"

#include "core/memory.h"
#include "core/status.h"
#include <math.h>

typedef struct best_translation {
    int target; /* 0: none */
    double score;
} best_translation;

/* The first target word, in the order of the pairs, among equal scores: slots are in no fixed order. */
static void consider(best_translation *b, int target, double score, double min)
{
    if (score < min || score < b->score || (score == b->score && b->target && target > b->target)) return;
    *b = (best_translation){ target, score };
}

static int add_line(const attend_aligner *a, int source, int target, attend_string *out)
{
    const attend_string_table *words[2] = { &a->added.sides[0].vocabulary, &a->added.sides[1].vocabulary };
    int status = attend_string_add(out, attend_string_table_at(words[0], source - 1),
                                   attend_string_table_size(words[0], source - 1));
    if (status == ATTEND_OK) status = attend_string_add(out, "\t", 1);
    if (status == ATTEND_OK)
        status = attend_string_add(out, attend_string_table_at(words[1], target - 1),
                                   attend_string_table_size(words[1], target - 1));
    return status == ATTEND_OK ? attend_string_add(out, "\n", 1) : status;
}

int attend_aligner_dictionary(const attend_aligner *a, double min, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a && out && min >= 0);
    if (!a->is_trained) return attend_fail(ATTEND_BAD_USAGE, "the word aligner is not trained yet");
    const attend_lexicon *l = &a->model.lexicon;
    const int words = a->added.sides[0].vocabulary.count, others = a->added.sides[1].vocabulary.count;
    best_translation *best = attend_memory_zeroed((size_t)words + 1, sizeof *best);
    if (!best) return attend_fail(ATTEND_NO_MEMORY, "no memory for a dictionary of %d words", words);
    for (size_t i = 0; i < l->index.slot_count; i++) {
        const struct attend_pair_slot *slot = &l->index.slots[i];
        if (slot->value == 0 || slot->left < 1 || slot->left > words || slot->right < 1 || slot->right > others)
            continue; /* free, or the NULL word */
        const double *p = l->entries[slot->value - 1].probability;
        consider(&best[slot->left], slot->right, sqrt(p[0] * p[1]), min);
    }
    int status = ATTEND_OK;
    for (int s = 1; status == ATTEND_OK && s <= words; s++)
        if (best[s].target) status = add_line(a, s, best[s].target, out);
    attend_memory_free(best);
    return status;
}
