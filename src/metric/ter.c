/* ter.c: TER (Snover et al. 2006): the number of insertions, deletions, substitutions and shifts of phrases that turn
 * the hypothesis into a reference, over the mean length of the references; the lowest over the references. Finding
 * the best shifts is NP-hard, so the search is greedy, and its limits are part of the definition. They are those
 * of Tercom as in sacreBLEU:
 *   - the edit distance is computed in a band of +-BEAM words around the diagonal;
 *   - a shift moves up to MAX_PHRASE words that match the reference at most MAX_DISTANCE positions away;
 *   - the shift that saves the most edits is applied (ties: the longest, then the first start, then the first
 *     target), until none saves any or MAX_CANDIDATES shifts have been tried; the round in which they run out is
 *     dropped. */
#include "core/memory.h"
#include "core/status.h"
#include "metric/kinds.h"

#include <math.h>
#include <string.h>

enum { BEAM = 25, MAX_PHRASE = 10, MAX_DISTANCE = 50, MAX_CANDIDATES = 1000, MAX_WORDS = 1 << 15, INFINITE = 1 << 30 };
enum { UNREACHED, SAME, CHANGE, INSERT, DELETE }; /* how a cell was reached; an insertion adds a reference word */

typedef struct ter {
    const uint32_t *reference;
    uint32_t *words, *shifted; /* (n) the hypothesis, and a copy with one shift */
    int n, m;                  /* words of the hypothesis and the reference */
    int beam, width;           /* width: cells stored per row */
    double ratio;              /* m / n: the slope of the diagonal */
    int *cost;                 /* (n, width), rows 1 to n: row i begins at column low(i) */
    unsigned char *how;        /* (n, width) how each cell was reached */
    int *trial;                /* (2, width) */
    /* (m) the hypothesis word to which each reference word is aligned, or after which it is inserted; -1: none */
    int *aligned;
    int *reference_errors;  /* (m + 1) errors before each word */
    int *hypothesis_errors; /* (n + 1) */
} ter;

static int diagonal(const ter *t, int i)
{
    return (int)floor(i * t->ratio);
}

static int low(const ter *t, int i)
{
    int j = diagonal(t, i) - t->beam;
    return j > 0 ? j : 0;
}

static int high(const ter *t, int i)
{
    int j = diagonal(t, i) + t->beam;
    return i == t->n || j > t->m ? t->m + 1 : j;
}

/* Column j of row i, stored in `row`; row 0 is 0, 1, 2, ... and is not stored. */
static inline int cell(int i, const int *row, int begin, int end, int j)
{
    return i == 0 ? j : j >= begin && j < end ? row[j - begin] : INFINITE;
}

/* Row i of the edit distance from row i - 1 (`before`). Ties are broken in Tercom's order. */
static void fill_row(const ter *t, int i, uint32_t word, const int *before, int *now, unsigned char *how)
{
    const int begin = low(t, i), end = high(t, i), begin_before = low(t, i - 1), end_before = high(t, i - 1);
    int left = INFINITE, corner = cell(i - 1, before, begin_before, end_before, begin - 1);
    for (int j = begin; j < end; j++) {
        const int above = cell(i - 1, before, begin_before, end_before, j);
        int best = INFINITE, from = UNREACHED;
        if (j > 0) {
            const bool same = word == t->reference[j - 1];
            if (corner + !same < best) best = corner + !same, from = same ? SAME : CHANGE;
        }
        if (above + 1 < best) best = above + 1, from = DELETE;
        if (left + 1 < best) best = left + 1, from = INSERT;
        now[j - begin] = left = best;
        if (how) how[j - begin] = (unsigned char)from;
        corner = above;
    }
}

static int distance(const ter *t)
{
    if (t->n == 0) return t->m;
    return t->cost[(size_t)(t->n - 1) * (size_t)t->width + (size_t)(t->m - low(t, t->n))];
}

/* The edit distance of `words`, with how each cell was reached. */
static void fill(ter *t)
{
    for (int i = 1; i <= t->n; i++) {
        const size_t at = (size_t)(i - 1) * (size_t)t->width;
        fill_row(t, i, t->words[i - 1], i > 1 ? t->cost + at - t->width : NULL, t->cost + at, t->how + at);
    }
}

/* True if row i of `shifted` is that of `words` plus a constant; then so are all later rows, as long as the words are
 * the same. */
static bool runs_parallel(const ter *t, int i, const int *row, int *more)
{
    const int *other = t->cost + (size_t)(i - 1) * (size_t)t->width, count = high(t, i) - low(t, i);
    *more = row[0] - other[0];
    for (int j = 1; j < count; j++)
        if (row[j] - other[j] != *more) return false;
    return true;
}

