/* aligner.c: texts to numbered words, training, and the links of pairs. */
#include "align/aligner.h"

#include "core/memory.h"
#include "core/pool.h"
#include "core/status.h"
#include "core/string.h"
#include "text/normalize.h"
#include <limits.h>
#include <math.h>
#include <string.h>

_Static_assert((int)ATTEND_ALIGNER_MAX_WORDS == (int)ALIGNMENT_MAX_WORDS, "the public limit is that of the model");

attend_aligner_options attend_aligner_defaults(void)
{
    return (attend_aligner_options){ .threads = 1,
                                     .model1_iterations = ATTEND_ALIGNER_ITERATIONS,
                                     .hmm_iterations = ATTEND_ALIGNER_ITERATIONS,
                                     .threshold = ATTEND_ALIGNER_THRESHOLD };
}

/* ---- creation ---- */

static int check_options(const attend_aligner_options *o)
{
    if (o->threads < 1 || o->threads > 1024)
        return attend_fail(ATTEND_BAD_USAGE, "a word aligner uses 1 to 1024 threads, not %d", o->threads);
    if (o->unit != ATTEND_UNIT_AUTO && o->unit != ATTEND_UNIT_WORD && o->unit != ATTEND_UNIT_CHARACTER)
        return attend_fail(ATTEND_BAD_USAGE, "a word aligner links words or characters");
    if (o->model1_iterations < 0 || o->model1_iterations > 1000 || o->hmm_iterations < 0 || o->hmm_iterations > 1000 ||
        o->model1_iterations + o->hmm_iterations < 1)
        return attend_fail(ATTEND_BAD_USAGE, "a word aligner is trained for 1 to 1000 iterations");
    if (!(o->threshold > 0 && o->threshold <= 1))
        return attend_fail(ATTEND_BAD_USAGE, "the threshold of a word aligner is above 0 and at most 1");
    return ATTEND_OK;
}

int attend_aligner_new(attend_aligner **out, const attend_aligner_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && options);
    *out = NULL;
    const int status = check_options(options);
    if (status != ATTEND_OK) return status;
    attend_aligner *a = attend_memory_zeroed(1, sizeof *a);
    if (!a) return attend_fail(ATTEND_NO_MEMORY, "no memory for a word aligner");
    a->options = *options;
    for (int side = 0; side < 2; side++) a->added.sides[side].unit = options->unit;
    *out = a;
    return ATTEND_OK;
}

static void batch_clear(aligner_batch *b)
{
    b->count = 0;
    for (int side = 0; side < 2; side++) b->sides[side].used = 0;
}

static void batch_free(aligner_batch *b)
{
    for (int side = 0; side < 2; side++) {
        aligner_side *s = &b->sides[side];
        attend_string_table_free(&s->vocabulary);
        attend_memory_free(s->words);
        attend_memory_free(s->lengths);
        attend_memory_free(s->starts);
    }
}

static void free_results(attend_aligner *a)
{
    for (int i = 0; a->links && i < a->result_count; i++) attend_memory_free(a->links[i]);
    attend_memory_free(a->links);
    attend_memory_free(a->results);
    a->links = NULL, a->results = NULL, a->result_count = 0;
}

void attend_aligner_free(attend_aligner *a)
{
    if (!a) return;
    free_results(a);
    batch_free(&a->added);
    batch_free(&a->others);
    attend_alignment_model_free(&a->model);
    attend_memory_free(a);
}

/* ---- pairs ---- */

static int no_memory(void)
{
    return attend_fail(ATTEND_NO_MEMORY, "no memory for the pairs of a word aligner");
}

static void *grow(void *list, size_t used, size_t element, size_t *capacity)
{
    return used < *capacity ? list : attend_grow_array(list, used, used + 1, element, capacity);
}

/* Appends the words of a text. `known`: words that are not in the vocabulary become 0; otherwise they are added. */
static int add_words(aligner_side *to, attend_string_table *vocabulary, attend_unit unit, const attend_string *text,
                     bool known)
{
    attend_span span;
    for (size_t at = 0; attend_unit_next(unit, text->text, text->size, &at, &span);) {
        const char *word = text->text + span.begin;
        const size_t size = (size_t)(span.end - span.begin);
        int number = known ? attend_string_table_find(vocabulary, word, size) : -1;
        const int status = known ? ATTEND_OK : attend_string_table_add(vocabulary, word, size, &number);
        if (status != ATTEND_OK) return status;
        int *words = grow(to->words, to->used, sizeof *words, &to->capacity);
        if (!words) return no_memory();
        to->words = words;
        to->words[to->used++] = number + 1;
    }
    return ATTEND_OK;
}

