/* translator.h: the state of a translator. translator.c creates translators and runs them, translator_batches.c groups
 * lines into batches and decodes them. */
#ifndef ATTEND_DECODE_TRANSLATOR_H
#define ATTEND_DECODE_TRANSLATOR_H

#include "core/pool.h"
#include "decode/translator_lines.h"
#include <stdatomic.h>

typedef struct translator_batch {
    int first, count; /* in `order` */
    attend_search_result *search;
    int status;
    char message[256];
} translator_batch;

struct attend_translator {
    translator_setup setup;
    int threads;
    attend_pool *pool;
    attend_ctx **contexts;    /* (threads, models) */
    attend_pipeline sides[2]; /* with the texts of all lines */
    uint64_t line_number;     /* of the next line, over all runs */
    translator_line *lines;
    int count, room; /* of lines */
    uint64_t *order; /* lines that need a search, short ones first: (length << 32 | line) */
    int order_count;
    translator_batch *batches;
    int batch_count;
    atomic_int last_batch; /* of those that are not decoded yet */
};

/* ---- translator_batches.c ---- */

/* Groups the lines into batches and decodes them on all threads. */
int attend_translator_decode(attend_translator *t);

#endif
