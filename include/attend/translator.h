/* translator.h: text in, text out: translates lines with a model, or an ensemble of models, and their tokenizers, on
 * several threads.
 *
 * Purpose    attend_translator_run takes lines and produces one result per line, in the same order. Lines of similar
 *            length are decoded in one batch and batches are distributed over threads. The result for a line does not
 *            depend on the other lines.
 * Lines      An empty or blank line gives an empty translation. So does a line that cannot be translated (not UTF-8,
 *            longer than max_tokens, too long for the memory limit, or with non-finite model outputs), whose result has
 *            `fault` set to the reason.
 *            No line is lost or shifted.
 * Tasks      A translation model translates each line. A language model continues it: the result is the line and its
 *            continuation, and an empty line starts a new text. With a language model, prefixes and options that need
 *            a source (replace_unknown, shortlist) are ATTEND_BAD_USAGE.
 * Sampling   A translator numbers its lines from 0 over all its runs; the number is the line's random stream. A program
 *            that divides lines among translators sets the numbers (attend_translator_set_line).
 * Unknowns   With a tokenizer of kind word, ATTEND_UNKNOWN is written as "<unk>" or, if replace_unknown is set, as
 *            the source word with the most attention, translated by the dictionary if it has that word. Characters
 *            and subwords have no unknown words.
 * Ownership  A translator borrows its models and its dictionary. Results belong to the translator and are valid until
 *            its next run.
 * Threads    A translator is used by one thread at a time; it has worker threads of its own. */
#ifndef ATTEND_TRANSLATOR_H
#define ATTEND_TRANSLATOR_H

#include <attend/search.h>
#include <attend/text.h>
#include <attend/words.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dictionaries ---- */

typedef struct attend_dictionary attend_dictionary;

/* Reads a file of lines "WORD TAB REPLACEMENT" in UTF-8. Empty lines are skipped; the first of several entries for a
 * word counts. ATTEND_BAD_DATA, with file and line, for any other line; ATTEND_IO; ATTEND_NO_MEMORY. *out is the
 * caller's, freed by attend_dictionary_free. */
int attend_dictionary_read(attend_dictionary **out, const char *path);
/* NULL is allowed. */
void attend_dictionary_free(attend_dictionary *d);
/* The replacement of a word in NFC, which belongs to the dictionary; NULL if it has no entry. */
const char *attend_dictionary_find(const attend_dictionary *d, const char *word, size_t size);

/* ---- translators ---- */

typedef struct attend_translator_options {
    attend_search_options search;
    int threads;                         /* 1 to 1024 */
    int batch_tokens;                    /* maximum source tokens of a batch */
    int max_tokens;                      /* of a line or a prefix; longer ones are not translated */
    bool replace_unknown;                /* needs attention */
    const attend_dictionary *dictionary; /* for replace_unknown; NULL: none */
    /* about the bytes that translating may take, the models included; 0: no limit. What a line takes is estimated from
     * its length. The limit does not change translations, except that a line which would exceed it alone is not
     * translated */
    size_t memory;
    attend_unit unit;                 /* what links count on both sides; ATTEND_UNIT_AUTO: what fits each side */
    attend_compute_precision compute; /* of matrix products (precision.h) */
    /* asked after each decoding step, on any thread, whether to end the run, which then returns ATTEND_FAILED. NULL: never */
    bool (*stop)(void *user);
    void *user;
} attend_translator_options;

#define ATTEND_TRANSLATOR_OPTIONS_INIT                                                                                 \
    {                                                                                                                  \
        ATTEND_SEARCH_OPTIONS_INIT, 1, 1000, 1000, false, 0, 0, ATTEND_UNIT_AUTO, ATTEND_COMPUTE_FP32, 0, 0            \
    }

