/* The built-in pairs are a function of the seed; held-out sources are not in the training set; each source has one
 * target; the French follows its grammar; links cover all words and refer to existing words. The lexicon is checked
 * entry by entry, sentences by the neighbours of each word. */
#include "demo/lexicon.h"
#include "unit/unit.h"

#include "demo/demo_pairs.h"

enum { MANY = 8000, MAX_WORDS = 64 };

typedef struct words {
    char text[DEMO_TEXT];
    const char *at[MAX_WORDS];
    int count;
} words;

static void split(words *w, const char *text)
{
    w->count = 0;
    snprintf(w->text, sizeof w->text, "%s", text);
    for (char *p = strtok(w->text, " "); p; p = strtok(NULL, " ")) w->at[w->count++] = p;
}

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}
static bool one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (is(word, *list)) return true;
    return false;
}
#define ONE_OF(word, ...) one_of(word, (const char *const[]){ __VA_ARGS__, NULL })

static const demo_noun *noun_of(const char *french, bool *plural)
{
    for (int i = 0; i < demo_noun_count; i++)
        for (int n = 0; n < 2; n++)
            if (demo_nouns[i].french[n] && is(demo_nouns[i].french[n], french)) {
                *plural = n;
                return &demo_nouns[i];
            }
    return NULL;
}

/* The forms of an adjective that a word can be: bit 0 masculine, 1 feminine, 2 and 3 the same in the plural; 0: not an
 * adjective. */
static unsigned adjective_forms(const char *word, bool *before)
{
    unsigned forms = 0;
    for (int i = 0; i < demo_adjective_count; i++) {
        const demo_adjective *a = &demo_adjectives[i];
        unsigned own = a->liaison && is(a->liaison, word) ? 1u : 0u;
        for (int f = 0; f < 4; f++) own |= is(a->french[f], word) ? 1u << f : 0u;
        if (own) *before = a->before;
        forms |= own;
    }
    return forms;
}

static bool hard(const char *word)
{
    bool plural;
    const demo_noun *n = noun_of(word, &plural);
    return n && n->aspirated;
}

/* ---- pairs ---- */

static void test_the_same_by_seed(void **state)
{
    (void)state;
    demo_pair a, b;
    int differ = 0;
    for (uint64_t i = 0; i < 500; i++) {
        memset(&a, 1, sizeof a), memset(&b, 2, sizeof b);
        demo_pairs_at(7, i % 2, i, &a);
        demo_pairs_at(8, i % 2, i, &b);
        differ += !is(a.source, b.source);
        demo_pairs_at(7, i % 2, i, &b);
        assert_string_equal(a.source, b.source);
        assert_string_equal(a.target, b.target);
        assert_int_equal(a.link_count, b.link_count);
        for (int k = 0; k < a.link_count; k++)
            assert_true(a.links[k].source == b.links[k].source && a.links[k].target == b.links[k].target);
    }
    assert_true(differ > 450);
    demo_pairs_at(1, false, 0, &a); /* on every machine */
    assert_string_equal(a.source, "do these foxes like her beautiful suitcases ?");
}

typedef struct pair_text {
    char *source, *target;
    bool held_out;
} pair_text;

static int by_source(const void *a, const void *b)
{
    return strcmp(((const pair_text *)a)->source, ((const pair_text *)b)->source);
}

static char *copy(const char *text)
{
    char *c = malloc(strlen(text) + 1);
    assert_non_null(c);
    return strcpy(c, text);
}

