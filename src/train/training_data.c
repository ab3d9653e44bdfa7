/* training_data.c: from files of pairs, or of lines, to the numbers of an update. */
#include "train/trainer.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/buffers.h"
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

bool attend_trainer_lines(const trainer *t)
{
    return t->o.config.task == ATTEND_TASK_LANGUAGE_MODEL;
}

const char *attend_spec_name(const attend_pairs_spec *spec)
{
    return spec->source ? spec->source : spec->target;
}

/* ---- tokenizers ---- */

/* The lines of one side, or of both: what a tokenizer learns from. */
typedef struct side_lines {
    trainer *t;
    attend_pairs_file *file;
    attend_side side;
    bool both;
    bool second; /* the source of the last pair was given, its target comes now */
    attend_text_pair pair;
    uint64_t bytes, most; /* given so far, and when to begin again with fewer */
    int halvings;         /* one line in 2^halvings is given, by its hash */
    bool too_many;
} side_lines;

/* Looking at the clock and the like for every line would take longer than the lines. */
static bool is_stopped(trainer *t, uint64_t line)
{
    if (line % 4096 == 0 && attend_trainer_stops(t)) t->stopped = true;
    return t->stopped;
}

static int next_pair(side_lines *l)
{
    const int status = attend_pairs_file_next(l->file, &l->pair);
    if (status != ATTEND_OK) return -status;
    if (!l->pair.source) return 0;
    if (is_stopped(l->t, l->pair.line)) return -attend_fail(ATTEND_FAILED, "stopped");
    return 1;
}

/* An attend_line_fn. */
static int next_line(void *user, const char **line, size_t *size)
{
    side_lines *l = user;
    for (;;) {
        const int more = l->second ? 1 : next_pair(l);
        if (more <= 0) return more;
        const bool target = l->both ? l->second : l->side == ATTEND_TARGET;
        l->second = l->both && !l->second;
        *line = target ? l->pair.target : l->pair.source;
        *size = target ? l->pair.target_size : l->pair.source_size;
        if (l->halvings > 0 && XXH3_64bits(*line, *size) >> (64 - l->halvings) != 0) continue;
        l->bytes += *size;
        l->too_many = l->bytes > l->most;
        return l->too_many ? -attend_fail(ATTEND_FAILED, "too many lines") : 1;
    }
}

/* Bytes of lines to learn pieces from: a line without blanks is one long word, of which every byte takes LEARN_BYTES while merges are learned. */
enum { LEARN_BYTES = 64, LEARN_MOST = 64 << 20 };
static uint64_t most_bytes(const trainer *t, attend_side side)
{
    if (t->o.tokens[side].kind != ATTEND_TOKENS_BPE) return UINT64_MAX;
    const uint64_t fit = t->o.memory / LEARN_BYTES;
    return t->o.memory > 0 && fit < LEARN_MOST ? fit : LEARN_MOST;
}

/* Where there are more lines than that, half of them do, or half of those: which ones is a matter of their text, so that the order of lines,
 * here as elsewhere, does not matter. */
static int learn_side(trainer *t, attend_side side)
{
    int halvings = 0;
    const bool lines = attend_trainer_lines(t); /* which are targets */
    for (;; halvings++) {
        side_lines l = { .t = t,
                         .side = lines ? ATTEND_TARGET : side,
                         .both = t->o.config.shared_vocab && !lines,
                         .most = most_bytes(t, side),
                         .halvings = halvings };
        int status = attend_pairs_file_open(&l.file, t->o.train, t->o.train_count);
        if (status == ATTEND_OK)
            status = attend_tokenizer_learn(&t->tokenizers[side], &t->o.tokens[side], next_line, &l);
        if (status == ATTEND_BAD_DATA && attend_pairs_file_fault(l.file) == ATTEND_PAIR_OK && l.pair.source) {
            char why[512];
            snprintf(why, sizeof why, "%s", attend_message());
            const char *text = strstr(why, ": "); /* "line n": of the lines given, which are not those of a file */
            const bool target = l.both ? !l.second : l.side == ATTEND_TARGET;
            status = attend_fail(status, "%s:%llu%s", target ? l.pair.target_file : l.pair.source_file,
                                 (unsigned long long)l.pair.line, text ? text : "");
        }
        attend_pairs_file_close(l.file);
        if (!l.too_many) return status;
    }
}