/* One translation of a line. */
typedef struct attend_hypothesis {
    const char *text;
    size_t prefix_size; /* bytes of the text that the prefix (language model: the line) prescribed */
    double score, log_probability;
    /* the geometric mean of the probabilities of its tokens and of the end token, exp(log_probability / (count + 1)):
     * 0 to 1. It is low for a translation of which the model is unsure; docs/translate.md */
    double confidence;
    const int *tokens;
    int count;
    const attend_span *spans;   /* (count) of the tokens in the text */
    const attend_real *weights; /* (count + 1, source_count): see attend_translation; NULL unless requested */
    const attend_real *token_log_probability; /* (count + 1): of each token and the end; NULL for an empty line */
} attend_hypothesis;

/* A character or word of a line that the training data did not have. */
typedef struct attend_unknown {
    const char *text; /* (size) a part of the line as the tokenizer reads it; no '\0' follows */
    size_t size;
    bool is_word; /* a word; else a character */
} attend_unknown;

/* The translations of a line. The source members are NULL or 0 for an empty or faulty line and for a language model. */
typedef struct attend_line_result {
    const attend_hypothesis *hypotheses; /* best first, or in the order of sampling; at least one */
    int count;
    const int *source; /* tokens, the end included */
    int source_count;
    const char *source_text;              /* the line as attend_tokenizer_normalize gives it */
    const attend_span *source_spans;      /* (source_count) of the tokens in source_text */
    attend_unit source_unit, target_unit; /* what links count; never ATTEND_UNIT_AUTO */
    bool has_null; /* a word that attends most to the source's end has no link (attend_alignment_has_null) */
    const attend_unknown *unknowns; /* (unknown_count) of the line; also with a language model */
    int unknown_count;
    const char *fault;  /* why the line could not be translated; NULL: it could */
    bool is_non_finite; /* the fault is the model's: its probabilities for the line are not finite */
    bool is_too_long;   /* the fault: it has more than max_tokens tokens */
} attend_line_result;

/* Refuses a model (a file name) whose results are missing for `non_finite` of so many lines or pairs because its
 * probabilities are not finite: ATTEND_BAD_MODEL unless there are none. */
int attend_check_finite(const char *model, uint64_t non_finite, uint64_t lines);

typedef struct attend_translator attend_translator;

/* ATTEND_BAD_MODEL if the model has no tokenizers; ATTEND_BAD_USAGE if options are invalid or need attention that the
 * model does not have, or if the model does not fit into the memory limit; ATTEND_NO_MEMORY. *out is the caller's, freed by attend_translator_free. */
int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options);
/* An ensemble. ATTEND_BAD_USAGE also if the models do not have the same task, tokenizers and vocabularies; the
 * message names the difference. */
int attend_translator_new_ensemble(attend_translator **out, const attend_model *const *models, int model_count,
                                   const attend_translator_options *options);
/* NULL is allowed. */
void attend_translator_free(attend_translator *t);

/* Translates `count` lines of the given sizes in bytes. Faulty lines are results, not failures. ATTEND_BAD_USAGE for
 * invalid search options; ATTEND_NO_MEMORY. */
int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes);
/* The same with a prefix for each line with which its translation must begin; an empty prefix prescribes nothing. A
 * prefix word that is not in the target vocabulary is ATTEND_UNKNOWN to the model and appears unchanged in the
 * translation. */
int attend_translator_run_from(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes);
/* The same, but keeps little memory: translates the first of the lines, *done of them (at least one if count > 0),
 * whose results fit into 32 MiB for each thread and into half of the memory limit. Call it again with the others. prefixes may be
 * NULL. */
int attend_translator_run_some(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes, int *done);
/* Sets the number of the first line of the next run. */
void attend_translator_set_line(attend_translator *t, uint64_t number);
/* The result of line 0, 1, ... of the last run; NULL if out of range. */
const attend_line_result *attend_translator_result(const attend_translator *t, int line);

/* The word alignment of a line and one of its translations, by attention: see attend_scorer_links. 0 links without
 * weights. */
int attend_hypothesis_links(const attend_line_result *r, const attend_hypothesis *h, attend_word_link *links,
                            int capacity);

/* The tokenizer of a side, which belongs to the translator. A language model has one for both. */
const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t, bool target);

#ifdef __cplusplus
}
#endif
#endif
