/* pairs_file.c: pairs from one file or two, monolingual lines, and all faults. */
#include "core/memory.h"
#include "support/text_files.h"
#include <math.h>

/* Writes the pairs of some files as "source=target@line ..." up to the end or a failure; returns the status. */
static int read_pairs(char *out, size_t capacity, const attend_pairs_spec *specs, int count, attend_pair_fault *fault)
{
    attend_pairs_file *f = NULL;
    attend_text_pair p;
    *out = '\0';
    int status = attend_pairs_file_open(&f, specs, count);
    while (status == ATTEND_OK) {
        status = attend_pairs_file_next(f, &p);
        if (fault) *fault = attend_pairs_file_fault(f);
        if (status != ATTEND_OK || !p.source) break;
        assert_non_null(p.source_file);
        assert_null(memchr(p.source, '\0', p.source_size));
        assert_null(memchr(p.target, '\0', p.target_size));
        const size_t used = strlen(out);
        snprintf(out + used, capacity - used, "%.*s=%.*s@%d ", (int)p.source_size, p.source, (int)p.target_size,
                 p.target, (int)p.line);
    }
    attend_pairs_file_close(f);
    return status;
}

static void assert_pairs(const attend_pairs_spec *specs, int count, const char *expected)
{
    char is[512];
    assert_ok(read_pairs(is, sizeof is, specs, count, NULL));
    assert_string_equal(is, expected);
}

static void assert_fails(attend_pairs_spec spec, int status, attend_pair_fault fault, const char *word,
                         const char *another)
{
    char is[512];
    attend_pair_fault why = ATTEND_PAIR_OK;
    assert_int_equal(read_pairs(is, sizeof is, &spec, 1, &why), status);
    assert_int_equal(why, fault);
    if (!strstr(attend_message(), word) || !strstr(attend_message(), another))
        fail_msg("'%s' should hold '%s' and '%s'", attend_message(), word, another);
}

static attend_pairs_spec tabbed(const char *text)
{
    return (attend_pairs_spec){ .source = text_file("p.tsv", text) };
}

static attend_pairs_spec two(const char *source, const char *target)
{
    return (attend_pairs_spec){ .source = text_file("p.en", source), .target = text_file("p.fr", target) };
}

static void test_good(void **state)
{
    (void)state;
    attend_pairs_spec spec = tabbed("a\tb\r\n\tc d\ne\t\n\t");
    assert_pairs(&spec, 1, "a=b@1 =c d@2 e=@3 =@4 ");
    spec = two("a\nb\n\n", "c\r\nd\r\n");
    assert_int_equal(read_pairs((char[512]){ 0 }, 512, &spec, 1, NULL), ATTEND_BAD_DATA);
    spec = two("a\nb\tx\n", "\xef\xbb\xbf"
                            "c\r\nd");
    assert_pairs(&spec, 1, "a=c@1 b\tx=d@2 ");
    const attend_pairs_spec several[] = { spec, { .source = text_file("q.tsv", "s\tt") }, spec };
    assert_pairs(several, 3, "a=c@1 b\tx=d@2 s=t@1 a=c@1 b\tx=d@2 ");
    unsigned char bytes[256];
    const char *path = in_folder("p.tsv.gz");
    put_file(path, bytes, gzip_bytes(bytes, sizeof bytes, "s\tt\n", 4));
    spec = (attend_pairs_spec){ .source = path };
    assert_pairs(&spec, 1, "s=t@1 ");
}

