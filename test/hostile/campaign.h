/* campaign.h: hostile campaigns: many runs of the command with input made to break it.
 *
 * A campaign is a program: NAME ATTEND DATA SEED SECONDS [CASE]
 *   ATTEND   the command, built with sanitizers or without
 *   DATA     test/data/v0.1: models and text to start from
 *   SEED     with the number of a case it determines the case: a run is repeated exactly
 *   SECONDS  no case begins after this time, except the first min_cases
 *   CASE     runs this case alone and prints what the command prints
 * It prints how many runs each verb had and which part of its items (campaign_cover) had a case, and then
 * "NAME: tried N, held N". A case that does not hold is printed with the command that repeats it, and the exit status is 1.
 *
 * A run does not hold if it ends by a signal, with an exit status that is not documented, with a report of a sanitizer,
 * after the time limit, without a message if it fails, or if its messages have control characters. Runs of root are those
 * of an unprivileged user, so that permissions hold and no device is replaced. */
#ifndef ATTEND_TEST_CAMPAIGN_H
#define ATTEND_TEST_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_ARGUMENTS = 64, MAX_PRINTED = 1 << 16, MAX_ITEMS = 1024, MAX_VERBS = 32 };

typedef struct campaign {
    const char *name, *attend;
    char data[4096]; /* absolute path */
    uint64_t seed;
    double seconds, began;
    long only;      /* the case to run; -1: all */
    long min_cases; /* 10, unless the campaign needs more */
    long number;    /* of the current case */
    long tried, held;
    long ended[8]; /* runs by exit status; 6: another one or a signal; 7: stopped after their time */
    bool faulty;   /* the current case does not hold */
    bool is_in_case;
    bool covered[MAX_ITEMS]; /* items that had a case */
    long items;              /* 0: the campaign has none */
    const char *item_name;   /* what they are, in the plural */
    struct verb_runs {
        char verb[32];
        long runs;
    } verbs[MAX_VERBS]; /* up to the first without runs */
    uint64_t random;
    char *kept[256]; /* names of the files that campaign_clean leaves */
    int kept_count;
} campaign;

/* Reads the arguments, makes a temporary directory with a copy of the data, and enters it. Exits after a message if that
 * fails. */
void campaign_begin(campaign *c, int argc, char **argv);
/* Begins case number `number`. False: there is no time for it, or another one is asked for. */
bool campaign_case(campaign *c, long number);
/* Ends the case that campaign_case began. */
void campaign_case_end(campaign *c);
/* Item `item` of `items` has a case; `name` is what the items are, such as "options". */
void campaign_cover(campaign *c, const char *name, long item, long items);
/* The row that case `number` tries, of a table whose first `cheap` rows take less time than the others: each row once,
 * the cheap ones first, and then again. The seed says with which row the cheap ones and the others begin. */
long campaign_row(const campaign *c, long number, long cheap, long rows);
/* Removes what runs wrote: all files in the directory that were not there when this was called first. */
void campaign_clean(campaign *c);
/* Removes the directory, prints the counts and returns the exit status. */
int campaign_end(campaign *c);

/* A random number below `below`; the sequence depends on the seed and the case. */
uint32_t campaign_random(campaign *c, uint32_t below);

/* A run of the command. */
typedef struct run {
    const char *arguments[MAX_ARGUMENTS]; /* after the name of the command; ends with NULL */
    int count;
    const char *input;   /* standard input; NULL: /dev/null */
    double limit;        /* seconds on a free processor; 0: 60 */
    bool may_be_stopped; /* after the limit, SIGTERM must end it; otherwise the limit is a fault */
    /* outcome */
    int status;                /* exit status; -1: ended by a signal */
    bool stopped;              /* by SIGTERM, after the limit */
    char printed[MAX_PRINTED]; /* the beginning of standard error */
    char output[MAX_PRINTED];  /* the beginning of standard output */
} run;

/* Adds arguments, up to a NULL. */
void run_add(run *r, ...) __attribute__((sentinel));
/* Adds the words of a text, which must stay valid; a word ends at a space. */
void run_add_words(run *r, char *words);
/* Runs the command and checks what holds for every run. */
void campaign_run(campaign *c, run *r);
/* Reports that the current case does not hold, once for each case. */
void campaign_fault(campaign *c, const run *r, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- files ---- */

/* A file in memory, which the caller frees; NULL: it cannot be read. */
char *file_read(const char *path, size_t *size);
void file_write(const char *path, const void *bytes, size_t size);
void file_copy(const char *from, const char *to);
/* Write a word aligner and an ensemble of two models. Exit after a message if that fails. */
void file_make_aligner(const char *path);
void file_make_ensemble(const char *path, const char *model);
/* Removes a file or a directory with its content, if it exists. */
void file_remove(const char *path);

#endif
