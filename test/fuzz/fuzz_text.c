/* Any bytes as a tokenizer and as text: up to the first 0xFF the learned lines of a vocabulary, up to the second the
 * other attachment, then text. A tokenizer is refused with a message or works; valid UTF-8 text survives a round
 * trip. If the other attachment is empty, a tokenizer is learned from the text. */
#include "fuzz/fuzz.h"
#include "support/round_trip.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"

static void must(int holds)
{
    if (!holds) abort();
}

typedef struct part {
    const char *text;
    size_t size;
} part;

/* The bytes before the next 0xFF; *rest receives those after it. */
static part next_part(part *rest)
{
    const char *end = rest->size ? memchr(rest->text, 0xff, rest->size) : NULL;
    part p = { rest->text, end ? (size_t)(end - rest->text) : rest->size };
    rest->text += end ? p.size + 1 : p.size;
    rest->size -= end ? p.size + 1 : p.size;
    return p;
}

static void use(const attend_tokenizer *t, part text)
{
    const bool valid = attend_utf8_valid(text.text, text.size) == text.size;
    if (valid && attend_tokenizer_kind(t) != ATTEND_TOKENS_WORD) {
        must(!round_trip(t, text.text, text.size, 0, 0));
        must(!round_trip(t, text.text, text.size, 0.5, text.size));
    }
    attend_ids ids = { 0 };
    must(attend_tokenizer_encode(t, text.text, text.size, &ids, 0, 0, 0) == (valid ? ATTEND_OK : ATTEND_BAD_DATA));
    /* arbitrary ids, as from a model */
    attend_string out = { 0 };
    ids.count = 0;
    for (size_t i = 0; i < text.size && i < 64; i++)
        must(attend_ids_add(&ids, (unsigned char)text.text[i] * 7 % attend_tokenizer_size(t), 0, 0) == ATTEND_OK);
    must(attend_tokenizer_decode(t, ids.ids, ids.count, &out) == ATTEND_OK);
    must(attend_utf8_valid(out.text, out.size) == out.size);
    attend_string_free(&out);
    attend_ids_free(&ids);
}

/* The lines of the reserved tokens. */
static const attend_string *reserved_lines(bool bytes)
{
    static attend_string lines[2], rest;
    if (lines[bytes].size == 0) {
        attend_tokenizer *empty = NULL;
        must(attend_tokenizer_new(&empty, bytes ? &attend_kind_bpe : &attend_kind_word) == ATTEND_OK);
        must(attend_tokenizer_write(empty, &lines[bytes], &rest) == ATTEND_OK);
        attend_tokenizer_free(empty);
    }
    return &lines[bytes];
}

static void read_one(part learned, part rest, part text)
{
    static attend_string vocabulary;
    const attend_string *reserved = reserved_lines(rest.size < 25 || rest.text[24] != 'w'); /* of "kind word" */
    attend_tokenizer *t = NULL;
    vocabulary.size = 0;
    must(attend_string_add(&vocabulary, reserved->text, reserved->size) == ATTEND_OK);
    must(attend_string_add(&vocabulary, learned.text, learned.size) == ATTEND_OK);
    const int status = attend_tokenizer_read(&t, "fuzz", vocabulary.text, vocabulary.size, rest.text, rest.size);
    must((status == ATTEND_OK) == (t != NULL) && (t || status == ATTEND_BAD_MODEL));
    if (t) use(t, text);
    attend_tokenizer_free(t);
}

/* The lines of a text, for learning. */
static int next_line(void *user, const char **line, size_t *size)
{
    part *rest = user;
    if (rest->size == 0) return 0;
    const char *end = memchr(rest->text, '\n', rest->size);
    *line = rest->text;
    *size = end ? (size_t)(end - rest->text) : rest->size;
    rest->text += end ? *size + 1 : *size;
    rest->size -= end ? *size + 1 : *size;
    return 1;
}

static void learn_one(part text, attend_token_kind kind, bool split_classes)
{
    const attend_tokenizer_options options = {
        .kind = kind, .vocab_size = 300, .min_count = 1, .split_classes = split_classes
    };
    attend_tokenizer *t = NULL, *back = NULL;
    attend_string vocabulary = { 0 }, rest = { 0 };
    part lines = text;
    const int status = attend_tokenizer_learn(&t, &options, next_line, &lines);
    must(status == (attend_utf8_valid(text.text, text.size) == text.size ? ATTEND_OK : ATTEND_BAD_DATA));
    if (t) {
        use(t, text);
        must(attend_tokenizer_write(t, &vocabulary, &rest) == ATTEND_OK);
        must(attend_tokenizer_read(&back, "fuzz", vocabulary.text, vocabulary.size, rest.text, rest.size) == ATTEND_OK);
        must(attend_tokenizer_size(back) == attend_tokenizer_size(t));
        must(attend_tokenizer_splits_classes(back) == (split_classes && kind == ATTEND_TOKENS_BPE));
    }
    attend_tokenizer_free(t);
    attend_tokenizer_free(back);
    attend_string_free(&vocabulary);
    attend_string_free(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    part all = { (const char *)bytes, size };
    const part learned = next_part(&all), rest = next_part(&all);
    if (rest.size > 0) /* a tokenizer, or text to learn one from */
        read_one(learned, rest, all);
    else if (all.size < 512)
        learn_one(all, (attend_token_kind)(learned.size % 3), learned.size % 6 >= 3);
    return 0;
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const seeds[] = {
        "the\ncat\n\xff"
        "attend-tokenizer 1\nkind word\n\xffthe cat \xc2\xa0 <s>",
        "a\nb\n\xe2\x96\x81\n\xff"
        "attend-tokenizer 1\nkind char\n\xff"
        "a b\tcafe\xcc\x81 \xe2\x96\x81",
        "\xe2\x96\x81\na\nb\nab\n\xe2\x96\x81"
        "ab\n\xff"
        "attend-tokenizer 1\nkind bpe\nmerges 2\na b\n\xe2\x96\x81 ab\n\xff"
        "ab ab  abab \xe1\x84\x80\xe1\x85\xa1 a\xcc\x87\xcc\xa3",
        ",\na\nb\nab\n\xff"
        "attend-tokenizer 3\nkind bpe\ncase kept\nsplit classes\nmerges 1\na b\n\xff"
        "ab,ab1 \xd0\xb0"
        "b\xcc\x83",
        "\xff\xffthe cat sat on the mat\nthe cat sat",
        "abcde\xff\xffthe cat, sat; on1 the 1mat.\nthe cat, sat",
        "\n\xff\xff<s> <s> aaaa aaaa \xe2\x96\x81  \xed\xa0\x80",
        "\n\n\xff\xff<s> <s> aaaa aaaa \xe2\x96\x81  a\xcc\x87\xcc\xa3 the cat sat on the mat\nthe cat sat",
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) seed(seeds[i], strlen(seeds[i]));
}
