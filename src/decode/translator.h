/* translator.h: what the files of the translator share. translator.c creates translators and runs them,
 * translator_batches.c groups lines into batches and decodes them, translator_text.c encodes lines and writes the
 * texts of translations. */
#ifndef ATTEND_DECODE_TRANSLATOR_H
#define ATTEND_DECODE_TRANSLATOR_H

#include "core/pool.h"
#include "decode/memory_limit.h"
#include "text/pipeline.h"
#include <stdatomic.h>
#include "text/unknowns.h"
#include <attend/translator.h>
#include <stdint.h>

/* A line of the current run, and its result. */
typedef struct translator_line {
    attend_encoded_text source, prefix;
    bool needs_search; /* false: empty or faulty */
    double work;       /* bytes to decode it */
    uint64_t number;   /* over all runs */
    const char *fault;
    attend_search_result *own_search; /* of a line that was decoded on its own */
    attend_unknown_list unknown_spans;
    attend_unknown *unknowns; /* the same, as texts */
    attend_hypothesis *hypotheses;
    attend_span *spans; /* of all hypotheses, one after another */
    attend_string text; /* of all hypotheses, each followed by '\0' */
    attend_line_result result;
} translator_line;

typedef struct translator_batch {
    int first, count; /* in `order` */
    attend_search_result *search;
    int status;
    char message[256];
} translator_batch;

struct attend_translator {
    const attend_model **models;
    int model_count;
    bool is_language_model;
    attend_translator_options o;
    attend_memory_limit limit;
    int max_tokens[2]; /* of a source and a prefix: o.max_tokens, or less if the models have fewer positions */
    attend_pool *pool;
    attend_ctx **contexts;    /* (threads, models) */
    attend_pipeline sides[2]; /* sources and prefixes; the lines of a language model are prefixes */
    uint64_t line_number;     /* of the next line, over all runs */
    translator_line *lines;
    int count, room; /* of lines */
    uint64_t *order; /* lines that need a search, short ones first: (length << 32 | line) */
    int order_count;
    translator_batch *batches;
    int batch_count;
    atomic_int last_batch; /* of those that are not decoded yet */
};

/* ---- translator_text.c ---- */

/* Encodes a line and its prefix (NULL: none). Invalid text sets line->fault. */
int attend_translator_encode(attend_translator *t, translator_line *line, const char *text, size_t size,
                             const char *prefix, size_t prefix_size);
/* Writes the hypotheses of a line: those of source `index` of a search. */
int attend_translator_write(attend_translator *t, translator_line *line, const attend_search_result *search, int index);

/* ---- translator_batches.c ---- */

/* Groups the lines into batches and decodes them on all threads. */
int attend_translator_decode(attend_translator *t);

#endif