/* Appends a text as pair number `pair` of a side. */
static int add_text(aligner_side *to, size_t pair, attend_string_table *vocabulary, attend_unit unit, const char *text,
                    bool known)
{
    int *lengths = grow(to->lengths, pair, sizeof *lengths, &to->pair_capacity);
    if (lengths) to->lengths = lengths;
    size_t *starts = grow(to->starts, pair, sizeof *starts, &to->start_capacity);
    if (starts) to->starts = starts;
    if (!lengths || !starts) return no_memory();
    attend_string normal = { 0 };
    const size_t start = to->used;
    int status = attend_normalize(&normal, text, strlen(text));
    const bool is_text = status == ATTEND_OK;
    if (is_text) status = add_words(to, vocabulary, unit, &normal, known);
    attend_string_free(&normal);
    if (status == ATTEND_NO_MEMORY || (is_text && status != ATTEND_OK)) return status;
    to->starts[pair] = start;
    to->lengths[pair] = is_text ? (int)(to->used - start) : -1;
    return ATTEND_OK;
}

/* The bytes of the pairs and vocabularies; a table of strings grows to twice its size. */
static double pair_bytes(const aligner_batch *b)
{
    double bytes = 0;
    for (int side = 0; side < 2; side++) {
        const aligner_side *s = &b->sides[side];
        const attend_string_table *v = &s->vocabulary;
        bytes += (double)s->capacity * sizeof *s->words + (double)s->pair_capacity * sizeof *s->lengths +
                 (double)s->start_capacity * sizeof *s->starts;
        bytes += (double)v->bytes.capacity + (double)v->capacity * sizeof *v->entries +
                 (double)v->slot_count * sizeof *v->slots;
    }
    return bytes;
}

/* The pairs may take half of the memory: the rest is for the translation probabilities. */
static int check_memory(const attend_aligner *a)
{
    if (a->options.memory == 0 || pair_bytes(&a->added) <= (double)a->options.memory / 2) return ATTEND_OK;
    return attend_fail(ATTEND_NO_MEMORY,
                       "%zu pairs of the word aligner take more than half of the memory limit: raise it, or train the "
                       "aligner on fewer pairs",
                       a->added.count);
}

static int add_pairs(attend_aligner *a, aligner_batch *to, int count, const char *const *sources,
                     const char *const *targets, bool known)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const size_t used[2] = { to->sides[0].used, to->sides[1].used };
        for (int side = 0; status == ATTEND_OK && side < 2; side++) {
            aligner_side *own = &a->added.sides[side];
            status = add_text(&to->sides[side], to->count, &own->vocabulary, own->unit,
                              side == 0 ? sources[i] : targets[i], known);
        }
        if (status == ATTEND_OK && !known) status = check_memory(a);
        if (status == ATTEND_OK)
            to->count++;
        else
            for (int side = 0; side < 2; side++) to->sides[side].used = used[side];
    }
    return status;
}

/* Characters if most lines are a single word. */
static attend_unit unit_of(int count, const char *const *texts)
{
    double words = 0, lines = 0;
    for (int i = 0; i < count; i++) {
        const int n = attend_word_count(texts[i], strlen(texts[i]));
        words += n, lines += n > 0;
    }
    return lines > 0 && words < ATTEND_SINGLE_WORDS * lines ? ATTEND_UNIT_CHARACTER : ATTEND_UNIT_WORD;
}

int attend_aligner_add(attend_aligner *a, int count, const char *const *sources, const char *const *targets)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a && ((sources && targets) || count < 1));
    if (a->is_trained) return attend_fail(ATTEND_BAD_USAGE, "the word aligner is trained; pairs cannot be added");
    for (int i = 0; i < count; i++) ATTEND_REQUIRE(ATTEND_BAD_USAGE, sources[i] && targets[i]);
    for (int side = 0; side < 2 && count > 0; side++) {
        attend_unit *unit = &a->added.sides[side].unit;
        if (*unit == ATTEND_UNIT_AUTO) *unit = unit_of(count, side == 0 ? sources : targets);
    }
    return add_pairs(a, &a->added, count, sources, targets, false);
}

size_t attend_aligner_pairs(const attend_aligner *a)
{
    ATTEND_REQUIRE(0, a);
    return a->added.count;
}

int attend_aligner_train(attend_aligner *a)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a);
    if (a->is_trained) return attend_fail(ATTEND_BAD_USAGE, "the word aligner is trained already");
    const attend_aligner_options *o = &a->options;
    const aligner_side *s = a->added.sides;
    const alignment_pairs pairs = { .count = a->added.count,
                                    .words = { s[0].words, s[1].words },
                                    .starts = { s[0].starts, s[1].starts },
                                    .lengths = { s[0].lengths, s[1].lengths } };
    const alignment_training how = { .threads = o->threads,
                                     .model1_iterations = o->model1_iterations,
                                     .hmm_iterations = o->hmm_iterations,
                                     .max_bytes = o->memory > 0 ? (double)o->memory - pair_bytes(&a->added) : INFINITY,
                                     .progress = o->progress,
                                     .user = o->user,
                                     .stop = o->stop };
    const int status = attend_alignment_model_train(&a->model, &pairs, &how);
    a->is_trained = status == ATTEND_OK;
    if (status != ATTEND_OK) attend_alignment_model_free(&a->model);
    return status;
}

