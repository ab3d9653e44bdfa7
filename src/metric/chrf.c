/* chrf.c: chrF (Popovic 2015) and chrF++ (Popovic 2017), corpus-level, as in sacreBLEU:
 *   100 (1 + b^2) P R / (b^2 P + R),   b = 2,
 * where P and R are the means of precision and recall over the orders that occur on both sides: n-grams of 1 to 6
 * characters without white space and, in chrF++, of 1 and 2 words. With several references the one with the best
 * score counts. */
#include "metric/kinds.h"

#include <string.h>

enum {
    CHARACTERS = 6,
    WORDS = 2,
    ORDERS = CHARACTERS + WORDS
}; /* sums: (ORDERS, 3) counts of hypothesis, reference, matches */

static double f_score(const double *n, int orders)
{
    const double factor = 4; /* b^2 */
    double precision = 0, recall = 0, used = 0;
    for (int k = 0; k < orders; k++, n += 3)
        if (n[0] > 0 && n[1] > 0) {
            precision += n[2] / n[0];
            recall += n[2] / n[1];
            used++;
        }
    if (precision + recall == 0) return 0;
    precision /= used, recall /= used;
    return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

/* The n-grams of the hypothesis. */
typedef struct counted {
    attend_ngrams names, characters, words;
    size_t word_count;
} counted;

static int count(counted *c, attend_metric_text *t, int word_orders)
{
    attend_metric_words w = { 0 };
    int status = word_orders ? attend_metric_words_read(&w, &c->names, t, true) : ATTEND_OK;
    if (status == ATTEND_OK && word_orders) status = attend_ngrams_add(&c->words, w.id, w.n, word_orders);
    attend_metric_remove_spaces(t);
    if (status == ATTEND_OK) status = attend_ngrams_add(&c->characters, t->c, t->n, CHARACTERS);
    c->word_count = w.n;
    attend_metric_words_free(&w);
    return status;
}

/* The counts against reference r. */
static int compare(counted *c, const attend_metric_text *hypothesis, attend_metric_text *t, int r, int word_orders,
                   double *n)
{
    attend_metric_words w = { 0 };
    double both[ORDERS] = { 0 };
    int status = word_orders ? attend_metric_words_read(&w, &c->names, t, true) : ATTEND_OK;
    if (status != ATTEND_OK) return status;
    attend_metric_remove_spaces(t);
    attend_ngrams_match(&c->characters, t->c, t->n, CHARACTERS, r + 1, false, both);
    attend_ngrams_match(&c->words, w.id, w.n, word_orders, r + 1, false, both + CHARACTERS);
    for (int k = 0; k < CHARACTERS + word_orders; k++) {
        const bool words = k >= CHARACTERS;
        const int order = words ? k - CHARACTERS + 1 : k + 1;
        double *const counts = n + 3 * (size_t)k; /* of the hypothesis, of the reference, of both */
        counts[1] = attend_ngrams_total(words ? w.n : t->n, order);
        /* an order for which the reference is too short does not count against the hypothesis */
        counts[0] = counts[1] > 0 ? attend_ngrams_total(words ? c->word_count : hypothesis->n, order) : 0;
        counts[2] = both[k];
    }
    attend_metric_words_free(&w);
    return ATTEND_OK;
}

static int add(attend_metric_lines *lines, int word_orders, double *n)
{
    counted c = { 0 };
    double best = -1, these[3 * ORDERS] = { 0 };
    const int orders = CHARACTERS + word_orders;
    int status = count(&c, &lines->hypothesis, word_orders);
    for (int r = 0; status == ATTEND_OK && r < lines->count; r++) {
        status = compare(&c, &lines->hypothesis, &lines->references[r], r, word_orders, these);
        const double score = f_score(these, orders);
        if (status != ATTEND_OK || score <= best) continue;
        best = score;
        memcpy(n, these, 3 * (size_t)orders * sizeof *n);
    }
    attend_ngrams_free(&c.names);
    attend_ngrams_free(&c.characters);
    attend_ngrams_free(&c.words);
    return status;
}

static int add_chrf(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    return add(lines, 0, n);
}

static int add_chrfpp(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    return add(lines, WORDS, n);
}

static double score_chrf(const double *n)
{
    return f_score(n, CHARACTERS);
}

static double score_chrfpp(const double *n)
{
    return f_score(n, ORDERS);
}

const attend_metric_functions attend_metric_chrf = {
    .name = "chrf",
    .title = "chrF2",
    .higher_is_better = true,
    .numbers = 3 * CHARACTERS,
    .add = add_chrf,
    .score = score_chrf,
    .signature = { "eff:yes|nc:6|nw:0|space:no|" },
};

const attend_metric_functions attend_metric_chrfpp = {
    .name = "chrf++",
    .title = "chrF2++",
    .higher_is_better = true,
    .numbers = 3 * ORDERS,
    .add = add_chrfpp,
    .score = score_chrfpp,
    .signature = { "eff:yes|nc:6|nw:2|space:no|" },
};