static void test_a_source_has_one_target_and_one_side(void **state)
{
    (void)state;
    pair_text *all = malloc(4 * MANY * sizeof *all);
    assert_non_null(all);
    for (int i = 0; i < 4 * MANY; i++) {
        demo_pair p;
        const bool held_out = i % 4 == 3;
        demo_pairs_at((uint64_t)(1 + i % 3), held_out, (uint64_t)i, &p);
        assert_int_equal(demo_pairs_held_out(p.source), held_out);
        all[i] = (pair_text){ copy(p.source), copy(p.target), held_out };
    }
    qsort(all, 4 * MANY, sizeof *all, by_source);
    int twice = 0;
    for (int i = 1; i < 4 * MANY; i++) {
        if (!is(all[i].source, all[i - 1].source)) continue;
        twice++;
        if (!is(all[i].target, all[i - 1].target))
            fail_msg("%s: %s / %s", all[i].source, all[i].target, all[i - 1].target);
        assert_int_equal(all[i].held_out, all[i - 1].held_out);
    }
    assert_true(twice < MANY); /* not all sources repeat */
    for (int i = 0; i < 4 * MANY; i++) free(all[i].source), free(all[i].target);
    free(all);
}

/* ---- links ---- */

static void test_links(void **state)
{
    (void)state;
    int crossing = 0, sure = 0, possible = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        demo_pair p;
        words en, fr;
        bool linked[MAX_WORDS] = { false }, crosses = false;
        demo_pairs_at(3, i % 2, i, &p);
        split(&en, p.source), split(&fr, p.target);
        assert_int_equal(en.count, p.source_words);
        assert_int_equal(fr.count, p.target_words);
        for (int k = 0; k < p.link_count; k++) {
            const attend_word_link *l = &p.links[k];
            assert_in_range(l->source, 0, en.count - 1);
            assert_in_range(l->target, 0, fr.count - 1);
            linked[l->target] = true;
            *(l->sure ? &sure : &possible) += 1;
            for (int j = 0; j < k; j++) {
                assert_false(l->source == p.links[j].source && l->target == p.links[j].target);
                crosses |= l->sure && p.links[j].sure && l->source < p.links[j].source && l->target > p.links[j].target;
            }
            bool plural;
            const demo_noun *n =
                noun_of(fr.at[l->target], &plural); /* a noun is linked only to its English translation */
            if (n && strncmp(fr.at[l->target], "ferme", 5) != 0 && /* also a verb */
                !(is(en.at[l->source], n->english[0]) || is(en.at[l->source], n->english[1])))
                fail_msg("%s from %s: %s / %s", fr.at[l->target], en.at[l->source], p.source, p.target);
            if (ONE_OF(fr.at[l->target], "pas", "jamais")) assert_true(ONE_OF(en.at[l->source], "not", "never"));
            if (ONE_OF(fr.at[l->target], "du", "au", "aux"))
                assert_true(ONE_OF(en.at[l->source], "the", "to", "from", "at", "near", "some", "'s", "'"));
        }
        for (int t = 0; t < fr.count; t++) assert_true(linked[t]);
        crossing += crosses;
    }
    assert_true(crossing > MANY / 3); /* word order differs */
    assert_true(sure > 5 * possible);
}

/* ---- French ---- */

/* Which words may be neighbours. */
static void check_neighbours(const words *w, int i)
{
    const char *a = w->at[i], *b = w->at[i + 1];
    const bool vowel = demo_vowel(b) && !hard(b);
    const size_t size = strlen(a);
    if (ONE_OF(a, "le", "la", "je", "me", "te", "ne", "de", "que", "ma", "sa") && vowel) fail_msg("%s %s", a, b);
    if (is(a, "ce") && i > 0) assert_false(vowel);
    if (a[size - 1] == '\'' && !vowel) fail_msg("%s %s", a, b);
    if (ONE_OF(a, "cet", "bel", "vieil", "nouvel") && !vowel) fail_msg("%s %s", a, b);
    if (ONE_OF(a, "beau", "vieux", "nouveau")) {
        bool plural;
        const demo_noun *n = noun_of(b, &plural);
        if (n && !plural && !is(n->french[0], n->french[1]) && vowel)
            fail_msg("%s %s", a, b); /* "vieux ours" is plural */
    }
    if (is(a, "de")) assert_false(ONE_OF(b, "des"));
    if (is(a, "à")) assert_false(ONE_OF(b, "les"));
    if (is(a, "est-ce")) assert_true(ONE_OF(b, "que", "qu'"));
    if (is(a, "beaucoup")) assert_true(ONE_OF(b, "de", "d'"));
    if (is(a, "près")) assert_true(ONE_OF(b, "de", "d'", "du", "des"));
}

