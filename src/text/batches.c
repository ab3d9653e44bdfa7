/* batches.c: the permutation of an epoch, its pools, and the batches of a pool. */
#include "text/batches.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/permutation.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BATCHES = 64, MIN_POOL_BATCHES = 8, MIN_POOLS = 8, MAX_TOKENS = 1 << 28, MAX_POOL = 1 << 24 };
enum { USE_PAIRS = 0x70616972, USE_BATCHES = 0x62617463 }; /* attend_rng.use; those of operations are small numbers */

typedef struct member {
    uint64_t number;    /* in the corpus */
    int source, target; /* lengths */
    int rank; /* position in the permutation: the last sort key, so that pairs of equal lengths are in random order */
} member;

struct attend_batches {
    const attend_corpus *corpus;
    attend_batches_options options;
    uint64_t pairs, pools;
    /* the current pool */
    bool ready;
    uint64_t epoch, pool;
    int count, batch_count;
    member *members; /* (count), sorted */
    int *starts;     /* (batch_count + 1) first member of each batch */
    int *order;      /* (batch_count), shuffled */
    /* the current batch */
    uint64_t *numbers; /* (maximum pairs of a pool) */
    int *source_lengths, *target_lengths;
    attend_ids sides[2];
    attend_ids whole;   /* a pair before it is cut */
    attend_string text; /* of a pair, to encode it again */
};

/* The size of a pair: the larger of its source tokens and its target rows. */
static int pair_tokens(int source, int target)
{
    return source > target ? source : target + 1;
}

/* --- creating --- */

/* The pairs of a pool: the number in the options, or else enough for POOL_BATCHES batches, so that the pairs of a batch
 * have similar lengths. If that is more than 1 / MIN_POOLS of the data, pools are smaller: with few pools, a pair would
 * be sorted with the same pairs in every epoch and would share its batches with them. */
static uint64_t pool_size(const attend_corpus_counts *n, const attend_batches_options *o)
{
    if (o->pool > 0) return (uint64_t)o->pool;
    const double mean = (double)(n->source_ids > n->target_ids ? n->source_ids : n->target_ids) / (double)n->pairs + 1;
    const double batch = (double)o->batch_tokens / mean, share = (double)n->pairs / MIN_POOLS;
    double size = POOL_BATCHES * batch;
    if (size > share) size = share > MIN_POOL_BATCHES * batch ? share : MIN_POOL_BATCHES * batch;
    return size < 1 ? 1 : size > MAX_POOL ? MAX_POOL : (uint64_t)size;
}

static int make_arrays(attend_batches *b)
{
    const size_t max = (size_t)((b->pairs + b->pools - 1) / b->pools);
    b->members = attend_memory_zeroed(max, sizeof *b->members);
    b->starts = attend_memory_zeroed(max + 1, sizeof *b->starts);
    b->order = attend_memory_zeroed(max, sizeof *b->order);
    b->numbers = attend_memory_zeroed(max, sizeof *b->numbers);
    b->source_lengths = attend_memory_zeroed(max, sizeof *b->source_lengths);
    b->target_lengths = attend_memory_zeroed(max, sizeof *b->target_lengths);
    const bool all = b->members && b->starts && b->order && b->numbers && b->source_lengths && b->target_lengths;
    return all ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory to sort %zu pairs into batches", max);
}

