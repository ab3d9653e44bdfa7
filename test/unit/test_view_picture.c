/* Pictures: SVG is well-formed XML with its labels as text, PDF is valid, PNG is valid and has the expected pixels, for any number of words and any script;
 * maps that are too large are refused. */
#include "unit/unit.h"

#include "support/hand_map.h"
#include "support/sample_maps.h"
#include "support/xml.h"
#include <attend/grid.h>
#include <attend/picture.h>
#include <cairo.h>
#include <time.h>

static hand_map h;
static const char *many[2 * ATTEND_PICTURE_MAX + 2];

/* A map with `count` words on each side. */
static const attend_map *map_of(int count)
{
    static const char *const words[] = { "the", "commission", "of", "a", "house", "understandably" };
    static const char *chosen[HAND_WORDS + 1];
    for (int i = 0; i < count; i++) chosen[i] = words[i * 7 % 6];
    chosen[count] = NULL;
    return hand_map_of(&h, chosen, chosen);
}

static const char *const strange[] = { "\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8", /* Arabic */
                                       "\xe4\xbd\xa0\xe5\xa5\xbd",         /* Chinese */
                                       "o\xcc\x88\xcc\xa3x\xcc\x8a",       /* combining marks */
                                       "<&\"'>]]>",
                                       "\x01\x1b[31m\x7f",
                                       "\xf0\x9f\x98\x80",
                                       NULL };

static void check_svg(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    int elements;
    assert_ok(attend_view_svg(map, o, out));
    const char *fault = xml_fault(out->text, &elements);
    if (fault) fail_msg("not well-formed at %.40s", fault);
    assert_true(strlen(out->text) == out->size && strstr(out->text, "<svg ") && elements > map->target_word_count);
}

static void svg(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const int counts[] = { 1, 5, 25, 60, HAND_WORDS };
    for (int i = 0; i < 5; i++) check_svg(map_of(counts[i]), &o, &out);
    o.title = "a < b & \x02 \xff";
    o.by_token = true;
    check_svg(hand_map_of(&h, strange, strange), &o, &out);
    attend_string_free(&out);
}

