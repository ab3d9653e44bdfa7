/* Tokenizers of all kinds: token ids, words, characters, bytes, decoding, errors. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/lines.h"
#include "support/round_trip.h"
#include "text/tokenizer.h"
#include <math.h>

static const char small_text[] =
    "the cat sat on the mat\nthe dog  sat\nna\xc3\xafve caf\xc3\xa9\n<s> <0x41> </s> <unk>\n";
static const attend_token_kind all_kinds[] = { ATTEND_TOKENS_WORD, ATTEND_TOKENS_CHAR, ATTEND_TOKENS_BPE };

static attend_tokenizer *learn(const char *text, attend_token_kind kind, int vocab_size, int min_count)
{
    attend_tokenizer *t = NULL;
    lines l = lines_of(text);
    assert_ok(lines_learn(&t, &l, kind, vocab_size, min_count));
    lines_free(&l);
    return t;
}

/* The tokens of a text, each followed by '|'; valid until the next call. */
static const char *tokens_of(const attend_tokenizer *t, const char *text, size_t size)
{
    static char all[4096];
    attend_ids ids = { 0 };
    size_t n = 0;
    assert_ok(attend_tokenizer_encode(t, text, size, &ids, 0, 0, 0));
    all[0] = '\0';
    for (int i = 0; i < ids.count; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s|", attend_tokenizer_token(t, ids.ids[i]));
    attend_ids_free(&ids);
    return all;
}

static const char *text_of(const attend_tokenizer *t, const int *ids, int count)
{
    static char text[4096];
    attend_string out = { 0 };
    assert_ok(attend_tokenizer_decode(t, ids, count, &out));
    assert_int_equal(strlen(out.text), out.size);
    snprintf(text, sizeof text, "%s", out.text);
    attend_string_free(&out);
    return text;
}

static void reserved_tokens(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        attend_tokenizer *t = learn(small_text, all_kinds[k], 0, 1);
        assert_int_equal(attend_tokenizer_kind(t), all_kinds[k]);
        assert_string_equal(attend_tokenizer_token(t, ATTEND_UNKNOWN), "<unk>");
        assert_string_equal(attend_tokenizer_token(t, ATTEND_BEGIN), "<s>");
        assert_string_equal(attend_tokenizer_token(t, ATTEND_END), "</s>");
        if (k > 0) {
            assert_string_equal(attend_tokenizer_token(t, 3), "<0x00>");
            assert_string_equal(attend_tokenizer_token(t, 3 + 0xab), "<0xAB>");
            assert_string_equal(attend_tokenizer_token(t, 258), "<0xFF>");
        }
        assert_null(attend_tokenizer_token(t, -1));
        assert_null(attend_tokenizer_token(t, attend_tokenizer_size(t)));
        attend_ids ids = { 0 }; /* text that spells a special token is text */
        assert_ok(attend_tokenizer_encode(t, "<s> </s>", 8, &ids, 0, 0, 0));
        for (int i = 0; i < ids.count; i++) assert_true(ids.ids[i] != ATTEND_BEGIN && ids.ids[i] != ATTEND_END);
        attend_ids_free(&ids);
        attend_tokenizer_free(t);
    }
    assert_string_equal(attend_token_kind_name(ATTEND_TOKENS_WORD), "word");
    assert_string_equal(attend_token_kind_name(ATTEND_TOKENS_CHAR), "char");
    assert_string_equal(attend_token_kind_name(ATTEND_TOKENS_BPE), "bpe");
    assert_null(attend_token_kind_name((attend_token_kind)3));
}

