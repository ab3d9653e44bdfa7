/* content_hash.h: a hash of the contents of a file, as text; its name has no effect. */
#ifndef ATTEND_CLI_CONTENT_HASH_H
#define ATTEND_CLI_CONTENT_HASH_H

#include "options.h"

typedef struct content_hash {
    char text[64];
} content_hash;

/* "29000 pairs, 0123456789abcdef": equal for one .tsv file and for two line-aligned files, compressed or not. An
 * empty list gives "none". */
int content_hash_pairs(content_hash *h, const pairs_list *list, unsigned long long *pairs);
/* Of the raw bytes. ATTEND_IO. */
int content_hash_file(content_hash *h, const char *path);

#endif