static int times(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

/* Labels, numbers, the caption and the rest are text and not outlines. */
static void svg_text(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const attend_view_model model = { "runs/<a>", -1, -1 };
    o.head = 0, o.title = "a title", o.models = &model, o.model_count = 1;
    check_svg(map_of(5), &o, &out);
    const char *const texts[] = { ">commission</text>",
                                  ">0.50</text>",
                                  ">a title</text>",
                                  ">runs/&lt;a&gt;</text>",
                                  ">cross-attention, head 0</text>",
                                  ">(rest)</text>",
                                  "<title>a title</title>" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strstr(out.text, texts[i])) fail_msg("no %s", texts[i]);
    assert_int_equal(times(out.text, "<text "), 5 + 5 + 1 + 3 + 3 + 5 + 8 + 2); /* words, rest, heading, bar, weights */
    assert_int_equal(times(out.text, "<use") + times(out.text, "<glyph"), 0);
    check_svg(hand_map_of(&h, strange, strange), &o, &out);
    assert_non_null(strstr(out.text, "direction=\"rtl\""));
    assert_int_equal(times(out.text, ">\xe4\xbd\xa0\xe5\xa5\xbd</text>"), 2);
    static const char *const letters[] = { "a", "l", NULL };
    check_svg(hand_map_of(&h, letters, letters), &o, &out);
    assert_int_equal(times(out.text, "rotate(-45"), 1); /* letters are upright, only the rest is slanted */
    check_svg(map_of(5), &o, &out);
    assert_int_equal(times(out.text, "rotate(-45"), 6);
    static char longest[400];
    const char *one[] = { longest, NULL };
    memset(longest, 'm', sizeof longest - 1);
    check_svg(hand_map_of(&h, one, one), &o, &out);
    assert_int_equal(times(out.text, "mm\xe2\x80\xa6</text>"), 2); /* cut with an ellipsis */
    attend_string_free(&out);
}

static void pdf(void **state)
{
    (void)state;
    attend_string out[2] = { { 0 }, { 0 } };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    for (int i = 0; i < 2; i++) {
        assert_ok(attend_view_pdf(map_of(5), &o, &out[i]));
        assert_memory_equal(out[i].text, "%PDF-1.", 7);
        assert_memory_equal(out[i].text + out[i].size - 6, "%%EOF\n", 6);
    }
    assert_int_equal(out[0].size, out[1].size); /* the same map is the same file */
    assert_memory_equal(out[0].text, out[1].text, out[0].size);
    for (int i = 0; i < 2; i++) attend_string_free(&out[i]);
}

/* Panels of one map have labels at the margins only; panels of several maps have their own, and the names of their models. */
static void panels(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const attend_view_model models[] = { { "first", -1, -1 }, { "second", -1, -1 } };
    sample_map *m[] = { sample_map_new("the house", "das Haus", NULL, 2, 3, 0.5),
                        sample_map_new("the house", "la maison", NULL, 1, 1, 0.5) };
    attend_panel all[6];
    int elements;
    o.models = models, o.model_count = 2, m[1]->map.model = 1;
    for (int i = 0; i < 6; i++) all[i] = (attend_panel){ &m[0]->map, i / 3, i % 3 };
    assert_ok(attend_view_panels(all, 6, 3, &o, ATTEND_PICTURE_SVG, &out));
    assert_null(xml_fault(out.text, &elements));
    assert_int_equal(times(out.text, ">das</text>"), 2);
    assert_int_equal(times(out.text, ">house</text>"), 3);
    assert_int_equal(times(out.text, ">first: cross-attention</text>"), 1);
    assert_int_equal(times(out.text, ">layer 1, head 2</text>"), 1);
    const attend_panel both[] = { { &m[0]->map, 1, -1 }, { &m[1]->map, -1, -1 } };
    assert_ok(attend_view_panels(both, 2, 2, &o, ATTEND_PICTURE_SVG, &out));
    assert_null(xml_fault(out.text, &elements));
    const char *const texts[] = { ">das</text>",
                                  ">maison</text>",
                                  ">first</text>",
                                  ">second</text>",
                                  ">cross-attention, layer 1, mean of 3 heads</text>",
                                  ">cross-attention</text>" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_int_equal(times(out.text, texts[i]), 1);
    for (int format = ATTEND_PICTURE_SVG; format <= ATTEND_PICTURE_PNG; format++)
        assert_ok(attend_view_panels(both, 2, 1, &o, (attend_picture_format)format, &out));
    const attend_panel wrong[] = { { &m[0]->map, 2, 0 }, { NULL, 0, 0 } };
    for (int i = 0; i < 2; i++)
        assert_int_equal(attend_view_panels(&wrong[i], 1, 1, &o, ATTEND_PICTURE_SVG, &out), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_panels(both, 2, 0, &o, ATTEND_PICTURE_SVG, &out), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_panels(both, 0, 1, &o, ATTEND_PICTURE_SVG, &out), ATTEND_BAD_USAGE);
    assert_int_equal(attend_view_panels(both, 2, 2, &o, (attend_picture_format)3, &out), ATTEND_BAD_USAGE);
    attend_string_free(&out);
    for (int i = 0; i < 2; i++) sample_map_free(m[i]);
}

/* Maps side by side begin at the same height, also if one has more rows than another. */
static void panels_begin_at_the_same_height(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const attend_view_model models[] = { { "first", -1, -1 }, { "second", -1, -1 } };
    sample_map *m[] = { sample_map_new("the house", "das Haus heute dort", NULL, 1, 1, 0.5),
                        sample_map_new("the house", "maison", NULL, 1, 1, 0.5) };
    o.models = models, o.model_count = 2, m[1]->map.model = 1;
    const attend_panel both[] = { { &m[0]->map, -1, -1 }, { &m[1]->map, -1, -1 } };
    assert_ok(attend_view_panels(both, 2, 2, &o, ATTEND_PICTURE_SVG, &out));
    double first = -1;
    int frames = 0;
    for (const char *at = out.text; (at = strstr(at, "<rect ")); at++) {
        double y;
        int size = 0;
        if (sscanf(at, "<rect x=\"%*f\" y=\"%lf\" width=\"%*f\" height=\"%*f\" stroke-width=\"0.8\"%n", &y, &size) !=
                1 ||
            size == 0)
            continue;
        if (frames++ == 0) first = y;
        assert_true(fabs(y - first) < 0.01);
    }
    assert_true(frames >= 2);
    attend_string_free(&out);
    for (int i = 0; i < 2; i++) sample_map_free(m[i]);
}

/* ---- PNG ---- */

typedef struct reader {
    const attend_string *from;
    size_t at;
} reader;

static cairo_status_t next_bytes(void *user, unsigned char *bytes, unsigned int count)
{
    reader *r = user;
    if (r->from->size - r->at < count) return CAIRO_STATUS_READ_ERROR;
    memcpy(bytes, r->from->text + r->at, count);
    r->at += count;
    return CAIRO_STATUS_SUCCESS;
}

static uint32_t number_at(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Reads a PNG back, after a check of its first chunk; returns the number of pixels of this colour. */
static int count_pixels(const attend_string *png, attend_colour c, int *width, int *height)
{
    assert_memory_equal(png->text, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    reader r = { png, 0 };
    cairo_surface_t *s = cairo_image_surface_create_from_png_stream(next_bytes, &r);
    assert_int_equal(cairo_surface_status(s), CAIRO_STATUS_SUCCESS);
    *width = cairo_image_surface_get_width(s), *height = cairo_image_surface_get_height(s);
    assert_int_equal(*width, number_at(png->text + 16));
    assert_int_equal(*height, number_at(png->text + 20));
    const uint32_t wanted =
        (uint32_t)(c.red * 255 + 0.5) << 16 | (uint32_t)(c.green * 255 + 0.5) << 8 | (uint32_t)(c.blue * 255 + 0.5);
    int count = 0;
    for (int y = 0; y < *height; y++) {
        const unsigned char *line = cairo_image_surface_get_data(s) + y * cairo_image_surface_get_stride(s);
        for (int x = 0; x < *width; x++) {
            uint32_t pixel;
            memcpy(&pixel, line + 4 * x, 4);
            count += (pixel & 0xffffff) == wanted;
        }
    }
    cairo_surface_destroy(s);
    return count;
}

static void png(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    int width, height;
    o.head = 1; /* only the first column is dark */
    assert_ok(attend_view_png(map_of(5), &o, &out));
    const int dark = count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 1, false), &width, &height);
    if (dark < 5 * 68 * 68 / 2 || dark > 5 * 68 * 68 + 1000) fail_msg("%d dark pixels of %d x %d", dark, width, height);
    o.head = 0; /* no weight is 1 */
    assert_ok(attend_view_png(map_of(5), &o, &out));
    assert_true(count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 1, false), &width, &height) < 1000);
    assert_true(count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 0.5, false), &width, &height) >
                5 * 68 * 68 / 2);
    assert_ok(attend_view_png(map_of(60), &o, &out));
    count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 1, false), &width, &height);
    assert_true(width > 2 * 60 * 14 && width < 2400 && height > 2 * 60 * 14 && height < 2400);
    o.palette = ATTEND_PALETTE_VIRIDIS;
    assert_ok(attend_view_png(map_of(5), &o, &out));
    assert_true(count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_VIRIDIS, 0.5, false), &width, &height) >
                5 * 68 * 68 / 2);
    o.title = "any script";
    assert_ok(attend_view_png(hand_map_of(&h, strange, strange), &o, &out));
    count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 1, false), &width, &height);
    attend_string_free(&out);
}

