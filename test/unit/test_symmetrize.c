/* Symmetrization: cases computed by hand, and random ones against the definition, implemented over a table of all
 * word pairs. */
#include "core/memory.h"
#include "core/rng.h"
#include "unit/unit.h"

enum { WORDS = 7, RULES = ATTEND_GROW_DIAG_FINAL_AND + 1 };

typedef struct table {
    bool at[WORDS][WORDS]; /* target, source */
} table;

static int links_of(const table *t, attend_word_link *links)
{
    int n = 0;
    for (int e = 0; e < WORDS; e++)
        for (int f = 0; f < WORDS; f++)
            if (t->at[e][f]) links[n++] = (attend_word_link){ .source = f, .target = e };
    return n;
}

/* ---- the definition ---- */

static bool target_free(const table *a, int e)
{
    for (int f = 0; f < WORDS; f++)
        if (a->at[e][f]) return false;
    return true;
}

static bool source_free(const table *a, int f)
{
    for (int e = 0; e < WORDS; e++)
        if (a->at[e][f]) return false;
    return true;
}

/* One pass of growing: for every link, its neighbours in the union; returns whether a link was added. */
static bool grown(table *a, const table *either)
{
    static const int de[] = { -1, 0, 1, 0, -1, -1, 1, 1 }, df[] = { 0, -1, 0, 1, -1, 1, -1, 1 };
    bool came = false;
    for (int e = 0; e < WORDS; e++)
        for (int f = 0; f < WORDS; f++)
            for (int k = 0; k < 8; k++) {
                const int x = e + de[k], y = f + df[k];
                if (!a->at[e][f] || x < 0 || y < 0 || x >= WORDS || y >= WORDS || a->at[x][y]) continue;
                if (either->at[x][y] && (target_free(a, x) || source_free(a, y))) a->at[x][y] = came = true;
            }
    return came;
}

static void finished(table *a, const table *from, bool both)
{
    for (int e = 0; e < WORDS; e++)
        for (int f = 0; f < WORDS; f++) {
            const bool target = target_free(a, e), source = source_free(a, f);
            if (from->at[e][f] && (both ? target && source : target || source)) a->at[e][f] = true;
        }
}

static void define(attend_symmetrization how, const table *forward, const table *backward, table *a)
{
    table either = { 0 };
    *a = (table){ 0 };
    for (int e = 0; e < WORDS; e++)
        for (int f = 0; f < WORDS; f++) {
            either.at[e][f] = forward->at[e][f] || backward->at[e][f];
            a->at[e][f] = how == ATTEND_UNION ? either.at[e][f] : forward->at[e][f] && backward->at[e][f];
        }
    if (how < ATTEND_GROW_DIAG) return;
    while (grown(a, &either)) continue;
    if (how < ATTEND_GROW_DIAG_FINAL) return;
    finished(a, forward, how == ATTEND_GROW_DIAG_FINAL_AND);
    finished(a, backward, how == ATTEND_GROW_DIAG_FINAL_AND);
}

/* Every rule gives the links of its definition, on random pairs of alignments. */
static void test_definition(void **state)
{
    (void)state;
    attend_word_link links[4][2 * WORDS * WORDS];
    enum { TRIALS = 3000 };
    int differ = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const attend_rng rng = { .seed = 5, .stream = (uint64_t)trial };
        const double dense = 0.05 + 0.4 * (trial % 7) / 7;
        table in[2], expected, last = { 0 };
        for (int e = 0; e < WORDS; e++)
            for (int f = 0; f < WORDS; f++)
                for (int k = 0; k < 2; k++)
                    in[k].at[e][f] = attend_rng_uniform(&rng, (uint64_t)((e * WORDS + f) * 2 + k)) < dense;
        const int n0 = links_of(&in[0], links[0]), n1 = links_of(&in[1], links[1]);
        for (int how = 0; how < RULES; how++) {
            define((attend_symmetrization)how, &in[0], &in[1], &expected);
            const int n = links_of(&expected, links[2]);
            int found = -1;
            assert_ok(attend_symmetrize((attend_symmetrization)how, links[0], n0, links[1], n1, links[3], &found));
            assert_int_equal(found, n);
            for (int i = 0; i < n; i++)
                if (links[3][i].source != links[2][i].source || links[3][i].target != links[2][i].target)
                    fail_msg("trial %d, %s: link %d is %d-%d and not %d-%d", trial,
                             attend_symmetrization_name((attend_symmetrization)how), i, links[3][i].source,
                             links[3][i].target, links[2][i].source, links[2][i].target);
            differ += how > 0 && memcmp(&last, &expected, sizeof last) != 0;
            last = expected;
        }
    }
    assert_true(differ > 6000); /* the rules do differ on these cases */
    print_sampled("random pairs of alignments", TRIALS, 0);
}

/* ---- by hand ---- */

