/* pair_reader.h: reads pairs from files in batches, as '\0'-terminated texts. */
#ifndef ATTEND_CLI_PAIR_READER_H
#define ATTEND_CLI_PAIR_READER_H

#include "options.h"

#include <attend/scorer.h>

enum { PAIR_READER_BATCH = 1024, PAIR_READER_BYTES = 4 << 20 };

typedef struct pair_reader {
    attend_pairs_file *file;
    char **sources, **targets; /* (room) the current batch */
    bool *too_long;            /* (room) a line of more than 16 MiB; the pair is empty */
    int count, room;
    unsigned long long first; /* index of its first pair */
    /* Set by the caller, 1 at first: a batch has at most so many times PAIR_READER_BATCH pairs and PAIR_READER_BYTES. */
    int batches;
    /* Set by the caller: a batch also ends when no other pair is complete, and what was printed is flushed before the
     * reader waits. Results must not depend on batches. */
    bool answers;
} pair_reader;

int pair_reader_open(pair_reader **out, const pairs_list *list);
void pair_reader_close(pair_reader *r);
/* Reads the next batch, which exceeds its bytes only if it is a single pair; count is 0 after the last. */
int pair_reader_next(pair_reader *r);
/* The result of pair i of the batch: `scored`, or that of a pair that is too long. */
const attend_scored_pair *pair_reader_result(const pair_reader *r, int i, const attend_scored_pair *scored);

#endif
