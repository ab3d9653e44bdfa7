/* metric.h: evaluation metrics: BLEU, chrF, TER, word and character error rate, exact match, alignment error rate.
 *
 * Purpose    Corpus scores equal those of the field's tools (sacreBLEU 2.x: BLEU, chrF, chrF++, TER); docs/metrics.md
 *            has the definitions. The statistics of sentences are summed, so the score of any part of a corpus (a
 *            bootstrap sample, sentences of some length) costs additions only.
 * Text       UTF-8; a line has no line feed. Nothing is normalised unless an option requires it. A byte that is not
 *            UTF-8 counts as a character of its own, equal only to itself.
 * Ownership  All arguments are the caller's; nothing is kept.
 * Threads    No shared state. */
#ifndef ATTEND_METRIC_H
#define ATTEND_METRIC_H

#include <attend/status.h>
#include <attend/words.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_metric_kind {
    ATTEND_BLEU,   /* Papineni et al. 2002 */
    ATTEND_CHRF,   /* Popovic 2015: character n-grams up to 6, beta 2 */
    ATTEND_CHRFPP, /* and word n-grams up to 2: Popovic 2017 */
    ATTEND_TER,    /* Snover et al. 2006 */
    ATTEND_WER,    /* edit distance in words / reference words; the best of several references */
    ATTEND_CER,    /* the same in characters */
    ATTEND_EXACT,  /* share of lines that equal a reference */
    /* share of reference words that equal the hypothesis word at the same position; the best reference */
    ATTEND_TOKEN_ACCURACY,
    ATTEND_LINE_ERROR /* share of lines that equal no reference: 100 - ATTEND_EXACT */
} attend_metric_kind;

typedef enum attend_bleu_tokens { ATTEND_BLEU_13A, ATTEND_BLEU_NONE, ATTEND_BLEU_CHAR } attend_bleu_tokens;

/* {0} is the usual BLEU. */
typedef struct attend_metric_options {
    attend_metric_kind kind;
    attend_bleu_tokens tokens; /* BLEU only */
    bool lowercase; /* for every kind; without it TER too is case-sensitive, unlike the default of sacreBLEU */
} attend_metric_options;

/* Statistics summed over sentences; {0} is empty. Their meaning depends on the kind. */
enum { ATTEND_METRIC_NUMBERS = 32 };
typedef struct attend_metric_sums {
    double n[ATTEND_METRIC_NUMBERS];
} attend_metric_sums;

/* Adds the statistics of a hypothesis and its references (at least one). ATTEND_BAD_USAGE; ATTEND_BAD_DATA for a line
 * that is too long: more than 64 MiB, for TER more than 32768 words, for WER and CER a pair whose lengths multiply to
 * more than 2^32; ATTEND_NO_MEMORY. The sums are unchanged after a failure. */
int attend_metric_add(const attend_metric_options *o, attend_metric_sums *sums, const char *hypothesis,
                      const char *const *references, /* (count) */
                      int count);
/* sums += more, which must be of the same kind. */
void attend_metric_merge(attend_metric_sums *sums, const attend_metric_sums *more);
/* The score of the sums: 0 to 100; TER, WER and CER can exceed 100. */
double attend_metric_score(const attend_metric_options *o, const attend_metric_sums *sums);
/* False for TER, WER, CER and ATTEND_LINE_ERROR, which count errors. */
bool attend_metric_higher_is_better(attend_metric_kind kind);
/* "bleu", "chrf", "chrf++", "ter", "wer", "cer", "exact", "token-accuracy", "line-error"; NULL if there is no such
 * kind, so a loop from 0 lists them. */
const char *attend_metric_name(attend_metric_kind kind);
/* Finds a kind by its name; false if there is none. */
bool attend_metric_find(const char *name, attend_metric_kind *kind);
/* Writes a signature in the format of sacreBLEU to `text`, truncated to `size` bytes, such as
 * "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:attend-0.2.0". references: the number per line; 0 if it
 * varies. */
void attend_metric_signature(const attend_metric_options *o, int references, char *text, size_t size);

/* ---- confidence intervals ---- */

typedef struct attend_interval {
    double score, low, high; /* 95 % of the bootstrap samples are between low and high */
    /* paired: the probability of so large a difference between equal systems, computed as in sacreBLEU; otherwise 1 */
    double p;
} attend_interval;

/* Bootstrap resampling (Koehn 2004) over the statistics of sentences, as a function of seed; paired with another
 * system if `other` is not NULL. ATTEND_BAD_USAGE, ATTEND_NO_MEMORY. */
int attend_metric_bootstrap(const attend_metric_options *o, const attend_metric_sums *sentences, /* (count) */
                            const attend_metric_sums *other,                                     /* (count) or NULL */
                            int count, int samples, uint64_t seed, attend_interval *out);

/* ---- alignments ---- */

/* Counts for the alignment error rate (Och, Ney 2003); {0} is empty. A is the set of predicted links, S the sure gold
 * links, P all gold links. Duplicate links count once. */
typedef struct attend_aer_sums {
    double matched_sure, matched_possible, predicted, sure; /* |A & S|, |A & P|, |A|, |S| */
} attend_aer_sums;

/* Adds the links of a sentence pair. ATTEND_BAD_USAGE; ATTEND_BAD_DATA for a negative position; ATTEND_NO_MEMORY. The
 * sums are unchanged after a failure. */
int attend_aer_add(attend_aer_sums *sums, const attend_word_link *predicted, int predicted_count,
                   const attend_word_link *gold, int gold_count);
/* 1 - (|A & S| + |A & P|) / (|A| + |S|): 0 to 1; 0 if there are no links. */
double attend_aer(const attend_aer_sums *sums);

/* Heuristics that combine the alignments of two directions (Och, Ney 2003; Koehn et al. 2003): intersection, union,
 * or the intersection plus those links of the union that are neighbours of an accepted link, diagonals included, and
 * align a word without a link ("grow-diag"). "final" then adds all links that align a word without a link,
 * "final-and" those that align two. */
typedef enum attend_symmetrization {
    ATTEND_INTERSECTION,
    ATTEND_UNION,
    ATTEND_GROW_DIAG,
    ATTEND_GROW_DIAG_FINAL,
    ATTEND_GROW_DIAG_FINAL_AND
} attend_symmetrization;

/* "intersection", "union", "grow-diag", "grow-diag-final" and "grow-diag-final-and", in order; NULL after the last. */
extern const char *const attend_symmetrization_names[];
/* One of them; NULL: there is no such heuristic. */
const char *attend_symmetrization_name(attend_symmetrization how);

/* Combines the links of both directions. `backward` has the links of the reverse model with source and target
 * exchanged, so that both lists agree on what is source and target. `out` has room for forward_count +
 * backward_count; it is ordered by target, then source, without duplicates, all sure. ATTEND_BAD_USAGE;
 * ATTEND_BAD_DATA for a position below 0 or from 2^24 on; ATTEND_NO_MEMORY. */
int attend_symmetrize(attend_symmetrization how, const attend_word_link *forward, int forward_count,
                      const attend_word_link *backward, int backward_count, attend_word_link *out, int *out_count);

#ifdef __cplusplus
}
#endif
#endif
