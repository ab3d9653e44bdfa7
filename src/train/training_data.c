/* training_data.c: from files of pairs or of lines to tokenizers and corpora of token numbers. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include "model/config.h"
#include "text/shared_counts.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

const char *attend_pairs_spec_name(const attend_pairs_spec *spec)
{
    return spec->source ? spec->source : spec->target;
}

/* ---- tokenizers ---- */

/* The lines that a tokenizer learns from: of one side, or of both. */
typedef struct side_lines {
    training_run *run;
    attend_pairs_file *file;
    attend_side side;
    bool both;
    bool target_next; /* the source of the last pair was given; its target is next */
    attend_text_pair pair;
    uint64_t bytes, max_bytes; /* given so far; at max_bytes learning starts again with fewer lines */
    int halvings;              /* one line in 2^halvings is given, selected by its hash */
    bool too_many;
    uint64_t lines; /* found so far: a rank is given some blocks of them */
} side_lines;

/* Calls events.stop at every 4096th line only, because it may be slow. */
static bool is_stopped(training_run *run, uint64_t line)
{
    if (line % 4096 == 0 && attend_training_stop_requested(run)) run->stopped = true;
    return run->stopped;
}

static int next_pair(side_lines *l)
{
    const int status = attend_pairs_file_next(l->file, &l->pair);
    if (status != ATTEND_OK) return -status;
    if (!l->pair.source) return 0;
    if (is_stopped(l->run, l->pair.line)) return -attend_fail(ATTEND_FAILED, "stopped");
    return 1;
}

/* The ranks take turns with blocks of lines. */
static bool is_own_line(side_lines *l)
{
    enum { BLOCK = 64 };
    const uint64_t ranks = (uint64_t)attend_ranks_count(l->run->options.ranks);
    return l->lines++ / BLOCK % ranks == (uint64_t)attend_ranks_rank(l->run->options.ranks);
}

/* An attend_line_fn. */
static int next_line(void *user, const char **line, size_t *size)
{
    side_lines *l = user;
    for (;;) {
        const int more = l->target_next ? 1 : next_pair(l);
        if (more <= 0) return more;
        const bool target = l->both ? l->target_next : l->side == ATTEND_TARGET;
        l->target_next = l->both && !l->target_next;
        *line = target ? l->pair.target : l->pair.source;
        *size = target ? l->pair.target_size : l->pair.source_size;
        if (l->halvings > 0 && XXH3_64bits(*line, *size) >> (64 - l->halvings) != 0) continue;
        l->bytes += *size; /* of all ranks, so that all decide alike */
        l->too_many = l->bytes > l->max_bytes;
        if (!l->too_many && !is_own_line(l)) continue;
        return l->too_many ? -attend_fail(ATTEND_FAILED, "too many lines") : 1;
    }
}

/* Bytes of text to learn BPE merges from. A line without spaces is one long word, and every byte of it takes
 * LEARN_BYTES while merges are learned. */
enum { LEARN_BYTES = 64, MAX_LEARN_BYTES = 64 << 20 };
static uint64_t max_bytes(const training_run *run, attend_side side)
{
    if (run->options.tokens[side].kind != ATTEND_TOKENS_BPE) return UINT64_MAX;
    const uint64_t fit = run->options.memory / LEARN_BYTES;
    return run->options.memory > 0 && fit < MAX_LEARN_BYTES ? fit : MAX_LEARN_BYTES;
}

/* If there is more text than max_bytes, learns from half of the lines, or from a quarter, and so on. The lines are
 * selected by their text, so that the result does not depend on the order of lines. */
