/* Tokenizers in models: they are restored; damaged ones are rejected with a message, or work. */
#include "unit/unit.h"

#include "core/memory.h"
#include "support/folder.h"
#include "support/lines.h"
#include "support/round_trip.h"
#include "support/tiny_pairs.h"
#include "text/tokenizer.h"

static const attend_token_kind all_kinds[] = { ATTEND_TOKENS_WORD, ATTEND_TOKENS_CHAR, ATTEND_TOKENS_BPE,
                                               ATTEND_TOKENS_JAMO };

static attend_tokenizer *learn(attend_token_kind kind)
{
    attend_tokenizer *t = NULL;
    lines l = lines_of("the cat sat\nthe  cat\xc3\xa9\tthe cat sat\nthat \xe3\x81\x8b\n\xea\xb0\x81");
    assert_ok(lines_learn(&t, &l, kind, 0, 1));
    lines_free(&l);
    return t;
}

static attend_model *model_for(const attend_tokenizer *source, const attend_tokenizer *target)
{
    attend_config config;
    attend_model *m = NULL;
    assert_ok(tiny_config(&config, "hidden=1 embedding=1 attention-width=1"));
    config.source_vocab = attend_tokenizer_size(source);
    config.target_vocab = attend_tokenizer_size(target);
    assert_ok(attend_model_new(&m, &config, 1));
    return m;
}

static void assert_same(const attend_tokenizer *a, const attend_tokenizer *b)
{
    attend_string one[2] = { { 0 } }, other[2] = { { 0 } };
    assert_ok(attend_tokenizer_write(a, &one[0], &one[1]));
    assert_ok(attend_tokenizer_write(b, &other[0], &other[1]));
    for (int i = 0; i < 2; i++) {
        assert_string_equal(one[i].text, other[i].text);
        attend_string_free(&one[i]), attend_string_free(&other[i]);
    }
    attend_ids x = { 0 }, y = { 0 };
    static const char text[] = "the  cat sat that hat \xe3\x81\x8b\xe2\x96\x81";
    assert_ok(attend_tokenizer_encode(a, text, sizeof text - 1, &x, 0.2, 1, 2));
    assert_ok(attend_tokenizer_encode(b, text, sizeof text - 1, &y, 0.2, 1, 2));
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.ids, y.ids, (size_t)x.count * sizeof *x.ids);
    assert_memory_equal(x.spans, y.spans, (size_t)x.count * sizeof *x.spans);
    attend_ids_free(&x), attend_ids_free(&y);
}

static void attached_tokenizers_are_restored(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < 4; k++) {
            attend_tokenizer *source = learn(all_kinds[s]), *target = learn(all_kinds[k]), *back = NULL;
            attend_model *m = model_for(source, target), *loaded = NULL;
            assert_ok(attend_tokenizer_attach(source, m, "source"));
            assert_ok(attend_tokenizer_attach(target, m, "target"));
            assert_ok(attend_model_save(m, in_folder("model")));
            assert_ok(attend_model_load(&loaded, in_folder("model"), NULL));
            assert_ok(attend_tokenizer_from_model(&back, loaded, "source"));
            assert_same(source, back);
            attend_tokenizer_free(back);
            assert_ok(attend_tokenizer_from_model(&back, loaded, "target"));
            assert_same(target, back);
            attend_tokenizer_free(back);
            attend_tokenizer_free(source), attend_tokenizer_free(target);
            attend_model_free(m), attend_model_free(loaded);
        }
}

static void invalid_attachments_are_reported(void **state)
{
    (void)state;
    attend_tokenizer *words = learn(ATTEND_TOKENS_WORD), *characters = learn(ATTEND_TOKENS_CHAR), *back = NULL;
    attend_model *m = model_for(words, characters);
    assert_int_equal(attend_tokenizer_attach(words, m, "left"), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tokenizer_attach(words, m, "target"), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "target-vocab"));
    assert_int_equal(attend_tokenizer_from_model(&back, m, "left"), ATTEND_BAD_USAGE);
    assert_int_equal(attend_tokenizer_from_model(&back, m, "source"), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "source.vocabulary"));
    bool has_text = true;
    assert_ok(attend_model_check_text(m, &has_text));
    assert_false(has_text);
    assert_ok(attend_tokenizer_attach(words, m, "source"));
    assert_int_equal(attend_model_check_text(m, &has_text), ATTEND_BAD_MODEL); /* one side alone */
    assert_ok(attend_tokenizer_attach(characters, m, "target"));
    assert_ok(attend_model_check_text(m, &has_text));
    assert_true(has_text);
    assert_ok(attend_model_attach(m, "source.vocabulary", "<unk>\n<s>\n</s>\nx\n", 17));
    assert_int_equal(attend_tokenizer_from_model(&back, m, "source"), ATTEND_BAD_MODEL);
    assert_non_null(strstr(attend_message(), "4 tokens"));
    assert_null(back);
    attend_model_free(m);
    attend_tokenizer_free(words), attend_tokenizer_free(characters);
}

/* ---- damage ---- */