int attend_batches_new(attend_batches **out, const attend_corpus *corpus, const attend_batches_options *options)
{
    const attend_corpus_counts n = attend_corpus_count(corpus);
    *out = NULL;
    if (options->batch_tokens < 1 || options->batch_tokens > MAX_TOKENS || options->pool < 0 ||
        options->pool > MAX_POOL)
        return attend_fail(ATTEND_BAD_USAGE,
                           "batch_tokens is %d and pool %d; they must be from 1 to %d and from 0 to %d",
                           options->batch_tokens, options->pool, MAX_TOKENS, MAX_POOL);
    if (!attend_corpus_is_finished(corpus) || (options->encode && !attend_corpus_has_text(corpus)))
        return attend_fail(ATTEND_BAD_USAGE,
                           "batches need a finished corpus and, if texts are encoded again, one that keeps its texts");
    if (n.pairs == 0)
        return attend_fail(
            ATTEND_BAD_DATA,
            "no usable pairs or lines: %llu have an empty side and %llu are too long; use other data, or "
            "raise the maximum length (with learned positions, also the model's maximum number of "
            "positions)",
            (unsigned long long)n.empty, (unsigned long long)n.too_long);
    attend_batches *b = attend_memory_zeroed(1, sizeof *b);
    if (!b) return attend_fail(ATTEND_NO_MEMORY, "no memory for batches");
    b->corpus = corpus;
    b->options = *options;
    b->pairs = n.pairs;
    const uint64_t pool = pool_size(&n, options);
    b->pools = (n.pairs + pool - 1) / pool;
    const int status = make_arrays(b);
    if (status == ATTEND_OK)
        *out = b;
    else
        attend_batches_free(b);
    return status;
}

void attend_batches_free(attend_batches *b)
{
    if (!b) return;
    for (int i = 0; i < 2; i++) attend_ids_free(&b->sides[i]);
    attend_ids_free(&b->whole);
    attend_string_free(&b->text);
    attend_memory_free(b->target_lengths);
    attend_memory_free(b->source_lengths);
    attend_memory_free(b->numbers);
    attend_memory_free(b->order);
    attend_memory_free(b->starts);
    attend_memory_free(b->members);
    attend_memory_free(b);
}

/* --- pools --- */

/* The number of pairs before pool p. If the pairs do not divide evenly, the first pools have one more. */
static uint64_t pool_start(const attend_batches *b, uint64_t p)
{
    const uint64_t extra = b->pairs % b->pools;
    return b->pairs / b->pools * p + (p < extra ? p : extra);
}

static int compare_lengths(const void *a, const void *b)
{
    const member *x = a, *y = b;
    const int tokens = pair_tokens(x->source, x->target) - pair_tokens(y->source, y->target);
    if (tokens != 0) return tokens;
    if (x->target != y->target) return x->target - y->target;
    if (x->source != y->source) return x->source - y->source;
    return x->rank - y->rank;
}

/* Fisher-Yates shuffle, by (seed, epoch, pool). */
static void shuffle_order(attend_batches *b)
{
    const attend_rng r = { b->options.seed, b->epoch << 32 ^ b->pool, USE_BATCHES };
    for (int i = 0; i < b->batch_count; i++) b->order[i] = i;
    for (int i = b->batch_count - 1; i > 0; i--) {
        const int j = (int)(attend_rng_uniform(&r, (uint64_t)i) * (i + 1)), kept = b->order[i];
        b->order[i] = b->order[j];
        b->order[j] = kept;
    }
}

static void group_batches(attend_batches *b)
{
    int tokens = 0;
    b->batch_count = 0;
    for (int i = 0; i < b->count; i++) {
        const int size = pair_tokens(b->members[i].source, b->members[i].target);
        if (i == 0 || size > b->options.batch_tokens - tokens) {
            b->starts[b->batch_count++] = i;
            tokens = 0;
        }
        tokens += size;
    }
    b->starts[b->batch_count] = b->count;
}

static int make_pool(attend_batches *b, uint64_t epoch, uint64_t pool)
{
    const attend_rng r = { b->options.seed, epoch, USE_PAIRS };
    const attend_permutation shuffle = attend_permutation_of(b->pairs, &r);
    const uint64_t start = pool_start(b, pool);
    b->epoch = epoch;
    b->pool = pool;
    b->count = (int)(pool_start(b, pool + 1) - start);
    for (int i = 0; i < b->count; i++) {
        member *m = b->members + i;
        m->number = attend_permutation_at(&shuffle, start + (uint64_t)i);
        m->rank = i;
        const int status = attend_corpus_lengths(b->corpus, m->number, &m->source, &m->target);
        if (status != ATTEND_OK) return status;
    }
    /* glibc's qsort allocates memory; if that fails, it sorts in place */
    qsort(b->members, (size_t)b->count, sizeof *b->members, compare_lengths);
    group_batches(b);
    shuffle_order(b);
    b->ready = true;
    return ATTEND_OK;
}

