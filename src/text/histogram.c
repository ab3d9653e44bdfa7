#include "text/histogram.h"

#include <math.h>

enum { EXACT_BITS = 10, STEP_BITS = 6 };

int attend_length_bucket(size_t length)
{
    int bits = EXACT_BITS;
    if (length < (size_t)1 << EXACT_BITS) return (int)length;
    if (length > UINT32_MAX) return ATTEND_LENGTH_BUCKETS - 1;
    while (length >> (bits + 1) > 0) bits++;
    const int step = (int)(length >> (bits - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    return (1 << EXACT_BITS) + ((bits - EXACT_BITS) << STEP_BITS) + step;
}

size_t attend_length_of_bucket(int bucket)
{
    if (bucket < 1 << EXACT_BITS) return (size_t)bucket;
    const int above = bucket - (1 << EXACT_BITS), bits = EXACT_BITS + (above >> STEP_BITS);
    const int step = above & ((1 << STEP_BITS) - 1);
    return ((size_t)(1 << STEP_BITS) + (size_t)step) << (bits - STEP_BITS);
}

int attend_ratio_bucket(size_t source, size_t target)
{
    const double log_ratio = log(((double)target + 10) / ((double)source + 10));
    const double bucket = floor(ATTEND_RATIO_EVEN + ATTEND_RATIO_STEPS * log_ratio + 0.5);
    return bucket < 0 ? 0 : bucket >= ATTEND_RATIO_BUCKETS ? ATTEND_RATIO_BUCKETS - 1 : (int)bucket;
}

int attend_histogram_median(const uint64_t *counts, int buckets)
{
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < buckets; i++) total += counts[i];
    for (int i = 0; i < buckets; i++) {
        seen += counts[i];
        if (seen > 0 && seen >= (total + 1) / 2) return i;
    }
    return 0;
}

int attend_histogram_deviation(const uint64_t *counts, int buckets, int middle)
{
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < buckets; i++) total += counts[i];
    for (int distance = 0; distance < buckets; distance++) {
        const int low = middle - distance, high = middle + distance;
        if (low >= 0) seen += counts[low];
        if (distance > 0 && high < buckets) seen += counts[high];
        if (seen > 0 && seen >= (total + 1) / 2) return distance;
    }
    return 0;
}

uint64_t attend_histogram_outside(const uint64_t *counts, int buckets, int low, int high)
{
    uint64_t outside = 0;
    for (int i = 0; i < buckets; i++)
        if (i < low || i > high) outside += counts[i];
    return outside;
}