/* Reads two texts: either ATTEND_BAD_MODEL, or a tokenizer that works. Returns whether they were accepted. */
static bool read_damaged(const char *vocabulary, size_t vocabulary_size, const char *rest, size_t rest_size)
{
    static const char text[] = "the  cat \xe3\x81\x8b\xe2\x96\x81 that";
    attend_tokenizer *t = NULL;
    const int status = attend_tokenizer_read(&t, "source", vocabulary, vocabulary_size, rest, rest_size);
    assert_true((status == ATTEND_OK) == (t != NULL));
    if (!t) {
        assert_int_equal(status, ATTEND_BAD_MODEL);
        assert_non_null(strstr(attend_message(), "source."));
        return false;
    }
    if (attend_tokenizer_kind(t) != ATTEND_TOKENS_WORD) assert_null(round_trip(t, text, sizeof text - 1, 0, 0));
    attend_tokenizer_free(t);
    return true;
}

static void every_truncation_and_every_bit(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        attend_tokenizer *t = learn(all_kinds[k]);
        attend_string v = { 0 }, r = { 0 };
        assert_ok(attend_tokenizer_write(t, &v, &r));
        assert_true(read_damaged(v.text, v.size, r.text, r.size));
        for (size_t i = 0; i < r.size; i++) assert_false(read_damaged(v.text, v.size, r.text, i));
        for (size_t i = 0; i < v.size; i++) {
            const bool whole_lines = i > 0 && v.text[i - 1] == '\n'; /* fewer tokens are a valid vocabulary */
            assert_true(!read_damaged(v.text, i, r.text, r.size) || (whole_lines && all_kinds[k] != ATTEND_TOKENS_BPE));
        }
        for (size_t i = 0; i < 8 * r.size; i++) {
            r.text[i / 8] = (char)(r.text[i / 8] ^ 1 << i % 8);
            assert_false(read_damaged(v.text, v.size, r.text, r.size));
            r.text[i / 8] = (char)(r.text[i / 8] ^ 1 << i % 8);
        }
        for (size_t i = 0; i < 8 * v.size; i++) { /* a token may become another */
            v.text[i / 8] = (char)(v.text[i / 8] ^ 1 << i % 8);
            read_damaged(v.text, v.size, r.text, r.size);
            v.text[i / 8] = (char)(v.text[i / 8] ^ 1 << i % 8);
        }
        attend_tokenizer_free(t);
        attend_string_free(&v), attend_string_free(&r);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    static const char word[] = "attend-tokenizer 1\nkind word\n", chars[] = "attend-tokenizer 1\nkind char\n";
#define BPE(merges) "attend-tokenizer 1\nkind bpe\nmerges " merges
    static const struct {
        const char *learned, *rest, *message; /* learned: after the reserved tokens */
    } cases[] = {
        { "a\n", "", "begin with 'attend-tokenizer '" },
        { "a\n", "tokenizer 1\nkind word\n", "begin with 'attend-tokenizer '" },
        { "a\n", "attend-tokenizer x\nkind word\n", "no version" },
        { "a\n", "attend-tokenizer 0\nkind word\n", "no version" },
        { "a\n", "attend-tokenizer 99999999999\nkind word\n", "no version" },
        { "a\n", "attend-tokenizer 4\nkind word\n", "update attend" },
        { "a\n", "attend-tokenizer 3\nkind word\n", "line 3 of source.tokenizer should begin with 'case '" },
        { "a\n", "attend-tokenizer 3\nkind word\ncase upper\n", "unknown case" },
        { "a\n", "attend-tokenizer 2\nkind word\ncase kept\n", "unknown case" },
        { "a\n", "attend-tokenizer 3\nkind word\ncase kept\n", "begin with 'split '" },
        { "a\n", "attend-tokenizer 3\nkind bpe\ncase kept\nsplit words\n", "unknown way to split" },
        { "a\n", "attend-tokenizer 3\nkind word\ncase kept\nsplit classes\n", "is not bpe" },
        { "a\n", "attend-tokenizer 1\n", "line 2 of source.tokenizer should begin with 'kind '" },
        { "a\n", "attend-tokenizer 1\nkind words\n", "unknown kind" },
        { "\xea\xb0\x81\n", "attend-tokenizer 1\nkind jamo\n", "Hangul syllable" },
        { "a\n", "attend-tokenizer 1\nkind word", "no line feed" },
        { "a\n", "attend-tokenizer 1\nkind word\nmore\n", "is not expected" },
        { "a b\n", word, "space" },
        { "a\xc2\xa0"
          "b\n",
          word, "space" },
        { "a\na\n", word, "so is line 4" },
        { "<s>\n", word, "so is line 2" },
        { "a\n\n", word, "empty" },
        { "a\n\xff\n", word, "UTF-8" },
        { "a", word, "no line feed" },
        { "ab\n", chars, "not one character" },
        { " \n", chars, "U+2581" },
        { "<0x41>\n", chars, "so is line 69" },
        { "a\nb\nab\n", BPE("\n"), "begin with 'merges '" },
        { "a\nb\nab\n", BPE("x\n"), "no number" },
        { "a\nb\nab\n", BPE("-1\n"), "no number" },
        { "a\nb\nab\n", BPE("4\na b\n"), "more merges" },
        { "a\nb\nab\n", BPE("0\n"), "line 262 of source.vocabulary is not one character" },
        { "a\nb\nab\n", BPE("1\n"), "merges are missing" },
        { "a\nb\nab\n", BPE("1\nab\n"), "not a merge" },
        { "a\nb\nab\n", BPE("1\na c\n"), "does not have" },
        { "a\nb\nab\n", BPE("1\na <s>\n"), "does not have" },
        { "a\nb\nab\n", BPE("1\na \n"), "does not have" },
        { "a\nb\nab\n", BPE("1\n b\n"), "does not have" },
        { "a\nb\nab\n", BPE("1\na ab\n"), "only later" },
        { "a\nb\nab\n", BPE("1\nb a\n"), "does not make token 261" },
        { "a\nb\nab\n", BPE("1\na b\na b\n"), "is not expected" },
        { "a\nb\nabc\n", BPE("1\na b\n"), "does not make" },
        { "a\nb\nab\nba\n", BPE("2\nb a\na b\n"), "does not make" },
        { " \nb\n b\n", BPE("1\n  b\n"), "does not have" },
    };
#undef BPE
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool bytes = !strstr(cases[i].rest, "word");
        char vocabulary[4096] = "<unk>\n<s>\n</s>\n";
        attend_tokenizer *t = NULL;
        size_t n = strlen(vocabulary);
        for (int b = 0; bytes && b < 256; b++) n += (size_t)snprintf(vocabulary + n, 8, "<0x%02X>\n", (unsigned)b);
        n += (size_t)snprintf(vocabulary + n, sizeof vocabulary - n, "%s", cases[i].learned);
        assert_int_equal(attend_tokenizer_read(&t, "source", vocabulary, n, cases[i].rest, strlen(cases[i].rest)),
                         ATTEND_BAD_MODEL);
        if (!strstr(attend_message(), cases[i].message)) fail_msg("case %zu: %s", i, attend_message());
    }
    assert_false(read_damaged("<unk>\n<s>\n", 10, word, sizeof word - 1));
    assert_non_null(strstr(attend_message(), "missing"));
    assert_false(read_damaged("<unk>\n<s>\n</s>\na\0b\n", 19, word, sizeof word - 1));
    assert_non_null(strstr(attend_message(), "contains a NUL"));
    assert_false(read_damaged("<s>\n<unk>\n</s>\n", 15, word, sizeof word - 1));
    assert_non_null(strstr(attend_message(), "should be '<unk>'"));
}

