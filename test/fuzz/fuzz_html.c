/* Any bytes as HTML, any target text and links: the first line of the input is the target text, the rest the document.
 * Each tag of the document is in the result, once and unchanged, and the result has no other tags. The end of an element
 * is after its start; elements do not overlap; the text is the target text. */
#include "fuzz/fuzz.h"
#include "serve/html.h"

#include <attend/attend.h>
#include <stdlib.h>
#include <string.h>

static void must(int holds)
{
    if (!holds) abort();
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

static attend_string translate(const html_document *d, const char *target, uint32_t state)
{
    enum { MAX_LINKS = 40 };
    attend_string out = { 0 };
    attend_word_link links[MAX_LINKS];
    for (int i = 0; i < d->segment_count; i++) {
        const int count = (int)(next(&state) % MAX_LINKS);
        for (int j = 0; j < count; j++)
            links[j] =
                (attend_word_link){ .source = (int)(next(&state) % 12) - 1, .target = (int)(next(&state) % 12) - 1 };
        const attend_unit unit = next(&state) % 8 == 0 ? ATTEND_UNIT_CHARACTER : ATTEND_UNIT_WORD;
        const html_target t = { target, unit, ATTEND_UNIT_WORD, next(&state) % 8 ? links : NULL, count };
        must(html_write_between(&out, d, i) == ATTEND_OK && html_write_segment(&out, d, i, &t) == ATTEND_OK);
    }
    must(html_write_between(&out, d, d->segment_count) == ATTEND_OK);
    return out;
}

/* A number that does not depend on the order of the tags of each segment. */
static uint64_t sum_of_tags(const html_document *d)
{
    uint64_t sum = 0;
    for (int i = 0; i < d->tag_count; i++) {
        uint64_t hash = 14695981039346656037u;
        for (uint32_t at = d->tags[i].begin; at < d->tags[i].end; at++)
            hash = (hash ^ (unsigned char)d->html[at]) * 1099511628211u;
        sum += hash;
    }
    return sum;
}

static int count_pairs(const html_document *d)
{
    int pairs = 0;
    for (int i = 0; i < d->tag_count; i++) pairs += d->tags[i].partner >= 0;
    return pairs / 2;
}

/* Whether all that is inside segments is elements, and what needs no end. */
static int is_balanced(const html_document *d)
{
    for (int i = 0; i < d->tag_count; i++)
        if ((d->tags[i].kind == HTML_START || d->tags[i].kind == HTML_END) && d->tags[i].partner < 0) return 0;
    return 1;
}

static void check_same_text(const char *a, size_t a_size, const char *b)
{
    const char *end = a + a_size;
    while (a < end || *b) { /* spaces may be next to images */
        while (a < end && (*a == ' ' || (*a >= '\t' && *a <= '\r'))) a++;
        while (*b == ' ' || (*b >= '\t' && *b <= '\r')) b++;
        if (a < end || *b) must(a < end && *b && *a++ == *b++);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *input = malloc(size + 1);
    must(input != NULL);
    memcpy(input, bytes, size);
    input[size] = '\0';
    char *line = memchr(input, '\n', size);
    const char *html = line ? line + 1 : input + size, *target = line ? input : "";
    if (line) *line = '\0';
    uint32_t state = (uint32_t)size;
    html_document before, after;
    must(html_parse(&before, html, (size_t)(input + size - html)) == ATTEND_OK);
    attend_string out = translate(&before, target, state);
    must(html_parse(&after, out.text ? out.text : "", out.size) == ATTEND_OK);
    if (attend_word_count(target, strlen(target)) > 0 && strlen(target) < size) {
        must(after.segment_count == before.segment_count && after.tag_count == before.tag_count);
        must(sum_of_tags(&before) == sum_of_tags(&after));
        if (is_balanced(&before)) must(is_balanced(&after) && count_pairs(&before) == count_pairs(&after));
        for (int i = 0; i < after.segment_count; i++)
            check_same_text(after.texts + after.segments[i].text, after.segments[i].size, target);
    }
    html_free(&before);
    html_free(&after);
    attend_string_free(&out);
    free(input);
    return 0;
}

void fuzz_seeds(void (*seed)(const void *bytes, size_t size))
{
    static const char *const seeds[] = {
        "x y z\n<p>a <b>big</b> dog</p>",
        "x\n<b>a <i>b</b> c</i> <img src='x>y'> d",
        "x y z w v\na <b>b <i>c</i></b> <u>d</u> <em>e</em> f<br>g <!-- h --> i",
        "x & y < z\n&amp;&lt;&#60;&nbsp;&eacute; a <script>b < c</script> d",
        "x\xc3\xa9 y.\n(<a href=\"?a&b\">dog</a>). <code>a <b>c</b></code> <p translate=no><p>d</p></p>",
        "x y\n</b>a<b> </i><i>b</i><!--> --><!-- x --!> c <!",
        "x y\n<title>a</title><textarea><b></textarea><svg><b></svg>c",
        "\n<b>a</b>",
        "x y\na b",
        "x",
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) seed(seeds[i], strlen(seeds[i]));
}