/* --- batches --- */

static int grow(attend_ids *side, size_t count)
{
    if (count > INT_MAX) return attend_fail(ATTEND_BAD_DATA, "a batch has more than %d tokens on a side", INT_MAX);
    if (count <= (size_t)side->capacity) return ATTEND_OK;
    attend_memory_free(side->ids);
    side->capacity = 0;
    side->ids = attend_memory_zeroed(count, sizeof *side->ids);
    if (!side->ids) return attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %zu tokens", count);
    side->capacity = (int)count;
    return ATTEND_OK;
}

/* How many tokens are left out at the beginning of a pair. */
static void cut_of(const attend_batches *b, uint64_t epoch, uint64_t number, int cut[2])
{
    cut[0] = cut[1] = 0;
    if (b->options.crop) b->options.crop(b->options.crop_user, epoch, number, &cut[0], &cut[1]);
}

static void set_lengths(attend_batches *b, const member *members, int count)
{
    for (int i = 0; i < count; i++) {
        int cut[2];
        cut_of(b, b->epoch, members[i].number, cut);
        b->source_lengths[i] = members[i].source - cut[0];
        b->target_lengths[i] = members[i].target - cut[1];
    }
}

/* Copies the tokens of a pair of the given lengths without what is cut. Memory for whole pairs is there if nothing is cut. */
static int copy_pair(attend_batches *b, uint64_t epoch, uint64_t number, const int whole[2], int *source, int *target)
{
    int cut[2];
    cut_of(b, epoch, number, cut);
    if (cut[0] == 0 && cut[1] == 0) return attend_corpus_ids(b->corpus, number, source, target);
    int *to[2] = { source, target };
    const size_t both = (size_t)whole[0] + (size_t)whole[1];
    int status = grow(&b->whole, both);
    if (status == ATTEND_OK) status = attend_corpus_ids(b->corpus, number, b->whole.ids, b->whole.ids + whole[0]);
    for (int side = 0, at = 0; status == ATTEND_OK && side < 2; at += whole[side++])
        if (whole[side] > cut[side])
            memcpy(to[side], b->whole.ids + at + cut[side], (size_t)(whole[side] - cut[side]) * sizeof *b->whole.ids);
    return status;
}

int attend_batches_pair(attend_batches *b, uint64_t epoch, uint64_t number, int *source, int *target)
{
    int whole[2];
    const int status = attend_corpus_lengths(b->corpus, number, &whole[0], &whole[1]);
    return status == ATTEND_OK ? copy_pair(b, epoch, number, whole, source, target) : status;
}

static int copy_batch(attend_batches *b, const member *members, int count)
{
    size_t tokens[2] = { 0, 0 };
    set_lengths(b, members, count);
    for (int i = 0; i < count; i++) {
        tokens[0] += (size_t)b->source_lengths[i];
        tokens[1] += (size_t)b->target_lengths[i];
    }
    for (int side = 0; side < 2; side++) {
        const int status = grow(&b->sides[side], tokens[side]);
        if (status != ATTEND_OK) return status;
    }
    int *source = b->sides[0].ids, *target = b->sides[1].ids;
    for (int i = 0; i < count; i++) {
        const int whole[2] = { members[i].source, members[i].target };
        const int status = copy_pair(b, b->epoch, members[i].number, whole, source, target);
        if (status != ATTEND_OK) return status;
        if (members[i].source) source += b->source_lengths[i]; /* the array of empty sources may be NULL */
        target += b->target_lengths[i];
    }
    return ATTEND_OK;
}