static void words(void **state)
{
    (void)state;
    attend_tokenizer *t = learn(small_text, ATTEND_TOKENS_WORD, 0, 1);
    assert_int_equal(attend_tokenizer_size(t), 3 + 9); /* by decreasing count, then by bytes */
    assert_string_equal(attend_tokenizer_token(t, 3), "the");
    assert_string_equal(attend_tokenizer_token(t, 4), "sat");
    assert_string_equal(attend_tokenizer_token(t, 5), "<0x41>"); /* an ordinary word: this kind has no byte tokens */
    assert_string_equal(attend_tokenizer_token(t, 6), "caf\xc3\xa9");
    /* ASCII white space, and no-break, em, ideographic space; after normalization to NFC */
    static const char spaced[] = " the\tcat\v\xc2\xa0"
                                 "dog\xe2\x80\x83"
                                 "bird\xe3\x80\x80"
                                 "cafe\xcc\x81 <s>  ";
    assert_string_equal(tokens_of(t, spaced, sizeof spaced - 1), "the|cat|dog|<unk>|caf\xc3\xa9|<unk>|");
    assert_string_equal(tokens_of(t, "the\0re the", 10), "<unk>|the|");
    assert_string_equal(tokens_of(t, "", 0), "");
    attend_ids ids = { 0 };
    assert_ok(attend_tokenizer_encode(t, " the  cat", 9, &ids, 0, 0, 0));
    assert_int_equal(ids.count, 2);
    assert_true(ids.spans[0].begin == 1 && ids.spans[0].end == 4 && ids.spans[1].begin == 6 && ids.spans[1].end == 9);
    const int sentence[] = { ATTEND_BEGIN, ids.ids[0], ATTEND_UNKNOWN, ids.ids[1], ATTEND_END };
    assert_string_equal(text_of(t, sentence, 5), "the <unk> cat");
    attend_ids_free(&ids);
    attend_tokenizer_free(t);
    t = learn(small_text, ATTEND_TOKENS_WORD, 4, 1);
    assert_int_equal(attend_tokenizer_size(t), 4);
    attend_tokenizer_free(t);
    t = learn(small_text, ATTEND_TOKENS_WORD, 0, 2);
    assert_int_equal(attend_tokenizer_size(t), 5);
    attend_tokenizer_free(t);
}

static void characters_and_bytes(void **state)
{
    (void)state;
    attend_tokenizer *t = learn("aab a\xe2\x96\x81\xc3\xa9", ATTEND_TOKENS_CHAR, 0, 1);
    assert_int_equal(attend_tokenizer_size(t), 259 + 4); /* a, b, space and e acute; U+2581 never */
    assert_string_equal(attend_tokenizer_token(t, 259), "a");
    assert_string_equal(attend_tokenizer_token(t, 260), "b");
    assert_string_equal(attend_tokenizer_token(t, 261), "\xc3\xa9");
    assert_string_equal(attend_tokenizer_token(t, 262), "\xe2\x96\x81");
    static const char odd[] = "a \xe2\x96\x81\0\nz";
    assert_string_equal(tokens_of(t, odd, sizeof odd - 1), "a|\xe2\x96\x81|<0xE2>|<0x96>|<0x81>|<0x00>|<0x0A>|<0x7A>|");
    assert_null(round_trip(t, odd, sizeof odd - 1, 0, 0));
    /* each byte that is not UTF-8 becomes U+FFFD; special tokens between bytes are skipped */
    const int bytes[] = { 3 + 0xff, 3 + 0xc3, ATTEND_END, 3 + 0xa9, 3 + 0xe2, 3 + 0x82, 259, 3 + 0xf0 };
    assert_string_equal(text_of(t, bytes, 8), "\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
                                              "a\xef\xbf\xbd");
    attend_tokenizer_free(t);
}

static int broken_line(void *user, const char **line, size_t *size)
{
    *line = ++*(int *)user == 3 ? "caf\xe9" : "fine";
    *size = 4;
    return 1;
}

static int broken_source(void *user, const char **line, size_t *size)
{
    (void)user, (void)line, (void)size;
    return -ATTEND_IO;
}

