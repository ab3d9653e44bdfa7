/* model_size.c: more data never gets a smaller model, recipes get the sizes they were made with, and given token kinds are kept. */
#include "unit/unit.h"

#include <attend/trainer.h>

static const attend_architecture RNN = ATTEND_ARCHITECTURE_RNN, TRANSFORMER = ATTEND_ARCHITECTURE_TRANSFORMER;

/* Sentences of ten words of five letters, or single words of eight letters on both sides. */
static attend_data_size data_of(uint64_t pairs, bool sentences)
{
    const uint64_t words = sentences ? 10 * pairs : pairs, characters = sentences ? 59 * pairs : 8 * pairs;
    return (attend_data_size){ pairs, { words, words }, { characters, characters }, { 0, 0 } };
}

static void more_data_more_model(void **state)
{
    (void)state;
    for (int preset = 0; attend_preset_names[preset]; preset++)
        for (int sentences = 0; sentences < 2; sentences++) {
            attend_training_sizes before = { .hidden = 0 }, smaller = { .hidden = 0 };
            for (uint64_t pairs = 1; pairs < (uint64_t)1 << 40; pairs = 3 * pairs / 2 + 1) {
                const attend_data_size d = data_of(pairs, sentences);
                const attend_training_sizes s = attend_training_sizes_for((attend_preset)preset, RNN, &d, NULL);
                assert_true(s.hidden >= 128 && s.hidden <= 512 && s.embedding >= 64 && s.embedding <= 512);
                assert_true(s.dropout >= 0.1 && s.dropout <= 0.3 && s.vocab_size >= 1000 && s.epochs >= 5 &&
                            s.epochs <= 100);
                assert_true(s.batch_tokens >= (s.cosine_epochs > 0 ? 100 : 200) && s.batch_tokens <= 4000);
                /* few pairs of words have a schedule of their own; more of them have fewer epochs */
                assert_true((s.cosine_epochs > 0) == (s.is_word_level && s.data_tokens < 150000));
                assert_true((s.cosine_epochs > 0) == (s.average > 0) && (s.cosine_epochs > 0) == (s.crop > 0));
                assert_true((s.learning_rate == 0.002) == (s.is_word_level && s.data_tokens < 30000));
                assert_true(s.cosine_epochs <= 500 && (s.cosine_epochs <= before.cosine_epochs || pairs == 1));
                assert_true(s.hidden >= before.hidden && s.batch_tokens >= before.batch_tokens &&
                            s.vocab_size >= before.vocab_size);
                const attend_training_sizes t = attend_training_sizes_for((attend_preset)preset, TRANSFORMER, &d, NULL);
                assert_true(t.hidden % t.heads == 0 && t.layers <= ATTEND_MAX_LAYERS && t.embedding == 0);
                assert_true(t.hidden >= smaller.hidden && t.layers >= smaller.layers);
                assert_true(t.vocab_size == s.vocab_size && s.layers == 0 && t.cosine_epochs == 0 && t.crop == 0);
                assert_true(t.batch_tokens == s.batch_tokens || s.cosine_epochs > 0);
                smaller = t;
                if (preset == ATTEND_PRESET_TINY) assert_true(s.hidden == 128 && t.hidden == 64);
                before = s;
            }
        }
}

static void data_of_recipes_has_these_sizes(void **state)
{
    (void)state;
    /* Multi30k: 29,000 captions of 13 words; Arabic names, 11,868; CMUdict, 105,000 words and their sounds */
    const attend_data_size captions = { 29000, { 377000, 360000 }, { 1800000, 2100000 }, { 0, 0 } },
                           names = { 11868, { 11900, 11900 }, { 71000, 86000 }, { 0, 0 } },
                           sounds = { 105000, { 105000, 660000 }, { 780000, 2200000 }, { 0, 0 } };
    attend_training_sizes s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &captions, NULL);
    assert_true(s.hidden == 384 && s.embedding == 256 && s.vocab_size == 6000 && s.batch_tokens == 1900);
    assert_true(s.tokens[0] == ATTEND_TOKENS_BPE && s.tokens[1] == ATTEND_TOKENS_BPE && !s.is_word_level);
    s = attend_training_sizes_for(ATTEND_PRESET_NONE, TRANSFORMER, &captions, NULL);
    assert_true(s.hidden == 128 && s.embedding == 0 && s.layers == 4 && s.heads == 4 && s.feed_forward_width == 256);
    assert_true(s.dropout == 0.3 && s.learning_rate == 0.002 && s.warmup == 1000 && s.vocab_size == 6000);
    s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &names, NULL);
    assert_true(s.hidden == 256 && s.embedding == 128 && s.dropout == 0.3 && s.batch_tokens == 400 && s.is_word_level);
    assert_true(s.tokens[0] == ATTEND_TOKENS_CHAR && s.tokens[1] == ATTEND_TOKENS_CHAR);
    for (int preset = 0; preset <= ATTEND_PRESET_G2P; preset += ATTEND_PRESET_G2P) {
        s = attend_training_sizes_for((attend_preset)preset, RNN, &sounds, NULL);
        assert_true(s.hidden == 256 && s.embedding == 128 && s.dropout == 0.3);
        assert_true(s.tokens[0] == ATTEND_TOKENS_CHAR && s.tokens[1] == ATTEND_TOKENS_WORD);
    }
}

