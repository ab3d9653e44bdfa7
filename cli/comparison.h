/* comparison.h: several variants of a training, side by side: what each was told, what became of it, and the table of all.
 *
 * Files      FOLDER/comparison.txt, .json, .svg    the table, the same for programs, and its picture: anew whenever there is more to say
 *            FOLDER/NAME/                          of each variant:
 *                model, model.checkpoint, ..       as attend train has them
 *                options                           what makes it the training it is; written before it begins, and compared before it goes on
 *                clock                             seconds of training so far, as of the last checkpoint
 *                translations                      of the test sources
 *                result                            what it was made from, and what was measured: written last, so that a variant that has one is done */
#ifndef ATTEND_CLI_COMPARISON_H
#define ATTEND_CLI_COMPARISON_H

#include "content_hash.h"
#include "evaluation.h"
#include "metadata.h"
#include "gold_links.h"
#include "train_options.h"

enum { VARIANT_NAME = 101, VARIANT_FILE = 160, MOST_VARIANTS = 256, MESSAGE = 512 };

typedef struct compare_settings {
    train_settings t; /* what holds for all */
    const char *config_file, *output, *metrics, *gold;
    texts_list vary, variants;
    pairs_list test, gold_pairs;
    long long beam, samples;
    double length_penalty;
    int bleu_tokens, format;
    bool lowercase, json;
} compare_settings;

typedef enum variant_state { VARIANT_WAITS, VARIANT_DONE, VARIANT_FAILED } variant_state;

/* What is measured. Sums rather than ratios, so that nothing is lost in a file. */
typedef struct variant_result {
    double parameters;
    double best_update, last_update, updates_per_epoch;
    double seconds, validating, words;            /* of training: all of it, of that in validation, and target words */
    double translating, translated;               /* seconds, and target words */
    double log_probability, rows;                 /* of the test targets */
    double both_sure, both_possible, found, sure; /* attend_aer_sums */
} variant_result;

typedef struct variant {
    char name[VARIANT_NAME], file[VARIANT_FILE]; /* in the table, and of its folder */
    char *said;                                  /* "attention=dot window=local-p": how it differs */
    bool may_be_left_out;                        /* one of a product, which nobody asked for by name */
    train_settings t;
    parsed p;   /* `given` is its own; the rest is that of the command line */
    parsed own; /* only what the variant says itself, not what is given for all */
    facts options;
    variant_state state;
    char reason[MESSAGE]; /* why it failed */
    variant_result r;
    text_lines translations;
    attend_interval scores[METRICS];
} variant;

typedef struct comparison {
    const compare_settings *s;
    const parsed *p;
    variant *variants;
    int count;
    attend_pairs_spec *train, *valid;
    content_mark train_mark, valid_mark, test_mark, gold_mark, gold_pairs_mark;
    gold_links gold;
    evaluation e; /* the test set and its scores; its systems are lent */
    int metric;   /* the first that is wanted: of the picture, and never left out */
    int base;     /* the variant that the others are tested against; -1: none is done yet */
    int lock;     /* descriptor of the folder */
} comparison;

/* ---- variants.c ---- */
/* From --vary and --variant. 0, or an exit code after a message. */
int variants_make(comparison *c);
/* Sizes by the data, and what makes sense: a combination of several --vary that does not is left out, and said. 0, or an exit code. */
int variants_settle(comparison *c, const attend_data_check_counts *counts);
void variants_free(comparison *c);

/* ---- comparison_files.c ---- */
/* "FOLDER/NAME/file", or "FOLDER/file" if x is NULL; the caller's, to free. NULL: no memory, which is the message then. */
char *comparison_path(const comparison *c, const variant *x, const char *file);
/* Makes the folder and claims it for this process. */
int comparison_claim(comparison *c);
/* Is what is there of a variant of these options? ATTEND_BAD_USAGE with the name of what differs. */
int comparison_check(const comparison *c, variant *x);
/* Forgets what is there of it. */
int comparison_forget(const comparison *c, const variant *x);
/* Its folder, and its options in it. */
int comparison_begin(const comparison *c, const variant *x);
/* Whether the training of a variant is done, and with `tested` its test too, by what its folder has. */
int comparison_load(const comparison *c, variant *x, bool *trained, bool *tested);
int comparison_save(const comparison *c, variant *x);

/* ---- comparison_train.c, comparison_test.c ---- */
int comparison_train(const comparison *c, variant *x, attend_train_end *end);
int comparison_test(const comparison *c, variant *x, bool *stopped);
/* The scores of all that are done. */
int comparison_score(comparison *c);

/* ---- comparison_print.c, comparison_json.c, comparison_plot.c ---- */
typedef enum table_format { TABLE_TEXT, TABLE_MARKDOWN } table_format;
/* width: columns there are; 0: any number. notes: what marks and numbers mean, below. */
int comparison_print(const comparison *c, FILE *to, table_format format, int width, bool bold, bool notes);
void comparison_print_json(const comparison *c, FILE *to);
int comparison_plot(const comparison *c, const char *path);

/* ---- ratios ---- */
double comparison_perplexity(const variant *x);
double comparison_aer(const variant *x); /* NAN: it has no attention, or there is no gold */
double comparison_train_speed(const variant *x);
double comparison_translate_speed(const variant *x);

#endif
