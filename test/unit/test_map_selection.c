/* Selecting the map that aligns best, against gold links and against links of the word aligner. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/model_with_tokenizer.h"
#include <attend/map_selection.h>
#include <attend/scorer.h>

enum { PAIRS = 90, WORDS = 20, ROOM = 64, HEADS = 3 };

/* Sentences of w0 to w19; the target is the source reversed, in capitals. */
static char texts[2][PAIRS][ROOM];
static const char *sides[2][PAIRS];

static int setup(void **state)
{
    (void)state;
    unsigned seed = 5;
    for (int i = 0; i < PAIRS; i++) {
        int words[8];
        const int n = 2 + i % 6;
        for (int j = 0; j < n; j++) words[j] = (int)((seed = seed * 1664525u + 1013904223u) >> 16) % WORDS;
        int at[2] = { 0, 0 };
        for (int j = 0; j < n; j++) {
            at[0] += snprintf(texts[0][i] + at[0], (size_t)(ROOM - at[0]), "%sw%d", j ? " " : "", words[j]);
            at[1] += snprintf(texts[1][i] + at[1], (size_t)(ROOM - at[1]), "%sW%d", j ? " " : "", words[n - 1 - j]);
        }
        for (int side = 0; side < 2; side++) sides[side][i] = texts[side][i];
    }
    sides[0][7] = ""; /* cannot be aligned */
    sides[1][8] = "\xff W3";
    return 0;
}

static int next_line(void *user, const char **line, size_t *size)
{
    static char text[16];
    int *next = user;
    if (*next == WORDS) return 0;
    snprintf(text, sizeof text, "w%d W%d", *next, *next);
    ++*next;
    *line = text, *size = strlen(text);
    return 1;
}

static attend_model *model_of(const char *words)
{
    int next = 0;
    return model_with_tokenizer(ATTEND_TOKENS_WORD, words, next_line, &next);
}

static attend_model *model(void)
{
    return model_of("hidden=9 heads=3 attention-width=6 attention=projected");
}

/* ---- maps of a scorer ---- */

static void every_map_of_one_run(void **state)
{
    (void)state;
    attend_model *m = model();
    attend_scorer *all = NULL, *one = NULL;
    assert_ok(attend_scorer_new(&all, m, 2, true));
    attend_scorer_keep_maps(all);
    assert_ok(attend_scorer_run(all, PAIRS, sides[0], sides[1]));
    for (int head = -1; head < HEADS; head++) {
        const attend_alignment by = { .layer = 0, .head = head };
        assert_ok(attend_scorer_new(&one, m, 1, true));
        assert_ok(attend_scorer_set_alignment(one, by));
        assert_ok(attend_scorer_run(one, PAIRS, sides[0], sides[1]));
        for (int i = 0; i < PAIRS; i++) {
            const attend_scored_pair *a, *b = attend_scorer_result(one, i), *usual = attend_scorer_result(all, i);
            assert_ok(attend_scorer_result_for(all, i, by, &a));
            assert_true((a->fault != NULL) == (i == 7 || i == 8));
            if (a->fault) continue;
            const size_t bytes = (size_t)a->rows * (size_t)a->source_count * sizeof(attend_real);
            assert_memory_equal(a->weights, b->weights, bytes);
            assert_true((memcmp(a->weights, usual->weights, bytes) == 0) == (head == -1)); /* the default is the mean */
            assert_true(a->log_probability == b->log_probability);
        }
        attend_scorer_free(one);
    }
    const attend_scored_pair *r;
    assert_int_equal(attend_scorer_result_for(all, PAIRS, (attend_alignment){ .layer = 0, .head = 0 }, &r),
                     ATTEND_BAD_USAGE);
    assert_int_equal(attend_scorer_result_for(all, 0, (attend_alignment){ .layer = 1, .head = 0 }, &r),
                     ATTEND_BAD_USAGE);
    assert_int_equal(attend_scorer_set_alignment(all, (attend_alignment){ .layer = 0, .head = HEADS }),
                     ATTEND_BAD_USAGE);
    assert_ok(attend_scorer_new(&one, m, 1, true));
    assert_ok(attend_scorer_run(one, 1, sides[0], sides[1]));
    assert_int_equal(attend_scorer_result_for(one, 0, (attend_alignment){ .layer = 0, .head = 0 }, &r),
                     ATTEND_BAD_USAGE);
    attend_scorer_free(one);
    /* the alignment stored in the model is the default of a scorer */
    assert_ok(attend_model_set_alignment(m, (attend_alignment){ .layer = 0, .head = 2 }));
    assert_ok(attend_scorer_new(&one, m, 1, true));
    assert_ok(attend_scorer_run(one, 1, sides[0], sides[1]));
    assert_ok(attend_scorer_result_for(all, 0, (attend_alignment){ .layer = 0, .head = 2 }, &r));
    assert_memory_equal(attend_scorer_result(one, 0)->weights, r->weights,
                        (size_t)r->rows * (size_t)r->source_count * sizeof(attend_real));
    attend_scorer_free(one);
    attend_scorer_free(all);
    attend_model_free(m);
}

