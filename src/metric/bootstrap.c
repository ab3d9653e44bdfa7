/* bootstrap.c: bootstrap resampling (Koehn 2004). A sample has as many sentences as the corpus, drawn with
 * replacement; a pair of systems shares its samples. The interval excludes 1/40 of the samples' scores at either end.
 * The paired test is that of sacreBLEU: with d_s the absolute difference in sample s and d that of the corpus,
 *   p = (1 + #{s: d_s - mean(d_s) > d}) / (1 + samples),
 * except for d = 0, where p is 1: the formula would call two equal systems different. */
#include "core/memory.h"
#include "core/rng.h"
#include "core/status.h"
#include "metric/kinds.h"

#include <math.h>
#include <stdlib.h>

enum { USE = 0x626f6f74 }; /* differs from all other uses of random numbers */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double score_all(const attend_metric_options *o, const attend_metric_sums *sentences, int count)
{
    attend_metric_sums all = { 0 };
    for (int i = 0; i < count; i++) attend_metric_merge(&all, &sentences[i]);
    return attend_metric_score(o, &all);
}

/* Draw i of a sample is number i of its stream, so the result does not depend on the order of drawing. */
static double score_sample(const attend_metric_options *o, const attend_metric_sums *sentences, int count,
                           uint64_t seed, int sample)
{
    const attend_rng rng = { .seed = seed, .stream = (uint64_t)sample, .use = USE };
    attend_metric_sums drawn = { 0 };
    uint32_t four[4];
    for (int i = 0; i < count; i++) {
        if (i % 4 == 0) attend_rng_block(&rng, (uint32_t)(i / 4), four);
        attend_metric_merge(&drawn, &sentences[(uint64_t)four[i % 4] * (uint64_t)count >> 32]);
    }
    return attend_metric_score(o, &drawn);
}

static double p_value(const double *scores, const double *others, int samples, double difference)
{
    double mean = 0;
    int larger = 0;
    if (difference == 0) return 1;
    for (int s = 0; s < samples; s++) mean += fabs(scores[s] - others[s]) / samples;
    for (int s = 0; s < samples; s++) larger += fabs(scores[s] - others[s]) - mean > difference;
    return (larger + 1.0) / (samples + 1.0);
}

int attend_metric_bootstrap(const attend_metric_options *o, const attend_metric_sums *sentences,
                            const attend_metric_sums *other, int count, int samples, uint64_t seed,
                            attend_interval *out)
{
    if (!o || !attend_metric_name(o->kind) || !sentences || !out || count < 1 || samples < 1)
        return attend_fail(ATTEND_BAD_USAGE, "a bootstrap needs a metric, at least one sentence and one sample");
    double *scores = attend_memory_zeroed((size_t)samples, sizeof *scores);
    double *others = scores && other ? attend_memory_zeroed((size_t)samples, sizeof *others) : NULL;
    if (!scores || (other && !others)) {
        attend_memory_free(scores);
        return attend_fail(ATTEND_NO_MEMORY, "no memory for %d bootstrap samples", samples);
    }
    *out = (attend_interval){ .score = score_all(o, sentences, count), .p = 1 };
    for (int s = 0; s < samples; s++) {
        scores[s] = score_sample(o, sentences, count, seed, s);
        if (other) others[s] = score_sample(o, other, count, seed, s);
    }
    if (other) out->p = p_value(scores, others, samples, fabs(out->score - score_all(o, other, count)));
    qsort(scores, (size_t)samples, sizeof *scores, ascending);
    out->low = scores[samples / 40];
    out->high = scores[samples - samples / 40 - 1];
    attend_memory_free(others);
    attend_memory_free(scores);
    return ATTEND_OK;
}
