/* demo_files.h: the built-in pairs as files, in a folder. */
#ifndef ATTEND_CLI_DEMO_FILES_H
#define ATTEND_CLI_DEMO_FILES_H

#include "demo/demo_pairs.h"

typedef struct demo_files {
    char *train, *valid, *test; /* pairs; the last two are held out */
    char *links;                /* gold links of `test`, a line a pair: 0-0 1?2 */
    char *model;                /* where the model goes, and .. */
    char *page;                 /* .. where it looked */
} demo_files;

/* Makes the folder if it is missing, and writes all but the model. On failure, too, *f is to be freed. */
int demo_files_write(demo_files *f, const char *folder, uint64_t seed, long long pairs);
void demo_files_free(demo_files *f);

/* Pair i of `test`. */
void demo_test_pair(uint64_t seed, int i, demo_pair *pair);

#endif