/* ---- selection ---- */

static attend_word_link gold_links[PAIRS][8];
static attend_pair_links gold[PAIRS];

/* The links of one head are the gold links. */
static void take_gold(const attend_model *m, int head)
{
    attend_scorer *s = NULL;
    assert_ok(attend_scorer_new(&s, m, 1, true));
    assert_ok(attend_scorer_set_alignment(s, (attend_alignment){ .layer = 0, .head = head }));
    assert_ok(attend_scorer_run(s, PAIRS, sides[0], sides[1]));
    for (int i = 0; i < PAIRS; i++)
        gold[i] =
            (attend_pair_links){ gold_links[i], attend_scorer_links(attend_scorer_result(s, i), gold_links[i], 8) };
    attend_scorer_free(s);
}

static void the_head_that_made_the_gold_is_best(void **state)
{
    (void)state;
    attend_model *m = model();
    for (int head = -1; head < HEADS; head++) {
        attend_aer_sums first[2 * (HEADS + 1)];
        take_gold(m, head);
        for (int threads = 1; threads <= 3; threads++) {
            attend_map_selection *t = NULL;
            const attend_map_score *scores;
            int count, best;
            assert_ok(attend_map_selection_new(&t, m, threads));
            assert_ok(attend_map_selection_add(t, 10 * threads, sides[0], sides[1], gold));
            assert_ok(attend_map_selection_add(t, PAIRS - 10 * threads, sides[0] + 10 * threads,
                                               sides[1] + 10 * threads, gold + 10 * threads));
            assert_ok(attend_map_selection_end(t, &scores, &count, &best));
            assert_int_equal(count, 2 * (HEADS + 1)); /* as computed, then shifted */
            assert_int_equal(best, head + 1);
            for (int k = 0; k < count; k++) {
                assert_true(scores[k].map.layer == 0 && scores[k].map.head == k % (HEADS + 1) - 1);
                assert_int_equal(scores[k].map.shifted, k > HEADS);
                assert_true((scores[k].error == 0) == (k == best));
                if (threads > 1) assert_memory_equal(&scores[k].sums, &first[k], sizeof first[k]);
                first[k] = scores[k].sums;
            }
            assert_int_equal(attend_map_selection_add(t, 1, sides[0], sides[1], gold), ATTEND_BAD_USAGE);
            attend_map_selection_free(t);
        }
    }
    attend_model_free(m);
}