/* Lines are nothing to translate, and pairs no text. */
static int fits_task(const trainer *t, const attend_pairs_spec *specs, int count)
{
    for (int i = 0; i < count; i++) {
        if (!specs[i].source == attend_trainer_lines(t)) continue;
        return attend_fail(ATTEND_BAD_USAGE,
                           attend_trainer_lines(t)
                               ? "%s: a language model learns from lines of text alone, and these are pairs"
                               : "%s: a translation is learned from pairs, and these are lines of text alone, which "
                                 "are for task 'language-model'",
                           attend_spec_name(&specs[i]));
    }
    return ATTEND_OK;
}

int attend_trainer_check_files(const trainer *t)
{
    attend_pairs_file *file = NULL;
    int status = fits_task(t, t->o.train, t->o.train_count);
    if (status == ATTEND_OK) status = fits_task(t, t->o.valid, t->o.valid_count);
    if (status != ATTEND_OK) return status;
    status = attend_pairs_file_open(&file, t->o.train, t->o.train_count);
    attend_pairs_file_close(file);
    if (status != ATTEND_OK || t->o.valid_count == 0) return status;
    status = attend_pairs_file_open(&file, t->o.valid, t->o.valid_count);
    attend_pairs_file_close(file);
    return status;
}

int attend_trainer_learn(trainer *t)
{
    int status = learn_side(t, ATTEND_SOURCE);
    if (status != ATTEND_OK) return status;
    if (t->o.config.shared_vocab)
        t->tokenizers[ATTEND_TARGET] = t->tokenizers[ATTEND_SOURCE];
    else
        status = learn_side(t, ATTEND_TARGET);
    return status;
}

/* ---- corpora ---- */

/* An attend_encode_fn. */
static int encode(void *user, attend_side side, const char *text, size_t size, attend_ids *out)
{
    trainer *t = user;
    if ((side == ATTEND_SOURCE || attend_trainer_lines(t)) && is_stopped(t, ++t->lines))
        return attend_fail(ATTEND_FAILED, "stopped");
    return attend_pipeline_encode(t->tokenizers[side], side, text, size, out, 0, 0, 0);
}

/* An attend_reencode_fn: with BPE-dropout, as a function of (seed, epoch, pair). */
static int encode_again(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text, size_t size,
                        attend_ids *out)
{
    const trainer *t = user;
    return attend_pipeline_encode(t->tokenizers[side], side, text, size, out, t->o.bpe_dropout, t->o.seed,
                                  (epoch << 40 ^ pair) << 1 | (uint64_t)side);
}

static int corpus_of(trainer *t, attend_corpus **out, const attend_pairs_spec *specs, int count, bool keep_text)
{
    const attend_corpus_options options = { .vocabulary = attend_tokenizer_size(t->tokenizers[0]) >
                                                                  attend_tokenizer_size(t->tokenizers[1])
                                                              ? attend_tokenizer_size(t->tokenizers[0])
                                                              : attend_tokenizer_size(t->tokenizers[1]),
                                            .max_length = t->o.max_length,
                                            .lines = attend_trainer_lines(t),
                                            .keep_text = keep_text };
    attend_pairs_file *file = NULL;
    int status = attend_pairs_file_open(&file, specs, count);
    if (status == ATTEND_OK) status = attend_corpus_new(out, &options);
    if (status == ATTEND_OK) status = attend_corpus_read(*out, file, encode, t);
    attend_pairs_file_close(file);
    return status == ATTEND_OK ? attend_corpus_finish(*out) : status;
}

int attend_trainer_corpora(trainer *t)
{
    const bool again = t->o.bpe_dropout > 0;
    int status = corpus_of(t, &t->train, t->o.train, t->o.train_count, again);
    if (status == ATTEND_OK && t->o.valid_count > 0)
        status = corpus_of(t, &t->valid, t->o.valid, t->o.valid_count, true);
    if (status == ATTEND_OK && t->valid && attend_corpus_count(t->valid).pairs == 0)
        return attend_fail(ATTEND_BAD_DATA, "%s: no validation %s is left: all are empty%s or too long",
                           attend_spec_name(&t->o.valid[0]), attend_trainer_lines(t) ? "line" : "pair",
                           attend_trainer_lines(t) ? "" : " on a side");
    const attend_batches_options options = {
        .seed = t->o.seed, .batch_tokens = t->o.batch_tokens, .encode = again ? encode_again : NULL, .user = t
    };
    if (status == ATTEND_OK) status = attend_batches_new(&t->batches, t->train, &options);
    return status;
}

