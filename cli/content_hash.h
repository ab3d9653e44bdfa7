/* content_hash.h: what is in a file, as a short text that another content does not have. What the file is called does not matter. */
#ifndef ATTEND_CLI_CONTENT_MARK_H
#define ATTEND_CLI_CONTENT_MARK_H

#include "options.h"

typedef struct content_mark {
    char text[64];
} content_mark;

/* "29000 pairs, 0123456789abcdef": the same for one file with TABs and for two files, packed or not. An empty list is "none". */
int content_mark_pairs(content_mark *m, const pairs_list *list, unsigned long long *pairs);
/* Of bytes as they are. ATTEND_IO. */
int content_mark_file(content_mark *m, const char *path);

#endif
