#include "align/alignment_model.h"

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include <string.h>

/* Of a pair of words that did not occur together, or whose count was too small. */
static const double min_probability = 1e-9;

enum { CHUNK = 64 }; /* pairs that a thread takes at once */

/* ---- a pair ---- */

void attend_alignment_space_free(alignment_space *s)
{
    attend_hmm_free(&s->hmm);
    attend_memory_free(s->entries);
    attend_memory_free(s->probabilities);
    for (int d = 0; d < 2; d++) attend_memory_free(s->posteriors[d]);
    *s = (alignment_space){ 0 };
}

static int reserve(alignment_space *s, size_t words)
{
    if (words <= s->capacity) return ATTEND_OK;
    attend_alignment_space_free(s);
    const size_t cells = (words + 1) * (words + 1);
    s->entries = attend_memory_aligned(cells * sizeof *s->entries);
    s->probabilities = attend_memory_aligned(cells * sizeof *s->probabilities);
    for (int d = 0; d < 2; d++) s->posteriors[d] = attend_memory_aligned(cells * sizeof *s->posteriors[d]);
    int status = ATTEND_OK;
    if (!s->entries || !s->probabilities || !s->posteriors[0] || !s->posteriors[1])
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to align sentences of %zu words", words);
    if (status == ATTEND_OK) status = attend_hmm_reserve(&s->hmm, words);
    if (status == ATTEND_OK)
        s->capacity = words;
    else
        attend_alignment_space_free(s);
    return status;
}

/* The entry of target j and source i, where j = targets and i = sources are the NULL words. */
static int *entry_at(const alignment_space *s, int sources, int j, int i)
{
    return &s->entries[(size_t)j * ((size_t)sources + 1) + (size_t)i];
}

static void find_entries(const alignment_model *m, alignment_space *s, const int *source, int sources,
                         const int *target, int targets)
{
    for (int j = 0; j <= targets; j++)
        for (int i = 0; i <= sources; i++) {
            const int from = i < sources ? source[i] : 0, to = j < targets ? target[j] : 0;
            const bool known = (i == sources || from > 0) && (j == targets || to > 0) && (i < sources || j < targets);
            *entry_at(s, sources, j, i) = known ? attend_lexicon_find(&m->lexicon, from, to) : -1;
        }
}

static void gather_probabilities(const alignment_model *m, alignment_space *s, int direction, int sources, int targets)
{
    const int from = direction == 0 ? sources : targets, to = direction == 0 ? targets : sources;
    double *p = s->probabilities;
    for (int b = 0; b < to; b++)
        for (int a = 0; a <= from; a++) {
            const int entry = direction == 0 ? *entry_at(s, sources, b, a) : *entry_at(s, sources, a, b);
            const double known = entry >= 0 ? m->lexicon.entries[entry].probability[direction] : 0;
            *p++ = known > min_probability ? known : min_probability;
        }
}

/* jumps: (2, HMM_JUMPS) expected jumps are added; NULL: not needed */
static int posteriors_of(const alignment_model *m, alignment_space *s, const int *source, int sources,
                         const int *target, int targets, double (*jumps)[HMM_JUMPS])
{
    const int status = reserve(s, (size_t)(sources > targets ? sources : targets));
    if (status != ATTEND_OK) return status;
    find_entries(m, s, source, sources, target, targets);
    for (int d = 0; d < 2; d++) {
        const int from = d == 0 ? sources : targets, to = d == 0 ? targets : sources;
        gather_probabilities(m, s, d, sources, targets);
        if (m->uses_hmm)
            attend_hmm_posteriors(&s->hmm, m->jumps[d], from, to, s->probabilities, s->posteriors[d],
                                  jumps ? jumps[d] : NULL);
        else
            attend_model1_posteriors(from, to, s->probabilities, s->posteriors[d]);
    }
    return ATTEND_OK;
}

int attend_alignment_posteriors(const alignment_model *m, alignment_space *s, const int *source, int sources,
                                const int *target, int targets)
{
    return posteriors_of(m, s, source, sources, target, targets, NULL);
}

/* ---- links ---- */

static double posterior(const alignment_space *s, int direction, int sources, int targets, int i, int j)
{
    return direction == 0 ? s->posteriors[0][(size_t)j * ((size_t)sources + 1) + (size_t)i]
                          : s->posteriors[1][(size_t)i * ((size_t)targets + 1) + (size_t)j];
}

