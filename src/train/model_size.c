/* model_size.c: the size of a model by the size of the data: a table of sizes that reached good scores (recipes/),
 * with sizes between and beyond. It is that of recurrent networks; another architecture has sizes of its own, by the
 * same levels (architecture.h).
 *
 * The size of the data is the number of tokens of the larger side: characters where a side is split into characters,
 * words elsewhere. There is a column for sentences and one for single words (pronunciations, names, inflections).
 * Small data gets a small model; small batches, so that an epoch has enough updates; and a small BPE vocabulary,
 * because a token that occurs twice cannot be learned. */
#include "model/architecture.h"
#include "text/words.h"
#include <attend/trainer.h>
#include "core/status.h"
#include <math.h>

typedef struct level {
    uint64_t tokens; /* upper bound, exclusive */
    int hidden, embedding;
    double dropout;
    int vocab_size; /* for BPE */
} level;

static const level sentences[ATTEND_DATA_LEVELS] = {
    { 30000, 128, 64, 0.2, 1000 },      { 150000, 256, 128, 0.3, 3000 },      { 1000000, 384, 256, 0.3, 6000 },
    { 10000000, 512, 256, 0.2, 16000 }, { UINT64_MAX, 512, 512, 0.1, 24000 },
};
static const level words[ATTEND_DATA_LEVELS] = {
    { 30000, 128, 64, 0.3, 1000 },     { 150000, 256, 128, 0.3, 1000 },     { 3000000, 256, 128, 0.3, 2000 },
    { 30000000, 384, 128, 0.2, 4000 }, { UINT64_MAX, 512, 256, 0.1, 8000 },
};

/* For language models: usual sizes. Without a source they overfit sooner, so that they have more dropout. They have
 * no label smoothing, because they are judged by their probabilities. */
static const level lines[ATTEND_DATA_LEVELS] = {
    { 30000, 128, 64, 0.3, 1000 },      { 150000, 256, 128, 0.4, 3000 },      { 2000000, 320, 320, 0.5, 6000 },
    { 10000000, 512, 512, 0.3, 16000 }, { UINT64_MAX, 768, 512, 0.1, 24000 },
};

enum { FEWEST_TOKENS = 30000, FEW_TOKENS = 150000 }; /* of pairs of words: see set_few_words */

const char *const attend_preset_names[] = { "none", "tiny", "g2p", "translate-small", "translate", NULL };

/* Whether most lines are a single word. */
static bool has_single_words(const attend_data_size *d, int side)
{
    return attend_are_single_words(d->words[side], d->pairs);
}

/* Hangul is written in syllables. Of the 11,172 of them a small text has few, so that words have unknown ones; of their 67
 * letters it has all. */
static attend_token_kind characters_of(const attend_data_size *d, int side)
{
    return 2 * d->syllables[side] > d->characters[side] ? ATTEND_TOKENS_JAMO : ATTEND_TOKENS_CHAR;
}

static bool is_character_kind(attend_token_kind kind)
{
    return kind == ATTEND_TOKENS_CHAR || kind == ATTEND_TOKENS_JAMO;
}

static bool has_symbols(const attend_data_size *d, int side)
{
    return attend_are_symbols(d->words[side], d->characters[side], d->pairs);
}

static attend_token_kind kind_of(attend_preset preset, const attend_data_size *d, int side, bool is_word_level)
{
    if (preset == ATTEND_PRESET_G2P) return side ? ATTEND_TOKENS_WORD : characters_of(d, side);
    if (!is_word_level) return ATTEND_TOKENS_BPE;
    return has_single_words(d, side) ? characters_of(d, side)
           : has_symbols(d, side)    ? ATTEND_TOKENS_WORD
                                     : ATTEND_TOKENS_BPE;
}

static int level_of(attend_preset preset, const level *column, uint64_t tokens)
{
    int at = 0;
    while (tokens >= column[at].tokens) at++;
    if (preset == ATTEND_PRESET_TINY) return 0;
    if (preset == ATTEND_PRESET_TRANSLATE_SMALL) return at < 2 ? at : 2;
    if (preset == ATTEND_PRESET_TRANSLATE) return at + 1 < ATTEND_DATA_LEVELS ? at + 1 : at;
    return at;
}

/* Rounded to hundreds, between min and max. */
static uint64_t round_within(uint64_t x, uint64_t min, uint64_t max)
{
    x = (x + 50) / 100 * 100;
    return x < min ? min : x > max ? max : x;
}

