/* crops.c: pairs of words are cut where a segment begins, by a function of (seed, epoch, pair). */
#include "unit/unit.h"

#include "core/memory.h"
#include "core/rng.h"
#include "train/crops.h"

enum { PAIRS = 400, LETTERS = 10, FIRST_LETTER = 3, FIRST_SOUND = 20, MAX_WORD = 12, END = 2, VOCABULARY = 50 };

/* Letter 0 is silent, letter 1 has two sounds, letters 2 and 3 together have one sound, all others have their own. */
static int sounds_of(const int *letters, int left, int sounds[2], int *count)
{
    const int letter = letters[0];
    *count = letter == 0 ? 0 : letter == 1 ? 2 : 1;
    for (int i = 0; i < *count; i++) sounds[i] = FIRST_SOUND + letter + (i ? LETTERS : 0);
    return letter == 2 && left > 1 && letters[1] == 3 ? 2 : 1;
}

/* A random word, its sounds, and for each of its letters how many sounds come before it; -1 inside a segment. */
typedef struct word {
    int source[MAX_WORD + 1], target[2 * MAX_WORD], before[MAX_WORD], n, m;
} word;

static word word_of(uint64_t number)
{
    const attend_rng r = { 5, number, 1 };
    word w = { .n = 3 + (int)(attend_rng_uniform(&r, 0) * (MAX_WORD - 2)) };
    int letters[MAX_WORD], sounds[2], count;
    for (int i = 0; i < w.n; i++) {
        letters[i] = (int)(attend_rng_uniform(&r, (uint64_t)i + 1) * LETTERS);
        if (letters[i] == 3 && (i == 0 || letters[i - 1] != 2)) letters[i] = 4; /* 3 follows 2 */
        w.source[i] = FIRST_LETTER + letters[i], w.before[i] = -1;
    }
    w.source[w.n] = END;
    for (int i = 0; i < w.n;) {
        w.before[i] = w.m;
        i += sounds_of(letters + i, w.n - i, sounds, &count);
        for (int k = 0; k < count; k++) w.target[w.m++] = sounds[k];
    }
    return w;
}

static attend_corpus *words(void)
{
    const attend_corpus_options options = { .vocabulary = VOCABULARY };
    attend_corpus *c = NULL;
    assert_ok(attend_corpus_new(&c, &options));
    for (uint64_t i = 0; i < PAIRS; i++) {
        const word w = word_of(i);
        const int none[] = { FIRST_SOUND };
        assert_ok(attend_corpus_add(c, w.source, w.n + 1, w.m ? w.target : none, w.m ? w.m : 1, NULL));
    }
    int longer[ATTEND_MAX_CROPPED + 2] = { 0 }; /* too long to be cropped, and without a segmentation */
    assert_ok(attend_corpus_add(c, longer, ATTEND_MAX_CROPPED + 2, longer, 9, NULL));
    assert_ok(attend_corpus_add(c, longer, 9, longer, ATTEND_MAX_CROPPED + 1, NULL));
    assert_ok(attend_corpus_add(c, longer, 3, longer, 9, NULL));
    assert_ok(attend_corpus_add(c, longer, 1, longer, 1, NULL));
    assert_ok(attend_corpus_finish(c));
    return c;
}

static void crops_begin_at_segments(void **state)
{
    (void)state;
    attend_corpus *c = words();
    attend_crops *crops = NULL;
    int cropped = 0, right = 0, differ = 0;
    assert_ok(attend_crops_new(&crops, c, 0.5, 1));
    for (uint64_t epoch = 0; epoch < 4; epoch++)
        for (uint64_t i = 0; i < PAIRS; i++) {
            const word w = word_of(i);
            int source, target, again[2], first[2];
            attend_crops_at(crops, epoch, i, &source, &target);
            attend_crops_at(crops, epoch, i, &again[0], &again[1]);
            attend_crops_at(crops, 0, i, &first[0], &first[1]);
            assert_true(source == again[0] && target == again[1]);
            differ += source != first[0];
            assert_true((source > 0 || target == 0) && source < w.n && (target < w.m || w.m == 0));
            cropped += source > 0;
            right += source > 0 && w.before[source] == target;
        }
    assert_true(cropped > 0.4 * 4 * PAIRS && cropped < 0.5 * 4 * PAIRS); /* short words have no cut */
    /* which of two segments has a silent letter between them cannot be known, but the sounds on both sides can */
    assert_true(right > 0.97 * cropped);
    assert_true(differ > PAIRS);
    for (uint64_t i = PAIRS; i < PAIRS + 4; i++)
        for (uint64_t epoch = 0; epoch < 20; epoch++) {
            int source, target;
            attend_crops_at(crops, epoch, i, &source, &target);
            assert_true(source == 0 && target == 0);
        }
    attend_crops_free(crops);
    attend_corpus_free(c);
}

static void crops_become_fewer(void **state)
{
    (void)state;
    attend_corpus *c = words();
    attend_crops *crops = NULL;
    int counts[12] = { 0 };
    assert_ok(attend_crops_new(&crops, c, 0.8, 1));
    attend_crops_set_epochs(crops, 10);
    for (uint64_t epoch = 0; epoch < 12; epoch++)
        for (uint64_t i = 0; i < PAIRS; i++) {
            int source, target;
            attend_crops_at(crops, epoch, i, &source, &target);
            counts[epoch] += source > 0;
        }
    assert_true(counts[0] > 0.6 * PAIRS && counts[5] > 0.25 * PAIRS && counts[5] < 0.5 * PAIRS);
    assert_true(counts[9] > 0 && counts[9] < 0.15 * PAIRS && counts[10] == 0 && counts[11] == 0);
    attend_crops_free(crops);
    attend_corpus_free(c);
}

static void seeds_differ(void **state)
{
    (void)state;
    attend_corpus *c = words();
    attend_crops *crops[2] = { NULL, NULL };
    int differ = 0;
    for (int k = 0; k < 2; k++) assert_ok(attend_crops_new(&crops[k], c, 0.9, (uint64_t)k));
    for (uint64_t i = 0; i < PAIRS; i++) {
        int source[2], target[2];
        for (int k = 0; k < 2; k++) attend_crops_at(crops[k], 3, i, &source[k], &target[k]);
        differ += source[0] != source[1];
    }
    assert_true(differ > PAIRS / 2);
    for (int k = 0; k < 2; k++) attend_crops_free(crops[k]);
    attend_corpus_free(c);
}

static void memory_runs_out(void **state)
{
    (void)state;
    attend_corpus *c = words();
    for (long n = 1;; n++) {
        attend_crops *crops = NULL;
        attend_memory_refuse(n);
        const int status = attend_crops_new(&crops, c, 0.5, 1);
        const long asked = attend_memory_requests();
        attend_memory_refuse(0);
        assert_true((status == ATTEND_OK) == (crops != NULL));
        attend_crops_free(crops);
        if (asked < n) {
            assert_int_equal(status, ATTEND_OK);
            break;
        }
        assert_int_equal(status, ATTEND_NO_MEMORY);
    }
    attend_corpus_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(crops_begin_at_segments), cmocka_unit_test(crops_become_fewer),
                                        cmocka_unit_test(seeds_differ), cmocka_unit_test(memory_runs_out) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
