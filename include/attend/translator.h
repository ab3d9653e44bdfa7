/* translator.h: text in, text out: a model with its tokenizers, on any number of threads.
 *
 * Purpose    attend_translator_run takes lines and gives as many results, in their order: sentences of similar lengths run together, threads share
 *            the batches, and what comes out for a line does not depend on the others.
 * Lines      An empty line (or one of blanks alone) gives an empty line. A line that cannot be translated (not UTF-8, longer than max_words)
 *            gives an empty line too, with `fault` saying why: never a lost or shifted line.
 * Ownership  A translator borrows its model. Results belong to the translator and are valid until its next run.
 * Threads    A translator is used by one thread at a time; it has its own. */
#ifndef ATTEND_TRANSLATOR_H
#define ATTEND_TRANSLATOR_H

#include <attend/search.h>
#include <attend/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_translator_options {
    attend_search_options search;
    int threads;
    int batch_tokens; /* source words of a batch */
    int max_words;    /* of a source; longer ones are not translated */
} attend_translator_options;

#define ATTEND_TRANSLATOR_OPTIONS_INIT                                                                                 \
    {                                                                                                                  \
        ATTEND_SEARCH_OPTIONS_INIT, 1, 1000, 1000                                                                      \
    }

/* One of a line's translations. */
typedef struct attend_hypothesis {
    const char *text;
    double score, log_probability;
    const int *words; /* by number, and .. */
    int count;
    const attend_real *weights; /* .. (count + 1, source words): see attend_translation; NULL unless asked for */
} attend_hypothesis;

typedef struct attend_line_result {
    const attend_hypothesis *list; /* best first; at least one */
    int count;
    const int *source; /* words by number, with the end; NULL if the line was empty or faulty */
    int source_count;
    const char *fault; /* NULL: none */
} attend_line_result;

typedef struct attend_translator attend_translator;

/* ATTEND_BAD_MODEL if the model has no tokenizers. *out is the caller's, freed by attend_translator_free (NULL is fine there). */
int attend_translator_new(attend_translator **out, const attend_model *m, const attend_translator_options *options);
void attend_translator_free(attend_translator *t);

/* sizes: of the lines, in bytes. */
int attend_translator_run(attend_translator *t, int count, const char *const *lines, const size_t *sizes);
const attend_line_result *attend_translator_result(const attend_translator *t, int line);

const attend_tokenizer *attend_translator_tokenizer(const attend_translator *t, bool target);

#ifdef __cplusplus
}
#endif
#endif
