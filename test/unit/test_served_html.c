/* HTML of attend serve: which texts are translated, and where the tags are in their translation. */
#include "unit/unit.h"

#include "serve/html.h"

/* ---- segments ---- */

/* The document with each segment in brackets, its tags as "|". */
static char *marked(const char *html)
{
    html_document d;
    attend_string out = { 0 };
    assert_ok(html_parse(&d, html, strlen(html)));
    for (int i = 0; i < d.segment_count; i++) {
        const html_segment *s = &d.segments[i];
        assert_ok(html_write_between(&out, &d, i));
        assert_ok(attend_string_add(&out, "[", 1));
        int tag = s->first_tag;
        for (uint32_t at = 0; at <= s->size; at++) {
            for (; tag < s->first_tag + s->tag_count && d.tags[tag].offset == at; tag++)
                assert_ok(attend_string_add(&out, "|", 1));
            if (at < s->size) assert_ok(attend_string_add(&out, d.texts + s->text + at, 1));
        }
        assert_int_equal(tag, s->first_tag + s->tag_count);
        assert_ok(attend_string_add(&out, "]", 1));
    }
    assert_ok(html_write_between(&out, &d, d.segment_count));
    html_free(&d);
    return out.text;
}

static void segments(void **state)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "a dog", "[a dog]" },
        { " a \n dog\t", " [a dog]\t" },
        { "<p>a <b>big</b> dog.</p>\n<p>it runs", "<p>[a |big| dog.]</p>\n<p>[it runs]" },
        { "<p> <b> a </b> </p>", "<p> [|a|] </p>" },
        { "a<br>b<br/>c", "[a]<br>[b]<br/>[c]" },
        { "<ul><li>a<li><img src=x></ul>", "<ul><li>[a]<li><img src=x></ul>" },
        { "a &amp; b &lt;i&gt; &eacute;&#233;&#xE9;&#x80;", "[a & b <i> \xc3\xa9\xc3\xa9\xc3\xa9\xe2\x82\xac]" },
        { "AT&T &nosuch; &amp &#; &#0; &#xd800; &copy 5 &alpha",
          "[AT&T &nosuch; & &#; \xef\xbf\xbd \xef\xbf\xbd \xc2\xa9 5 &alpha]" },
        { "&nbsp;", "&nbsp;" },
        { "1 < 2 > 1 <3 <", "[1 < 2 > 1 <3 <]" },
        { "a <b title='x>y' alt=\"<i>\">c</b>", "[a |c|]" },
        { "a <b and then", "[a <b and then]" },
        { "a <b x='> c", "[a] <b x='> c" },
        { "a <!-- <b> --> b<!---->c<!--> d <!-- e", "[a |b|c| d] <!-- e" },
        { "<!DOCTYPE html><title>a</title>", "<!DOCTYPE html><title>[a]</title>" },
        { "a <script>if (a<b) '</p>'</script> b", "[a |b]" },
        { "<style>p { }</style>a", "[|a]" },
        { "<script> a", "<script> a" },
        { "run <code>ls <b>-l</b></code> now", "[run |now]" },
        { "<div translate=\"no\"><div>a</div>b</div>c", "<div translate=\"no\"><div>a</div>b</div>[c]" },
        { "<b>a <i>b</b> c</i>", "[|a |b| c|]" },
        { "a</b><i>b", "[a||b]" },
        { "</>a<?php ?>b", "[|a|b]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = marked(cases[i][0]);
        assert_string_equal(text ? text : "", cases[i][1]);
        free(text);
    }
    (void)state;
}

/* ---- placing ---- */

/* The translation of a document of one segment. links: pairs of digits, source and target word; "-": none known. */
static char *translated(const char *html, const char *target, const char *links)
{
    html_document d;
    attend_string out = { 0 };
    attend_word_link list[32];
    int count = 0;
    for (const char *c = links; c[0] >= '0' && c[0] <= '9'; c += c[2] ? 3 : 2)
        list[count++] = (attend_word_link){ .source = c[0] - '0', .target = c[1] - '0' };
    assert_ok(html_parse(&d, html, strlen(html)));
    assert_int_equal(d.segment_count, 1);
    const html_target t = { .text = target,
                            .source_unit = ATTEND_UNIT_WORD,
                            .target_unit = ATTEND_UNIT_WORD,
                            .links = links[0] == '-' ? NULL : list,
                            .link_count = count };
    assert_ok(html_write_between(&out, &d, 0));
    assert_ok(html_write_segment(&out, &d, 0, &t));
    assert_ok(html_write_between(&out, &d, 1));
    html_free(&d);
    return out.text;
}

