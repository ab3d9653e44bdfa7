/* model_size.c: how large a model data of some size deserves. A table and no formula: these sizes are what trainings of ours reached good scores with
 * (recipes/), and what lies between and beyond them.
 *
 * Data is measured in tokens, of the side that has more of them: letters where a side is cut into letters, words elsewhere. Sentences and
 * single words (pronunciations, names, inflections) have a column each. Small data gets a small model, for want of anything to
 * fill a large one with, small batches, since an epoch should have some updates, and few pieces, since a piece that was seen twice is not learned. */
#include <attend/trainer.h>

typedef struct level {
    uint64_t tokens; /* below this many */
    int hidden, embedding;
    double dropout;
    int vocab_size; /* of bpe */
} level;

enum { LEVELS = 5 };
static const level sentences[LEVELS] = {
    { 30000, 128, 64, 0.2, 1000 },      { 150000, 256, 128, 0.3, 3000 },      { 1000000, 384, 256, 0.3, 6000 },
    { 10000000, 512, 256, 0.2, 16000 }, { UINT64_MAX, 512, 512, 0.1, 24000 },
};
static const level letters[LEVELS] = {
    { 30000, 128, 64, 0.2, 1000 },     { 150000, 192, 64, 0.3, 1000 },      { 3000000, 256, 128, 0.3, 2000 },
    { 30000000, 384, 128, 0.2, 4000 }, { UINT64_MAX, 512, 256, 0.1, 8000 },
};

/* Of language models: what is usual for text of that size. They have nothing else to go by than what they have read, and so learn it by heart the
 * sooner: more dropout. Their targets are not smoothed, since it is their probabilities that count. */
static const level lines[LEVELS] = {
    { 30000, 128, 64, 0.3, 1000 },      { 150000, 256, 128, 0.4, 3000 },      { 2000000, 320, 320, 0.5, 6000 },
    { 10000000, 512, 512, 0.3, 16000 }, { UINT64_MAX, 768, 512, 0.1, 24000 },
};

/* Of Transformers, by the same levels: they fill up sooner than recurrent networks, and learn from a low rate that rises at first. */
static const struct {
    int hidden, layers, feed_forward_width;
    double dropout, rate;
} transformers[LEVELS] = {
    { 64, 2, 128, 0.2, 0.002 },   { 128, 3, 256, 0.3, 0.002 },   { 128, 4, 256, 0.3, 0.002 },
    { 256, 4, 1024, 0.2, 0.001 }, { 512, 6, 2048, 0.1, 0.0007 },
};

const char *const attend_preset_names[] = { "none", "tiny", "g2p", "translate-small", "translate", NULL };

/* Lines of a single word, as a rule. */
static bool has_single_words(const attend_data_size *d, int side)
{
    return (double)d->words[side] < 1.2 * (double)d->pairs;
}

/* "HH AH0 L OW1": short symbols between blanks. */
static bool has_symbols(const attend_data_size *d, int side)
{
    return !has_single_words(d, side) && (double)d->characters[side] < 4.5 * (double)d->words[side];
}

static attend_token_kind kind_of(attend_preset preset, const attend_data_size *d, int side, bool of_words)
{
    if (preset == ATTEND_PRESET_G2P) return side ? ATTEND_TOKENS_WORD : ATTEND_TOKENS_CHAR;
    if (!of_words) return ATTEND_TOKENS_BPE;
    return has_single_words(d, side) ? ATTEND_TOKENS_CHAR
           : has_symbols(d, side)    ? ATTEND_TOKENS_WORD
                                     : ATTEND_TOKENS_BPE;
}

static int level_of(attend_preset preset, const level *column, uint64_t tokens)
{
    int at = 0;
    while (tokens >= column[at].tokens) at++;
    if (preset == ATTEND_PRESET_TINY) return 0;
    if (preset == ATTEND_PRESET_TRANSLATE_SMALL) return at < 2 ? at : 2;
    if (preset == ATTEND_PRESET_TRANSLATE) return at + 1 < LEVELS ? at + 1 : at;
    return at;
}

/* Between `least` and `most`, in hundreds. */
static uint64_t round_within(uint64_t x, uint64_t least, uint64_t most)
{
    x = (x + 50) / 100 * 100;
    return x < least ? least : x > most ? most : x;
}

static void take_level(attend_training_sizes *s, const level *l, int number)
{
    s->hidden = l->hidden, s->embedding = l->embedding, s->dropout = l->dropout, s->vocab_size = l->vocab_size;
    s->transformer.hidden = transformers[number].hidden, s->transformer.layers = transformers[number].layers;
    s->transformer.feed_forward_width = transformers[number].feed_forward_width, s->transformer.heads = 4;
    s->transformer.dropout = transformers[number].dropout, s->transformer.rate = transformers[number].rate;
    s->transformer.warmup = 1000;
}

/* Of lines alone: one kind of token, and a table of their own. */
static attend_training_sizes sizes_of_lines(attend_preset preset, const attend_data_size *d, int kind)
{
    attend_training_sizes s = { .of_words = d->pairs > 0 && has_single_words(d, 1) };
    s.tokens[0] = s.tokens[1] = kind >= 0    ? (attend_token_kind)kind
                                : s.of_words ? ATTEND_TOKENS_CHAR
                                             : ATTEND_TOKENS_BPE;
    s.seen = s.tokens[1] == ATTEND_TOKENS_CHAR ? d->characters[1] : d->words[1];
    const level *column = s.of_words ? letters : lines, *l = &column[level_of(preset, column, s.seen)];
    take_level(&s, l, (int)(l - column));
    s.batch_tokens = (int)round_within(s.seen / 1000, 200, 4000);
    const uint64_t updates = s.seen / (uint64_t)s.batch_tokens + 1;
    s.epochs = 20000 / updates < 5 ? 5 : 20000 / updates > 100 ? 100 : 20000 / updates;
    return s;
}

attend_training_sizes attend_training_sizes_for(attend_preset preset, const attend_data_size *d, const int kinds[2])
{
    if (d->pairs > 0 && d->characters[0] == 0) return sizes_of_lines(preset, d, kinds ? kinds[0] : -1);
    attend_training_sizes s = { .of_words = preset == ATTEND_PRESET_G2P ||
                                            (d->pairs > 0 && (has_single_words(d, 0) || has_single_words(d, 1))),
                                .label_smoothing = 0.1 };
    for (int side = 0; side < 2; side++) {
        s.tokens[side] =
            kinds && kinds[side] >= 0 ? (attend_token_kind)kinds[side] : kind_of(preset, d, side, s.of_words);
        const uint64_t seen = s.tokens[side] == ATTEND_TOKENS_CHAR ? d->characters[side] : d->words[side];
        if (seen > s.seen) s.seen = seen;
    }
    const level *column = s.of_words ? letters : sentences, *l = &column[level_of(preset, column, s.seen)];
    take_level(&s, l, (int)(l - column));
    s.batch_tokens = (int)round_within(s.seen / 200, 200, 4000);
    const uint64_t updates = s.seen / (uint64_t)s.batch_tokens + 1;
    s.epochs = 6000 / updates < 5 ? 5 : 6000 / updates > 100 ? 100 : 6000 / updates;
    return s;
}