static int learn_side(training_run *run, attend_side side)
{
    int halvings = 0;
    const bool is_language_model = attend_training_is_language_model(run); /* its lines are targets */
    for (;; halvings++) {
        side_lines l = { .run = run,
                         .side = is_language_model ? ATTEND_TARGET : side,
                         .both = run->options.config.shared_vocab && !is_language_model,
                         .max_bytes = max_bytes(run, side),
                         .halvings = halvings };
        int status = attend_pairs_file_open(&l.file, run->options.train, run->options.train_count);
        if (status == ATTEND_OK)
            status = attend_tokenizer_learn_shared(&run->tokenizers[side], &run->options.tokens[side], next_line, &l,
                                                   run->options.ranks);
        if (status == ATTEND_BAD_DATA && attend_pairs_file_fault(l.file) == ATTEND_PAIR_OK && l.pair.source) {
            char why[512];
            snprintf(why, sizeof why, "%s", attend_message());
            const char *text =
                strstr(why, ": "); /* skip "line n", which counts the lines given, not those of the file */
            const bool target = l.both ? !l.target_next : l.side == ATTEND_TARGET;
            status = attend_fail(status, "%s:%llu%s", target ? l.pair.target_file : l.pair.source_file,
                                 (unsigned long long)l.pair.line, text ? text : "");
        }
        attend_pairs_file_close(l.file);
        if (!l.too_many) return status;
    }
}

/* A language model learns from lines, a translation model from pairs. */
static int check_task(const training_run *run, const attend_pairs_spec *specs, int count)
{
    for (int i = 0; i < count; i++) {
        if (!specs[i].source == attend_training_is_language_model(run)) continue;
        return attend_fail(ATTEND_BAD_USAGE,
                           attend_training_is_language_model(run)
                               ? "%s: a language model learns from lines of text, and these are pairs"
                               : "%s: a translation model learns from pairs, and these are lines of text, which "
                                 "are for task 'language-model'",
                           attend_pairs_spec_name(&specs[i]));
    }
    return ATTEND_OK;
}

int attend_training_check_data_files(const training_run *run)
{
    attend_pairs_file *file = NULL;
    int status = check_task(run, run->options.train, run->options.train_count);
    if (status == ATTEND_OK) status = check_task(run, run->options.valid, run->options.valid_count);
    if (status != ATTEND_OK) return status;
    status = attend_pairs_file_open(&file, run->options.train, run->options.train_count);
    attend_pairs_file_close(file);
    if (status != ATTEND_OK || run->options.valid_count == 0) return status;
    status = attend_pairs_file_open(&file, run->options.valid, run->options.valid_count);
    attend_pairs_file_close(file);
    return status;
}

int attend_training_learn_tokenizers(training_run *run)
{
    int status = learn_side(run, ATTEND_SOURCE);
    if (status != ATTEND_OK) return status;
    if (run->options.config.shared_vocab)
        run->tokenizers[ATTEND_TARGET] = run->tokenizers[ATTEND_SOURCE];
    else
        status = learn_side(run, ATTEND_TARGET);
    return status;
}

int attend_training_read_tokenizers(training_run *run, const attend_model *m)
{
    int status = attend_tokenizer_from_model(&run->tokenizers[0], m,
                                             attend_training_is_language_model(run) ? "target" : "source");
    if (status == ATTEND_OK && run->options.config.shared_vocab)
        run->tokenizers[1] = run->tokenizers[0];
    else if (status == ATTEND_OK)
        status = attend_tokenizer_from_model(&run->tokenizers[1], m, "target");
    return status;
}

/* ---- corpora ---- */

/* An attend_encode_fn. */
static int encode(void *user, attend_side side, const char *text, size_t size, attend_ids *out)
{
    training_run *run = user;
    if ((side == ATTEND_SOURCE || attend_training_is_language_model(run)) && is_stopped(run, ++run->lines_read))
        return attend_fail(ATTEND_FAILED, "stopped");
    const bool is_read_from_user = side == (attend_training_is_language_model(run) ? ATTEND_TARGET : ATTEND_SOURCE);
    const int status = run->seen && is_read_from_user ? attend_word_set_add(run->seen, text, size) : ATTEND_OK;
    if (status != ATTEND_OK) return status;
    return attend_pipeline_encode(run->tokenizers[side], side, text, size, out, 0, 0, 0);
}

