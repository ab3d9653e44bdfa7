/* data_check.c: each kind of bad data is found, counted and shown; good data has no findings. */
#include "core/memory.h"
#include "support/text_files.h"
#include <attend/data_check.h>
#include "text/histogram.h"

static const attend_finding *find(const attend_data_check_report *r, const char *name)
{
    for (int i = 0; i < r->finding_count; i++)
        if (strcmp(r->findings[i].name, name) == 0) return r->findings + i;
    return NULL;
}

static attend_data_check_report *run_check(attend_pairs_spec train, const attend_pairs_spec *valid, bool quick)
{
    attend_data_check_report *r = NULL;
    assert_ok(attend_data_check(&r, &train, 1, valid, valid ? 1 : 0, quick, 0));
    return r;
}

/* Checks that there is exactly one finding, of this name, count and severity, whose first example is at `line` and
 * shows `excerpt`. */
static void assert_only(attend_pairs_spec spec, const char *name, attend_severity severity, int count, int line,
                        const char *excerpt)
{
    attend_data_check_report *r = run_check(spec, NULL, false);
    if (r->finding_count != 1 || strcmp(r->findings[0].name, name) != 0)
        fail_msg("%d findings, the first is %s; wanted %s", r->finding_count,
                 r->finding_count ? r->findings[0].name : "none", name);
    const attend_finding *f = r->findings;
    assert_int_equal(f->severity, severity);
    assert_int_equal(f->count, count);
    assert_int_equal(f->examples[0].line, line);
    if (!strstr(f->examples[0].excerpt, excerpt)) fail_msg("'%s' should hold '%s'", f->examples[0].excerpt, excerpt);
    assert_true(attend_data_check_stops(r) == (severity == ATTEND_SEVERITY_ERROR));
    attend_data_check_free(r);
}

static attend_pairs_spec tabbed(const char *text)
{
    return (attend_pairs_spec){ .source = text_file("d.tsv", text) };
}

/* A file of `count` good pairs, followed by `more`. */
static attend_pairs_spec usual(int count, const char *more)
{
    const char *path = in_folder("d.tsv");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < count; i++) fprintf(f, "this is sentence %d of some\tdies ist der Satz %d von einigen\n", i, i);
    fputs(more, f);
    assert_int_equal(fclose(f), 0);
    return (attend_pairs_spec){ .source = path };
}

static void test_good_data(void **state)
{
    (void)state;
    attend_data_check_report *r = run_check(usual(100, ""), NULL, false);
    assert_int_equal(r->finding_count, 0);
    assert_true(r->train.pairs == 100 && r->train.usable == 100 && r->train.words[0] == 600 &&
                r->train.words[1] == 700);
    assert_int_equal(r->train.median[0], 27);
    assert_false(attend_data_check_stops(r));
    attend_data_check_free(r);
    r = run_check(tabbed("\xef\xbb\xbf"
                         "a b\tc\r\nd\t\xc3\xa9"),
                  NULL, false); /* CRLF, BOM and a missing final line feed are accepted */
    assert_int_equal(r->finding_count, 0);
    attend_data_check_free(r);
}