/* Merges that cannot be learned: b c has precedence, so that the third token is never produced. */
static void an_unreachable_token(void **state)
{
    (void)state;
    static const char learned[] = "\xe2\x96\x81\nb\nc\nbc\n\xe2\x96\x81"
                                  "b\n\xe2\x96\x81"
                                  "bc\n";
    static const char rest[] = "attend-tokenizer 1\nkind bpe\nmerges 3\nb c\n\xe2\x96\x81 b\n\xe2\x96\x81"
                               "b c\n";
    char vocabulary[4096] = "<unk>\n<s>\n</s>\n";
    size_t n = strlen(vocabulary);
    attend_tokenizer *t = NULL;
    attend_ids ids = { 0 };
    for (int b = 0; b < 256; b++) n += (size_t)snprintf(vocabulary + n, 8, "<0x%02X>\n", (unsigned)b);
    n += (size_t)snprintf(vocabulary + n, sizeof vocabulary - n, "%s", learned);
    assert_ok(attend_tokenizer_read(&t, "source", vocabulary, n, rest, sizeof rest - 1));
    assert_ok(attend_tokenizer_encode(t, "bc", 2, &ids, 0, 0, 0));
    assert_true(ids.count == 2 && ids.ids[0] == 259 && ids.ids[1] == 262);
    attend_ids_free(&ids);
    attend_tokenizer_free(t);
}

static void memory_runs_out(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        attend_tokenizer *t = learn(all_kinds[k]), *back = NULL;
        attend_model *m = model_for(t, t);
        for (long n = 1;; n++) {
            attend_memory_refuse(n);
            int status = attend_tokenizer_attach(t, m, "source");
            if (status == ATTEND_OK) status = attend_tokenizer_from_model(&back, m, "source");
            const long asked = attend_memory_requests();
            attend_memory_refuse(0);
            if (asked < n) {
                assert_int_equal(status, ATTEND_OK);
                break;
            }
            assert_int_equal(status, ATTEND_NO_MEMORY);
            assert_null(back);
        }
        assert_same(t, back);
        attend_tokenizer_free(t), attend_tokenizer_free(back);
        attend_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attached_tokenizers_are_restored),
        cmocka_unit_test(invalid_attachments_are_reported),
        cmocka_unit_test(every_truncation_and_every_bit),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(an_unreachable_token),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
