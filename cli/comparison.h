/* comparison.h: variants of a training run, their results, and the table of all.
 *
 * Files      DIRECTORY/comparison.txt, .json, .svg    the table as text and JSON, and a plot; rewritten after each
 *                                                     variant
 *            DIRECTORY/comparison.html                attention maps of some test pairs; written at the end
 *            DIRECTORY/NAME/                          for each variant:
 *                model, model.checkpoint, ...         as written by attend train
 *                options                              what determines the training run; written before it starts,
 *                                                     compared before it resumes
 *                clock                                seconds of training so far, as of the last checkpoint
 *                translations                         of the test sources
 *                result                               hashes of model and translations, and measurements; written
 *                                                     last: a variant with a result is done */
#ifndef ATTEND_CLI_COMPARISON_H
#define ATTEND_CLI_COMPARISON_H

#include "content_hash.h"
#include "evaluation.h"
#include "record_file.h"
#include "gold_links.h"
#include "train_options.h"

enum { VARIANT_NAME = 101, VARIANT_FILE = 160, MAX_VARIANTS = 256, MESSAGE = 512 };

typedef struct compare_settings {
    train_settings t; /* common to all variants */
    const char *output, *metrics, *gold;
    texts_list config_files, vary, variants, plugins;
    pairs_list test, gold_pairs;
    long long beam, samples;
    double length_penalty;
    int bleu_tokens, format, unit;
    bool ignore_case, json;
} compare_settings;

typedef enum variant_state { VARIANT_PENDING, VARIANT_DONE, VARIANT_FAILED } variant_state;

/* Measurements, stored as sums rather than ratios. The names of the members are those in the file `result`. */
typedef struct variant_result {
    double parameters;
    double best_update, last_update, updates_per_epoch;
    double seconds, validating, words;            /* of training: total, in validation, and target tokens */
    double translating, translated;               /* seconds, and target tokens */
    double log_probability, rows;                 /* of the test targets */
    double both_sure, both_possible, found, sure; /* attend_aer_sums */
} variant_result;

typedef struct variant {
    char name[VARIANT_NAME], file[VARIANT_FILE]; /* in the table, and of its directory */
    char *differences;                           /* "attention=dot window=local-p" */
    char **values;                               /* of the options in which it differs; settings point into them */
    int value_count, value_capacity;
    bool may_be_skipped; /* a combination of several --vary; skipped if invalid */
    train_settings t;
    parsed p;   /* that of the command line; `given` includes the variant's own options */
    parsed own; /* `given` has only the variant's own options */
    record options;
    variant_state state;
    double max_seconds;   /* training stops after this time, of all runs together; 0: no limit */
    char reason[MESSAGE]; /* of a failure */
    variant_result r;
    text_lines translations;
    attend_interval scores[METRICS];
} variant;

typedef struct comparison {
    const verb *v; /* compare or tune */
    const compare_settings *s;
    const parsed *p;
    variant *variants;
    int count, capacity;
    content_hash train_hash, valid_hash, test_hash, gold_hash, gold_pairs_hash;
    gold_links gold;
    evaluation e; /* the test set and the scores; borrows the translations of variants */
    int metric;   /* the first selected metric: that of the plot, and always in the table */
    int base;     /* the first variant that is done, against which the others are tested; -1: none */
    int lock;     /* descriptor of the locked directory */
} comparison;

/* ---- variants.c ---- */
/* Makes the variants of --vary and --variant. Returns 0, or an exit code after a message. */
int variants_parse(comparison *c);
/* Chooses sizes from the amount of data and checks the configurations; skips invalid combinations of several --vary
 * with a note. Returns 0, or an exit code after a message. */
int variants_resolve(comparison *c, const attend_data_check_counts *counts);
/* Adds a variant that sets some options; its name is "field=value field=value", or `name` without options. It is skipped
 * if it is invalid. */
int variants_add(comparison *c, const char *name, int count, const char *const *fields, const char *const *values);
void variants_free(comparison *c);

/* ---- comparison_files.c ---- */
/* The files of a comparison, as verb.directory_files lists them. */
extern const char *const comparison_files[];
/* "DIRECTORY/NAME/file", or "DIRECTORY/file" if x is NULL; the caller frees it. NULL: out of memory, with a message. */
char *comparison_path(const comparison *c, const variant *x, const char *file);
/* Creates the directory and locks it for this process. ATTEND_BAD_USAGE if it has a table that is not from a
 * comparison. */
int comparison_lock(comparison *c);
/* ATTEND_BAD_USAGE if the directory of the variant has files that are not from a comparison or, without --fresh, results
 * with other options; the message names the first that differs. */
int comparison_check(const comparison *c, const variant *x);
/* Removes existing results of a variant. */
int comparison_remove(const comparison *c, const variant *x);
/* Creates the directory of a variant and writes its options. */
int comparison_begin(const comparison *c, const variant *x);
/* Loads existing results of a variant. *trained and *tested: which of them are complete. */
int comparison_load(const comparison *c, variant *x, bool *trained, bool *tested);
int comparison_save(const comparison *c, variant *x);

/* ---- cmd_compare.c ---- */
/* Checks the data as `attend check --quick` does, and has the variants resolved by the amount of data: variants_resolve.
 * Returns 0, or an exit code after a message. */
int comparison_check_data(comparison *c, int (*resolve)(comparison *c, const attend_data_check_counts *counts));
/* Reads the test data, and hashes all data. */
int comparison_read_data(comparison *c);
/* The failure if there are no pairs to test with; but training data that cannot be read, from which they would be held
 * out, is the cause to report. `message` is a usage error. Returns an exit code. */
int comparison_refuse_untested(const verb *v, const pairs_list *train, const char *message);
/* Selects the metrics of --metric, or those that suit the data. Returns 0, or an exit code after a message. */
int comparison_set_metrics(comparison *c);
/* Locks the directory and loads existing results. Fails if they were made with other options. */
int comparison_open(comparison *c);

/* ---- comparison_train.c, comparison_test.c ---- */
/* Trains a variant. *end is ATTEND_TRAIN_STOPPED also if its time is over. */
int comparison_train(const comparison *c, variant *x, attend_train_end *end);
int comparison_test(const comparison *c, variant *x, bool *stopped);
/* Computes the scores of all variants that are done. */
int comparison_score(comparison *c);

/* ---- comparison_print.c, comparison_json.c, comparison_plot.c ---- */
typedef enum table_format { TABLE_TEXT, TABLE_MARKDOWN } table_format;
/* width: columns of the terminal; 0: unlimited. notes: explain marks and numbers below the table. */
int comparison_print(const comparison *c, FILE *to, table_format format, int width, bool bold, bool notes);
void comparison_print_json(const comparison *c, FILE *to);
int comparison_plot(const comparison *c, const char *path);

/* ---- comparison_maps.c ---- */
/* Writes comparison.html: the attention maps of some test pairs by all variants that are done and have
 * cross-attention. */
int comparison_maps(const comparison *c);
/* Whether there is such a variant. */
bool comparison_has_maps(const comparison *c);

/* ---- ratios ---- */
double comparison_perplexity(const variant *x);
double comparison_aer(const variant *x); /* NAN: no attention, or no gold links */
double comparison_train_speed(const variant *x);
double comparison_translate_speed(const variant *x);

#endif