static void test_lines(void **state)
{
    (void)state;
    assert_only(tabbed("a\tb\nc\tx\xffz\n\xff\td\n"), "not-utf8", ATTEND_SEVERITY_ERROR, 2, 2, "byte 2: \"x\\xffz\"");
    assert_only(tabbed("a\tb\nab\n\n"), "no-tab", ATTEND_SEVERITY_ERROR, 2, 2, "\"ab\"");
    assert_only(tabbed("a\tb\tc\nd\te\n"), "tabs", ATTEND_SEVERITY_ERROR, 1, 1, "\"a\\tb\\tc\"");
    assert_only(tabbed("a\tb\n\tc\nd\t\n \t \n"), "empty", ATTEND_SEVERITY_WARNING, 3, 2, "\"\" | \"c\"");
    assert_only(tabbed("a\tb\nc\x1b[1m\td\n"), "control", ATTEND_SEVERITY_WARNING, 1, 2, "\"c\\u{1b}[1m\"");
    assert_only(tabbed("a\tb\nc\xe2\x80\xa8\td\n"), "control", ATTEND_SEVERITY_WARNING, 1, 2, "\\u{2028}");
    assert_only(tabbed("a\xc2\x85z\tb\n"), "control", ATTEND_SEVERITY_WARNING, 1, 1, "\\u{85}");
    assert_only(tabbed("caf\xc3\x83\xc2\xa9\tb\n"), "mojibake", ATTEND_SEVERITY_WARNING, 1, 1, "caf");
    assert_only(tabbed(" a\tb \nc\td\n"), "blanks", ATTEND_SEVERITY_INFO, 2, 1, "\" a\"");
    assert_only(tabbed("a\xc2\xa0\tb\n"), "blanks", ATTEND_SEVERITY_INFO, 1, 1, "\"a"); /* a no-break space */
    assert_only(tabbed(" a\t b\n"), "blanks", ATTEND_SEVERITY_INFO, 2, 1, "\" a\"");    /* more of them than pairs */
    assert_only(usual(100, "same\tsame\n"), "identical", ATTEND_SEVERITY_INFO, 1, 101, "\"same\" | \"same\"");
    assert_only(usual(0, "same\tsame\n"), "identical", ATTEND_SEVERITY_WARNING, 1, 1, "same");
    assert_only(tabbed("a\tb\na\tb\na\tb\n"), "duplicate", ATTEND_SEVERITY_WARNING, 2, 2, "\"a\" | \"b\"");
    assert_only(usual(100, "a\tb\na\tb\n"), "duplicate", ATTEND_SEVERITY_INFO, 1, 102, "\"a\" | \"b\"");
    assert_only(tabbed("a\tb\na\tc\n"), "same-source", ATTEND_SEVERITY_INFO, 1, 2, "\"a\" | \"c\"");
    const char *path = in_folder("nul.tsv");
    put_file(path, "a\tb\nc\0d\te\n", 10);
    assert_only((attend_pairs_spec){ .source = path }, "nul", ATTEND_SEVERITY_ERROR, 1, 2, "byte 2: \"c\\x00d\"");
}

static attend_pairs_spec monolingual(const char *name, const char *text)
{
    return (attend_pairs_spec){ .target = text_file(name, text) };
}

/* Monolingual lines have fewer kinds of findings, with texts of their own. */
static void test_monolingual_lines(void **state)
{
    (void)state;
    attend_data_check_report *r = run_check(monolingual("l.txt", "a b\nc\n"), NULL, false);
    assert_true(r->lines && r->finding_count == 0 && r->train.pairs == 2 && r->train.usable == 2);
    assert_true(r->train.words[0] == 0 && r->train.words[1] == 3 && r->train.characters[1] == 4);
    attend_data_check_free(r);
    assert_only(monolingual("l.txt", "a\n\n \nb\n"), "empty", ATTEND_SEVERITY_WARNING, 2, 2, "\"\"");
    assert_only(monolingual("l.txt", "a\nb\na\n"), "duplicate", ATTEND_SEVERITY_WARNING, 1, 3, "\"a\"");
    assert_only(monolingual("l.txt", "a\nb\xff\n"), "not-utf8", ATTEND_SEVERITY_ERROR, 1, 2, "byte 2");
    assert_only(monolingual("l.txt", "a\tb\nc\nd\n"), "tab", ATTEND_SEVERITY_INFO, 1, 1, "\"a\\tb\"");
    assert_only(monolingual("l.txt", "a\tb\nc\td\ne\n"), "tab", ATTEND_SEVERITY_WARNING, 2, 1, "\"a\\tb\"");
    const attend_pairs_spec valid = monolingual("v.txt", "c\nd\n");
    r = run_check(monolingual("l.txt", "a\nb\nc\n"), &valid, false);
    const attend_finding *f = find(r, "validation-pair");
    assert_true(r->finding_count == 2 && f && f->count == 1 && f->examples[0].line == 1);
    const attend_finding *unseen = find(r, "validation-character");
    assert_true(unseen && unseen->count == 1 && unseen->examples[0].line == 2);
    assert_string_equal(unseen->examples[0].excerpt, "\"d\" (U+0064) in \"d\"");
    assert_non_null(strstr(f->what, "validation lines"));
    attend_data_check_free(r);
    r = run_check(monolingual("l.txt", "\n \n"), NULL, true);
    assert_true(attend_data_check_stops(r) && find(r, "nothing-left"));
    attend_data_check_free(r);
    const attend_pairs_spec train = monolingual("l.txt", "a\n"), pairs = tabbed("a\tb\n");
    assert_int_equal(attend_data_check(&r, &train, 1, &pairs, 1, false, 0), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "both"));
}

