/* demo_files.h: the built-in pairs as files in a directory. */
#ifndef ATTEND_CLI_DEMO_FILES_H
#define ATTEND_CLI_DEMO_FILES_H

#include "demo/demo_pairs.h"
#include <attend/config.h>

typedef struct demo_files {
    char *train, *valid, *test; /* pairs; the last two are held out */
    char *links;                /* gold links of `test`, one line per pair: 0-0 1?2 */
    char *model;
    char *page; /* attention maps (HTML) */
} demo_files;

/* The names of these files, as verb.directory_files lists them. */
extern const char *const demo_file_names[];

/* Creates the directory if it is missing, and writes the pairs and links. Refuses to replace files that are not from a
 * demo. config: that of the model, to recognise the model of an earlier demo; NULL if no model will be
 * written. *f must be freed on failure too. */
int demo_files_write(demo_files *f, const char *directory, const attend_config *config, uint64_t seed, long long pairs);
void demo_files_free(demo_files *f);

/* Pair i of `test`. */
void demo_test_pair(uint64_t seed, int i, demo_pair *pair);

#endif
