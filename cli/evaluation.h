/* evaluation.h: scores of one or two systems, over all lines and by length, with bootstrap intervals. */
#ifndef ATTEND_CLI_EVALUATION_H
#define ATTEND_CLI_EVALUATION_H

#include "test_set.h"

#include <attend/metric.h>
#include <attend/text.h>

enum { METRICS = ATTEND_LINE_ERROR + 1, MAX_SYSTEMS = 2, MAX_BUCKETS = 32 };

/* The lines of a range of lengths. */
typedef struct bucket {
    int from, to; /* inclusive; INT_MAX: unbounded */
    int lines;
    attend_interval scores[MAX_SYSTEMS][METRICS];
} bucket;

typedef struct evaluation {
    attend_metric_options options[METRICS];
    bool selected[METRICS];
    bool wants_word_error; /* its meaning depends on the data */
    bool selects_default;  /* no metric was named */
    bool is_word_level;    /* a line of the references is a word: spelled, or as a sequence of phonemes */
    bool has_phonemes;     /* a sequence of symbols with spaces between them */
    bool by_word;          /* is_word_level, and scores have the names of that: no other names were asked for */
    test_set test_set;
    text_lines systems[MAX_SYSTEMS];
    char names[MAX_SYSTEMS][40]; /* UTF-8 */
    int system_count;
    int samples; /* of the bootstrap; 0: no intervals */
    uint64_t seed;
    attend_unit unit; /* of lengths; ATTEND_UNIT_AUTO: characters if most lines are a single word, else words */
    const attend_tokenizer *tokenizer; /* of the sources; only for ATTEND_UNIT_PIECE */
    int *lengths;                      /* (test_set.count): of the sources if known, else of the first references */
    bucket whole;
    bucket buckets[MAX_BUCKETS];
    int bucket_count; /* 0: no scores by length */
} evaluation;

/* The names of attend_bleu_tokens, for OPTION_CHOICE. */
extern const char *const evaluation_bleu_tokenizers[];
/* The metrics that --metric accepts, for its help. */
#define EVALUATION_METRICS                                                                                             \
    "bleu, chrf, chrf++, ter, wer, cer, exact, token-accuracy, line-error, word-error, phoneme-error, character-error"
/* Selects metrics: names separated by commas, or NULL for those that fit the data. Returns 0, or an exit code after a
 * message. */
int evaluation_set_metrics(evaluation *e, const verb *v, const char *names, attend_bleu_tokens tokens,
                           bool ignore_case);
/* When the test set has been read: what its lines are, and the metrics that depend on that. all: without named metrics,
 * select every one instead of those that fit. */
void evaluation_fit_metrics(evaluation *e, bool all);
/* The metrics in the order in which they are shown, k from 0 to METRICS - 1. */
int evaluation_metric_at(const evaluation *e, int k);
/* Sets the ranges from "10,20,30" (up to 10, 11 to 20, 21 to 30, 31 and more) or "auto"; needs the test set.
 * ATTEND_BAD_USAGE. */
int evaluation_set_buckets(evaluation *e, const char *text);
/* Whether all references can be scored, before they are translated to; needs the test set and the metrics. ATTEND_BAD_DATA. */
int evaluation_check_references(const evaluation *e);
int evaluation_run(evaluation *e);
void evaluation_free(evaluation *e);

/* "words of the source" */
const char *evaluation_length_name(const evaluation *e);
/* "up to 10", "11 to 20", "31 and more", "any" */
void evaluation_bucket_name(const bucket *b, char *text, size_t size);
/* The name of a metric in titles: "BLEU"; where lines are words, "word error" and "phoneme error". */
void evaluation_metric_title(const evaluation *e, int metric, char *text, size_t size);

/* Formats a score with the digits it deserves: "20.9 %" where lines are words, "34.12" elsewhere. */
enum { EVALUATION_SCORE = 32 };
const char *evaluation_score_text(const evaluation *e, char text[EVALUATION_SCORE], double score);

void evaluation_print(const evaluation *e);
void evaluation_print_json(const evaluation *e);
/* length_plot.c: writes the first selected metric by length as an SVG plot. */
int evaluation_plot(const evaluation *e, const char *path);

#endif