static void test_lengths(void **state)
{
    (void)state;
    char *text = malloc(1000100);
    assert_non_null(text);
    memset(text, 'y', 1000000);
    memcpy(text + 1000000, "\tz\n", 4);
    attend_data_check_report *r = run_check(usual(100, text), NULL, false); /* a 1 MB line */
    const attend_finding *f = find(r, "long");
    assert_non_null(f);
    assert_true(f->count == 1 && f->examples[0].line == 101 && r->train.longest[0] == 1000000);
    assert_true(strlen(f->examples[0].excerpt) < 100);
    f = find(r, "ratio");
    assert_true(f && f->count == 1 && f->examples[0].line == 101);
    attend_data_check_free(r);
    free(text);
    assert_only(
        usual(100, "yes\tThis is no translation of yes but a sentence that slipped in from somewhere else, as the "
                   "length shows.\n"
                   "A long and winding sentence with a translation that is as short as this one here at the end\tja\n"),
        "ratio", ATTEND_SEVERITY_WARNING, 2, 102, "\"A long");
    r = run_check(usual(100, "yes\tja, sicher, aber\nwow\tach du meine G\xc3\xbcte\n"), NULL,
                  false); /* short lines may have any ratio */
    assert_int_equal(r->finding_count, 0);
    attend_data_check_free(r);
}

static void test_counts(void **state)
{
    (void)state;
    const attend_pairs_spec spec = { .source = text_file("d.en", "a\nb\xff\n\n"), .target = text_file("d.fr", "c\n") };
    assert_only(spec, "line-counts", ATTEND_SEVERITY_ERROR, 1, 2, "one has 3 lines and the other 1");
    attend_data_check_report *r = run_check(tabbed("\t\n"), NULL, true);
    assert_true(find(r, "nothing-left") && find(r, "empty") && attend_data_check_stops(r));
    attend_data_check_free(r);
}

static void test_validation(void **state)
{
    (void)state;
    const attend_pairs_spec train = tabbed("a\tb\nc\td\n"),
                            valid = { .source = text_file("v.tsv", "a\tb\na\tx\ne\tf\ng\t\n") };
    attend_data_check_report *r = run_check(train, &valid, false);
    const attend_finding *pair = find(r, "validation-pair"), *source = find(r, "validation-source");
    assert_true(pair && pair->count == 1 && pair->severity == ATTEND_SEVERITY_WARNING && pair->examples[0].line == 1);
    assert_non_null(strstr(pair->examples[0].file, "v.tsv"));
    assert_true(source && source->count == 1 && source->examples[0].line == 2);
    const attend_finding *unseen = find(r, "validation-character"); /* x; e and f, of one pair */
    assert_true(unseen && unseen->count == 3 && unseen->severity == ATTEND_SEVERITY_WARNING);
    assert_true(find(r, "empty") && r->finding_count == 4);
    assert_true(r->valid.pairs == 4 && r->valid.usable == 3);
    attend_data_check_free(r);
}

/* Words that the training data does not have, in any case and without punctuation; not where lines are single words. */
static void test_unseen_words(void **state)
{
    (void)state;
    const attend_pairs_spec train = tabbed("the dog runs .\tle\nThe cat sits .\tla\n"),
                            valid = { .source = text_file("v.tsv", "the Dog, sits .\tal\na hat runs .\tle\n") };
    attend_data_check_report *r = run_check(train, &valid, false);
    const attend_finding *word = find(r, "validation-word"), *character = find(r, "validation-character");
    assert_true(word && word->count == 1 && word->severity == ATTEND_SEVERITY_INFO && word->examples[0].line == 2);
    assert_string_equal(word->examples[0].excerpt, "\"a\" and 1 more in \"a hat runs .\"");
    assert_true(character && character->count == 1 && character->examples[0].line == 1);
    assert_string_equal(character->examples[0].excerpt, "\"D\" (U+0044) and 1 more in \"the Dog, sits .\"");
    attend_data_check_free(r);
    r = run_check(train, &valid, true);
    assert_null(find(r, "validation-word"));
    attend_data_check_free(r);
}