static double agreement(const alignment_space *s, int sources, int targets, int i, int j)
{
    return posterior(s, 0, sources, targets, i, j) * posterior(s, 1, sources, targets, i, j);
}

int attend_alignment_agreed(const alignment_space *s, int sources, int targets, double threshold,
                            attend_word_link *links, int capacity)
{
    int count = 0;
    for (int j = 0; j < targets; j++)
        for (int i = 0; i < sources && count < capacity; i++)
            if (agreement(s, sources, targets, i, j) >= threshold * threshold) {
                if (links) links[count] = (attend_word_link){ .source = i, .target = j, .sure = true };
                count++;
            }
    return count;
}

int attend_alignment_directed(const alignment_space *s, int direction, int sources, int targets,
                              attend_word_link *links)
{
    const int from = direction == 0 ? sources : targets, to = direction == 0 ? targets : sources;
    int count = 0;
    for (int b = 0; b < to; b++) {
        const double *row = s->posteriors[direction] + (size_t)b * ((size_t)from + 1);
        int best = from;
        for (int a = 0; a < from; a++)
            if (row[a] > row[best]) best = a;
        if (best < from)
            links[count++] = direction == 0 ? (attend_word_link){ .source = best, .target = b, .sure = true }
                                            : (attend_word_link){ .source = b, .target = best, .sure = true };
    }
    return count;
}

/* ---- training ---- */

typedef struct training {
    alignment_model *m;
    const alignment_pairs *pairs;
    const alignment_training *how;
    atomic_size_t next;                   /* the next pair that no thread has taken */
    atomic_int status;                    /* of the first thread that failed */
    _Atomic uint64_t jumps[2][HMM_JUMPS]; /* as the counts of the lexicon */
} training;

static bool is_usable(const alignment_pairs *p, size_t pair)
{
    return attend_alignment_can_align(p->lengths[0][pair], p->lengths[1][pair]);
}

/* The E step of a pair. Unknown words have no entries. */
static void count_pair(training *t, const alignment_space *s, int sources, int targets)
{
    attend_lexicon *l = &t->m->lexicon;
    for (int j = 0; j < targets; j++) {
        for (int i = 0; i < sources; i++) {
            const int entry = *entry_at(s, sources, j, i);
            if (entry >= 0) attend_lexicon_count(l, entry, agreement(s, sources, targets, i, j));
        }
        const int null = *entry_at(s, sources, j, sources);
        if (null >= 0) attend_lexicon_count(l, null, posterior(s, 0, sources, targets, sources, j));
    }
    for (int i = 0; i < sources; i++) {
        const int null = *entry_at(s, sources, targets, i);
        if (null >= 0) attend_lexicon_count(l, null, posterior(s, 1, sources, targets, i, targets));
    }
}

static int run_pair(training *t, alignment_space *s, size_t pair)
{
    const alignment_pairs *p = t->pairs;
    if (!is_usable(p, pair)) return ATTEND_OK;
    const int sources = p->lengths[0][pair], targets = p->lengths[1][pair];
    double jumps[2][HMM_JUMPS] = { { 0 } };
    const int status = posteriors_of(t->m, s, p->words[0] + p->starts[0][pair], sources,
                                     p->words[1] + p->starts[1][pair], targets, jumps);
    if (status != ATTEND_OK) return status;
    count_pair(t, s, sources, targets);
    for (int d = 0; t->m->uses_hmm && d < 2; d++)
        for (int k = 0; k < HMM_JUMPS; k++)
            atomic_fetch_add_explicit(&t->jumps[d][k], (uint64_t)(jumps[d][k] * 0x1p32 + 0.5), memory_order_relaxed);
    return ATTEND_OK;
}

static bool must_stop(const training *t)
{
    return t->how->stop && t->how->stop(t->how->user);
}

static int stopped(void)
{
    return attend_fail(ATTEND_FAILED, "the training of the word aligner was stopped");
}