/* Cells after the diagonal are grey in a decoder's map and not in an encoder's. */
static void self_attention(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const attend_colour masked = { 0.955, 0.955, 0.955 };
    for (int kind = ATTEND_ATTENTION_ENCODER; kind <= ATTEND_ATTENTION_DECODER; kind++) {
        sample_map *m = sample_self_attention_new("one tw|o three four fi|ve", (attend_attention_kind)kind, 2, 2);
        int width, height;
        check_svg(&m->map, &o, &out);
        assert_ok(attend_view_png(&m->map, &o, &out));
        const int grey = count_pixels(&out, masked, &width, &height), cells = kind == ATTEND_ATTENTION_DECODER ? 10 : 0;
        if (grey < cells * 64 * 64 || grey > cells * 68 * 68 + 200) fail_msg("kind %d: %d grey pixels", kind, grey);
        sample_map_free(m);
    }
    attend_string_free(&out);
}

/* Of a word of megabytes only the visible part is drawn, quickly; it is cut between characters. */
static void very_long_word(void **state)
{
    (void)state;
    enum { MUCH = 6000000, SOME = 1200 };
    static char word[MUCH + 1];
    attend_string out[2] = { { 0 }, { 0 } };
    const attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    const clock_t before = clock();
    for (int i = 0; i < 2; i++) {
        const int size = i ? SOME : MUCH;
        word[0] = 'x'; /* the other characters have two bytes: a cut before an even index would split one */
        for (int k = 1; k + 1 < size; k += 2) memcpy(word + k, "\xc3\xa9", 2);
        word[size - 1] = '\0';
        const attend_map *map = map_of(1);
        h.words[0][0] = word;
        assert_ok(attend_view_png(map, &o, &out[i]));
    }
    assert_int_equal(out[0].size, out[1].size);
    assert_memory_equal(out[0].text, out[1].text, out[0].size);
    const double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    if (seconds > 3) fail_msg("%.1f s for a long word", seconds);
    for (int i = 0; i < 2; i++) attend_string_free(&out[i]);
}