/* An attend_reencode_fn: with BPE-dropout, as a function of (seed, epoch, pair). */
static int encode_again(void *user, attend_side side, uint64_t epoch, uint64_t pair, const char *text, size_t size,
                        attend_ids *out)
{
    const training_run *run = user;
    return attend_pipeline_encode(run->tokenizers[side], side, text, size, out, run->options.bpe_dropout,
                                  run->options.seed, (epoch << 40 ^ pair) << 1 | (uint64_t)side);
}

static void report_unattended(const training_run *run, const attend_corpus *c)
{
    const char *const items = attend_training_is_language_model(run) ? "lines" : "pairs";
    uint64_t count;
    const char *const first = attend_corpus_unattended(c, &count);
    if (count == 1)
        attend_training_notice(run, "%s is left out: its attention takes more than %d million steps", first,
                               ATTEND_MAX_ATTENTION_STEPS / 1000000);
    if (count > 1)
        attend_training_notice(run,
                               "%llu %s are left out, the first one at %s: their attention takes more than %d million "
                               "steps",
                               (unsigned long long)count, items, first, ATTEND_MAX_ATTENTION_STEPS / 1000000);
}

static int read_corpus(training_run *run, attend_corpus **out, const attend_pairs_spec *specs, int count,
                       bool keep_text)
{
    const attend_corpus_options options = { .vocabulary = attend_tokenizer_size(run->tokenizers[0]) >
                                                                  attend_tokenizer_size(run->tokenizers[1])
                                                              ? attend_tokenizer_size(run->tokenizers[0])
                                                              : attend_tokenizer_size(run->tokenizers[1]),
                                            .max_length = run->options.max_length,
                                            .lines = attend_training_is_language_model(run),
                                            .keep_text = keep_text,
                                            .config = &run->model->config };
    attend_pairs_file *file = NULL;
    int status = attend_pairs_file_open(&file, specs, count);
    if (status == ATTEND_OK) status = attend_corpus_new(out, &options);
    if (status == ATTEND_OK) status = attend_corpus_read(*out, file, encode, run, run->options.ranks);
    attend_pairs_file_close(file);
    if (status == ATTEND_OK) report_unattended(run, *out);
    return status == ATTEND_OK ? attend_corpus_finish(*out) : status;
}

/* An attend_crop_fn. */
static void crop(const void *user, uint64_t epoch, uint64_t pair, int *source, int *target)
{
    attend_crops_at(user, epoch, pair, source, target);
}

static const char *user_side(const training_run *run)
{
    return attend_training_is_language_model(run) ? "target" : "source";
}

/* A vocabulary of words tells by itself which words are unknown. A checkpoint has the words already. A model that
 * begins with the weights of one whose words are not known has unknown words, too. */
static bool needs_words(const training_run *run)
{
    if (run->options.init_from && !attend_seen_words_are_known(run->model, user_side(run))) return false;
    return run->state.update == 0 && !run->checkpoint &&
           attend_tokenizer_kind(run->tokenizers[ATTEND_SOURCE]) != ATTEND_TOKENS_WORD;
}

int attend_training_copy_words(training_run *run, const attend_model *base)
{
    return attend_seen_words_copy(run->model, base, user_side(run));
}

/* Encodes the training data and stores in the model which words it has. */
static int read_training_corpus(training_run *run, bool keep_text)
{
    attend_word_set words = { 0 };
    run->seen = needs_words(run) ? &words : NULL;
    int status = read_corpus(run, &run->train, run->options.train, run->options.train_count, keep_text);
    if (status == ATTEND_OK && run->seen) status = attend_shared_words(run->options.ranks, &words);
    if (status == ATTEND_OK && run->seen) status = attend_seen_words_attach(&words, run->model, user_side(run));
    run->seen = NULL;
    attend_word_set_free(&words);
    return status;
}