/* The range [begin, end) in which `shifted` differs from `words`. */
typedef struct changed {
    int begin, end;
} changed;

static int trial_distance(const ter *t, changed c)
{
    const int *before = c.begin > 0 ? t->cost + (size_t)(c.begin - 1) * (size_t)t->width : NULL;
    for (int i = c.begin + 1, more; i <= t->n; i++) {
        int *now = t->trial + (i % 2 ? t->width : 0);
        fill_row(t, i, t->shifted[i - 1], before, now, NULL);
        if (i >= c.end && runs_parallel(t, i, now, &more)) return distance(t) + more;
        before = now;
    }
    return before[t->m - low(t, t->n)];
}

/* Backtracks from the last cell: which words are aligned, and which are errors. */
static void align(ter *t)
{
    int i = t->n, j = t->m;
    memset(t->reference_errors, 0, (size_t)(t->m + 1) * sizeof(int));
    memset(t->hypothesis_errors, 0, (size_t)(t->n + 1) * sizeof(int));
    while (i > 0 || j > 0) {
        const int how = i == 0   ? INSERT
                        : j == 0 ? DELETE
                                 : t->how[(size_t)(i - 1) * (size_t)t->width + (size_t)(j - low(t, i))];
        if (how != DELETE) {
            t->aligned[j - 1] = i - 1;
            t->reference_errors[j] = how != SAME;
        }
        if (how != INSERT) t->hypothesis_errors[i] = how != SAME;
        if (how != DELETE) j--;
        if (how != INSERT) i--;
    }
    for (i = 0; i < t->n; i++) t->hypothesis_errors[i + 1] += t->hypothesis_errors[i];
    for (j = 0; j < t->m; j++) t->reference_errors[j + 1] += t->reference_errors[j];
}

typedef struct shift {
    int saves, length, start, target;
} shift;

static bool is_better(const shift *a, const shift *b)
{
    if (a->saves != b->saves) return a->saves > b->saves;
    if (a->length != b->length) return a->length > b->length;
    if (a->start != b->start) return a->start < b->start;
    return a->target < b->target;
}

/* Copies `words` to `shifted` with a phrase moved before the word at `target`. A target inside the phrase or at its
 * end moves it right by target - start. */
static changed move(const ter *t, const shift *s)
{
    const int n = t->n, end = s->start + s->length;
    const bool left = s->target < s->start;
    /* in both cases two neighbouring ranges are swapped: [begin, middle) and [middle, past) */
    const int begin = left ? s->target : s->start, middle = left ? s->start : end;
    const int right = s->target > end ? s->target : s->target + s->length < n ? s->target + s->length : n;
    const int past = left ? end : right;
    memcpy(t->shifted, t->words, (size_t)n * sizeof *t->words);
    memcpy(t->shifted + begin, t->words + middle, (size_t)(past - middle) * sizeof *t->words);
    memcpy(t->shifted + begin + (past - middle), t->words + begin, (size_t)(middle - begin) * sizeof *t->words);
    return (changed){ begin, past };
}

/* Tries all targets next to the match of a phrase at `match`; returns their number. */
static int try_targets(const ter *t, shift s, int match, shift *best)
{
    int tried = 0, last = -1;
    for (int position = match - 1; position < match + s.length && position < t->m; position++) {
        s.target = position < 0 ? 0 : t->aligned[position] + 1;
        if (s.target == last) continue;
        last = s.target;
        s.saves = distance(t) - trial_distance(t, move(t, &s));
        tried++;
        if (best->length == 0 || is_better(&s, best)) *best = s;
    }
    return tried;
}

/* A shift can help only if the phrase and its match both contain errors and the phrase is not aligned to the match
 * already. */
static bool may_help(const ter *t, int start, int match, int length)
{
    return t->hypothesis_errors[start + length] > t->hypothesis_errors[start] &&
           t->reference_errors[match + length] > t->reference_errors[match] &&
           (t->aligned[match] < start || t->aligned[match] >= start + length);
}

/* The best shift; its length is 0 if there is none. */
static shift find_shift(const ter *t, int *tried)
{
    shift best = { 0 };
    for (int start = 0; start < t->n; start++) {
        const int reach = start + MAX_PHRASE < t->n ? start + MAX_PHRASE : t->n;
        if (t->hypothesis_errors[reach] == t->hypothesis_errors[start]) continue; /* no error here */
        const int first = start > MAX_DISTANCE ? start - MAX_DISTANCE : 0;
        for (int match = first; match < t->m && match <= start + MAX_DISTANCE; match++)
            for (int k = 0; k < MAX_PHRASE && start + k < t->n && match + k < t->m; k++) {
                if (t->words[start + k] != t->reference[match + k]) break;
                if (!may_help(t, start, match, k + 1)) continue;
                *tried += try_targets(t, (shift){ .length = k + 1, .start = start }, match, &best);
                if (*tried >= MAX_CANDIDATES) return best;
            }
    }
    return best;
}