static void invalid_use_is_reported(void **state)
{
    (void)state;
    attend_tokenizer *t = NULL;
    lines l = lines_of(small_text);
    assert_int_equal(lines_learn(&t, &l, (attend_token_kind)9, 0, 1), ATTEND_BAD_USAGE);
    assert_int_equal(lines_learn(&t, &l, ATTEND_TOKENS_BPE, 258, 1), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "259"));
    assert_int_equal(lines_learn(&t, &l, ATTEND_TOKENS_WORD, -1, 1), ATTEND_BAD_USAGE);
    assert_int_equal(lines_learn(&t, &l, ATTEND_TOKENS_WORD, 0, -1), ATTEND_BAD_USAGE);
    lines_free(&l);
    for (int k = 0; k < 3; k++) {
        const attend_tokenizer_options options = { .kind = all_kinds[k], .min_count = 1 };
        int calls = 0;
        assert_int_equal(attend_tokenizer_learn(&t, &options, broken_line, &calls), ATTEND_BAD_DATA);
        assert_non_null(strstr(attend_message(), "line 3"));
        assert_non_null(strstr(attend_message(), "byte 4"));
        assert_int_equal(attend_tokenizer_learn(&t, &options, broken_source, NULL), ATTEND_IO);
        assert_null(t);
    }
    attend_ids ids = { 0 };
    attend_string out = { 0 };
    t = learn(small_text, ATTEND_TOKENS_BPE, 0, 1);
    assert_ok(attend_tokenizer_encode(t, "the cat", 7, &ids, 0, 0, 0));
    const int before = ids.count;
    assert_int_equal(attend_tokenizer_encode(t, "the \xff", 5, &ids, 0, 0, 0), ATTEND_BAD_DATA);
    assert_int_equal(attend_tokenizer_encode(t, "the", 3, &ids, -0.1, 0, 0), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tokenizer_encode(t, "the", 3, &ids, 1.1, 0, 0), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tokenizer_encode(t, "the", 3, &ids, (double)NAN, 0, 0), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tokenizer_encode(t, "the", (size_t)1 << 30, &ids, 0, 0, 0), ATTEND_BAD_DATA);
    assert_int_equal(ids.count, before);
    assert_ok(attend_tokenizer_decode(t, ids.ids, ids.count, &out));
    ids.ids[1] = attend_tokenizer_size(t);
    assert_int_equal(attend_tokenizer_decode(t, ids.ids, ids.count, &out), ATTEND_BAD_USAGE);
    ids.ids[1] = -1;
    assert_int_equal(attend_tokenizer_decode(t, ids.ids, ids.count, &out), ATTEND_BAD_USAGE);
    assert_string_equal(out.text, "the cat");
    ids.count = ids.capacity = INT32_MAX; /* the size is checked before any allocation */
    assert_int_equal(attend_tokenizer_encode(t, "zzzzz", 5, &ids, 0, 0, 0), ATTEND_BAD_DATA);
    attend_ids_free(&ids);
    attend_string_free(&out);
    attend_tokenizer_free(t);
}

static void tokens_and_text_are_appended(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        attend_tokenizer *t = learn(small_text, all_kinds[k], 0, 1);
        attend_ids ids = { 0 };
        attend_string out = { 0 };
        assert_ok(attend_tokenizer_encode(t, "the", 3, &ids, 0, 0, 0));
        const int first = ids.count;
        assert_ok(attend_tokenizer_encode(t, "cat", 3, &ids, 0, 0, 0));
        assert_true(ids.spans[first].begin == 0);
        assert_ok(attend_tokenizer_decode(t, ids.ids, first, &out));
        assert_ok(attend_tokenizer_decode(t, ids.ids + first, ids.count - first, &out));
        assert_string_equal(out.text, "thecat");
        assert_ok(attend_tokenizer_decode(t, ids.ids, 0, &out));
        assert_string_equal(out.text, "thecat");
        attend_ids_free(&ids);
        attend_string_free(&out);
        attend_tokenizer_free(t);
    }
}

static void nothing_is_lost(void **state)
{
    (void)state;
    char text[4 * 60];
    for (int round = 0; round < 12; round++) {
        lines l = { 0 };
        for (size_t i = lines_below(200); i > 0; i--) lines_add(&l, text, any_text(text, 20));
        for (int k = 1; k < 3; k++) {
            attend_tokenizer *t = NULL;
            assert_ok(lines_learn(&t, &l, all_kinds[k], 259 + (int)lines_below(400), 1 + (int)lines_below(4)));
            for (int i = 0; i < 1500; i++) {
                const size_t size = any_text(text, 60);
                static const double dropouts[] = { 0, 0.1, 0.5, 1 };
                const char *wrong = round_trip(t, text, size, dropouts[i % 4], (uint64_t)i);
                if (wrong)
                    fail_msg("%s: %s (round %d, text %d)", attend_token_kind_name(all_kinds[k]), wrong, round, i);
            }
            attend_tokenizer_free(t);
        }
        lines_free(&l);
    }
}

static bool same(const attend_tokenizer *a, const attend_tokenizer *b)
{
    if (attend_tokenizer_size(a) != attend_tokenizer_size(b)) return false;
    for (int i = 0; i < attend_tokenizer_size(a); i++)
        if (strcmp(attend_tokenizer_token(a, i), attend_tokenizer_token(b, i)) != 0) return false;
    return true;
}