/* Training splits Hangul words into letters, so that a syllable is unknown only if a letter of it is. Beside them, the
 * words of the other side are symbols. */
static void test_unseen_letters(void **state)
{
    (void)state;
    const attend_pairs_spec train = tabbed("\uac00\uace1\tk a k o k\n\ub098\tn a\n"), /* gago, na */
        valid = { .source = text_file("v.tsv", "\uace0\ub098\tk o n a\n\uac70\tk E\n") };
    attend_data_check_report *r = run_check(train, &valid, false);
    const attend_finding *word = find(r, "validation-word"), *character = find(r, "validation-character");
    assert_true(character && character->count == 2 && character->examples[0].line == 2); /* eo; E */
    assert_string_equal(character->examples[0].excerpt, "\"\uac70\" (U+AC70) in \"\uac70\"");
    assert_true(word && word->count == 1 && word->examples[0].line == 2);
    assert_non_null(strstr(word->what, "lines with symbols"));
    attend_data_check_free(r);
    const attend_pairs_spec sentences = tabbed("\uac00 \uace1 a\tthe dog\n\ub098 \uac00 b\tthe cat\n");
    r = run_check(sentences, &valid, false); /* subwords spell a new syllable with bytes */
    character = find(r, "validation-character");
    assert_true(character && character->examples[0].line == 1);
    attend_data_check_free(r);
}

static void test_quick(void **state)
{
    (void)state;
    attend_data_check_report *r = run_check(tabbed("a\tb\na\tb\n x\tx\n\xff\tb\n\tc\n"), NULL, true);
    assert_int_equal(r->finding_count, 2);
    assert_true(find(r, "not-utf8") && find(r, "empty"));
    attend_data_check_free(r);
}

/* If a file is read twice, every pair of the second pass is a duplicate, however the table has grown. */
static void test_twice(void **state)
{
    (void)state;
    const attend_pairs_spec once = usual(5000, ""), twice[] = { once, once };
    attend_data_check_report *r = NULL;
    assert_ok(attend_data_check(&r, twice, 2, NULL, 0, false, 0));
    assert_true(r->finding_count == 1 && find(r, "duplicate") && find(r, "duplicate")->count == 5000);
    attend_data_check_free(r);
}

static void test_histogram(void **state)
{
    (void)state;
    static const uint64_t counts[9] = { 1, 0, 4, 0, 5, 2, 0, 0, 1 }, none[3] = { 0 };
    assert_int_equal(attend_histogram_median(counts, 9), 4);
    assert_int_equal(attend_histogram_deviation(counts, 9, 4), 1); /* 5 at 0, 2 at 1, 4 at 2, 2 at 4 */
    assert_int_equal(attend_histogram_deviation(counts, 9, 5), 1);
    assert_int_equal(attend_histogram_deviation(counts, 9, 2), 2);
    assert_int_equal(attend_histogram_outside(counts, 9, 2, 4), 4);
    assert_int_equal(attend_histogram_median(none, 3), 0);
    int before = -1;
    for (size_t n = 0; n < 100000; n++) {
        const int b = attend_length_bucket(n);
        assert_true(b == before || b == before + 1);
        assert_true(attend_length_of_bucket(b) <= n &&
                    (n < 1024 ? attend_length_of_bucket(b) == n : attend_length_of_bucket(b + 1) > n));
        before = b;
    }
    assert_true(attend_length_bucket(SIZE_MAX) == ATTEND_LENGTH_BUCKETS - 1 &&
                attend_length_bucket(UINT32_MAX) == ATTEND_LENGTH_BUCKETS - 1);
    assert_int_equal(attend_ratio_bucket(7, 7), ATTEND_RATIO_EVEN);
    assert_int_equal(attend_ratio_bucket(0, 10) - ATTEND_RATIO_EVEN, ATTEND_RATIO_EVEN - attend_ratio_bucket(10, 0));
    assert_int_equal(attend_ratio_bucket(0, SIZE_MAX), ATTEND_RATIO_BUCKETS - 1);
}