static void run_thread(void *user, int thread)
{
    (void)thread;
    training *t = user;
    alignment_space space = { 0 };
    int status = ATTEND_OK;
    for (size_t first; status == ATTEND_OK && (first = atomic_fetch_add(&t->next, CHUNK)) < t->pairs->count;)
        for (size_t pair = first; status == ATTEND_OK && pair < t->pairs->count && pair < first + CHUNK; pair++)
            status = must_stop(t) ? ATTEND_FAILED : run_pair(t, &space, pair);
    if (status != ATTEND_OK) atomic_store(&t->status, status);
    attend_alignment_space_free(&space);
}

/* The M step of the jumps. One more of each class: a jump that was not seen is possible. */
static void normalize_jumps(training *t)
{
    for (int d = 0; d < 2; d++) {
        double sum = 0, counts[HMM_JUMPS];
        for (int k = 0; k < HMM_JUMPS; k++) {
            counts[k] = (double)atomic_load(&t->jumps[d][k]) * 0x1p-32 + 1;
            sum += counts[k];
            atomic_store(&t->jumps[d][k], 0);
        }
        for (int k = 0; k < HMM_JUMPS; k++) t->m->jumps[d][k] = counts[k] / sum;
    }
}

static int iterate(training *t, attend_pool *pool)
{
    atomic_store(&t->next, 0);
    attend_pool_run(pool, attend_pool_threads(pool), run_thread, t);
    if (atomic_load(&t->status) == ATTEND_FAILED) return stopped();
    if (atomic_load(&t->status) != ATTEND_OK)
        return attend_fail(atomic_load(&t->status), "no memory to train the word aligner");
    attend_lexicon_normalize(&t->m->lexicon);
    if (t->m->uses_hmm) normalize_jumps(t);
    return ATTEND_OK;
}

static int add_pair(attend_lexicon *l, const int *source, int sources, const int *target, int targets)
{
    int status = ATTEND_OK;
    for (int j = 0; j <= targets; j++)
        for (int i = 0; status == ATTEND_OK && i <= sources; i++) {
            const int from = i < sources ? source[i] : 0, to = j < targets ? target[j] : 0;
            if ((i == sources || from > 0) && (j == targets || to > 0) && (i < sources || j < targets))
                status = attend_lexicon_add(l, from, to);
        }
    return status;
}

static int fill_lexicon(training *t)
{
    const alignment_pairs *p = t->pairs;
    size_t usable = 0;
    int status = ATTEND_OK;
    for (size_t pair = 0; status == ATTEND_OK && pair < p->count; pair++) {
        if (must_stop(t)) return stopped();
        if (!is_usable(p, pair)) continue;
        usable++;
        status = add_pair(&t->m->lexicon, p->words[0] + p->starts[0][pair], p->lengths[0][pair],
                          p->words[1] + p->starts[1][pair], p->lengths[1][pair]);
    }
    if (status == ATTEND_OK && usable == 0)
        return attend_fail(ATTEND_BAD_DATA,
                           "there is no pair to learn word alignments from: of %zu pairs, each has an empty side or "
                           "one of more than %d words",
                           p->count, ALIGNMENT_MAX_WORDS);
    return status == ATTEND_OK ? attend_lexicon_start(&t->m->lexicon) : status;
}

int attend_alignment_model_train(alignment_model *m, const alignment_pairs *pairs, const alignment_training *how)
{
    training t = { .m = m, .pairs = pairs, .how = how };
    attend_pool *pool = NULL;
    const int iterations = how->model1_iterations + how->hmm_iterations;
    *m = (alignment_model){ 0 };
    attend_lexicon_init(&m->lexicon, how->max_bytes);
    for (int d = 0; d < 2; d++)
        for (int k = 0; k < HMM_JUMPS; k++) m->jumps[d][k] = 1.0 / HMM_JUMPS;
    int status = fill_lexicon(&t);
    if (status == ATTEND_OK) status = attend_pool_new(&pool, how->threads);
    for (int i = 0; status == ATTEND_OK && i < iterations; i++) {
        if (how->progress) how->progress(how->user, i, iterations);
        m->uses_hmm = i >= how->model1_iterations;
        status = iterate(&t, pool);
    }
    if (status == ATTEND_OK && how->progress) how->progress(how->user, iterations, iterations);
    if (status == ATTEND_OK) attend_lexicon_round(&m->lexicon, min_probability);
    attend_pool_free(pool);
    return status;
}

void attend_alignment_model_free(alignment_model *m)
{
    attend_lexicon_free(&m->lexicon);
}
