/* histogram.h: medians of a stream of lengths or ratios, in constant memory.
 *
 * Lengths are exact below 1024; above, a power of two is divided into 64 buckets. Ratios have buckets of 1/64 of
 * their natural logarithm. */
#ifndef ATTEND_TEXT_HISTOGRAM_H
#define ATTEND_TEXT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    ATTEND_LENGTH_BUCKETS = 1024 + 64 * 22, /* up to 2^32 */
    ATTEND_RATIO_STEPS = 64,                /* buckets per factor of e */
    ATTEND_RATIO_EVEN = 1024,               /* the bucket of 1:1 */
    ATTEND_RATIO_BUCKETS = 2 * ATTEND_RATIO_EVEN + 1
};

int attend_length_bucket(size_t length);
size_t attend_length_of_bucket(int bucket); /* the smallest length of a bucket */
/* The bucket of the ratio of target to source. 10 is added to both: ratios of short lines vary widely and mean
 * nothing. */
int attend_ratio_bucket(size_t source, size_t target);

/* The bucket of the median; 0 if the histogram is empty. */
int attend_histogram_median(const uint64_t *counts, int buckets);
/* The median distance from `middle`, in buckets. */
int attend_histogram_deviation(const uint64_t *counts, int buckets, int middle);
/* The number of values in buckets below `low` or above `high`. */
uint64_t attend_histogram_outside(const uint64_t *counts, int buckets, int low, int high);

#endif
