/* The page of attend_view_html: for any text, the page is well-formed, its data is JSON, and no text becomes markup. test/peer/check_page.py tests its
 * behaviour in a browser. */
#include "core/memory.h"
#include "support/comma_locale.h"
#include "support/json_check.h"
#include "support/sample_maps.h"
#include "unit/unit.h"

static const char data_begin[] = "<script type=\"application/json\" id=\"data\">";

static const attend_view_options usual = ATTEND_VIEW_OPTIONS_INIT;

/* The page of one sentence with one hypothesis. */
static attend_string page_of(const attend_map *map, const attend_view_options *options)
{
    attend_string html = { 0 };
    const attend_map_list list = { &map, 1 };
    assert_ok(attend_view_html(&list, 1, options, &html));
    assert_int_equal(strlen(html.text), html.size);
    return html;
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

/* The content of the element with the data; the caller frees it. */
static char *data_of(const attend_string *html)
{
    assert_int_equal(times(html->text, data_begin), 1);
    const char *begin = strstr(html->text, data_begin) + strlen(data_begin), *end = strstr(begin, "</script>");
    assert_non_null(end);
    char *data = strndup(begin, (size_t)(end - begin));
    assert_non_null(data);
    return data;
}

static void check_json(const char *data)
{
    char *names[] = { "title", "models", "light", "dark", "allHeads", "byToken", "sentences" };
    reader r = { .at = data, .names = names, .name_count = 7 };
    if (!value(&r) || *r.at) fail_msg("not JSON: %.60s", r.at);
    for (int i = 0; i < 7; i++) assert_true(r.seen[i]);
}

/* A page is valid UTF-8, has as many elements as page.html has, and no byte of its data is markup. */
static void check_page(const attend_string *html)
{
    char *data = data_of(html);
    check_json(data);
    assert_int_equal(attend_utf8_valid(html->text, html->size), html->size);
    assert_int_equal(strcspn(data, "<>&'"), strlen(data));
    assert_null(strstr(data, "\xe2\x80\xa8"));
    assert_null(strstr(data, "\xe2\x80\xa9"));
    assert_int_equal(times(html->text, "<script"), 2);
    assert_int_equal(times(html->text, "</script"), 2);
    assert_int_equal(times(html->text, "{{"), 0);
    assert_int_equal(times(html->text, "</html>"), 1);
    free(data);
}

static void sample(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("the small hous|e", "das klein|e Haus", NULL, 1, 1, 0.5);
    attend_string html = page_of(&m->map, NULL);
    check_page(&html);
    char *data = data_of(&html);
    assert_non_null(
        strstr(data, "{\"attention\":\"cross\",\"source\":\"the small "
                     "house\",\"sourceTokens\":[\"the\",\"small\",\"hous\",\"e\",\"\\u003c/s\\u003e\"],"
                     "\"sourceWord\":[0,1,2,2,-1],\"sourceUnknown\":[],\"sourceWords\":[\"the\",\"small\",\"house\"]"));
    assert_non_null(strstr(data, "\"models\":[{\"name\":\"\",\"layer\":-1,\"head\":-1}]"));
    free(data);
    attend_string_free(&html);
    sample_map_free(m);
}

static void markup_is_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *escaped;
    } cases[] = {
        { "<script>alert(1)</script>", "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e" },
        { "</script><script>x", "\\u003c/script\\u003e\\u003cscript\\u003ex" },
        { "<!--", "\\u003c!--" },
        { "]]>&amp;&#60;", "]]\\u003e\\u0026amp;\\u0026#60;" },
        { "\"a\\'b", "\\u0022a\\u005c\\u0027b" },
        { "{{title}}{{data}}", "{{title}}{{data}}" },
        { "\x01\t\n\r\x1f\x7f", "\\u0001\\u0009\\u000a\\u000d\\u001f\\u007f" },
        { "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
        { "\xff\xc3(\xed\xa0\x80\xc0\xaf", "\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd" },
        { "a\xf0\x9f\x98", "a\\ufffd\\ufffd\\ufffd" },
        { "\xf0\x9f\x98\x80\xd7\xa9\xcc\x81", "\xf0\x9f\x98\x80\xd7\xa9\xcc\x81" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample_map *m = sample_map_new("source", "target", NULL, 1, 1, 0.5);
        m->map.source_text = m->map.target_text = m->source.words[0] = m->target.words[0] = cases[i].text;
        m->source.tokens[0].text = m->target.tokens[0].text = m->candidates[0].text = cases[i].text;
        attend_view_options options = usual;
        options.title = cases[i].text;
        attend_string html = page_of(&m->map, &options);
        char *data = data_of(&html), expected[256];
        snprintf(expected, sizeof expected, "\"%s\"", cases[i].escaped);
        if (times(data, expected) != 8) fail_msg("%s occurs %zu times", expected, times(data, expected));
        if (!strstr(cases[i].text, "{{")) check_page(&html);
        free(data);
        attend_string_free(&html);
        sample_map_free(m);
    }
}

/* The page is well-formed when any byte of a text is replaced by any other. */
static void any_bytes(void **state)
{
    (void)state;
    char text[] = "a\xc3\xa9z\xe2\x80\xa6";
    for (size_t at = 0; at + 1 < sizeof text; at++)
        for (int byte = 1; byte < 256; byte++) {
            const char before = text[at];
            text[at] = (char)byte;
            sample_map *m = sample_map_new("source", "target", NULL, 1, 1, 0.5);
            m->map.source_text = m->candidates[1].text = m->target.tokens[0].text = text;
            attend_view_options options = usual;
            options.title = text;
            attend_string html = page_of(&m->map, &options);
            check_page(&html);
            attend_string_free(&html);
            sample_map_free(m);
            text[at] = before;
        }
}

static void numbers_have_four_decimals(void **state)
{
    (void)state;
    comma_locale_begin();
    sample_map *m = sample_map_new("a", "b", NULL, 1, 1, 0);
    const float weights[] = { 0.123456F, 1e-9F, NAN, 1 };
    memcpy(m->weights, weights, sizeof weights);
    m->probability[0] = 0.99996, m->probability[1] = 0.5;
    m->candidates[0].probability = 0.00004, m->candidates[1].text = NULL,
    m->candidates[ATTEND_MAP_CANDIDATES].text = NULL;
    m->map.log_probability = -INFINITY, m->map.score = NAN;
    attend_string html = page_of(&m->map, NULL);
    check_page(&html);
    char *data = data_of(&html);
    assert_non_null(
        strstr(data,
               "\"probability\":[10000,5000],\"candidates\":[[[\"b\",0]],[]],\"logProbability\":-1000000000000000,"
               "\"score\":null,\"forced\":false,\"weights\":[1235,0,null,10000]}"));
    free(data);
    attend_string_free(&html);
    sample_map_free(m);
    comma_locale_end();
}

static void many(void **state)
{
    (void)state;
    enum { SENTENCES = 100, HYPOTHESES = 5 };
    sample_map *m = sample_map_new("one two three four five six seven eight nine ten elev|en twel|ve thir|teen "
                                   "four|teen fif|teen six|teen seven|teen",
                                   "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf drei|zehn vier|zehn "
                                   "fünf|zehn sech|zehn sieb|zehn",
                                   NULL, 1, 1, 1);
    const attend_map *hypotheses[HYPOTHESES];
    attend_map_list lists[SENTENCES];
    for (int i = 0; i < HYPOTHESES; i++) hypotheses[i] = &m->map;
    for (int i = 0; i < SENTENCES; i++) lists[i] = (attend_map_list){ hypotheses, HYPOTHESES };
    attend_string html = { 0 };
    assert_ok(attend_view_html(lists, SENTENCES, NULL, &html));
    check_page(&html);
    assert_true(html.size < 3 << 20);
    assert_int_equal(times(html.text, "\"forced\":"), SENTENCES * HYPOTHESES);
    assert_ok(attend_view_html(NULL, 0, NULL, &html)); /* replaces the first page */
    check_page(&html);
    assert_true(html.size < 1 << 17);
    attend_string_free(&html);
    sample_map_free(m);
}

/* A hypothesis followed by maps of its other attention kinds. An encoder has no probabilities, and "<s>" has none. */
static void attention_kinds(void **state)
{
    (void)state;
    sample_map *m[] = { sample_map_new("a b", "c", NULL, 2, 2, 0.5),
                        sample_self_attention_new("a b", ATTEND_ATTENTION_ENCODER, 3, 1),
                        sample_self_attention_new("c", ATTEND_ATTENTION_DECODER, 1, 1) };
    const attend_map *const maps[] = { &m[0]->map, &m[1]->map, &m[2]->map };
    const attend_map_list list = { maps, 3 };
    attend_string html = { 0 };
    attend_view_options options = usual;
    options.layer = options.head = 1; /* of the first attention kind; the others need not have it */
    assert_ok(attend_view_html(&list, 1, &options, &html));
    check_page(&html);
    char *data = data_of(&html);
    assert_non_null(strstr(data, "{\"attention\":\"cross\","));
    assert_non_null(strstr(data, "{\"attention\":\"encoder\","));
    assert_non_null(strstr(data,
                           "\"layers\":3,\"heads\":1,\"probability\":null,\"candidates\":null,\"logProbability\":null,"
                           "\"score\":null,\"forced\":false,\"weights\":["));
    const char *decoder =
        strstr(data, "{\"attention\":\"decoder\",\"source\":\"c\",\"sourceTokens\":[\"\\u003cs\\u003e\",\"c\"],");
    assert_non_null(decoder);
    assert_non_null(strstr(decoder, "\"probability\":[null,7767"));
    assert_non_null(strstr(decoder, "\"candidates\":[[],[[\"c\",7767"));
    assert_non_null(strstr(decoder, "\"weights\":[10000,0,"));
    options.layer = 2;
    assert_int_equal(attend_view_html(&list, 1, &options, &html), ATTEND_BAD_USAGE);
    free(data);
    attend_string_free(&html);
    for (int i = 0; i < 3; i++) sample_map_free(m[i]);
}

static void without_attention(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("a", "b c", NULL, 0, 0, 0.5);
    attend_string html = page_of(&m->map, NULL);
    check_page(&html);
    assert_non_null(strstr(html.text, "\"weights\":null}"));
    attend_string_free(&html);
    sample_map_free(m);
}

static void wrong_use(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("a", "b", NULL, 2, 3, 0.5);
    const attend_map *map = &m->map;
    const attend_map_list list = { &map, 1 };
    attend_string html = { 0 };
    attend_view_options options = usual;
    options.layer = 1, options.head = 2;
    assert_ok(attend_view_html(&list, 1, &options, &html));
    options.head = 3;
    assert_int_equal(attend_view_html(&list, 1, &options, &html), ATTEND_BAD_USAGE);
    options.head = 0, options.layer = -2;
    assert_int_equal(attend_view_html(&list, 1, &options, &html), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_html(&list, -1, NULL, &html), ATTEND_BAD_USAGE);
    attend_string_free(&html);
    sample_map_free(m);
}

/* Each allocation fails in turn: an error, and the next call succeeds. */
static void memory_refused(void **state)
{
    (void)state;
    sample_map *m = sample_map_new("the small hous|e", "das klein|e Haus", NULL, 1, 1, 0.5);
    const attend_map *map = &m->map;
    const attend_map_list list = { &map, 1 };
    attend_string html = { 0 };
    attend_memory_refuse(-1);
    assert_ok(attend_view_html(&list, 1, NULL, &html));
    const long requests = attend_memory_requests();
    attend_string_free(&html);
    assert_true(requests > 2);
    for (long n = 1; n <= requests; n++) {
        attend_memory_refuse(n);
        assert_int_equal(attend_view_html(&list, 1, NULL, &html), ATTEND_NO_MEMORY);
        attend_memory_refuse(0);
        assert_ok(attend_view_html(&list, 1, NULL, &html));
        check_page(&html);
        attend_string_free(&html);
    }
    sample_map_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample),
        cmocka_unit_test(markup_is_text),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(numbers_have_four_decimals),
        cmocka_unit_test(many),
        cmocka_unit_test(without_attention),
        cmocka_unit_test(wrong_use),
        cmocka_unit_test(memory_refused),
        cmocka_unit_test(attention_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
