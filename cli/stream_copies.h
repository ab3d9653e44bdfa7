/* stream_copies.h: temporary copies of pairs that can be read only once (standard input, pipes), for verbs that read
 * them several times. */
#ifndef ATTEND_CLI_STREAM_COPIES_H
#define ATTEND_CLI_STREAM_COPIES_H

#include "options.h"

typedef struct stream_copy {
    char path[32];    /* /dev/fd/N, by which the copy is read */
    const char *name; /* of the stream */
} stream_copy;

typedef struct stream_copies {
    stream_copy *items;
    int count;
} stream_copies;

/* Copies each stream among the pairs to an unlinked temporary file in TMPDIR and replaces its name by the path of the
 * copy. Returns 0, or an exit code after a message. */
int stream_copies_make(const verb *v, pairs_list *const *lists, int count, stream_copies *copies);
/* Prints, after an error message that names a copy, the stream that was copied. */
void stream_copies_explain(const stream_copies *copies);
void stream_copies_free(stream_copies *copies);

#endif