/* The lower bound of the number of tokens holds for random texts, and for one that NFC makes shorter. */
static void at_least_so_many_tokens(void **state)
{
    (void)state;
    char text[4096];
    for (int k = 0; k < 3; k++) {
        attend_tokenizer *t =
            learn("\xea\xb0\x81\xea\xb0\x81\xea\xb0\x81\n\xea\xb0\x81\xea\xb0\x81\xea\xb0\x81", all_kinds[k], 0, 1);
        for (int i = 0; i < 2000; i++) {
            attend_ids ids = { 0 };
            size_t size = any_text(text, 500);
            for (size_t at = 0; i == 0 && at < 400; at++) /* a Hangul syllable in three code points */
                memcpy(text + 9 * at, "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", 9), size = 9 * at + 9;
            assert_ok(attend_tokenizer_encode(t, text, size, &ids, 0, 0, 0));
            const size_t bound = attend_tokenizer_min_tokens(t, text, size);
            if (bound > (size_t)ids.count) fail_msg("kind %d: %zu tokens at least, but %d", k, bound, ids.count);
            if (i == 0 && k > 0) assert_true(bound > 5); /* tokens have one syllable, or three */
            attend_ids_free(&ids);
        }
        memset(text, 'a', sizeof text);
        for (size_t i = 1; i < sizeof text; i += 2) text[i] = ' ';
        assert_int_equal(attend_tokenizer_min_tokens(t, text, sizeof text), sizeof text / 2);
        attend_tokenizer_free(t);
    }
}

static void the_order_of_lines_does_not_matter(void **state)
{
    (void)state;
    char text[4 * 30];
    lines forth = { 0 }, back = { 0 };
    for (int i = 0; i < 300; i++) lines_add(&forth, text, any_text(text, 30));
    for (size_t i = forth.count; i > 0; i--) lines_add(&back, forth.lines[i - 1], forth.sizes[i - 1]);
    for (int k = 0; k < 3; k++) {
        attend_tokenizer *a = NULL, *b = NULL;
        assert_ok(lines_learn(&a, &forth, all_kinds[k], 700, 1));
        assert_ok(lines_learn(&b, &back, all_kinds[k], 700, 1));
        assert_true(same(a, b));
        attend_tokenizer_free(a), attend_tokenizer_free(b);
    }
    lines_free(&forth), lines_free(&back);
}

/* Learns, encodes and decodes; allocations may fail. */
static int use(lines *l, attend_token_kind kind, const char *text, size_t size)
{
    attend_tokenizer *t = NULL;
    attend_ids ids = { 0 };
    attend_string out = { 0 };
    int status = lines_learn(&t, l, kind, 0, 1);
    assert_true((status == ATTEND_OK) == (t != NULL));
    if (status == ATTEND_OK) status = attend_tokenizer_encode(t, text, size, &ids, 0, 0, 0);
    if (status == ATTEND_OK) status = attend_tokenizer_decode(t, ids.ids, ids.count, &out);
    attend_tokenizer_free(t);
    attend_ids_free(&ids);
    attend_string_free(&out);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    char odd[400];
    lines l = lines_of(
        "the cat sat on the mat, the cat sat on the mat\ncafe\xcc\x81 cafe\xcc\x81\n"
        "x1 x2 x3 x4 x5 x6 x7 x8 x9 y1 y2 y3 y4 y5 y6 y7 y8 y9 z1 z2 z3 z4 z5 z6 z7 z8 z9 w1 w2 w3 w4 w5 w6 w7 w8\n");
    for (size_t i = 0; i < sizeof odd; i++) odd[i] = (char)('!' + i % 90);
    memcpy(odd + 8, "e\xcc\x81 \xe2\x96\x81", 7);
    for (int k = 0; k < 3; k++)
        for (long n = 1;; n++) {
            attend_memory_refuse(n);
            const int status = use(&l, all_kinds[k], odd, sizeof odd);
            const long asked = attend_memory_requests();
            attend_memory_refuse(0);
            if (asked < n) {
                assert_int_equal(status, ATTEND_OK);
                break;
            }
            assert_int_equal(status, ATTEND_NO_MEMORY);
            assert_non_null(strstr(attend_message(), "memory"));
        }
    lines_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_tokens),
        cmocka_unit_test(words),
        cmocka_unit_test(characters_and_bytes),
        cmocka_unit_test(invalid_use_is_reported),
        cmocka_unit_test(tokens_and_text_are_appended),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(at_least_so_many_tokens),
        cmocka_unit_test(the_order_of_lines_does_not_matter),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