/* "de le" would be correct only before a verb, which the grammar does not generate; "à le" likewise. */
static void check_contraction(const words *w, int i)
{
    if (ONE_OF(w->at[i], "de", "à")) assert_false(ONE_OF(w->at[i + 1], "le", "les"));
}

/* Determiner and adjectives agree with the noun: D [before] N [after]. */
static void check_agreement(const words *w, int i)
{
    bool plural, before = false;
    const demo_noun *n = noun_of(w->at[i], &plural);
    if (!n || i == 0 || ONE_OF(w->at[i], "ferme", "fermes")) return; /* also verbs */
    const unsigned want = 1u << ((n->feminine ? 1 : 0) + (plural ? 2 : 0));
    const bool both = n->french[1] && is(n->french[0], n->french[1]); /* souris */
    unsigned either = both ? want | 1u << (n->feminine ? 1 : 0) | 1u << ((n->feminine ? 1 : 0) + 2) : want;
    int d = i - 1;
    const unsigned forms = adjective_forms(w->at[d], &before);
    if (forms && before) {
        if (!(forms & either)) fail_msg("%s %s", w->at[d], w->at[i]);
        if (!both) either = want;
        d--;
    }
    if (d < 0) return;
    const char *det = w->at[d];
    const bool feminine = n->feminine;
    if (ONE_OF(det, "le", "un", "du", "au", "cet")) assert_false(feminine);
    if (is(det, "ce")) assert_false(feminine);
    if (ONE_OF(det, "la", "une", "ma", "sa", "cette")) assert_true(feminine);
    if (!both &&
        ONE_OF(det, "le", "la", "l'", "un", "une", "ce", "cet", "cette", "mon", "ma", "son", "sa", "notre", "chaque"))
        assert_false(plural);
    if (!both && ONE_OF(det, "les", "des", "aux", "ces", "mes", "ses", "nos", "leurs", "deux", "trois", "dix"))
        assert_true(plural);
    const unsigned after = i + 1 < w->count ? adjective_forms(w->at[i + 1], &before) : 0;
    if (after && !before && !(after & either)) fail_msg("%s %s", w->at[i], w->at[i + 1]);
}

/* The verb agrees with its subject pronoun; ne and object pronouns may be between them. */
static void check_verb(const words *w, int i)
{
    static const char *const subjects[] = { "je", "tu", "il", "nous", "vous", "ils" };
    static const char *const future[] = { "ai", "as", "a", "ons", "ez", "ont" };
    const demo_verb *const lists[] = { demo_transitive, demo_giving, demo_intransitive, demo_moving,
                                       demo_saying,     demo_modals, &demo_be };
    const int counts[] = { demo_transitive_count,
                           demo_giving_count,
                           demo_intransitive_count,
                           demo_moving_count,
                           demo_saying_count,
                           demo_modal_count,
                           1 };
    int person = is(w->at[i], "j'") ? JE : is(w->at[i], "elle") ? IL : -1;
    for (int p = 0; p < PERSONS; p++)
        if (is(w->at[i], subjects[p])) person = p;
    const bool first = i == 0 || ONE_OF(w->at[i - 1], "que", "qu'", ",");
    if (person < 0 || !first) return; /* nous and vous can also be objects */
    int v = i + 1;
    while (ONE_OF(w->at[v], "ne", "n'", "me", "m'", "te", "le", "la", "l'", "lui", "nous", "vous", "les", "leur")) v++;
    for (int l = 0; l < 7; l++)
        for (int k = 0; k < counts[l]; k++) {
            char text[64];
            snprintf(text, sizeof text, "%s%s", lists[l][k].future, future[person]);
            if (is(w->at[v], lists[l][k].present[person]) || is(w->at[v], text)) return;
        }
    fail_msg("%s .. %s", w->at[i], w->at[v]);
}

