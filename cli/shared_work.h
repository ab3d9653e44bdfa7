/* shared_work.h: work that the ranks of a job divide: rank 0 reads the input and writes the results, in order, and all ranks
 * compute. A process that is alone does all of it. */
#ifndef ATTEND_CLI_SHARED_WORK_H
#define ATTEND_CLI_SHARED_WORK_H

#include <attend/ranks.h>
#include <attend/string.h>

/* Functions return a status; that of any rank ends the work on all. */
typedef struct shared_work {
    void *user;
    /* Rank 0: appends the next work of each rank to its part (packed.h), which is empty; no part is needed after the last.
     * *more: whether there was some. */
    int (*give)(void *user, attend_string *parts, int ranks, bool *more);
    /* Every rank: does the work of its part, and appends the result, which is empty. */
    int (*work)(void *user, const attend_string *part, attend_string *result);
    /* Rank 0: takes the results of all ranks, in order. */
    int (*take)(void *user, const attend_string *result);
} shared_work;

int shared_work_run(attend_ranks *ranks, const shared_work *w);

/* For `give`: where the items of a rank begin, so that all ranks have about the same amount; rank < ranks. sizes: (count) */
int shared_work_first(const size_t *sizes, int count, int ranks, int rank);
/* Says that the result of a rank cannot be read. */
int shared_work_damaged(void);

#endif