/* ---- the pairs of an update ---- */

static bool ints_fit(int **array, size_t *room, size_t used, size_t more)
{
    if (used + more <= *room) return true;
    const size_t larger = 2 * *room + more;
    int *grown = attend_memory_zeroed(larger, sizeof *grown);
    if (!grown) return false;
    if (used) memcpy(grown, *array, used * sizeof *grown);
    attend_memory_free(*array);
    *array = grown, *room = larger;
    return true;
}

static size_t sum_of(const int *numbers, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++) sum += (size_t)numbers[i];
    return sum;
}

/* Appends a batch, whose arrays live no longer than until the next. */
static bool append(trainer *t, const attend_pairs *p)
{
    const int *words[2] = { p->source, p->target }, *lengths[2] = { p->source_lengths, p->target_lengths };
    size_t room[2] = { t->pair_room, t->pair_room };
    for (int side = 0; side < 2; side++) {
        const size_t more = sum_of(lengths[side], p->count);
        if (!ints_fit(&t->words[side], &t->word_room[side], t->word_count[side], more) ||
            !ints_fit(&t->lengths[side], &room[side], t->pair_count, (size_t)p->count))
            return false;
        if (more) memcpy(t->words[side] + t->word_count[side], words[side], more * sizeof(int));
        memcpy(t->lengths[side] + t->pair_count, lengths[side], (size_t)p->count * sizeof(int));
        t->word_count[side] += more;
    }
    t->pair_room = room[0];
    t->pair_count += (size_t)p->count;
    return true;
}

static bool add_shard(trainer *t, int first, int count)
{
    size_t room = (size_t)t->shard_room, other = (size_t)t->shard_room;
    if (!ints_fit(&t->shard_first, &room, (size_t)t->shards, 1) ||
        !ints_fit(&t->shard_count, &other, (size_t)t->shards, 1))
        return false;
    t->shard_room = (int)room;
    t->shard_first[t->shards] = first;
    t->shard_count[t->shards++] = count;
    return true;
}

/* Cuts the pairs into shards of at most shard_tokens source words and target rows together: whatever the number of threads. */
static bool cut(trainer *t)
{
    int first = 0, tokens = 0;
    t->shards = 0;
    for (int i = 0; i < t->pairs.count; i++) {
        const int more = t->pairs.source_lengths[i] + t->pairs.target_lengths[i] + 1;
        if (i > first && tokens + more > t->o.shard_tokens) {
            if (!add_shard(t, first, i - first)) return false;
            first = i, tokens = 0;
        }
        tokens += more;
    }
    return add_shard(t, first, t->pairs.count - first);
}

int attend_trainer_next_pairs(trainer *t)
{
    t->pair_count = t->word_count[0] = t->word_count[1] = 0;
    for (int i = 0; i < t->o.accumulate; i++) {
        attend_batch batch;
        int status = attend_batches_next(t->batches, &t->s.position, &batch);
        if (status != ATTEND_OK) return status;
        if (!append(t, &batch.pairs))
            return attend_fail(ATTEND_NO_MEMORY, "no memory for a batch of %d pairs", batch.pairs.count);
    }
    t->pairs = (attend_pairs){ .count = (int)t->pair_count,
                               .source = t->words[0],
                               .source_lengths = t->lengths[0],
                               .target = t->words[1],
                               .target_lengths = t->lengths[1] };
    t->rows = attend_pairs_rows(&t->pairs);
    if ((size_t)t->rows > t->nll_room) {
        attend_memory_free(t->nll);
        t->nll_room = 2 * (size_t)t->rows;
        t->nll = attend_memory_zeroed(t->nll_room, sizeof *t->nll);
    }
    if (!t->nll || !cut(t)) return attend_fail(ATTEND_NO_MEMORY, "no memory for an update of %d rows", t->rows);
    return ATTEND_OK;
}

void attend_trainer_data_free(trainer *t)
{
    for (int side = 0; side < 2; side++) {
        attend_memory_free(t->words[side]);
        attend_memory_free(t->lengths[side]);
    }
    attend_memory_free(t->shard_first);
    attend_memory_free(t->shard_count);
    attend_memory_free(t->nll);
    attend_batches_free(t->batches);
    attend_corpus_free(t->train);
    attend_corpus_free(t->valid);
    if (t->tokenizers[1] != t->tokenizers[0]) attend_tokenizer_free(t->tokenizers[1]);
    attend_tokenizer_free(t->tokenizers[0]);
}
