/* translator.h: text in, text out: a model, or several together, with their tokenizers, on any number of threads. Models that translate make
 * translations of lines; language models go on from them.
 *
 * Purpose    attend_translator_run takes lines and gives as many results, in their order: sentences of similar lengths run together, threads share
 *            the batches, and what comes out for a line does not depend on the others.
 * Lines      An empty line (or one of blanks alone) gives an empty line. A line that cannot be translated (not UTF-8, longer than max_tokens, or
 *            one for which the model's numbers overflow) gives an empty line too, with `fault` saying why: never a lost or shifted line.
 * Going on   A language model takes a line for the beginning of its text, which is what comes back, with what follows: an empty line begins with
 *            nothing. Prefixes, and what needs a source (replace_unknown, a shortlist), are not for it.
 * Sampling   A translator counts its lines from 0 over all its runs; the number is the line's stream of random numbers.
 * Unknown    Words of a target vocabulary of words that are ATTEND_UNKNOWN are written "<unk>", or, if replace_unknown is set, as the source
 *            word with the most attention, by way of the dictionary if that has it. Characters and byte pairs have no unknown words.
 * Ownership  A translator borrows its models and its dictionary. Results belong to the translator and are valid until its next run.
 * Threads    A translator is used by one thread at a time; it has its own. */
#ifndef ATTEND_TRANSLATOR_H
#define ATTEND_TRANSLATOR_H

#include <attend/metric.h>
#include <attend/search.h>
#include <attend/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a dictionary ---- */

typedef struct attend_dictionary attend_dictionary;

/* A file of lines "word TAB what it becomes", both in UTF-8; empty lines are passed over, and of several entries for a word the first counts.
 * ATTEND_BAD_DATA with file and line for anything else. *out is the caller's, freed by attend_dictionary_free (NULL is fine there). */
int attend_dictionary_read(attend_dictionary **out, const char *path);
void attend_dictionary_free(attend_dictionary *d);
const char *attend_dictionary_find(const attend_dictionary *d, const char *word, size_t size); /* NULL: it has none */

/* ---- translating ---- */

typedef struct attend_translator_options {
    attend_search_options search;
    int threads;
    int batch_tokens; /* source words of a batch */
    int max_tokens;   /* of a source, a prefix or the beginning of a text; longer ones are not translated */
    bool replace_unknown;
    const attend_dictionary *dictionary; /* for that; NULL: none */
} attend_translator_options;

#define ATTEND_TRANSLATOR_OPTIONS_INIT                                                                                 \
    {                                                                                                                  \
        ATTEND_SEARCH_OPTIONS_INIT, 1, 1000, 1000, false, 0                                                            \
    }

/* One of a line's translations. */
typedef struct attend_hypothesis {
    const char *text;
    size_t given; /* bytes of the text that it had to begin with */
    double score, log_probability;
    const int *words; /* by number, and .. */
    int count;
    const attend_span *spans;   /* .. (count) their places in the text, and .. */
    const attend_real *weights; /* .. (count + 1, source words): see attend_translation; NULL unless asked for */
} attend_hypothesis;

typedef struct attend_line_result {
    const attend_hypothesis *list; /* best first, or in the order of drawing; at least one */
    int count;
    const int *
        source; /* words by number, with the end; NULL if the line was empty or faulty, or for a language model; so are .. */
    int source_count;
    const char *source_text;         /* .. the line in normal form C, and .. */
    const attend_span *source_spans; /* .. (source_count) the places of its words in it */
    const char *fault;               /* NULL: none */
} attend_line_result;

typedef struct attend_translator attend_translator;

/* ATTEND_BAD_MODEL if the model has no tokenizers; ATTEND_BAD_USAGE if options make no sense, or want attention of a model that has none. *out
 * is the caller's, freed by attend_translator_free (NULL is fine there). */
int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options);
/* Several models. ATTEND_BAD_USAGE, saying which differ, if they do not have the same tokenizers and vocabularies. */
int attend_translator_new_ensemble(attend_translator **out, const attend_model *const *models, int model_count,
                                   const attend_translator_options *options);
void attend_translator_free(attend_translator *t);

/* sizes: of the lines, in bytes. */
int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes);
/* The same with texts that the translations must begin with, `count` of each; an empty one asks for nothing. A word of it that the target vocabulary
 * does not have is unknown to the model and written as it is here. */
int attend_translator_run_from(attend_translator *t, int count, const char *const *lines, const size_t *sizes,
                               const char *const *prefixes, const size_t *prefix_sizes);
const attend_line_result *attend_translator_result(const attend_translator *t, int line);

/* Words, as blanks separate them, of a line and one of its translations: see attend_scorer_links. None without weights. */
int attend_hypothesis_links(const attend_line_result *r, const attend_hypothesis *h, attend_word_link *links, int room);

const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t,
                                                    bool target); /* a language model's: one */

#ifdef __cplusplus
}
#endif
#endif
