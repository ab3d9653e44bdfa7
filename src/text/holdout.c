#include "text/holdout.h"

#include "core/status.h"
#include <attend/words.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Without white space around and between words, which tokenizers ignore: the same words are the same source. The hash
 * has no random seed, because a pair must stay in its part. */
static uint64_t hash_words(const char *text, size_t size)
{
    uint64_t hash = 0;
    size_t at = 0;
    attend_span word;
    while (attend_word_next(text, size, &at, &word))
        hash = XXH3_64bits_withSeed(text + word.begin, (size_t)(word.end - word.begin), hash);
    return hash;
}

static bool is_blank(const char *text, size_t size)
{
    attend_span word;
    return !attend_word_next(text, size, &(size_t){ 0 }, &word);
}

/* Whether the pair is held out, and whether it is left out of both parts. */
static int decide(attend_holdout *h, const attend_pairs_spec *spec, uint64_t hash, bool *held_out, bool *left_out)
{
    *left_out = false;
    *held_out = (double)(hash >> 11) < spec->held_out * (double)(1ULL << 53);
    if (!*held_out || spec->max_held_out == 0) return ATTEND_OK;
    if (h->pairs >= spec->max_held_out) {
        *left_out = attend_hash_set_has(&h->sources, hash);
        *held_out = false;
        return ATTEND_OK;
    }
    h->pairs++;
    bool had;
    return attend_hash_set_add(&h->sources, hash, &had);
}

int attend_holdout_reads(attend_holdout *h, const attend_pairs_spec *spec, const attend_text_pair *pair, bool *is_read)
{
    const bool is_line = !spec->source;
    *is_read = spec->part != ATTEND_PART_HELD_OUT;
    if (spec->part == ATTEND_PART_ALL || is_blank(pair->target, pair->target_size) ||
        (!is_line && is_blank(pair->source, pair->source_size)))
        return ATTEND_OK;
    bool held_out, left_out;
    const uint64_t hash =
        is_line ? hash_words(pair->target, pair->target_size) : hash_words(pair->source, pair->source_size);
    const int status = decide(h, spec, hash, &held_out, &left_out);
    *is_read = !left_out && held_out == (spec->part == ATTEND_PART_HELD_OUT);
    return status;
}

void attend_holdout_free(attend_holdout *h)
{
    attend_hash_set_free(&h->sources);
}

int attend_pairs_hold_out(attend_pairs_spec *train, attend_pairs_spec *valid, int count, double fraction,
                          uint64_t max_pairs)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, (train && valid) || count < 1);
    if (!(fraction > 0 && fraction < 1))
        return attend_fail(ATTEND_BAD_USAGE, "the fraction of pairs to hold out is %g; it must lie between 0 and 1",
                           fraction);
    for (int i = 0; i < count; i++) {
        train[i].held_out = fraction, train[i].max_held_out = max_pairs;
        valid[i] = train[i];
        train[i].part = ATTEND_PART_TRAINING, valid[i].part = ATTEND_PART_HELD_OUT;
    }
    return ATTEND_OK;
}

/* Counts the pairs of a part that have words on both sides, up to `max`. */
static int count_pairs(const attend_pairs_spec *specs, int count, int max, int *pairs)
{
    attend_pairs_file *file = NULL;
    attend_text_pair p = { .source = "" };
    int status = attend_pairs_file_open(&file, specs, count);
    while (status == ATTEND_OK && p.source && *pairs < max) {
        status = attend_pairs_file_next(file, &p);
        const bool is_line = !specs[0].source;
        if (status == ATTEND_OK && p.source && !is_blank(p.target, p.target_size) &&
            (is_line || !is_blank(p.source, p.source_size)))
            ++*pairs;
        /* a faulty line is reported when the data is checked */
        if (status != ATTEND_OK && attend_pairs_file_fault(file) <= ATTEND_PAIR_TOO_LONG)
            status = ATTEND_OK, p.source = "";
    }
    attend_pairs_file_close(file);
    return status;
}

int attend_pairs_try_hold_out(attend_pairs_spec *train, attend_pairs_spec *valid, int count, double fraction,
                              uint64_t max_pairs, int min_pairs, int *held, int *left)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, train && valid && count >= 1);
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, held && left && min_pairs >= 1);
    *held = *left = 0;
    int status = attend_pairs_hold_out(train, valid, count, fraction, max_pairs);
    if (status != ATTEND_OK) return status;
    status = count_pairs(valid, count, min_pairs, held);
    if (status == ATTEND_OK) status = count_pairs(train, count, 1, left);
    if (status == ATTEND_OK && *held == min_pairs && *left == 1) return ATTEND_OK;
    for (int i = 0; i < count; i++) train[i].part = ATTEND_PART_ALL;
    return status;
}
