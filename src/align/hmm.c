/* hmm.c: forward-backward with scaling. The state of a word that is produced is a position i, or NULL after position i. */
#include "align/hmm.h"

#include "core/memory.h"
#include "core/status.h"
#include <string.h>

static const double null_probability = 0.1;

void attend_hmm_free(hmm_space *s)
{
    double *all[] = { s->transitions, s->from_transitions, s->expected, s->forward, s->backward, s->row, s->scale };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) attend_memory_free(all[i]);
    *s = (hmm_space){ 0 };
}

int attend_hmm_reserve(hmm_space *s, size_t words)
{
    if (words <= s->capacity) return ATTEND_OK;
    attend_hmm_free(s);
    const size_t square = (words + 1) * words * sizeof(double);
    s->transitions = attend_memory_aligned(square);
    s->from_transitions = attend_memory_aligned(square);
    s->expected = attend_memory_aligned(square);
    s->forward = attend_memory_aligned(2 * square);
    s->backward = attend_memory_aligned(2 * square);
    s->row = attend_memory_aligned(words * sizeof(double));
    s->scale = attend_memory_aligned(words * sizeof(double));
    if (!s->transitions || !s->from_transitions || !s->expected || !s->forward || !s->backward || !s->row ||
        !s->scale) {
        attend_hmm_free(s);
        return attend_fail(ATTEND_NO_MEMORY, "no memory to align sentences of %zu words", words);
    }
    s->capacity = words;
    return ATTEND_OK;
}

void attend_model1_posteriors(int from, int to, const double *probabilities, double *posteriors)
{
    const size_t width = (size_t)from + 1;
    for (size_t j = 0; j < (size_t)to; j++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++) sum += probabilities[j * width + i];
        for (size_t i = 0; i < width; i++) posteriors[j * width + i] = probabilities[j * width + i] / sum;
    }
}

/* The class of a jump by `distance` positions. */
static int class_of(int distance)
{
    const int last = HMM_WINDOW + 1;
    return (distance < -last ? -last : distance > last ? last : distance) + last;
}

/* Positions of a class share its frequency. A row sums to the probability of a word that is not NULL. */
static void fill_transitions(hmm_space *s, const double *jumps, int from)
{
    const size_t n = (size_t)from;
    for (int k = -1; k < from; k++) {
        double *row = s->transitions + (size_t)(k + 1) * n, sum = 0;
        const int before = k - HMM_WINDOW, after = from - 1 - k - HMM_WINDOW; /* positions of the two outer classes */
        for (int i = 0; i < from; i++) {
            const int class = class_of(i - k);
            row[i] = jumps[class] / (class == 0 ? before : class == HMM_JUMPS - 1 ? after : 1);
            sum += row[i];
        }
        for (int i = 0; i < from; i++) row[i] *= (1 - null_probability) / sum;
        for (size_t i = 0; k >= 0 && i < n; i++) s->from_transitions[i * n + (size_t)k] = row[i];
    }
}

static void run_forward(hmm_space *s, size_t from, size_t to, const double *probabilities)
{
    for (size_t j = 0; j < to; j++) {
        const double *p = probabilities + j * (from + 1), null = null_probability * p[from];
        double *now = s->forward + j * 2 * from, sum = 0;
        if (j == 0) {
            /* NULL at the beginning: the next word jumps as after a first word */
            for (size_t i = 0; i < from; i++) {
                now[i] = s->transitions[i];
                now[from + i] = null * s->transitions[i] / (1 - null_probability);
            }
        } else {
            const double *last = now - 2 * from;
            memset(now, 0, from * sizeof *now);
            for (size_t k = 0; k < from; k++) {
                const double mass = last[k] + last[from + k], *row = s->transitions + (k + 1) * from;
                for (size_t i = 0; i < from; i++) now[i] += mass * row[i];
                now[from + k] = null * mass;
            }
        }
        for (size_t i = 0; i < from; i++) now[i] *= p[i];
        for (size_t i = 0; i < 2 * from; i++) sum += now[i];
        for (size_t i = 0; i < 2 * from; i++) now[i] /= sum;
        s->scale[j] = sum;
    }
}

/* Also the expected transitions, if they are asked for. */
static void run_backward(hmm_space *s, size_t from, size_t to, const double *probabilities, bool expected)
{
    for (size_t i = 0; i < 2 * from; i++) s->backward[(to - 1) * 2 * from + i] = 1;
    if (expected) memset(s->expected, 0, from * from * sizeof *s->expected);
    for (size_t j = to - 1; j-- > 0;) {
        const double *p = probabilities + (j + 1) * (from + 1), *next = s->backward + (j + 1) * 2 * from;
        const double *forward = s->forward + j * 2 * from, scale = s->scale[j + 1];
        double *now = s->backward + j * 2 * from;
        for (size_t i = 0; i < from; i++) s->row[i] = p[i] * next[i] / scale;
        for (size_t k = 0; k < from; k++) now[k] = null_probability * p[from] * next[from + k] / scale;
        for (size_t i = 0; i < from; i++) {
            const double *column = s->from_transitions + i * from, x = s->row[i];
            for (size_t k = 0; k < from; k++) now[k] += column[k] * x;
        }
        memcpy(now + from, now, from * sizeof *now);
        for (size_t k = 0; expected && k < from; k++) {
            const double mass = forward[k] + forward[from + k];
            double *row = s->expected + k * from;
            for (size_t i = 0; i < from; i++) row[i] += mass * s->row[i];
        }
    }
}

static void count_jumps(const hmm_space *s, int from, const double *first, double *counts)
{
    const size_t n = (size_t)from;
    for (int i = 0; i < from; i++) counts[class_of(i + 1)] += first[i];
    for (int k = 0; k < from; k++)
        for (int i = 0; i < from; i++) {
            const size_t at = (size_t)k * n + (size_t)i;
            counts[class_of(i - k)] += s->expected[at] * s->transitions[at + n];
        }
}

void attend_hmm_posteriors(hmm_space *s, const double *jumps, int from, int to, const double *probabilities,
                           double *posteriors, double *counts)
{
    const size_t n = (size_t)from;
    fill_transitions(s, jumps, from);
    run_forward(s, n, (size_t)to, probabilities);
    run_backward(s, n, (size_t)to, probabilities, counts != NULL);
    for (size_t j = 0; j < (size_t)to; j++) {
        const double *forward = s->forward + j * 2 * n, *backward = s->backward + j * 2 * n;
        double *row = posteriors + j * (n + 1), sum = 0, null = 0;
        for (size_t i = 0; i < n; i++) {
            row[i] = forward[i] * backward[i];
            null += forward[n + i] * backward[n + i];
            sum += row[i];
        }
        row[n] = null;
        for (size_t i = 0; i <= n; i++) row[i] /= sum + null;
    }
    if (counts) count_jumps(s, from, posteriors, counts);
}