static void test_tabs(void **state)
{
    (void)state;
    assert_fails(tabbed("a\tb\nab\n"), ATTEND_BAD_DATA, ATTEND_PAIR_NO_TAB, "p.tsv:2: ", "no TAB");
    assert_fails(tabbed("\n"), ATTEND_BAD_DATA, ATTEND_PAIR_NO_TAB, "p.tsv:1: ", "no TAB");
    assert_fails(tabbed("ab\tcd\tef\tg\n"), ATTEND_BAD_DATA, ATTEND_PAIR_MANY_TABS,
                 "p.tsv:1: ", "second TAB, at byte 6 (the first is at byte 3)");
    /* reading continues after the faulty line */
    const attend_pairs_spec spec = tabbed("a\nb\tc\nd\te\tf\ng\th");
    attend_pairs_file *f = NULL;
    attend_text_pair p;
    assert_ok(attend_pairs_file_open(&f, &spec, 1));
    assert_int_equal(attend_pairs_file_next(f, &p), ATTEND_BAD_DATA);
    assert_true(p.line == 1 && p.source_size == 1 && p.source[0] == 'a' && !p.target);
    assert_ok(attend_pairs_file_next(f, &p));
    assert_int_equal(p.line, 2);
    assert_int_equal(attend_pairs_file_next(f, &p), ATTEND_BAD_DATA);
    assert_ok(attend_pairs_file_next(f, &p));
    assert_true(p.line == 4 && p.target[0] == 'h');
    assert_ok(attend_pairs_file_next(f, &p));
    assert_null(p.source);
    attend_pairs_file_close(f);
}

static void test_counts(void **state)
{
    (void)state;
    assert_fails(two("a\nb\nc\n", "d\n"), ATTEND_BAD_DATA, ATTEND_PAIR_LINE_COUNTS, "3 lines", "other 1;");
    assert_fails(two("a\n", "d\ne\n\n\n"), ATTEND_BAD_DATA, ATTEND_PAIR_LINE_COUNTS, "1 lines", "other 4;");
    assert_fails(two("", "d\n"), ATTEND_BAD_DATA, ATTEND_PAIR_LINE_COUNTS, "0 lines", "other 1;");
}

static void test_unreadable(void **state)
{
    (void)state;
    assert_fails(tabbed(""), ATTEND_BAD_DATA, ATTEND_PAIR_EMPTY_FILE, "p.tsv:1: ", "empty");
    assert_fails(two("", ""), ATTEND_BAD_DATA, ATTEND_PAIR_EMPTY_FILE, "p.en:1: ", "empty");
    attend_pairs_file *f = NULL;
    const attend_pairs_spec missing[] = { tabbed("a\tb\n"), { .source = in_folder("missing") } };
    assert_int_equal(attend_pairs_file_open(&f, missing, 2), ATTEND_IO); /* before the first is read */
    assert_non_null(strstr(attend_message(), "missing: No such file"));
    const attend_pairs_spec directory = { .source = missing[0].source, .target = folder };
    assert_int_equal(attend_pairs_file_open(&f, &directory, 1), ATTEND_IO);
    assert_non_null(strstr(attend_message(), "directory"));
    const attend_pairs_spec inputs[] = { { .source = "-" }, { .source = "-" } };
    assert_int_equal(attend_pairs_file_open(&f, inputs, 2), ATTEND_BAD_USAGE);
    assert_int_equal(attend_pairs_file_open(&f, inputs, 0), ATTEND_BAD_USAGE);
    assert_null(f);
    /* truncated gzip data stays an error */
    unsigned char bytes[256];
    const size_t size = gzip_bytes(bytes, sizeof bytes, "s\tt\nu\tv\n", 8);
    put_file(in_folder("c.tsv.gz"), bytes, size - 9);
    const attend_pairs_spec cut = { .source = in_folder("c.tsv.gz") };
    attend_text_pair p;
    assert_ok(attend_pairs_file_open(&f, &cut, 1));
    while (attend_pairs_file_next(f, &p) == ATTEND_OK) assert_non_null(p.source);
    assert_non_null(strstr(attend_message(), "truncated"));
    assert_int_equal(attend_pairs_file_fault(f), ATTEND_PAIR_UNREADABLE);
    assert_int_equal(attend_pairs_file_next(f, &p), ATTEND_BAD_DATA);
    attend_pairs_file_close(f);
}