/* A map of one head whose weights are all 0. */
static attend_map large(int count)
{
    static attend_map_token tokens[2 * ATTEND_PICTURE_MAX];
    static float weights[4 * ATTEND_PICTURE_MAX * ATTEND_PICTURE_MAX];
    static double probability[2 * ATTEND_PICTURE_MAX];
    for (int i = 0; i < count; i++) many[i] = "w", tokens[i] = (attend_map_token){ .text = "w", .id = 3, .word = i };
    return (attend_map){ .source_text = "w",
                         .target_text = "w",
                         .source = tokens,
                         .target = tokens,
                         .source_count = count,
                         .target_count = count,
                         .source_words = many,
                         .target_words = many,
                         .source_word_count = count,
                         .target_word_count = count,
                         .layers = 1,
                         .heads = 1,
                         .weights = weights,
                         .probability = probability };
}

static void limits(void **state)
{
    (void)state;
    attend_string out = { 0 };
    attend_view_options o = ATTEND_VIEW_OPTIONS_INIT;
    attend_map map = large(ATTEND_PICTURE_MAX + 1);
    assert_int_equal(attend_view_svg(&map, &o, &out), ATTEND_BAD_DATA);
    assert_int_equal(attend_view_png(&map, &o, &out), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "at most 400 rows"));
    map = large(ATTEND_PICTURE_MAX);
    assert_ok(attend_view_svg(&map, &o, &out));
    attend_panel many_panels[40];
    map = large(350);
    for (int i = 0; i < 40; i++) many_panels[i] = (attend_panel){ &map, -1, -1 };
    assert_int_equal(attend_view_panels(many_panels, 40, 8, &o, ATTEND_PICTURE_PNG, &out), ATTEND_BAD_DATA);
    assert_non_null(strstr(attend_message(), "draw fewer maps"));
    map = large(250);
    assert_ok(attend_view_png(&map, &o, &out));
    int width, height;
    count_pixels(&out, attend_palette_colour(ATTEND_PALETTE_BLUE, 1, false), &width, &height);
    assert_true(width < 4000 && height < 4000); /* one pixel per point */
    map = large(3);
    map.target_word_count = 0;
    assert_int_equal(attend_view_svg(&map, &o, &out), ATTEND_BAD_DATA);
    o.head = 1;
    assert_int_equal(attend_view_png(&map, &o, &out), ATTEND_BAD_USAGE);
    o.head = -1, o.layer = 1;
    assert_int_equal(attend_view_json(&map, &o, &out), ATTEND_BAD_USAGE);
    attend_string_free(&out);
}

/* The XML checker detects errors. */
static void checker(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",           "<a>",         "<a></b>",  "<a b=c/>", "<a b=\"&x\"/>",
                                         "<a/><a/>",   "<a>\x01</a>", "<a><</a>", "x<a/>",    "<a b=\"<\"/>",
                                         "<a></a></a>" };
    int elements;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_non_null(xml_fault(wrong[i], &elements));
    assert_null(xml_fault("<?xml version=\"1.0\"?>\n<a b=\"&lt;\"><c/>x &#38; y</a>\n", &elements));
    assert_int_equal(elements, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(checker),
                                        cmocka_unit_test(svg),
                                        cmocka_unit_test(svg_text),
                                        cmocka_unit_test(pdf),
                                        cmocka_unit_test(panels),
                                        cmocka_unit_test(panels_begin_at_the_same_height),
                                        cmocka_unit_test(png),
                                        cmocka_unit_test(self_attention),
                                        cmocka_unit_test(very_long_word),
                                        cmocka_unit_test(limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