/* ---- links ---- */

typedef struct linking {
    attend_aligner *a;
    const aligner_batch *from;
    size_t first;
    atomic_int next, status;
} linking;

static const char *fault_of(int sources, int targets)
{
    if (sources < 0 || targets < 0) return "it is not valid UTF-8";
    if (sources == 0 || targets == 0) return "a side is empty";
    if (sources > ALIGNMENT_MAX_WORDS || targets > ALIGNMENT_MAX_WORDS) return "a side has more than 500 words";
    return NULL;
}

static int link_pair(linking *l, alignment_space *space, int i)
{
    const aligner_side *s = l->from->sides;
    const size_t pair = l->first + (size_t)i;
    const int sources = s[0].lengths[pair], targets = s[1].lengths[pair];
    attend_aligned_pair *r = &l->a->results[i];
    r->fault = fault_of(sources, targets);
    if (r->fault) return ATTEND_OK;
    int status = attend_alignment_posteriors(&l->a->model, space, s[0].words + s[0].starts[pair], sources,
                                             s[1].words + s[1].starts[pair], targets);
    if (status != ATTEND_OK) return status;
    const double threshold = l->a->options.threshold;
    const int agreed = attend_alignment_agreed(space, sources, targets, threshold, NULL, INT_MAX);
    attend_word_link *links = attend_memory_zeroed((size_t)sources + (size_t)targets + (size_t)agreed, sizeof *links);
    if (!links) return no_memory();
    l->a->links[i] = links;
    r->counts[ATTEND_ALIGNED_FORWARD] = attend_alignment_directed(space, 0, sources, targets, links);
    r->counts[ATTEND_ALIGNED_REVERSE] = attend_alignment_directed(space, 1, sources, targets, links + targets);
    r->counts[ATTEND_ALIGNED_AGREED] =
        attend_alignment_agreed(space, sources, targets, threshold, links + targets + sources, agreed);
    r->links[ATTEND_ALIGNED_FORWARD] = links;
    r->links[ATTEND_ALIGNED_REVERSE] = links + targets;
    r->links[ATTEND_ALIGNED_AGREED] = links + targets + sources;
    return ATTEND_OK;
}

static void link_some(void *user, int thread)
{
    (void)thread;
    linking *l = user;
    alignment_space space = { 0 };
    int status = ATTEND_OK;
    for (int i; status == ATTEND_OK && (i = atomic_fetch_add(&l->next, 1)) < l->a->result_count;)
        status = link_pair(l, &space, i);
    if (status != ATTEND_OK) atomic_store(&l->status, status);
    attend_alignment_space_free(&space);
}

static int link_all(attend_aligner *a, const aligner_batch *from, size_t first, int count)
{
    free_results(a);
    a->results = attend_memory_zeroed((size_t)count + 1, sizeof *a->results);
    a->links = attend_memory_zeroed((size_t)count + 1, sizeof *a->links);
    attend_pool *pool = NULL;
    int status = a->results && a->links ? attend_pool_new(&pool, a->options.threads) : no_memory();
    linking l = { .a = a, .from = from, .first = first };
    if (status == ATTEND_OK) {
        a->result_count = count;
        attend_pool_run(pool, a->options.threads, link_some, &l);
        if (atomic_load(&l.status) != ATTEND_OK) status = no_memory();
    }
    attend_pool_free(pool);
    if (status != ATTEND_OK) free_results(a);
    return status;
}

static int not_trained(void)
{
    return attend_fail(ATTEND_BAD_USAGE, "the word aligner is not trained yet");
}

int attend_aligner_align_added(attend_aligner *a, size_t first, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a);
    if (!a->is_trained) return not_trained();
    if (count < 0 || first > a->added.count || (size_t)count > a->added.count - first)
        return attend_fail(ATTEND_BAD_USAGE, "the word aligner has %zu pairs", a->added.count);
    return link_all(a, &a->added, first, count);
}

int attend_aligner_align(attend_aligner *a, int count, const char *const *sources, const char *const *targets)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, a && count >= 0 && ((sources && targets) || count == 0));
    if (!a->is_trained) return not_trained();
    for (int i = 0; i < count; i++) ATTEND_REQUIRE(ATTEND_BAD_USAGE, sources[i] && targets[i]);
    batch_clear(&a->others);
    const int status = add_pairs(a, &a->others, count, sources, targets, true);
    return status == ATTEND_OK ? link_all(a, &a->others, 0, count) : status;
}

const attend_aligned_pair *attend_aligner_result(const attend_aligner *a, int pair)
{
    ATTEND_REQUIRE(NULL, a);
    return pair >= 0 && pair < a->result_count ? &a->results[pair] : NULL;
}