/* A line that is too long counts as one line of both files. */
static void test_too_long(void **state)
{
    (void)state;
    const size_t size = 17 << 20;
    char *text = malloc(size + 8);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text + size, "\nb\n", 4);
    const attend_pairs_spec spec = two("a\nb\n", text);
    free(text);
    attend_pairs_file *f = NULL;
    attend_text_pair p;
    assert_ok(attend_pairs_file_open(&f, &spec, 1));
    assert_int_equal(attend_pairs_file_next(f, &p), ATTEND_BAD_DATA);
    assert_int_equal(attend_pairs_file_fault(f), ATTEND_PAIR_TOO_LONG);
    assert_non_null(strstr(attend_message(), "p.fr:1: "));
    assert_non_null(strstr(p.source_file, "p.fr"));
    assert_ok(attend_pairs_file_next(f, &p));
    assert_true(p.line == 2 && p.source[0] == 'b' && p.target[0] == 'b');
    attend_pairs_file_close(f);
}

static void test_names(void **state)
{
    (void)state;
    attend_pairs_spec specs[5];
    int count;
    assert_ok(attend_pairs_specs(specs, &count, (const char *const[]){ "a.txt" }, 1));
    assert_true(count == 1 && !specs[0].target);
    assert_ok(attend_pairs_specs(specs, &count, (const char *const[]){ "a.tsv", "b.en", "b.fr", "-", "c.tsv.gz" }, 5));
    assert_int_equal(count, 4);
    assert_string_equal(specs[1].target, "b.fr");
    assert_true(!specs[0].target && !specs[2].target && !specs[3].target);
    assert_int_equal(attend_pairs_specs(specs, &count, (const char *const[]){ "a.tsv", "b.en" }, 2), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "b.en has no counterpart"));
    assert_int_equal(attend_pairs_specs(specs, &count, (const char *const[]){ "b.en", "a.tsv" }, 2), ATTEND_BAD_USAGE);
}

/* Monolingual lines: targets with empty sources, in which a TAB is text. */
static void test_monolingual(void **state)
{
    (void)state;
    attend_pairs_spec spec = { .target = text_file("l.txt", "a b\r\n\nc\td\te\n ") };
    assert_pairs(&spec, 1, "=a b@1 =@2 =c\td\te@3 = @4 ");
    unsigned char bytes[256];
    const char *path = in_folder("l.txt.gz");
    put_file(path, bytes, gzip_bytes(bytes, sizeof bytes, "s\tt\n", 4));
    const attend_pairs_spec several[] = { spec, { .target = path }, spec };
    assert_pairs(several, 3, "=a b@1 =@2 =c\td\te@3 = @4 =s\tt@1 =a b@1 =@2 =c\td\te@3 = @4 ");
    assert_fails((attend_pairs_spec){ .target = text_file("e.txt", "") }, ATTEND_BAD_DATA, ATTEND_PAIR_EMPTY_FILE,
                 "e.txt:1: ", "is empty");
    assert_fails((attend_pairs_spec){ .target = in_folder("missing") }, ATTEND_IO, ATTEND_PAIR_OK, "missing",
                 "cannot read");
    attend_pairs_file *f = NULL;
    const attend_pairs_spec mixed[] = { spec, two("a\n", "b\n") }, none = { .source = NULL };
    assert_int_equal(attend_pairs_file_open(&f, mixed, 2), ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "cannot be mixed"));
    assert_int_equal(attend_pairs_file_open(&f, &none, 1), ATTEND_BAD_USAGE);
    attend_pairs_spec specs[3];
    assert_ok(attend_monolingual_specs(specs, (const char *const[]){ "a.txt", "-", "b.en" }, 3));
    for (int i = 0; i < 3; i++) assert_null(specs[i].source);
    assert_string_equal(specs[2].target, "b.en");
    assert_int_equal(attend_monolingual_specs(specs, (const char *const[]){ "a.txt", "b.tsv.gz" }, 2),
                     ATTEND_BAD_USAGE);
    assert_non_null(strstr(attend_message(), "b.tsv.gz is a file of pairs"));
    char is[512];
    attend_memory_refuse(-1);
    assert_ok(read_pairs(is, sizeof is, several, 3, NULL));
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(read_pairs(is, sizeof is, several, 3, NULL), ATTEND_NO_MEMORY);
    }
    attend_memory_refuse(0);
}

