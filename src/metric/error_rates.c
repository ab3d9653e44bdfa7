/* error_rates.c: word and character error rate, exact match and token accuracy.
 *   WER, CER        100 sum of edit distances / sum of reference lengths (words; characters, inner spaces included)
 *   exact           100 lines that equal a reference / lines
 *   token accuracy  100 reference words that equal the hypothesis word at the same position / reference words
 * White space at the ends of a line is ignored. With several references the one with the best rate counts, the first
 * of equally good ones. */
#include "core/memory.h"
#include "core/status.h"
#include "metric/kinds.h"

#include <math.h>
#include <string.h>

typedef struct symbols {
    const uint32_t *c;
    size_t n;
} symbols;

/* Levenshtein distance (1966), row by row, without the common prefix and suffix. */
static int edit_distance(symbols a, symbols b, double *distance)
{
    const double max = 0x1p32; /* takes some seconds */
    while (a.n > 0 && b.n > 0 && a.c[0] == b.c[0]) a.c++, a.n--, b.c++, b.n--;
    while (a.n > 0 && b.n > 0 && a.c[a.n - 1] == b.c[b.n - 1]) a.n--, b.n--;
    if ((double)a.n * (double)b.n > max)
        return attend_fail(ATTEND_BAD_DATA, "lines of %zu and %zu tokens are too long to compare", a.n, b.n);
    int *row = attend_memory_zeroed(b.n + 1, sizeof *row);
    if (!row) return attend_fail(ATTEND_NO_MEMORY, "no memory for the distance of %zu tokens", b.n);
    for (size_t j = 0; j <= b.n; j++) row[j] = (int)j;
    for (size_t i = 1; i <= a.n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b.n; j++) {
            int best = corner + (a.c[i - 1] != b.c[j - 1]);
            corner = row[j];
            if (corner + 1 < best) best = corner + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    *distance = row[b.n];
    attend_memory_free(row);
    return ATTEND_OK;
}

static int equal_positions(symbols h, symbols r, double *equal)
{
    *equal = 0;
    for (size_t i = 0; i < h.n && i < r.n; i++) *equal += h.c[i] == r.c[i];
    return ATTEND_OK;
}

/* A count over two sequences, and whether a higher one is better. */
typedef struct measure {
    int (*count)(symbols hypothesis, symbols reference, double *count);
    bool higher_is_better;
} measure;

static const measure errors = { edit_distance, false }, positions = { equal_positions, true };

/* The rate of a reference, higher is better: minus errors, or matches, per reference token. Two empty lines match. */
static double rate(const measure *m, double count, symbols h, symbols r)
{
    if (r.n == 0) return h.n == 0 ? 1 : m->higher_is_better ? 0 : -INFINITY;
    return (m->higher_is_better ? count : -count) / (double)r.n;
}

typedef struct choice {
    double rate;
    bool any;
} choice;

/* Keeps the count and length of the best reference in n. */
static int consider(const measure *m, symbols h, symbols r, choice *best, double *n)
{
    double count = 0;
    int status = m->count(h, r, &count);
    const double this_rate = rate(m, count, h, r);
    if (status != ATTEND_OK || (best->any && this_rate <= best->rate)) return status;
    *best = (choice){ this_rate, true };
    n[0] = count;
    n[1] = (double)r.n;
    return ATTEND_OK;
}

static int add_words(const measure *m, attend_metric_lines *lines, double *n)
{
    attend_ngrams names = { 0 };
    attend_metric_words h = { 0 }, r = { 0 };
    choice best = { 0 };
    int status = attend_metric_words_read(&h, &names, &lines->hypothesis, false);
    for (int i = 0; status == ATTEND_OK && i < lines->count; i++) {
        status = attend_metric_words_read(&r, &names, &lines->references[i], false);
        if (status == ATTEND_OK) status = consider(m, (symbols){ h.id, h.n }, (symbols){ r.id, r.n }, &best, n);
        attend_metric_words_free(&r);
    }
    attend_metric_words_free(&h);
    attend_ngrams_free(&names);
    return status;
}

static int add_wer(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    return add_words(&errors, lines, n);
}

static int add_token_accuracy(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    return add_words(&positions, lines, n);
}

static int add_cer(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    const attend_metric_text h = attend_metric_strip(&lines->hypothesis);
    choice best = { 0 };
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < lines->count; i++) {
        const attend_metric_text r = attend_metric_strip(&lines->references[i]);
        status = consider(&errors, (symbols){ h.c, h.n }, (symbols){ r.c, r.n }, &best, n);
    }
    return status;
}

static int add_exact(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    const attend_metric_text h = attend_metric_strip(&lines->hypothesis);
    n[1] = 1;
    for (int i = 0; i < lines->count; i++) {
        const attend_metric_text r = attend_metric_strip(&lines->references[i]);
        if (h.n == r.n && memcmp(h.c, r.c, h.n * sizeof *h.c) == 0) n[0] = 1;
    }
    return ATTEND_OK;
}

static int add_line_error(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    const int status = add_exact(o, lines, n);
    n[0] = n[1] - n[0];
    return status;
}

static double error_rate(const double *n)
{
    return attend_metric_error_rate(n[0], n[1]);
}

static double share(const double *n)
{
    return n[1] > 0 ? 100 * (n[0] / n[1]) : 0;
}

const attend_metric_functions attend_metric_wer = {
    .name = "wer", .title = "WER", .numbers = 2, .add = add_wer, .score = error_rate, .signature = { "" }
};

const attend_metric_functions attend_metric_cer = {
    .name = "cer", .title = "CER", .numbers = 2, .add = add_cer, .score = error_rate, .signature = { "" }
};

const attend_metric_functions attend_metric_exact = { .name = "exact",
                                                      .title = "exact",
                                                      .higher_is_better = true,
                                                      .numbers = 2,
                                                      .add = add_exact,
                                                      .score = share,
                                                      .signature = { "" } };

const attend_metric_functions attend_metric_token_accuracy = { .name = "token-accuracy",
                                                               .title = "token-accuracy",
                                                               .higher_is_better = true,
                                                               .numbers = 2,
                                                               .add = add_token_accuracy,
                                                               .score = share,
                                                               .signature = { "" } };

const attend_metric_functions attend_metric_line_error = { .name = "line-error",
                                                           .title = "line-error",
                                                           .numbers = 2,
                                                           .add = add_line_error,
                                                           .score = share,
                                                           .signature = { "" } };
