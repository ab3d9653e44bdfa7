/* pair_reader.h: reads pairs from files in batches, as '\0'-terminated texts. */
#ifndef ATTEND_CLI_PAIR_READER_H
#define ATTEND_CLI_PAIR_READER_H

#include "options.h"

enum { PAIR_READER_BATCH = 1024 };

typedef struct pair_reader {
    attend_pairs_file *file;
    char *sources[PAIR_READER_BATCH], *targets[PAIR_READER_BATCH]; /* the current batch */
    int count;
    unsigned long long first; /* index of its first pair */
} pair_reader;

int pair_reader_open(pair_reader **out, const pairs_list *list);
void pair_reader_close(pair_reader *r);
/* Reads the next batch; count is 0 after the last. */
int pair_reader_next(pair_reader *r);

#endif
