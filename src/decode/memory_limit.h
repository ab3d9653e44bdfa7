/* memory_limit.h: a limit of memory, divided between models, batches and results.
 *
 * What a line or a pair takes is estimated from its length before it is computed. One that would take more than
 * everything is left out; one that would take more than the share of a thread is computed alone. Which ones are left
 * out does not depend on the number of threads. */
#ifndef ATTEND_DECODE_MEMORY_LIMIT_H
#define ATTEND_DECODE_MEMORY_LIMIT_H

#include <attend/model.h>

typedef struct attend_memory_limit {
    double all;     /* bytes that remain beside the models; INFINITY: no limit */
    double share;   /* of the batch of each thread */
    double results; /* of results that are kept at a time */
} attend_memory_limit;

/* bytes 0: no limit. ATTEND_BAD_USAGE if nothing is left beside the models; *l is then unchanged. */
int attend_memory_limit_set(attend_memory_limit *l, size_t bytes, const attend_model *const *models, int count,
                            int threads);

/* Why a line or pair is left out. */
extern const char attend_memory_limit_fault[];
/* The same for steps of attention (model/config.h). */
extern const char attend_attention_limit_fault[];

#endif
