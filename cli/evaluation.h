/* evaluation.h: scores of one system or two: of all lines and by their length, with intervals. */
#ifndef ATTEND_CLI_EVALUATION_H
#define ATTEND_CLI_EVALUATION_H

#include "segments.h"

#include <attend/metric.h>

enum { METRICS = ATTEND_TOKEN_ACCURACY + 1, MOST_SYSTEMS = 2, MOST_BUCKETS = 32 };

/* Lines whose length lies between two bounds. */
typedef struct bucket {
    int from, to; /* INT_MAX: and more */
    int lines;
    attend_interval scores[MOST_SYSTEMS][METRICS];
} bucket;

typedef struct evaluation {
    attend_metric_options options[METRICS];
    bool wanted[METRICS];
    segments segments;
    text_lines systems[MOST_SYSTEMS];
    char names[MOST_SYSTEMS][40]; /* UTF-8 */
    int system_count;
    int samples; /* of the bootstrap; 0: none, and no intervals */
    uint64_t seed;
    bool characters; /* lengths are counted in them, and not in words */
    int *lengths;    /* (segments): of sources if they are known, else of the first references */
    bucket whole;
    bucket buckets[MOST_BUCKETS];
    int bucket_count; /* 0: not asked for */
} evaluation;

/* Words of an option that names an attend_bleu_tokens. */
extern const char *const evaluation_bleu_words[];
/* Which scores: names with commas between, or NULL for all. 0, or an exit code after a message. */
int evaluation_set_metrics(evaluation *e, const verb *v, const char *names, attend_bleu_tokens tokens, bool lowercase);
/* Bounds from "10,20,30" (up to 10, 11 to 20, 21 to 30, 31 and more) or "auto"; the segments are there. ATTEND_BAD_USAGE. */
int evaluation_set_buckets(evaluation *e, const char *text);
int evaluation_run(evaluation *e);
void evaluation_free(evaluation *e);

/* "words of the source" */
const char *evaluation_length_name(const evaluation *e);
/* "up to 10", "11 to 20", "31 and more", "any" */
void evaluation_bucket_name(const bucket *b, char *text, size_t size);
/* What a score is called: "BLEU". */
void evaluation_metric_title(const evaluation *e, int metric, char *text, size_t size);

void evaluation_print(const evaluation *e);
void evaluation_print_json(const evaluation *e);
/* length_plot.c: the first wanted score by length, as an SVG. */
int evaluation_plot(const evaluation *e, const char *path);

#endif