/* Sources of Hangul syllables are split into letters, if the source is split at all. */
static void hangul_is_split_into_letters(void **state)
{
    (void)state;
    attend_data_size d = { 800, { 800, 5500 }, { 2500, 14000 }, { 2400, 0 } };
    attend_training_sizes s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &d, NULL);
    assert_true(s.tokens[0] == ATTEND_TOKENS_JAMO && s.tokens[1] == ATTEND_TOKENS_WORD);
    d.syllables[0] = 1200; /* less than half */
    assert_true(attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &d, NULL).tokens[0] == ATTEND_TOKENS_CHAR);
    d = (attend_data_size){ 800, { 8000, 8000 }, { 32000, 32000 }, { 25000, 25000 } }; /* sentences */
    s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &d, NULL);
    assert_true(s.tokens[0] == ATTEND_TOKENS_BPE && s.tokens[1] == ATTEND_TOKENS_BPE);
    d = (attend_data_size){ 800, { 0, 800 }, { 0, 2500 }, { 0, 2500 } }; /* lines of a language model */
    s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &d, NULL);
    assert_true(s.tokens[1] == ATTEND_TOKENS_JAMO && s.data_tokens == 2500);
}

static void lines_have_their_own_table(void **state)
{
    (void)state;
    for (int preset = 0; attend_preset_names[preset]; preset++) {
        attend_training_sizes before = { .hidden = 0 };
        for (uint64_t lines = 1; lines < (uint64_t)1 << 40; lines = 3 * lines / 2 + 1) {
            const attend_data_size d = { lines, { 0, 20 * lines }, { 0, 110 * lines }, { 0, 0 } };
            const attend_training_sizes s = attend_training_sizes_for((attend_preset)preset, RNN, &d, NULL);
            assert_true(!s.is_word_level && s.tokens[0] == ATTEND_TOKENS_BPE && s.tokens[1] == ATTEND_TOKENS_BPE);
            assert_true(s.label_smoothing == 0 && s.data_tokens == 20 * lines && s.epochs >= 5 && s.epochs <= 100);
            assert_true(s.hidden >= before.hidden && s.batch_tokens >= before.batch_tokens);
            assert_true(s.hidden >= 128 && s.embedding >= 64 && s.dropout >= 0.1 && s.dropout <= 0.5);
            before = s;
        }
    }
    const attend_data_size words = { 1000, { 0, 1000 }, { 0, 7000 }, { 0, 0 } };
    attend_training_sizes s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &words, NULL);
    assert_true(s.is_word_level && s.tokens[0] == ATTEND_TOKENS_CHAR && s.data_tokens == 7000);
    const int given[2] = { ATTEND_TOKENS_WORD, ATTEND_TOKENS_WORD };
    s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &words, given);
    assert_true(s.tokens[0] == ATTEND_TOKENS_WORD && s.data_tokens == 1000);
    const attend_data_size pairs = data_of(1000, true);
    assert_true(attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &pairs, NULL).label_smoothing == 0.1);
}

static void given_token_kinds_are_kept(void **state)
{
    (void)state;
    const attend_data_size d = data_of(1000, true);
    const int given[2] = { ATTEND_TOKENS_CHAR, -1 };
    const attend_training_sizes s = attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &d, given);
    assert_true(s.tokens[0] == ATTEND_TOKENS_CHAR && s.tokens[1] == ATTEND_TOKENS_BPE);
    assert_int_equal(s.data_tokens, 59000); /* characters */
    const attend_data_size nothing = { 0 };
    assert_int_equal(attend_training_sizes_for(ATTEND_PRESET_NONE, RNN, &nothing, NULL).hidden, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(more_data_more_model),
                                        cmocka_unit_test(data_of_recipes_has_these_sizes),
                                        cmocka_unit_test(hangul_is_split_into_letters),
                                        cmocka_unit_test(lines_have_their_own_table),
                                        cmocka_unit_test(given_token_kinds_are_kept) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
