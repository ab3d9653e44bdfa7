/* draw.h: one word at random, by a model's probabilities. */
#ifndef ATTEND_DECODE_SAMPLING_H
#define ATTEND_DECODE_SAMPLING_H

#include <attend/real.h>

typedef struct attend_sampler {
    double temperature, top_p;
    int top_k;      /* 0: all */
    double *masses; /* (words) scratch */
    int *heap;      /* (words) scratch */
} attend_sampler;

/* The word that a number u in [0, 1) means: words lie side by side, each as wide as it is probable under temperature, top_k and top_p. ATTEND_BEGIN
 * and those that are banned (n flags, or NULL) are left out. -1: none has a probability. */
int attend_sample_token(const attend_sampler *d, const attend_real *log_p, int n, const unsigned char *banned,
                        double u);

#endif
