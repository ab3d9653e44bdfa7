/* metric.h: how good translations are: BLEU, chrF, TER, errors by word and character, exact match, alignment error.
 *
 * Purpose    Corpus scores equal those of the field's tools (sacreBLEU 2.x: BLEU, chrF, chrF++, TER); docs/metrics.md
 *            has the definitions. Statistics of sentences are added up, so a score of any part of a corpus (a bootstrap
 *            sample, a bucket of lengths) costs additions alone.
 * Text       UTF-8; a line has no line feed. Nothing is normalised unless an option says so. A byte that is no UTF-8
 *            counts as one character of its own, equal only to itself.
 * Ownership  Everything is the caller's; nothing is kept.
 * Threads    No hidden state. */
#ifndef ATTEND_METRIC_H
#define ATTEND_METRIC_H

#include <attend/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_metric_kind {
    ATTEND_BLEU,          /* Papineni et al. 2002 */
    ATTEND_CHRF,          /* Popovic 2015: characters up to 6, beta 2 */
    ATTEND_CHRFPP,        /* and words up to 2: Popovic 2017 */
    ATTEND_TER,           /* Snover et al. 2006 */
    ATTEND_WER,           /* edit distance in words over reference words; the best of several references */
    ATTEND_CER,           /* in characters */
    ATTEND_EXACT,         /* share of lines that equal a reference */
    ATTEND_TOKEN_ACCURACY /* share of reference words that stand at their place in the hypothesis; the best reference */
} attend_metric_kind;

typedef enum attend_bleu_tokens { ATTEND_BLEU_13A, ATTEND_BLEU_NONE, ATTEND_BLEU_CHAR } attend_bleu_tokens;

/* Zero is the field's usual BLEU. */
typedef struct attend_metric_options {
    attend_metric_kind kind;
    attend_bleu_tokens tokens; /* BLEU */
    bool lowercase; /* of every kind alike; TER too is case-sensitive without it, unlike sacreBLEU's default */
} attend_metric_options;

/* Sums over sentences; zero is empty. What the numbers are depends on the kind. */
enum { ATTEND_METRIC_NUMBERS = 32 };
typedef struct attend_metric_sums {
    double n[ATTEND_METRIC_NUMBERS];
} attend_metric_sums;

/* Adds the statistics of one hypothesis against its references (at least one); on failure the sums are unchanged.
 * ATTEND_BAD_USAGE; ATTEND_BAD_DATA for a line longer than the kind can take: 64 MiB, for TER 32768 words, for WER and
 * CER a pair whose lengths multiply to more than 2^32; ATTEND_NO_MEMORY. */
int attend_metric_add(const attend_metric_options *o, attend_metric_sums *sums, const char *hypothesis,
                      const char *const *references, /* (count) */
                      int count);
/* sums += more, which are of the same kind. */
void attend_metric_merge(attend_metric_sums *sums, const attend_metric_sums *more);
/* The score of the sums: 0 to 100; of TER, WER and CER, which count errors, it may be above 100. */
double attend_metric_score(const attend_metric_options *o, const attend_metric_sums *sums);
/* Whether a larger score is better. */
bool attend_metric_higher_is_better(attend_metric_kind kind);
/* "bleu", "chrf", "chrf++", "ter", "wer", "cer", "exact", "token-accuracy"; NULL if there is no such kind, so that a
 * loop from 0 lists them. */
const char *attend_metric_name(attend_metric_kind kind);
bool attend_metric_find(const char *name, attend_metric_kind *kind);
/* "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:attend-0.1.0" into `text`, cut to `size`: the words of
 * sacreBLEU. `references` is how many each line had; 0 if their number varied. */
void attend_metric_signature(const attend_metric_options *o, int references, char *text, size_t size);

/* ---- intervals ---- */

typedef struct attend_interval {
    double score, low, high; /* 95 % of the bootstrap samples lie between low and high */
    double p; /* paired: the chance of so large a difference between equal systems, as sacreBLEU counts it; else 1 */
} attend_interval;

/* Bootstrap resampling (Koehn 2004) over the sentences' sums, by seed; of a pair of systems if `other` is not NULL.
 * ATTEND_BAD_USAGE, ATTEND_NO_MEMORY. */
int attend_metric_bootstrap(const attend_metric_options *o, const attend_metric_sums *sentences, /* (count) */
                            const attend_metric_sums *other,                                     /* (count) or NULL */
                            int count, int samples, uint64_t seed, attend_interval *out);

/* ---- alignments ---- */

/* Links of one sentence pair, source and target from 0. A link that is there twice counts once. */
typedef struct attend_word_link {
    int source, target;
    bool sure; /* of gold links; the others are possible */
} attend_word_link;

/* Counts for AER (Och, Ney 2003): |A & S|, |A & P|, |A|, |S|; zero is empty. Sure links are possible ones too. */
typedef struct attend_aer_sums {
    double both_sure, both_possible, found, sure;
} attend_aer_sums;

/* Adds one sentence pair's links; on failure the sums are unchanged. ATTEND_BAD_USAGE, ATTEND_BAD_DATA for a place
 * below 0, ATTEND_NO_MEMORY. */
int attend_aer_add(attend_aer_sums *sums, const attend_word_link *found, int found_count, const attend_word_link *gold,
                   int gold_count);
/* 1 - (|A & S| + |A & P|) / (|A| + |S|): 0 to 1; 0 if there are no links at all. */
double attend_aer(const attend_aer_sums *sums);

/* How the links of two models, one of each direction, become one alignment (Och, Ney 2003; Koehn et al. 2003): those of both, those of either, or
 * those of both and of the others the ones that lie beside a link, diagonals included, and align a word that had none ("grow-diag"); "final"
 * then takes all that align a word that had none, "final-and" those that align two. */
typedef enum attend_symmetrization {
    ATTEND_INTERSECTION,
    ATTEND_UNION,
    ATTEND_GROW_DIAG,
    ATTEND_GROW_DIAG_FINAL,
    ATTEND_GROW_DIAG_FINAL_AND
} attend_symmetrization;

/* "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"; NULL if there is no such one. */
const char *attend_symmetrization_name(attend_symmetrization how);

/* `back` has the links of the model of the other direction, turned round: its sources and targets are those of `there`. `out` has room for
 * there_count + back_count; they come by target and then by source, each once, all sure. ATTEND_BAD_USAGE, ATTEND_BAD_DATA for a place below
 * 0 or beyond 2^24, ATTEND_NO_MEMORY. */
int attend_symmetrize(attend_symmetrization how, const attend_word_link *there, int there_count,
                      const attend_word_link *back, int back_count, attend_word_link *out, int *out_count);

#ifdef __cplusplus
}
#endif
#endif
