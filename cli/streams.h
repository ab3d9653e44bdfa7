/* streams.h: pairs that can be read only once (standard input, pipes), for a verb that reads them several times. */
#ifndef ATTEND_CLI_STREAMS_H
#define ATTEND_CLI_STREAMS_H

#include "options.h"

typedef struct stream_copy {
    char path[32];    /* /dev/fd/N, by which it is read again */
    const char *name; /* what it was called */
} stream_copy;

typedef struct stream_copies {
    stream_copy *items;
    int count;
} stream_copies;

/* Copies each stream among the pairs to a file without a name in TMPDIR, which ends with the process and which no two processes share, and puts
 * the copy's path in its place. 0, or an exit code after a message. */
int streams_keep(const verb *v, pairs_list *const *lists, int count, stream_copies *copies);
/* Says which path was which stream: after messages that name the copies. */
void streams_explain(const stream_copies *copies);
void streams_free(stream_copies *copies);

/* 0, or an exit code after a message, if standard input is named more than once in all. */
int streams_check(const verb *v, const pairs_list *const *lists, int count);

#endif