/* If tokens are words, gold links equal to those of the word aligner give the same scores. */
static void links_of_the_aligner_count_like_gold_links(void **state)
{
    (void)state;
    attend_model *m = model();
    attend_aligner *aligner = NULL;
    const attend_aligner_options o = attend_aligner_defaults();
    assert_ok(attend_aligner_new(&aligner, &o));
    assert_ok(attend_aligner_add(aligner, PAIRS, sides[0], sides[1]));
    assert_ok(attend_aligner_train(aligner));
    assert_ok(attend_aligner_align_added(aligner, 0, PAIRS));
    int links = 0;
    for (int i = 0; i < PAIRS; i++) {
        const attend_aligned_pair *r = attend_aligner_result(aligner, i);
        gold[i] = (attend_pair_links){ r->links[ATTEND_ALIGNED_AGREED], r->counts[ATTEND_ALIGNED_AGREED] };
        links += gold[i].count;
    }
    assert_true(links > PAIRS);
    attend_map_selection *trials[2];
    const attend_map_score *scores[2];
    int maps, best[2];
    for (int k = 0; k < 2; k++) {
        assert_ok(attend_map_selection_new(&trials[k], m, 1 + k));
        assert_ok(attend_map_selection_add(trials[k], PAIRS, sides[0], sides[1], k ? gold : NULL));
        if (k == 0)
            assert_int_equal(attend_map_selection_add(trials[k], 1, sides[0], sides[1], gold), ATTEND_BAD_USAGE);
        assert_ok(attend_map_selection_end(trials[k], &scores[k], &maps, &best[k]));
    }
    assert_int_equal(best[0], best[1]);
    for (int i = 0; i < maps; i++)
        assert_memory_equal(&scores[0][i].sums, &scores[1][i].sums, sizeof scores[0][i].sums);
    for (int k = 0; k < 2; k++) attend_map_selection_free(trials[k]);
    attend_aligner_free(aligner);
    attend_model_free(m);
}

static void without_attention(void **state)
{
    (void)state;
    attend_model *m = model_of("hidden=4 attention=none readout=plain");
    attend_map_selection *t = (attend_map_selection *)&t;
    assert_int_equal(attend_map_selection_new(&t, m, 1), ATTEND_BAD_USAGE);
    assert_null(t);
    attend_model_free(m);
    m = model_of("hidden=4"); /* a single map, as computed or shifted */
    const attend_map_score *scores;
    int count, best;
    assert_ok(attend_map_selection_new(&t, m, 1));
    assert_ok(attend_map_selection_end(t, &scores, &count, &best));
    assert_true(count == 2 && best == 0 && scores[0].error == 0);
    attend_map_selection_free(t);
    attend_model_free(m);
}

static void without_memory(void **state)
{
    (void)state;
    attend_model *m = model();
    take_gold(m, 0);
    for (int k = 0; k < 2; k++) {
        int status = ATTEND_NO_MEMORY;
        long n = 0;
        while (status == ATTEND_NO_MEMORY) {
            attend_map_selection *t = NULL;
            const attend_map_score *scores;
            int count, best;
            attend_memory_refuse(n += n < 300 ? 1 : 37);
            status = attend_map_selection_new(&t, m, 1);
            if (status == ATTEND_OK) status = attend_map_selection_add(t, 40, sides[0], sides[1], k ? gold : NULL);
            if (status == ATTEND_OK) status = attend_map_selection_end(t, &scores, &count, &best);
            attend_memory_refuse(0);
            if (t && status != ATTEND_OK) { /* it cannot continue after half a pair */
                assert_int_equal(attend_map_selection_add(t, 1, sides[0], sides[1], k ? gold : NULL), ATTEND_BAD_USAGE);
                assert_int_equal(attend_map_selection_end(t, &scores, &count, &best), ATTEND_BAD_USAGE);
                assert_non_null(strstr(attend_message(), "start a new one"));
            }
            attend_map_selection_free(t);
        }
        assert_ok(status);
        assert_true(n > 100);
    }
    attend_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_map_of_one_run),
        cmocka_unit_test(the_head_that_made_the_gold_is_best),
        cmocka_unit_test(links_of_the_aligner_count_like_gold_links),
        cmocka_unit_test(without_attention),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
