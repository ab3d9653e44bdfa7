#include "shared_work.h"

#include "packed.h"

#include <attend/status.h>
#include <stdlib.h>

/* One round: parts are handed out, worked on and collected. */
static int run_round(attend_ranks *ranks, const shared_work *w, attend_string *parts, attend_string *own,
                     attend_string *result, bool *more)
{
    const int count = attend_ranks_count(ranks);
    const bool is_first = attend_ranks_rank(ranks) == 0;
    int status = ATTEND_OK;
    for (int i = 0; is_first && status == ATTEND_OK && i < count; i++) {
        parts[i].size = 0;
        status = packed_add_number(&parts[i], 0); /* whether there is more */
    }
    if (is_first && status == ATTEND_OK) status = w->give(w->user, parts, count, more);
    for (int i = 0; is_first && status == ATTEND_OK && i < count; i++) parts[i].text[0] = *more;
    if (status == ATTEND_OK) status = attend_ranks_hand_out(ranks, parts, own);
    if (status != ATTEND_OK) return status;
    packed_reader r = packed_open(own);
    *more = packed_number(&r) != 0;
    if (!*more) return ATTEND_OK;
    const attend_string part = { .text = own->text + sizeof(uint64_t), .size = own->size - sizeof(uint64_t) };
    result->size = 0;
    status = w->work(w->user, &part, result);
    if (status == ATTEND_OK) status = attend_ranks_collect(ranks, result, parts);
    for (int i = 0; is_first && status == ATTEND_OK && i < count; i++) status = w->take(w->user, &parts[i]);
    return status;
}

int shared_work_run(attend_ranks *ranks, const shared_work *w)
{
    const int count = attend_ranks_count(ranks);
    attend_string *parts = calloc((size_t)count, sizeof *parts), own = { 0 }, result = { 0 };
    int status = parts ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory for the work of %d ranks", count);
    for (bool more = true; status == ATTEND_OK && more;) status = run_round(ranks, w, parts, &own, &result, &more);
    for (int i = 0; parts && i < count; i++) attend_string_free(&parts[i]);
    free(parts);
    attend_string_free(&own);
    attend_string_free(&result);
    return status;
}

int shared_work_first(const size_t *sizes, int count, int ranks, int rank)
{
    enum { EACH = 16 }; /* bytes that an empty item counts for */
    double all = 0, before = 0;
    int i = 0;
    for (int k = 0; k < count; k++) all += (double)sizes[k] + EACH;
    for (; i < count && before < all * rank / ranks; i++) before += (double)sizes[i] + EACH;
    return i;
}

int shared_work_damaged(void)
{
    return attend_fail(ATTEND_FAILED, "another rank sent a result that cannot be read: install the same version of "
                                      "attend on all machines");
}
