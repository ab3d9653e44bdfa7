/* pairs_stream.h: pairs from files, some at a time, as texts that end with '\0'. */
#ifndef ATTEND_CLI_PAIRS_STREAM_H
#define ATTEND_CLI_PAIRS_STREAM_H

#include "options.h"

enum { STREAM_PAIRS = 1024 };

typedef struct pairs_stream {
    attend_pairs_file *file;
    char *sources[STREAM_PAIRS], *targets[STREAM_PAIRS];
    int count;
    unsigned long long first; /* number of the first of them, from 0 */
} pairs_stream;

int pairs_stream_open(pairs_stream **out, const pairs_list *list);
void pairs_stream_close(pairs_stream *s);
/* The next ones; count is 0 behind the last. */
int pairs_stream_next(pairs_stream *s);

#endif