/* ---- guided alignment ---- */

static void report_aligner(void *user, int done, int iterations)
{
    const training_run *run = user;
    if (done == iterations / 2)
        attend_training_notice(run, "guided alignment: iteration %d of %d of the word aligner is done", done,
                               iterations);
}

static bool stop_aligner(void *user)
{
    training_run *run = user;
    if (attend_training_stop_requested(run)) run->stopped = true;
    return run->stopped;
}

/* Links are made again when training resumes: they depend on the data alone. */
static int link_pairs(training_run *run)
{
    const attend_train_options *o = &run->options;
    const attend_corpus_counts n = attend_corpus_count(run->train);
    const bool is_auto = strcmp(o->guided_alignment, "auto") == 0;
    const guided_links_options options = { .file = is_auto ? NULL : o->guided_alignment,
                                           .tokenizers = { run->tokenizers[0], run->tokenizers[1] },
                                           .threads = o->threads,
                                           .memory = o->memory,
                                           .user = run,
                                           .progress = report_aligner,
                                           .stop = stop_aligner };
    if (is_auto)
        attend_training_notice(run, "guided alignment: aligning the words of %llu training pairs",
                               (unsigned long long)n.pairs);
    const int status = attend_guided_links_new(&run->links, run->train, &options);
    if (status != ATTEND_OK) return status;
    const guided_links_counts links = attend_guided_links_count(run->links);
    if (links.links == 0)
        return attend_fail(ATTEND_BAD_DATA,
                           "%s has no link of a training pair to guide attention; leave guided alignment out",
                           is_auto ? "the word aligner" : o->guided_alignment);
    attend_training_notice(run, "guided alignment: %llu links, of %.0f %% of the target tokens",
                           (unsigned long long)links.links,
                           100.0 * (double)links.linked_tokens / (double)(n.target_ids ? n.target_ids : 1));
    return ATTEND_OK;
}

int attend_training_read_data(training_run *run)
{
    const bool has_dropout = run->options.bpe_dropout > 0;
    int status = read_training_corpus(run, has_dropout || run->options.guided_alignment);
    if (status == ATTEND_OK && run->options.guided_alignment && attend_corpus_count(run->train).pairs > 0)
        status = link_pairs(run);
    if (status == ATTEND_OK && run->options.valid_count > 0)
        status = read_corpus(run, &run->valid, run->options.valid, run->options.valid_count, true);
    if (status == ATTEND_OK && run->options.crop > 0)
        status = attend_crops_new(&run->crops, run->train, run->options.crop, run->options.seed);
    const attend_batches_options options = { .seed = run->options.seed,
                                             .batch_tokens = run->options.batch_tokens,
                                             .encode = has_dropout ? encode_again : NULL,
                                             .user = run,
                                             .crop = run->crops ? crop : NULL,
                                             .crop_user = run->crops };
    if (status == ATTEND_OK) status = attend_batches_new(&run->batches, run->train, &options);
    if (status == ATTEND_OK && run->valid && attend_corpus_count(run->valid).pairs == 0)
        return attend_fail(ATTEND_BAD_DATA, "%s: there is no validation %s: all are empty%s or too long",
                           attend_pairs_spec_name(&run->options.valid[0]),
                           attend_training_is_language_model(run) ? "line" : "pair",
                           attend_training_is_language_model(run) ? "" : " on a side");
    return status;
}

void attend_training_data_free(training_run *run)
{
    attend_batches_free(run->batches);
    attend_crops_free(run->crops);
    attend_guided_links_free(run->links);
    attend_corpus_free(run->train);
    attend_corpus_free(run->valid);
    if (run->tokenizers[1] != run->tokenizers[0]) attend_tokenizer_free(run->tokenizers[1]);
    attend_tokenizer_free(run->tokenizers[0]);
}