static void test_memory(void **state)
{
    (void)state;
    char is[512];
    const attend_pairs_spec specs[] = { two("a\n", "b\n"), { .source = text_file("q.tsv", "s\tt") } };
    attend_memory_refuse(-1);
    assert_ok(read_pairs(is, sizeof is, specs, 2, NULL));
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(read_pairs(is, sizeof is, specs, 2, NULL), ATTEND_NO_MEMORY);
        assert_non_null(strstr(attend_message(), "no memory"));
    }
    attend_memory_refuse(0);
}

/* ---- pairs that are held out ---- */

enum { MANY = 3000 };
static const char *many_pairs(int count)
{
    const char *path = in_folder("many.tsv");
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < count; i++)
        fprintf(f, i % 50 == 49 ? "\tempty\n" : "source  %d\tt%d\n", i % 1000, i); /* sources repeat */
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Sets part[line] to `is` for each pair of a part; a pair must not have been in another. Returns the number of pairs. */
static int mark_part(const attend_pairs_spec *spec, char *part, char is)
{
    attend_pairs_file *f = NULL;
    attend_text_pair p;
    int count = 0;
    assert_ok(attend_pairs_file_open(&f, spec, 1));
    for (;; count++) {
        assert_ok(attend_pairs_file_next(f, &p));
        if (!p.source) break;
        assert_int_equal(part[p.line - 1], ' ');
        part[p.line - 1] = is;
    }
    attend_pairs_file_close(f);
    return count;
}

static int parts_of(const char *path, double fraction, uint64_t max_pairs, char *part)
{
    attend_pairs_spec train = { .source = path }, valid;
    memset(part, ' ', MANY);
    assert_ok(attend_pairs_hold_out(&train, &valid, 1, fraction, max_pairs));
    mark_part(&train, part, 't');
    return mark_part(&valid, part, 'v');
}

/* Each pair is in one part, a source in one part only, empty pairs in the training part; appended lines move nothing. */
static void test_held_out(void **state)
{
    (void)state;
    char all[MANY], first[MANY];
    const int held = parts_of(many_pairs(MANY), 0.1, 0, all);
    assert_in_range(held, 200, 400);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(all[i], i % 50 == 49 ? 't' : all[i % 1000]);
        assert_int_not_equal(all[i], ' ');
    }
    const int fewer = parts_of(many_pairs(MANY / 2), 0.1, 0, first);
    assert_true(fewer < held);
    assert_memory_equal(all, first, MANY / 2);
    assert_true(parts_of(many_pairs(MANY), 0.3, 0, first) > 2 * held);
    for (int i = 0; i < MANY; i++) assert_true(all[i] != 'v' || first[i] == 'v'); /* a larger part holds the smaller */
}

/* A maximum keeps the first pairs. Later pairs with a source that is held out are in neither part. */
static void test_held_out_at_most(void **state)
{
    (void)state;
    char all[MANY], some[MANY], fewer[MANY];
    parts_of(many_pairs(MANY), 0.1, 0, all);
    assert_int_equal(parts_of(many_pairs(MANY), 0.1, 50, some), 50);
    int held = 0, neither = 0;
    for (int i = 0; i < MANY; i++) {
        if (all[i] == 't') assert_int_equal(some[i], 't');
        if (all[i] == 'v' && held < 50) assert_int_equal(some[i], 'v'), held++;
        neither += some[i] == ' ';
        if (i % 50 != 49 && some[i % 1000] == 'v') assert_int_not_equal(some[i], 't');
    }
    assert_int_equal(neither, 100);
    parts_of(many_pairs(MANY / 2), 0.1, 50, fewer);
    assert_memory_equal(some, fewer, MANY / 2);
}

