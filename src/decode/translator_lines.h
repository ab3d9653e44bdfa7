/* translator_lines.h: lines that are translated, and their results: what translators and batchers share.
 * translator_text.c encodes lines and writes the texts of translations, translator_search.c decodes lines in one
 * search. */
#ifndef ATTEND_DECODE_TRANSLATOR_LINES_H
#define ATTEND_DECODE_TRANSLATOR_LINES_H

#include "decode/memory_limit.h"
#include "text/pipeline.h"
#include "text/unknowns.h"
#include <attend/translator.h>
#include <stdint.h>

/* The models of a translator, and what follows from them and the options for every line. */
typedef struct translator_setup {
    const attend_model **models;
    int model_count;
    bool is_language_model, has_null; /* has_null: see attend_line_result */
    attend_translator_options o;
    attend_memory_limit limit;
    int max_tokens[2]; /* of a source and a prefix: o.max_tokens, or less if the models have fewer positions */
} translator_setup;

/* The tokenizers of both sides and the texts that they encoded. Lines of one text store are used by one thread at a
 * time; the setup by many. */
typedef struct translator_texts {
    const translator_setup *setup;
    attend_pipeline *sides; /* (2) sources and prefixes; the lines of a language model are prefixes */
} translator_texts;

/* A line, and its result. */
typedef struct translator_line {
    translator_texts texts; /* where its texts are */
    attend_encoded_text source, prefix;
    bool needs_search; /* false: empty or faulty */
    double work;       /* bytes to decode it */
    uint64_t number;   /* its random stream */
    const char *fault;
    attend_search_result *own_search; /* of a line that was decoded on its own */
    attend_unknown_list unknown_spans;
    attend_unknown *unknowns; /* the same, as texts */
    attend_hypothesis *hypotheses;
    attend_span *spans; /* of all hypotheses, one after another */
    attend_string text; /* of all hypotheses, each followed by '\0' */
    attend_line_result result;
} translator_line;

/* ---- translator.c ---- */

/* Checks models and options and fills the setup, the members of ensembles included, for `threads` threads at most; a
 * memory limit may reduce *threads. The setup is {0} before; attend_translator_setup_free is needed after a failure
 * too. */
int attend_translator_setup_new(translator_setup *s, const attend_model *const *models, int model_count,
                                const attend_translator_options *options, int *threads);
/* Sets what depends on the tokenizers. */
void attend_translator_setup_finish(translator_setup *s, const attend_pipeline sides[2]);
void attend_translator_setup_free(translator_setup *s);

/* Estimates the memory of an encoded line for a search: sets line->work and returns the bytes of its result. A line that exceeds the
 * memory limit becomes faulty. */
double attend_translator_estimate(translator_line *line, const attend_search_options *options);

/* ---- translator_text.c ---- */

/* Encodes a line and its prefix (NULL: none). Invalid text sets line->fault. */
int attend_translator_encode(translator_texts texts, translator_line *line, uint64_t number, const char *text,
                             size_t size, const char *prefix, size_t prefix_size);
/* Sets the result of a line that has no translation: an empty one, and the reason, if there is one. */
void attend_translator_write_empty(translator_line *line);
/* Writes the hypotheses of a line: those of source `index` of a search. */
int attend_translator_write(translator_line *line, const attend_search_result *search, int index);
/* Frees the memory of a line, but not the texts that it encoded. */
void attend_translator_line_free(translator_line *line);

/* ---- translator_search.c ---- */

/* What a search calls; {0}: nothing. */
typedef struct translator_hooks {
    attend_stop_fn stop;
    attend_branches_fn branches;
    void *user;
} translator_hooks;

/* The tokens that a line adds to its batch. The output length of a language model is unknown; assume 20 tokens. */
int attend_translator_line_tokens(const translator_line *line);
/* Decodes lines of one setup in one search: source i is lines[i]. */
int attend_translator_search(attend_search_result **out, attend_ctx *const *contexts, const translator_setup *setup,
                             const attend_search_options *options, translator_line *const *lines, int count,
                             const translator_hooks *hooks);
/* Decodes a line whose batch failed because of one of its lines, and writes its result. Non-finite numbers make it
 * faulty. */
int attend_translator_decode_line(attend_ctx *const *contexts, const translator_setup *setup,
                                  const attend_search_options *options, translator_line *line,
                                  const translator_hooks *hooks);

#endif
