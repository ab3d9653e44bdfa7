/* bleu.c: BLEU (Papineni et al. 2002), corpus-level, as in sacreBLEU:
 *   BP exp(1/4 sum_n log p_n),   BP = min(1, exp(1 - r/c)),
 * where p_n is the clipped n-gram precision: an n-gram matches at most as often as it occurs in any one reference; c
 * is the length of the hypotheses in words, r that of the references closest in length (the shorter of two equally
 * close). Orders without a match are smoothed (NIST: 1/2 match for the first such order, 1/4 for the next, ...). */
#include "metric/kinds.h"

#include <math.h>

enum { ORDERS = 4, HYPOTHESIS = 0, REFERENCE = 1, CORRECT = 2, TOTAL = CORRECT + ORDERS, NUMBERS = TOTAL + ORDERS };

static bool is_closer(double length, double best, double target)
{
    const double distance = fabs(length - target), min = fabs(best - target);
    return distance < min || (distance == min && length < best);
}

static int add(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    attend_ngrams names = { 0 }, grams = { 0 };
    attend_metric_words words = { 0 };
    int status = attend_bleu_words_read(&words, &names, &lines->hypothesis, o->tokens);
    if (status == ATTEND_OK) status = attend_ngrams_add(&grams, words.id, words.n, ORDERS);
    n[HYPOTHESIS] = (double)words.n;
    for (int k = 1; k <= ORDERS; k++) n[TOTAL + k - 1] = attend_ngrams_total(words.n, k);
    for (int r = 0; status == ATTEND_OK && r < lines->count; r++) {
        attend_metric_words_free(&words);
        status = attend_bleu_words_read(&words, &names, &lines->references[r], o->tokens);
        if (status != ATTEND_OK) break;
        attend_ngrams_match(&grams, words.id, words.n, ORDERS, r + 1, true, n + CORRECT);
        if (r == 0 || is_closer((double)words.n, n[REFERENCE], n[HYPOTHESIS])) n[REFERENCE] = (double)words.n;
    }
    attend_metric_words_free(&words);
    attend_ngrams_free(&grams);
    attend_ngrams_free(&names);
    return status;
}

static double score(const double *n)
{
    double logs = 0, half = 1, correct = 0;
    for (int k = 0; k < ORDERS; k++) correct += n[CORRECT + k];
    if (correct == 0) return 0;
    for (int k = 0; k < ORDERS; k++) {
        if (n[TOTAL + k] == 0) return 0; /* no n-gram of this order: nothing to smooth */
        if (n[CORRECT + k] == 0) half /= 2;
        logs += log(100 * (n[CORRECT + k] > 0 ? n[CORRECT + k] : half) / n[TOTAL + k]);
    }
    const double brevity = n[HYPOTHESIS] < n[REFERENCE] ? exp(1 - n[REFERENCE] / n[HYPOTHESIS]) : 1;
    return brevity * exp(logs / ORDERS);
}

const attend_metric_functions attend_metric_bleu = {
    .name = "bleu",
    .title = "BLEU",
    .higher_is_better = true,
    .numbers = NUMBERS,
    .add = add,
    .score = score,
    .signature = { [ATTEND_BLEU_13A] = "eff:no|tok:13a|smooth:exp|",
                   [ATTEND_BLEU_NONE] = "eff:no|tok:none|smooth:exp|",
                   [ATTEND_BLEU_CHAR] = "eff:no|tok:char|smooth:exp|" },
};