static void test_unreadable(void **state)
{
    (void)state;
    attend_data_check_report *r = NULL;
    const attend_pairs_spec empty = tabbed(""), missing = { .source = in_folder("missing") },
                            directory = { .source = folder };
    assert_int_equal(attend_data_check(&r, &empty, 1, NULL, 0, false, 0), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "d.tsv:1: the file is empty"));
    assert_int_equal(attend_data_check(&r, &missing, 1, NULL, 0, false, 0), ATTEND_IO);
    assert_int_equal(attend_data_check(&r, &directory, 1, NULL, 0, false, 0), ATTEND_IO);
    put_file(in_folder("g.gz"), "\x1f\x8b\x08garbage", 10);
    const attend_pairs_spec garbage = { .source = in_folder("g.gz") };
    assert_int_equal(attend_data_check(&r, &garbage, 1, NULL, 0, false, 0), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "g.gz:1: "));
    assert_null(r);
    const size_t size = 17 << 20; /* a line that is too long is a finding; the lines after it are still read */
    char *text = malloc(size + 16);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text + size, "\nq\tr\n", 6);
    const attend_pairs_spec huge = { .source = text_file("huge.tsv", text) };
    free(text);
    r = run_check(huge, NULL, false);
    assert_true(r->finding_count == 1 && find(r, "too-long") && find(r, "too-long")->examples[0].line == 1);
    assert_true(r->train.pairs == 2 && r->train.usable == 1);
    attend_data_check_free(r);
}

static void print_to(const attend_data_check_report *r, int (*print)(const attend_data_check_report *, FILE *),
                     const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_ok(print(r, f));
    assert_int_equal(fclose(f), 0);
}

static void test_printing(void **state)
{
    (void)state;
    const char *path = in_folder("a\"\x01\xff.tsv");
    put_file(path, "x \"q\" \\ \xc3\xa9\x02\tx\n\xff\ty\n", 18);
    attend_data_check_report *r = run_check((attend_pairs_spec){ .source = path }, NULL, false);
    print_to(r, attend_data_check_json, in_folder("json"));
    char *json = get_file(in_folder("json"), NULL);
    assert_non_null(
        strstr(json, "a\\\"\\u0001\\ufffd.tsv\",\"line\":1,\"excerpt\":\"\\\"x \\\"q\\\" \\\\ \xc3\xa9\\\\u{2}\\\"\""));
    assert_non_null(strstr(json, "\"stops\":true,\"train\":{\"pairs\":2,\"usable\":1,"));
    free(json);
    print_to(r, attend_data_check_print, in_folder("text"));
    char *text = get_file(in_folder("text"), NULL);
    assert_non_null(strstr(text, "training: 2 pairs, 1 usable\n"));
    assert_non_null(strstr(text, "stop: lines that are not UTF-8: 1\n"));
    assert_non_null(strstr(text, "This data prevents training.\n"));
    free(text);
    FILE *full = fopen("/dev/full", "wb");
    if (full) {
        assert_int_equal(attend_data_check_print(r, full), ATTEND_IO);
        assert_non_null(strstr(attend_message(), "No space left"));
        fclose(full);
    }
    attend_data_check_free(r);
}

static void test_memory(void **state)
{
    (void)state;
    const attend_pairs_spec train = usual(2000, "a\tb\na\tb\n"), valid = { .source = text_file("v.tsv", "a\tb\n") };
    attend_data_check_report *r = NULL;
    attend_memory_refuse(-1);
    assert_ok(attend_data_check(&r, &train, 1, &valid, 1, false, 0));
    attend_data_check_free(r);
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_data_check(&r, &train, 1, &valid, 1, false, 0), ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_good_data),
                                        cmocka_unit_test(test_lines),
                                        cmocka_unit_test(test_monolingual_lines),
                                        cmocka_unit_test(test_lengths),
                                        cmocka_unit_test(test_counts),
                                        cmocka_unit_test(test_validation),
                                        cmocka_unit_test(test_unseen_words),
                                        cmocka_unit_test(test_unseen_letters),
                                        cmocka_unit_test(test_quick),
                                        cmocka_unit_test(test_unreadable),
                                        cmocka_unit_test(test_twice),
                                        cmocka_unit_test(test_histogram),
                                        cmocka_unit_test(test_printing),
                                        cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