static int count_edits(ter *t)
{
    int shifts = 0, tried = 0;
    for (fill(t); t->n > 0; shifts++) {
        align(t);
        const shift best = find_shift(t, &tried);
        if (tried >= MAX_CANDIDATES || best.saves <= 0) break;
        move(t, &best);
        memcpy(t->words, t->shifted, (size_t)t->n * sizeof *t->words);
        fill(t);
    }
    return shifts + distance(t);
}

static void allocate(ter *t)
{
    const size_t n = (size_t)t->n, m = (size_t)t->m, width = (size_t)t->width;
    t->words = attend_memory_zeroed(n, sizeof *t->words);
    t->shifted = attend_memory_zeroed(n, sizeof *t->shifted);
    t->cost = attend_memory_zeroed(n * width, sizeof *t->cost);
    t->how = attend_memory_zeroed(n * width, sizeof *t->how);
    t->trial = attend_memory_zeroed(2 * width, sizeof *t->trial);
    t->aligned = attend_memory_zeroed(m, sizeof *t->aligned);
    t->reference_errors = attend_memory_zeroed(m + 1, sizeof *t->reference_errors);
    t->hypothesis_errors = attend_memory_zeroed(n + 1, sizeof *t->hypothesis_errors);
}

static bool has_memory(const ter *t)
{
    return t->words && t->shifted && t->cost && t->how && t->trial && t->aligned && t->reference_errors &&
           t->hypothesis_errors;
}

static void release(ter *t)
{
    attend_memory_free(t->words);
    attend_memory_free(t->shifted);
    attend_memory_free(t->cost);
    attend_memory_free(t->how);
    attend_memory_free(t->trial);
    attend_memory_free(t->aligned);
    attend_memory_free(t->reference_errors);
    attend_memory_free(t->hypothesis_errors);
}

static int edits(const attend_metric_words *h, const attend_metric_words *r, double *count)
{
    if (h->n > MAX_WORDS || r->n > MAX_WORDS)
        return attend_fail(ATTEND_BAD_DATA, "the line has %zu words; the maximum of TER is %d",
                           h->n > r->n ? h->n : r->n, MAX_WORDS);
    *count = (double)h->n;
    if (r->n == 0) return ATTEND_OK;
    ter t = { .reference = r->id, .n = (int)h->n, .m = (int)r->n, .beam = BEAM, .ratio = 1 };
    if (t.n > 0) t.ratio = (double)t.m / t.n;
    if (t.ratio / 2 > BEAM)
        t.beam = (int)ceil(t.ratio / 2 + BEAM); /* otherwise the bands of neighbouring rows would not overlap */
    t.width = 2 * t.beam < t.m + 1 ? 2 * t.beam : t.m + 1;
    allocate(&t);
    int status = ATTEND_OK;
    if (has_memory(&t)) {
        if (h->n > 0) memcpy(t.words, h->id, h->n * sizeof *t.words);
        *count = count_edits(&t);
    } else {
        status = attend_fail(ATTEND_NO_MEMORY, "no memory for the edits of %d words", t.n);
    }
    release(&t);
    return status;
}

/* n: edits, mean reference length */
static int add(const attend_metric_options *o, attend_metric_lines *lines, double *n)
{
    (void)o;
    attend_ngrams names = { 0 };
    attend_metric_words h = { 0 }, r = { 0 };
    double min_edits = INFINITY, words = 0;
    int status = attend_metric_words_read(&h, &names, &lines->hypothesis, false);
    for (int i = 0; status == ATTEND_OK && i < lines->count; i++) {
        double count = 0;
        status = attend_metric_words_read(&r, &names, &lines->references[i], false);
        if (status == ATTEND_OK) status = edits(&h, &r, &count);
        if (count < min_edits) min_edits = count;
        words += (double)r.n;
        attend_metric_words_free(&r);
    }
    n[0] = min_edits;
    n[1] = words / lines->count;
    attend_metric_words_free(&h);
    attend_ngrams_free(&names);
    return status;
}

static double score(const double *n)
{
    return attend_metric_error_rate(n[0], n[1]);
}

const attend_metric_functions attend_metric_ter = {
    .name = "ter",
    .title = "TER",
    .numbers = 2,
    .add = add,
    .score = score,
    .signature = { "tok:tercom|norm:no|punct:yes|asian:no|" },
};