static void check(attend_symmetrization how, const char *forward, const char *backward, const char *expected)
{
    attend_word_link in[2][32], out[64];
    int counts[2] = { 0, 0 }, found = 0;
    for (int k = 0; k < 2; k++)
        for (const char *s = k ? backward : forward; *s; s += s[3] ? 4 : 3)
            in[k][counts[k]++] = (attend_word_link){ .source = s[0] - '0', .target = s[2] - '0' };
    assert_ok(attend_symmetrize(how, in[0], counts[0], in[1], counts[1], out, &found));
    char text[256] = "";
    for (int i = 0; i < found; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d-%d", i ? " " : "", out[i].source,
                 out[i].target);
    assert_string_equal(text, expected);
}

static void test_by_hand(void **state)
{
    (void)state;
    /* both have 0-0; 1-1 is its diagonal neighbour; 3-3 and 4-3 are isolated; 0-2 is not a neighbour of 0-0 but
     * aligns a new word */
    static const char forward[] = "0-0 1-1 0-2 3-3", backward[] = "0-0 4-3 0-0";
    check(ATTEND_INTERSECTION, forward, backward, "0-0");
    check(ATTEND_UNION, forward, backward, "0-0 1-1 0-2 3-3 4-3");
    check(ATTEND_GROW_DIAG, forward, backward, "0-0 1-1 0-2"); /* 0-2 is a neighbour of 1-1, and target 2 had no link */
    check(ATTEND_GROW_DIAG_FINAL, forward, backward, "0-0 1-1 0-2 3-3 4-3");
    check(ATTEND_GROW_DIAG_FINAL_AND, forward, backward, "0-0 1-1 0-2 3-3"); /* 4-3: target 3 has a link already */

    /* a neighbour whose words are both aligned: 0-1 is only in the union */
    static const char square[] = "0-0 1-1 0-1", diagonal[] = "0-0 1-1";
    check(ATTEND_GROW_DIAG, square, diagonal, "0-0 1-1");
    check(ATTEND_GROW_DIAG_FINAL, square, diagonal, "0-0 1-1");
    check(ATTEND_UNION, square, diagonal, "0-0 0-1 1-1");

    /* isolated: only final adds it, because of its target, and because of its source */
    check(ATTEND_GROW_DIAG, "0-0 0-5", "0-0", "0-0");
    check(ATTEND_GROW_DIAG_FINAL, "0-0 0-5", "0-0", "0-0 0-5");
    check(ATTEND_GROW_DIAG_FINAL_AND, "0-0 0-5", "0-0", "0-0");
    check(ATTEND_GROW_DIAG_FINAL, "0-0", "0-0 5-0", "0-0 5-0");
    check(ATTEND_GROW_DIAG_FINAL_AND, "0-0", "0-0 5-0", "0-0");
    check(ATTEND_GROW_DIAG_FINAL_AND, "0-0 4-5", "0-0 5-5", "0-0 4-5"); /* the first direction has precedence */

    /* a chain that grows against the order of the links takes a second pass */
    check(ATTEND_GROW_DIAG, "3-3 2-2 1-1 0-0", "3-3", "0-0 1-1 2-2 3-3");
    for (int how = 0; how < RULES; how++) {
        check((attend_symmetrization)how, "", "", "");
        check((attend_symmetrization)how, "1-0 0-1", "0-1 1-0 1-0", "1-0 0-1");
    }
    check(ATTEND_GROW_DIAG_FINAL_AND, "1-0", "", "1-0");
    check(ATTEND_GROW_DIAG, "1-0", "", "");
}

static void test_refusals(void **state)
{
    (void)state;
    const attend_word_link right[] = { { 0, 0, true }, { 1, 1, true } }, wrong[] = { { 0, -1, true } };
    attend_word_link out[4];
    int count;
    assert_string_equal(attend_symmetrization_name(ATTEND_GROW_DIAG_FINAL_AND), "grow-diag-final-and");
    assert_null(attend_symmetrization_name((attend_symmetrization)RULES));
    assert_int_equal(attend_symmetrize((attend_symmetrization)RULES, right, 2, right, 2, out, &count),
                     ATTEND_BAD_USAGE);
    assert_int_equal(attend_symmetrize(ATTEND_UNION, NULL, 2, right, 2, out, &count), ATTEND_BAD_USAGE);
    assert_int_equal(attend_symmetrize(ATTEND_UNION, right, -1, right, 2, out, &count), ATTEND_BAD_USAGE);
    assert_int_equal(attend_symmetrize(ATTEND_UNION, right, 2, right, 2, NULL, &count), ATTEND_BAD_USAGE);
    assert_int_equal(attend_symmetrize(ATTEND_UNION, right, 2, wrong, 1, out, &count), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "0--1"));
    const attend_word_link far[] = { { 1 << 24, 0, true } };
    assert_int_equal(attend_symmetrize(ATTEND_UNION, far, 1, right, 2, out, &count), ATTEND_BAD_DATA);
    for (long n = 1; n <= 3; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_symmetrize(ATTEND_UNION, right, 2, right, 2, out, &count), ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
    assert_ok(attend_symmetrize(ATTEND_UNION, NULL, 0, NULL, 0, NULL, &count));
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
