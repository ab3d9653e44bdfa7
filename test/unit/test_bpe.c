/* Byte-pair encoding: which merges are learned, in which order, and encoding with them. tools/check_bpe.py compares
 * it with the definition. */
#include "unit/unit.h"

#include "support/lines.h"
#include "support/round_trip.h"
#include "text/tokenizer.h"

#define SP "\xe2\x96\x81"

static attend_tokenizer *learn(const char *text, int vocab_size, int min_count)
{
    attend_tokenizer *t = NULL;
    lines l = lines_of(text);
    assert_ok(lines_learn(&t, &l, ATTEND_TOKENS_BPE, vocab_size, min_count));
    lines_free(&l);
    return t;
}

/* The merges as "left right|left right|..."; valid until the next call. */
static const char *merges_of(const attend_tokenizer *t)
{
    static char all[4096];
    size_t n = 0;
    all[0] = '\0';
    for (int i = 0; i < t->merge_count; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s %s|", attend_tokenizer_token(t, t->merges[i].left),
                              attend_tokenizer_token(t, t->merges[i].right));
    return all;
}

static const char *tokens_of(const attend_tokenizer *t, const char *text, double dropout, uint64_t position)
{
    static char all[4096];
    attend_ids ids = { 0 };
    size_t n = 0;
    assert_ok(attend_tokenizer_encode(t, text, strlen(text), &ids, dropout, 1, position));
    all[0] = '\0';
    for (int i = 0; i < ids.count; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s|", attend_tokenizer_token(t, ids.ids[i]));
    attend_ids_free(&ids);
    return all;
}

static void merges_by_count_then_by_bytes(void **state)
{
    (void)state;
    attend_tokenizer *t =
        learn("abc\nabd\nxbc\nybc", 0, 1); /* b c: 3; space a, a b: 2, but a b is 1 once b c is merged */
    assert_string_equal(merges_of(t), "b c|" SP " a|");
    attend_tokenizer_free(t);
    t = learn("pq rs tu\ntu rs pq", 0, 1); /* all have count 2: ordered by bytes, in which the space mark is last */
    assert_string_equal(merges_of(t), "p q|r s|t u|" SP " pq|" SP " rs|" SP " tu|");
    attend_tokenizer_free(t);
    t = learn("pq rs tu\ntu rs pq", 0, 3);
    assert_string_equal(merges_of(t), "");
    attend_tokenizer_free(t);
}

static void runs_merge_from_the_left(void **state)
{
    (void)state;
    attend_tokenizer *t = learn("aaaaa\naaaaa", 259 + 2 + 1, 1);
    assert_string_equal(merges_of(t), "a a|");
    assert_string_equal(tokens_of(t, "aaaaa", 0, 0), SP "|aa|aa|a|");
    attend_tokenizer_free(t);
    t = learn("aaaaaaa\naaaaaaa", 0, 1);
    assert_string_equal(tokens_of(t, "aaaaaaa", 0, 0), SP "aaaaaaa|");
    attend_tokenizer_free(t);
}

static void merges_stay_in_their_word(void **state)
{
    (void)state;
    attend_tokenizer *t = learn("a b a b a b a b\na  b   a b  ", 0, 1);
    for (int i = 259; i < attend_tokenizer_size(t); i++) { /* spaces are only at the beginning */
        const char *token = attend_tokenizer_token(t, i);
        while (strncmp(token, SP, 3) == 0) token += 3;
        assert_null(strstr(token, SP));
    }
    assert_string_equal(tokens_of(t, "a b", 0, 0), SP "a|" SP "b|"); /* the first word is encoded as elsewhere */
    assert_string_equal(tokens_of(t, "b a", 0, 0), SP "b|" SP "a|");
    assert_string_equal(tokens_of(t, "", 0, 0), "");
    static const char *const spaced[] = { "", " ", "  ", "a ", " a", "  a   b  ", "\ta\t", SP, " " SP "a", SP SP };
    for (size_t i = 0; i < sizeof spaced / sizeof *spaced; i++)
        assert_null(round_trip(t, spaced[i], strlen(spaced[i]), 0, 0));
    attend_tokenizer_free(t);
}

static void the_space_mark_is_not_a_space(void **state)
{
    (void)state;
    /* " <U+2581>x" must not be encoded as the token of two spaces and x */
    attend_tokenizer *t = learn("a  x\na  x\na  x", 0, 1);
    assert_string_equal(tokens_of(t, "a  x", 0, 0), SP "a|" SP SP "x|");
    assert_null(strstr(tokens_of(t, "a " SP "x", 0, 0), SP SP));
    assert_null(round_trip(t, "a " SP "x", 6, 0, 0));
    attend_tokenizer_free(t);
}

static void rare_characters_are_encoded_as_bytes(void **state)
{
    (void)state;
    attend_tokenizer *t = learn("aaq aaq\naa\xc3\xa9", 0, 2);
    assert_string_equal(tokens_of(t, "aa\xc3\xa9q", 0, 0), SP "aa|<0xC3>|<0xA9>|q|");
    attend_tokenizer_free(t);
}

static void a_token_is_made_by_one_merge(void **state)
{
    (void)state;
    /* a pair whose text is a reserved token or another token is not merged */
    attend_tokenizer *t = learn("<s><s><s> <s> </s> </s></s> <unk><unk> <unk> <0x41><0x41>\n<s> x<s> x</s>", 0, 1);
    for (int i = 259; i < attend_tokenizer_size(t); i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(attend_tokenizer_token(t, i), attend_tokenizer_token(t, j));
    assert_int_equal(attend_tokenizer_size(t), t->first_merge + t->merge_count);
    static const char text[] = "<s> x <unk> <0x41>";
    assert_null(round_trip(t, text, sizeof text - 1, 0, 0));
    attend_tokenizer_free(t);
}

static void sizes(void **state)
{
    (void)state;
    static const char text[] = "the cat sat on the mat, the dog sat on the cat";
    attend_tokenizer *t = learn(text, 259, 1); /* bytes only */
    assert_int_equal(attend_tokenizer_size(t), 259);
    assert_string_equal(tokens_of(t, "hi", 0, 0), "<0x20>|<0x68>|<0x69>|");
    assert_null(round_trip(t, text, sizeof text - 1, 0, 0));
    attend_tokenizer_free(t);
    t = learn(text, 262, 1); /* the three most frequent characters */
    assert_string_equal(attend_tokenizer_token(t, 259), SP);
    assert_string_equal(attend_tokenizer_token(t, 260), "t");
    assert_int_equal(attend_tokenizer_size(t), 262);
    attend_tokenizer_free(t);
    t = learn(text, 280, 1);
    assert_int_equal(attend_tokenizer_size(t), 280);
    attend_tokenizer_free(t);
    t = learn("", 0, 1);
    assert_int_equal(attend_tokenizer_size(t), 259);
    attend_tokenizer_free(t);
}

static void dropout(void **state)
{
    (void)state;
    static const char word[] = "internationalization";
    attend_tokenizer *t =
        learn("internationalization\ninternationalization\nnational nation international station", 0, 1);
    char once[4096];
    int different = 0;
    snprintf(once, sizeof once, "%s", tokens_of(t, word, 0, 0));
    assert_string_equal(once, SP "internationalization|");
    assert_int_equal(strlen(tokens_of(t, word, 1, 0)), 3 + 1 + 2 * strlen(word)); /* all merges dropped: characters */
    for (uint64_t position = 0; position < 50; position++) {
        snprintf(once, sizeof once, "%s", tokens_of(t, word, 0.3, position));
        assert_string_equal(once, tokens_of(t, word, 0.3, position));
        different += strcmp(once, tokens_of(t, word, 0.3, position + 1)) != 0;
    }
    assert_true(different > 25);
    attend_tokenizer_free(t);
}

/* A dropped merge has another chance after the next merge: of the two pairs of abcd, a b is merged with probability
 * 1/2 + 1/2 1/2 1/2. */
static void dropped_merges_have_another_chance(void **state)
{
    (void)state;
    enum { TIMES = 8000 };
    attend_tokenizer *t = learn("ab cd\nab cd\nxab xcd", 259 + 6 + 2, 1);
    int made = 0;
    assert_string_equal(merges_of(t), "a b|c d|");
    for (uint64_t position = 0; position < TIMES; position++)
        made += strstr(tokens_of(t, "abcd", 0.5, position), "|ab|") != NULL;
    assert_true(made > 0.6 * TIMES && made < 0.65 * TIMES);
    attend_tokenizer_free(t);
}

/* Looking up whole words gives the result of merging: so small a dropout drops nothing but disables the lookup. */
static void lookup_equals_merging(void **state)
{
    (void)state;
    char text[4 * 30], looked_up[4096];
    lines l = { 0 };
    for (int i = 0; i < 400; i++) {
        size_t size = 0;
        for (size_t n = lines_below(25); n > 0; n--) size += attend_utf8_put(text + size, "ab "[lines_below(3)]);
        lines_add(&l, text, size);
    }
    attend_tokenizer *t = NULL;
    assert_ok(lines_learn(&t, &l, ATTEND_TOKENS_BPE, 0, 1));
    for (size_t i = 0; i < l.count; i++) {
        snprintf(looked_up, sizeof looked_up, "%s", tokens_of(t, l.lines[i], 0, 0));
        assert_string_equal(looked_up, tokens_of(t, l.lines[i], 1e-300, i));
    }
    attend_tokenizer_free(t);
    lines_free(&l);
}

/* Quadratic time would take hours. */
static void a_line_without_spaces(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 1);
    assert_non_null(text);
    for (int i = 0; i < SIZE; i++) text[i] = (char)('a' + i * 7 % 5 % 3);
    text[SIZE] = '\0';
    attend_tokenizer *t = learn(text, 600, 1);
    assert_true(t->merge_count > 10);
    assert_null(round_trip(t, text, SIZE, 0, 0));
    assert_null(round_trip(t, text, SIZE, 0.5, 0));
    memset(text, 'a', SIZE);
    attend_tokenizer_free(t);
    t = learn(text, 600, 1);
    assert_null(round_trip(t, text, SIZE, 0, 0));
    attend_tokenizer_free(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_by_count_then_by_bytes),
        cmocka_unit_test(runs_merge_from_the_left),
        cmocka_unit_test(merges_stay_in_their_word),
        cmocka_unit_test(the_space_mark_is_not_a_space),
        cmocka_unit_test(rare_characters_are_encoded_as_bytes),
        cmocka_unit_test(a_token_is_made_by_one_merge),
        cmocka_unit_test(sizes),
        cmocka_unit_test(dropout),
        cmocka_unit_test(dropped_merges_have_another_chance),
        cmocka_unit_test(lookup_equals_merging),
        cmocka_unit_test(a_line_without_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