/* Encodes the texts of a batch again. */
static int encode_batch(attend_batches *b, const member *members, int count)
{
    const attend_batches_options *o = &b->options;
    attend_ids *source = &b->sides[0], *target = &b->sides[1];
    source->count = target->count = 0;
    for (int i = 0; i < count; i++) {
        const int start[2] = { source->count, target->count };
        const uint64_t number = members[i].number;
        attend_text_pair text;
        int status = attend_corpus_text(b->corpus, number, &b->text, &text);
        if (status == ATTEND_OK && members[i].source > 0) /* monolingual lines have no source */
            status = o->encode(o->user, ATTEND_SOURCE, b->epoch, number, text.source, text.source_size, source);
        if (status == ATTEND_OK)
            status = o->encode(o->user, ATTEND_TARGET, b->epoch, number, text.target, text.target_size, target);
        if (status != ATTEND_OK) return status;
        b->source_lengths[i] = source->count - start[0];
        b->target_lengths[i] = target->count - start[1];
    }
    return ATTEND_OK;
}

/* Makes its pool. */
int attend_batches_check(attend_batches *b, const attend_batch_position *p, int *part)
{
    int status = ATTEND_OK;
    if (b->epoch != p->epoch || b->pool != p->pool) b->ready = false;
    *part = p->epoch > UINT32_MAX ? 0 : p->pool >= b->pools ? 1 : 2;
    if (*part == 2 && !b->ready) status = make_pool(b, p->epoch, p->pool);
    if (status != ATTEND_OK || (*part == 2 && p->batch < (uint64_t)b->batch_count)) return status;
    return attend_fail(
        ATTEND_BAD_USAGE,
        "there is no batch %llu in pool %llu of epoch %llu; the position was saved with other data or options",
        (unsigned long long)p->batch, (unsigned long long)p->pool, (unsigned long long)p->epoch);
}

static void advance(const attend_batches *b, attend_batch_position *p)
{
    if (++p->batch < (uint64_t)b->batch_count) return;
    p->batch = 0;
    if (++p->pool < b->pools) return;
    p->pool = 0;
    p->epoch++;
}

/* has_tokens: reads the tokens, not only the lengths. */
static int next(attend_batches *b, attend_batch_position *position, attend_batch *batch, bool has_tokens)
{
    int part, status = attend_batches_check(b, position, &part);
    if (status != ATTEND_OK) return status;
    const int at = b->order[position->batch], count = b->starts[at + 1] - b->starts[at];
    const member *members = b->members + b->starts[at];
    *batch = (attend_batch){ .numbers = b->numbers, .position = *position };
    for (int i = 0; i < count; i++) {
        b->numbers[i] = members[i].number;
        batch->tokens += pair_tokens(members[i].source, members[i].target);
    }
    if (!has_tokens)
        set_lengths(b, members, count);
    else
        status = b->options.encode ? encode_batch(b, members, count) : copy_batch(b, members, count);
    if (status != ATTEND_OK) return status;
    batch->pairs = (attend_pairs){ .count = count,
                                   .source = has_tokens ? b->sides[0].ids : NULL,
                                   .source_lengths = b->source_lengths,
                                   .target = has_tokens ? b->sides[1].ids : NULL,
                                   .target_lengths = b->target_lengths };
    advance(b, position);
    batch->last = position->epoch != batch->position.epoch;
    return ATTEND_OK;
}

int attend_batches_next(attend_batches *b, attend_batch_position *position, attend_batch *batch)
{
    return next(b, position, batch, true);
}

bool attend_batches_know_lengths(const attend_batches *b)
{
    return !b->options.encode;
}

int attend_batches_next_lengths(attend_batches *b, attend_batch_position *position, attend_batch *batch)
{
    if (attend_batches_know_lengths(b)) return next(b, position, batch, false);
    return attend_fail(ATTEND_BAD_USAGE, "the lengths of texts that are encoded again are not known before");
}

uint64_t attend_batches_pools(const attend_batches *b)
{
    return b->pools;
}

int attend_batches_in_pool(attend_batches *b, uint64_t epoch, uint64_t pool, int *count)
{
    const int status = make_pool(b, epoch, pool);
    b->ready = false; /* not a position of training */
    *count = b->batch_count;
    return status;
}

double attend_batches_progress(const attend_batches *b, const attend_batch_position *p)
{
    const double in_pool = b->ready && p->pool == b->pool ? (double)p->batch / b->batch_count : 0;
    return ((double)p->pool + in_pool) / (double)b->pools;
}
