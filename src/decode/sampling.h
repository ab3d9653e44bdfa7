/* sampling.h: draws a token from a model's probabilities. */
#ifndef ATTEND_DECODE_SAMPLING_H
#define ATTEND_DECODE_SAMPLING_H

#include "core/top_k.h"
#include <attend/real.h>

typedef struct attend_sampler {
    double temperature, top_p;
    int top_k;                /* 0: all tokens */
    double *masses;           /* (vocabulary) scratch: unnormalised probabilities */
    attend_top_k_entry *best; /* (vocabulary) scratch */
} attend_sampler;

/* Inverse transform sampling: the token whose interval of the cumulative distribution under temperature, top_k and
 * top_p contains u in [0, 1). ATTEND_BEGIN and tokens whose flag in `banned` (n flags, or NULL) is set have
 * probability 0. Returns -1 if all have. */
int attend_sample_token(const attend_sampler *s, const attend_real *log_p, int n, const unsigned char *banned,
                        double u);

#endif