/* White space does not matter; a line of a language model is its own source; a faulty line is of the training part. */
static void test_held_out_texts(void **state)
{
    (void)state;
    char part[MANY], is[512];
    attend_pairs_spec train = { .source = text_file("h.tsv", "a b\tc\n a  b \td\na b\t\nno tab\n") }, valid;
    for (double fraction = 0.05; fraction < 1; fraction += 0.05) {
        attend_pair_fault fault;
        assert_ok(attend_pairs_hold_out(&train, &valid, 1, fraction, 0));
        assert_int_equal(read_pairs(is, sizeof is, &train, 1, &fault), ATTEND_BAD_DATA);
        assert_int_equal(fault, ATTEND_PAIR_NO_TAB);
        const bool held = !strstr(is, "a b=c");
        assert_string_equal(is, held ? "a b=@3 " : "a b=c@1  a  b =d@2 a b=@3 ");
        assert_pairs(&valid, 1, held ? "a b=c@1  a  b =d@2 " : "");
        train.part = ATTEND_PART_ALL;
    }
    attend_pairs_spec lines = { .target = many_pairs(MANY) };
    memset(part, ' ', sizeof part);
    assert_ok(attend_pairs_hold_out(&lines, &valid, 1, 0.1, 0));
    assert_in_range(mark_part(&valid, part, 'v'), 200, 400);
    mark_part(&lines, part, 't');
    assert_null(memchr(part, ' ', sizeof part));
    for (int wrong = 0; wrong < 4; wrong++)
        assert_int_equal(attend_pairs_hold_out(&lines, &valid, 1, (const double[]){ 0, 1, -1, NAN }[wrong], 0),
                         ATTEND_BAD_USAGE);
    valid.held_out = 1;
    attend_pairs_file *f;
    assert_int_equal(attend_pairs_file_open(&f, &valid, 1), ATTEND_BAD_USAGE);
}

/* Nothing is held out if too few pairs would be, if none is left, or if the files cannot be read. */
static void test_try_hold_out(void **state)
{
    (void)state;
    attend_pairs_spec train = { .source = many_pairs(MANY) }, valid;
    int held, left;
    assert_ok(attend_pairs_try_hold_out(&train, &valid, 1, 0.1, 0, 5, &held, &left));
    assert_true(held == 5 && left == 1 && train.part == ATTEND_PART_TRAINING && valid.part == ATTEND_PART_HELD_OUT);
    assert_ok(attend_pairs_try_hold_out(&train, &valid, 1, 0.1, 3, 5, &held, &left));
    assert_true(held == 3 && left == 1 && train.part == ATTEND_PART_ALL);
    train.source = text_file("few.tsv", "a\tb\n \tc\nno tab\nd\t\n");
    for (double fraction = 0.05; fraction < 1; fraction += 0.1) { /* one usable pair: it is in one of the parts */
        assert_ok(attend_pairs_try_hold_out(&train, &valid, 1, fraction, 0, 1, &held, &left));
        assert_true(held + left == 1 && train.part == ATTEND_PART_ALL);
    }
    train.source = "missing.tsv";
    assert_int_equal(attend_pairs_try_hold_out(&train, &valid, 1, 0.1, 0, 1, &held, &left), ATTEND_IO);
    assert_int_equal(train.part, ATTEND_PART_ALL);
    assert_int_equal(attend_pairs_try_hold_out(&train, &valid, 1, 2, 0, 1, &held, &left), ATTEND_BAD_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_try_hold_out),
                                        cmocka_unit_test(test_good),
                                        cmocka_unit_test(test_tabs),
                                        cmocka_unit_test(test_counts),
                                        cmocka_unit_test(test_unreadable),
                                        cmocka_unit_test(test_too_long),
                                        cmocka_unit_test(test_names),
                                        cmocka_unit_test(test_monolingual),
                                        cmocka_unit_test(test_memory),
                                        cmocka_unit_test(test_held_out),
                                        cmocka_unit_test(test_held_out_at_most),
                                        cmocka_unit_test(test_held_out_texts) };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