/* ne and pas are before and after the verb, and a negated object has no indefinite article. */
static void check_negation(const words *w)
{
    int ne = 0, pas = 0, first = -1, second = -1;
    for (int i = 0; i < w->count; i++) {
        if (ONE_OF(w->at[i], "ne", "n'")) ne++, first = i;
        if (ONE_OF(w->at[i], "pas", "jamais", "plus")) pas++, second = i;
    }
    assert_int_equal(ne, pas);
    if (ne != 1) return;
    assert_in_range(second - first, 2, 3);
    if (second + 1 < w->count && !ONE_OF(w->at[second - 1], "est", "sont"))
        assert_false(ONE_OF(w->at[second + 1], "un", "une"));
}

static void test_french(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8 * MANY; i++) { /* many, because some constructions are rare */
        demo_pair p;
        words w;
        demo_pairs_at(5, i % 5 == 0, i, &p);
        split(&w, p.target);
        assert_true(ONE_OF(w.at[w.count - 1], ".", "?"));
        assert_int_equal(attend_utf8_valid(p.target, strlen(p.target)), strlen(p.target));
        for (int k = 0; k + 1 < w.count; k++) {
            check_neighbours(&w, k);
            check_contraction(&w, k);
            check_agreement(&w, k);
            check_verb(&w, k);
        }
        check_negation(&w);
    }
}

static void test_english(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        demo_pair p;
        words w;
        demo_pairs_at(6, false, i, &p);
        split(&w, p.source);
        assert_in_range(w.count, 2, DEMO_MAX_WORDS);
        for (int k = 0; k + 1 < w.count; k++) {
            const bool vowel = strchr("aeiouAEIO", w.at[k + 1][0]) != NULL;
            if (is(w.at[k], "a")) assert_false(vowel);
            if (is(w.at[k], "an")) assert_true(vowel);
            if (ONE_OF(w.at[k], "he", "she") && k == 0)
                assert_false(ONE_OF(w.at[1], "do", "are", "have", "see", "like"));
            if (ONE_OF(w.at[k], "I", "we", "they") && k == 0)
                assert_false(ONE_OF(w.at[1], "does", "is", "has", "sees"));
        }
    }
}

/* ---- tables ---- */

static void test_tables(void **state)
{
    (void)state;
    for (int i = 0; i < demo_noun_count; i++) {
        const demo_noun *n = &demo_nouns[i];
        assert_true((n->english[1] == NULL) == (n->french[1] == NULL));
        assert_true((n->kind & (MASS | LIQUID)) ? !n->english[1] : n->english[1] != NULL);
        for (int j = 0; j < i; j++)
            assert_false(is(n->english[0], demo_nouns[j].english[0]) || is(n->french[0], demo_nouns[j].french[0]));
    }
    for (int i = 0; i < demo_adjective_count; i++) {
        const demo_adjective *a = &demo_adjectives[i];
        for (int j = 0; j < i; j++) assert_false(is(a->english, demo_adjectives[j].english));
        const size_t f = strlen(a->french[1]);
        assert_true(a->french[1][f - 1] == 'e');
        assert_true(strncmp(a->french[3], a->french[1], f) == 0 && is(a->french[3] + f, "s"));
    }
    for (int i = 0; i < demo_transitive_count; i++) {
        const demo_verb *v = &demo_transitive[i];
        const size_t n = strlen(v->present[VOUS]), r = strlen(v->future);
        assert_true(is(v->present[VOUS] + n - 2, "ez"));
        assert_true(v->future[r - 1] == 'r');
        assert_true(v->participle != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_by_seed),
        cmocka_unit_test(test_a_source_has_one_target_and_one_side),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_french),
        cmocka_unit_test(test_english),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
