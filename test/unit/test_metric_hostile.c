/* Hostile lines: arbitrary bytes, a megabyte, and failure of every single allocation. */
#include "core/memory.h"
#include "core/rng.h"
#include "unit/unit.h"

#include <math.h>

enum { KINDS = ATTEND_LINE_ERROR + 1, VARIANTS = KINDS + 2, MEGABYTE = 1 << 20 };

/* Every kind, and BLEU with every kind of token. */
static attend_metric_options variant(int v, bool lowercase)
{
    if (v < KINDS) return (attend_metric_options){ .kind = (attend_metric_kind)v, .lowercase = lowercase };
    return (attend_metric_options){ .tokens = v == KINDS ? ATTEND_BLEU_NONE : ATTEND_BLEU_CHAR,
                                    .lowercase = lowercase };
}

static int two_lines(const attend_metric_options *o, attend_metric_sums *sums)
{
    const char *const references[] = { "Ein Bär, 3.5 m groß", "b a c d e f g h", "" };
    int status = attend_metric_add(o, sums, "Ein &amp; Bär (3.5 m) groß\xff", references, 3);
    return status == ATTEND_OK ? attend_metric_add(o, sums, "a b c d e f g h", references + 1, 2) : status;
}

static void test_every_request_refused(void **state)
{
    (void)state;
    long all = 0;
    for (int v = 0; v < VARIANTS; v++) {
        const attend_metric_options o = variant(v, true);
        attend_metric_sums wanted = { 0 };
        attend_memory_refuse(-1);
        assert_ok(two_lines(&o, &wanted));
        const long requests = attend_memory_requests();
        for (long n = 1; n <= requests; n++) {
            attend_metric_sums sums = { 0 };
            attend_memory_refuse(n);
            const int status = two_lines(&o, &sums);
            if (status != ATTEND_NO_MEMORY)
                fail_msg("request %ld of %ld refused, and the answer is %d", n, requests, status);
            assert_non_null(strstr(attend_message(), "no memory"));
        }
        attend_memory_refuse(0);
        all += requests;
    }
    printf("%ld requests refused in turn\n", all);
}

/* A failure leaves the sums unchanged. */
static void test_sums_unchanged(void **state)
{
    (void)state;
    const attend_metric_options o = { .kind = ATTEND_CHRFPP };
    const char *const references[] = { "one", "two", "three" };
    attend_metric_sums sums = { 0 }, before;
    assert_ok(attend_metric_add(&o, &sums, "one", references, 1));
    before = sums;
    attend_memory_refuse(-1);
    assert_ok(attend_metric_add(&o, &sums, "two", references, 3));
    const long requests = attend_memory_requests();
    for (long n = 1; n <= requests; n++) {
        sums = before;
        attend_memory_refuse(n);
        assert_int_equal(attend_metric_add(&o, &sums, "two", references, 3), ATTEND_NO_MEMORY);
        assert_memory_equal(&sums, &before, sizeof sums);
    }
    attend_memory_refuse(0);
}

/* Few distinct bytes, so that n-grams match often; they break UTF-8 in every way. */
static void draw_line(char *line, size_t size, uint64_t number)
{
    static const char few[] = "ab .,-1&;<\xc3\xa4\xce\xa3\xe2\x80\xa8";
    const attend_rng rng = { .seed = 1, .stream = number };
    const size_t n = (size_t)(attend_rng_uniform(&rng, 0) * (double)size);
    for (size_t i = 0; i < n; i++) {
        const double u = attend_rng_uniform(&rng, i + 1);
        line[i] = number % 2 ? few[(size_t)(u * (sizeof few - 1))] : (char)(1 + (int)(u * 255));
    }
    line[n] = '\0';
}

static void test_any_bytes(void **state)
{
    (void)state;
    char lines[4][400];
    const char *const references[] = { lines[1], lines[2], lines[3] };
    for (uint64_t round = 0; round < 300; round++) {
        for (uint64_t i = 0; i < 4; i++) draw_line(lines[i], sizeof lines[0], 8 * (round / 2) + 2 * i + round % 2);
        for (int v = 0; v < VARIANTS; v++) {
            const attend_metric_options o = variant(v, round % 4 < 2);
            attend_metric_sums sums = { 0 };
            assert_ok(attend_metric_add(&o, &sums, lines[0], references, 3));
            const double score = attend_metric_score(&o, &sums);
            assert_true(isfinite(score) && score >= 0);
            assert_true(!attend_metric_higher_is_better(o.kind) || score <= 100 + 1e-9);
        }
    }
}

/* A megabyte of repeated `unit` against itself with its first and last bytes changed. */
static void score_megabyte(const char *unit)
{
    char *hypothesis = malloc(MEGABYTE + 1), *reference = malloc(MEGABYTE + 1);
    assert_true(hypothesis && reference);
    for (size_t i = 0; i < MEGABYTE; i++) hypothesis[i] = reference[i] = unit[i % strlen(unit)];
    reference[0] = reference[MEGABYTE - 1] = 'x';
    hypothesis[MEGABYTE] = reference[MEGABYTE] = '\0';
    const char *const references[] = { reference, "short" };
    for (int v = 0; v < VARIANTS; v++) {
        const attend_metric_options o = variant(v, true);
        attend_metric_sums sums = { 0 };
        const int status = attend_metric_add(&o, &sums, hypothesis, references, 2);
        /* metrics with superlinear cost reject the line */
        const bool may_refuse = o.kind == ATTEND_TER || o.kind == ATTEND_WER || o.kind == ATTEND_CER;
        if (status == ATTEND_BAD_DATA && may_refuse)
            assert_non_null(strstr(attend_message(), "the line has ") ? attend_message()
                                                                      : strstr(attend_message(), "too long"));
        else
            assert_int_equal(status, ATTEND_OK);
        assert_ok(attend_metric_add(&o, &sums, "short", &references[1], 1));
    }
    free(hypothesis);
    free(reference);
}

static void test_megabyte(void **state)
{
    (void)state;
    static const char *const units[] = { "a b ", "\xff", "&amp;", "\xce\xa3'", " " };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) score_megabyte(units[i]);
}

/* The longest line that TER accepts, with shifts everywhere. */
static void test_longest_ter(void **state)
{
    (void)state;
    enum { WORDS = 1 << 15 };
    static char hypothesis[2 * WORDS + 3], reference[2 * WORDS + 3];
    const attend_rng rng = { .seed = 2 };
    const attend_metric_options o = { .kind = ATTEND_TER };
    const char *const references[] = { reference };
    for (size_t i = 0; i < WORDS; i++) {
        reference[2 * i] = (char)('a' + (int)(attend_rng_uniform(&rng, i) * 20));
        reference[2 * i + 1] = hypothesis[2 * i + 1] = ' ';
    }
    for (size_t i = 0; i < WORDS; i++) hypothesis[2 * i] = reference[2 * (i % 9 < 8 ? i : i - 4)];
    attend_metric_sums sums = { 0 };
    assert_ok(attend_metric_add(&o, &sums, hypothesis, references, 1));
    assert_true(attend_metric_score(&o, &sums) < 100);
    hypothesis[2 * WORDS] = 'x'; /* one more */
    assert_int_equal(attend_metric_add(&o, &sums, hypothesis, references, 1), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "32769 words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_request_refused),
        cmocka_unit_test(test_sums_unchanged),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_megabyte),
        cmocka_unit_test(test_longest_ter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