static void placing(void **state)
{
    static const char *const cases[][4] = {
        { "a <b>big</b> dog", "x y z", "00 11 22", "x <b>y</b> z" },
        { "a <b>big</b> dog", "x y z", "00 12 21", "x y <b>z</b>" },
        { "<p>a <b>big dog</b></p>", "z y x", "02 11 20", "<p><b>z y</b> x</p>" },
        { "a <b>big</b> dog", "x < & y", "00 13 22", "x &lt; &amp; <b>y</b>" },
        /* nested, and all words */
        { "<b>a <i>big</i> dog</b>", "x y z", "00 12 21", "<b>x y <i>z</i></b>" },
        { "<b><i>a big dog</i></b>", "x y z", "00", "<b><i>x y z</i></b>" },
        /* a word between the words of an element that is aligned with none, and with one outside */
        { "a <b>big dog</b>", "x y z w", "00 11 23", "x <b>y z w</b>" },
        { "a <b>big dog</b> c", "y x z", "10 01 22", "<b>y x z</b>" },
        /* neighbours: the longer run; never an overlap */
        { "<b>a big</b> <i>dog</i>", "x z y", "00 12 21", "<b>x</b> <i>z</i> y" },
        { "<b>a b c</b> <i>d</i>", "w x z y", "00 11 32 23", "<b>w x</b> <i>z</i> y" },
        { "<b>a</b> <i>b</i>", "y x", "01 10", "<i>y</i> <b>x</b>" },
        /* inside a word, and beside punctuation */
        { "a big<b>ger</b> dog", "x y z", "00 11 22", "x <b>y</b> z" },
        { "a (<a href=\"?a&amp;b\">dog</a>).", "ein (Hund).", "00 11", "ein (<a href=\"?a&amp;b\">Hund</a>)." },
        { "the <b>dog</b>.", "der Hund.", "00 11", "der <b>Hund</b>." },
        { "the <b>dog</b>.", "der Hund", "00 11", "der <b>Hund</b>" },
        { "<b>fo</b><i>o</i>", "x", "00", "<b>x</b><i></i>" },
        /* without words */
        { "a <img src=x> dog", "x y", "00 11", "x <img src=x> y" },
        { "a<img src=x> dog", "x y", "00 11", "x<img src=x> y" },
        { "a dog <img src=x>", "x y", "01 10", "x y <img src=x>" },
        { "<img src=x> a dog", "x y", "01 10", "<img src=x> x y" },
        { "a <img src=x> dog", "x y", "01 10", "x y <img src=x>" },
        { "a <b>big</b> dog", "x z", "00 21", "x <b></b>z" },
        { "a <b>b <img> c</b> d", "x y z w", "00 12 21 33", "x <b>y z <img></b> w" },
        { "a <b>big</b> dog", "", "", "<b></b>" },
        { "a <!-- c --> dog", "x y", "00 11", "x <!-- c -->y" },
        /* without partners */
        { "a </b> c <b> d", "x y z", "02 11 20", "x y z</b><b>" },
        { "<b>a <i>b</b> c</i> d", "w x y z", "00 11 22 33", "<b>w <i>x</b> y</i> z" },
        /* without attention: by position */
        { "a <b>big</b> dog", "x y z", "-", "x <b>y</b> z" },
        { "a <b>big</b>", "u v w x", "-", "u v <b>w x</b>" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = translated(cases[i][0], cases[i][1], cases[i][2]);
        assert_string_equal(text, cases[i][3]);
        free(text);
    }
    (void)state;
}

/* Elements deeper than the limit, a million characters of markup without an end, many tags: in linear time. */
static void large(void **state)
{
    enum { N = 300000 };
    static const char *const parts[] = { "<b>",   "<a b='", "<!--",     "<code>",       "<",       "<i",
                                         "&amp;", "</b>",   "<script>", "<x y=\"z\" <", "<b>a</b>" };
    char *html = malloc(12 * N + 1);
    assert_non_null(html);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *to = html;
        for (int j = 0; j < N; j++) to += sprintf(to, "%s", parts[i]);
        strcpy(to, "a>\"");
        free(marked(html));
    }
    char *to = html;
    for (int i = 0; i < 200; i++) to += sprintf(to, "<b>");
    to += sprintf(to, "a b");
    for (int i = 0; i < 200; i++) to += sprintf(to, "</b>");
    char *text = translated(html, "x y", "01 10");
    assert_int_equal(strlen(text), 200 * 7 + 3);
    assert_memory_equal(text, html, 600);
    free(text);
    free(html);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(segments), cmocka_unit_test(placing),
                                        cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