/* The architecture's own sizes; NULL: it has those of the levels. */
static const architecture_sizes *sizes_of(attend_architecture which)
{
    int i = 0;
    while (attend_architectures[i] && i != (int)which) i++;
    return attend_architectures[i] ? attend_architectures[i]->sizes : NULL;
}

static void set_level(attend_training_sizes *s, attend_architecture which, const level *l, int number)
{
    const architecture_sizes *own = sizes_of(which);
    s->hidden = l->hidden, s->embedding = l->embedding, s->dropout = l->dropout, s->vocab_size = l->vocab_size;
    if (!own) return;
    own += number;
    s->hidden = own->hidden, s->embedding = own->embedding, s->layers = own->layers, s->heads = own->heads;
    s->feed_forward_width = own->feed_forward_width, s->dropout = own->dropout;
    s->learning_rate = own->learning_rate, s->warmup = (uint64_t)own->warmup;
}

/* Few pairs of words: many epochs of small batches, at a rate that falls to nearly 0, and an average of the weights. The
 * validation loss of so few pairs is too noisy to reduce the rate by, or to end training: the schedule does both.
 * docs/defaults.md has the measurements. */
static void set_few_words(attend_training_sizes *s)
{
    enum { MIN_BATCH = 100, MIN_UPDATES = 2000, MAX_EPOCHS = 500 }; /* attention needs some updates to be learned */
    s->batch_tokens = (int)round_within(s->data_tokens / 200, MIN_BATCH, 4000);
    const double tokens = (double)s->data_tokens + 1;
    const double epochs = fmin(fmax(600 / sqrt(sqrt(tokens)), MIN_UPDATES * s->batch_tokens / tokens), MAX_EPOCHS);
    s->cosine_epochs = (uint64_t)epochs;
    if (tokens < FEWEST_TOKENS) s->learning_rate = 0.002; /* not measured for more */
    s->average = 0.999, s->crop = 0.5;
}

/* For lines: one kind of token, and the table of language models. */
static attend_training_sizes sizes_of_lines(attend_preset preset, attend_architecture which, const attend_data_size *d,
                                            int kind)
{
    attend_training_sizes s = { .is_word_level = d->pairs > 0 && has_single_words(d, 1) };
    s.tokens[0] = s.tokens[1] = kind >= 0         ? (attend_token_kind)kind
                                : s.is_word_level ? characters_of(d, 1)
                                                  : ATTEND_TOKENS_BPE;
    s.data_tokens = is_character_kind(s.tokens[1]) ? d->characters[1] : d->words[1];
    const level *column = s.is_word_level ? words : lines, *l = &column[level_of(preset, column, s.data_tokens)];
    set_level(&s, which, l, (int)(l - column));
    s.batch_tokens = (int)round_within(s.data_tokens / 1000, 200, 4000);
    const uint64_t updates = s.data_tokens / (uint64_t)s.batch_tokens + 1;
    s.epochs = 20000 / updates < 5 ? 5 : 20000 / updates > 100 ? 100 : 20000 / updates;
    return s;
}

attend_training_sizes attend_training_sizes_for(attend_preset preset, attend_architecture which,
                                                const attend_data_size *d, const int kinds[2])
{
    ATTEND_REQUIRE((attend_training_sizes){ 0 }, d);
    if (d->pairs > 0 && d->characters[0] == 0) return sizes_of_lines(preset, which, d, kinds ? kinds[0] : -1);
    attend_training_sizes s = { .is_word_level = preset == ATTEND_PRESET_G2P ||
                                                 (d->pairs > 0 && (has_single_words(d, 0) || has_single_words(d, 1))),
                                .label_smoothing = 0.1 };
    for (int side = 0; side < 2; side++) {
        s.tokens[side] =
            kinds && kinds[side] >= 0 ? (attend_token_kind)kinds[side] : kind_of(preset, d, side, s.is_word_level);
        const uint64_t tokens = is_character_kind(s.tokens[side]) ? d->characters[side] : d->words[side];
        if (tokens > s.data_tokens) s.data_tokens = tokens;
    }
    const level *column = s.is_word_level ? words : sentences, *l = &column[level_of(preset, column, s.data_tokens)];
    set_level(&s, which, l, (int)(l - column));
    s.batch_tokens = (int)round_within(s.data_tokens / 200, 200, 4000);
    const uint64_t updates = s.data_tokens / (uint64_t)s.batch_tokens + 1;
    s.epochs = 6000 / updates < 5 ? 5 : 6000 / updates > 100 ? 100 : 6000 / updates;
    if (s.is_word_level && s.data_tokens < FEW_TOKENS && !sizes_of(which)) set_few_words(&s);
    return s;
}
