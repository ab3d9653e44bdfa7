/* option_list.h: the verbs and options of the command, as `attend --help` and `attend help VERB --all` list them, so that
 * a new option is part of the campaigns without a change here; and valid command lines to which they are added. */
#ifndef ATTEND_TEST_OPTION_LIST_H
#define ATTEND_TEST_OPTION_LIST_H

#include "hostile/campaign.h"

enum { MAX_LISTED = 1024 };

typedef struct listed_option {
    char verb[32], name[64];
    char argument[96]; /* "FILE"; "": it takes no value */
    /* name "": an argument that is not an option */
} listed_option;

typedef struct option_list {
    listed_option items[MAX_LISTED];
    int count;
} option_list;

/* Exits after a message if the help cannot be read, or if a verb has no valid command line (option_list.c). */
void option_list_read(option_list *l, campaign *c);
/* A valid command line of the verb, one of several, without one option. All write to `out`, or to files beside it. */
void option_list_base(campaign *c, run *r, const listed_option *without);
/* The option that begins with number i of a random order of all combinations of options and `values` values; false after
 * the last. */
bool option_list_pick(const option_list *l, const campaign *c, long i, int values, const listed_option **o, int *value);

#endif
