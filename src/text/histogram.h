/* histogram.h: medians of what passes by, without keeping it.
 *
 * Lengths are exact below 1024 and rounded down to 1/64 of a power of two above; ratios are steps of 1/64 of their natural logarithm. */
#ifndef ATTEND_TEXT_HISTOGRAM_H
#define ATTEND_TEXT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    ATTEND_LENGTH_BUCKETS = 1024 + 64 * 22, /* to 2^32 */
    ATTEND_RATIO_STEPS = 64,                /* to a factor of e */
    ATTEND_RATIO_EVEN = 1024,               /* the bucket of 1 : 1 */
    ATTEND_RATIO_BUCKETS = 2 * ATTEND_RATIO_EVEN + 1
};

int attend_length_bucket(size_t length);
size_t attend_length_of_bucket(int bucket); /* the smallest in it */
/* Of target to source. Both get 10 more: among short lines any ratio is common, and says nothing. */
int attend_ratio_bucket(size_t source, size_t target);

/* The bucket with the median; 0 if there is nothing. */
int attend_histogram_median(const uint64_t *counts, int buckets);
/* The median of the distances from `middle`, in buckets. */
int attend_histogram_deviation(const uint64_t *counts, int buckets, int middle);
/* How many lie in buckets below `low` or above `high`. */
uint64_t attend_histogram_outside(const uint64_t *counts, int buckets, int low, int high);

#endif
