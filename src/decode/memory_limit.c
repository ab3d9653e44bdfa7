#include "decode/memory_limit.h"

#include "core/status.h"
#include "model/config.h"
#include "model/model.h"
#include <math.h>

/* PROGRAM: code, libraries and buffers. WORK: the least that a line of text needs. RESULTS, for each thread: more of
 * them at a time would not make anything faster. */
enum { PROGRAM = 16 << 20, WORK = 8 << 20, RESULTS = 32 << 20 };

const char attend_memory_limit_fault[] = "it would take more memory than the limit allows";
const char attend_attention_limit_fault[] = "its attention would take more than 100 million steps";
_Static_assert((int)ATTEND_MAX_ATTENTION_STEPS == 100000000, "the fault states the limit");

int attend_memory_limit_set(attend_memory_limit *l, size_t bytes, const attend_model *const *models, int count,
                            int threads)
{
    double fixed = PROGRAM;
    for (int i = 0; i < count; i++) fixed += attend_model_bytes(models[i]); /* of one member */
    const double all = bytes > 0 ? (double)bytes - fixed : INFINITY;
    if (all < WORK) {
        const bool is_small = bytes < (size_t)1 << 20;
        return attend_fail(ATTEND_BAD_USAGE, "this model takes at least %.0fM, and the memory limit is %zu%c: raise it",
                           ceil((fixed + WORK) / (1 << 20)), is_small ? bytes >> 10 : bytes >> 20,
                           is_small ? 'k' : 'M');
    }
    *l = (attend_memory_limit){ .all = all,
                                .share = all / (2 * threads),
                                .results = fmin((double)RESULTS * threads, all / 2) };
    return ATTEND_OK;
}
