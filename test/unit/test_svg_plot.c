/* Plots as SVG: escaping, degenerate and hostile values, categories, logarithmic axes, and what the training log becomes. */
#include "unit.h"

#include "format/plot_scale.h"
#include "support/comma_locale.h"
#include "support/xml.h"
#include "train/training_log.h"
#include <attend/plot.h>
#include <attend/status.h>
#include <attend/trainer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_svg_plot-%ld.svg", (long)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

/* The picture that was written; the caller frees it. */
static char *read_picture(void)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) < (1 << 20) - 1); /* all of it */
    fclose(f);
    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    return text;
}

/* The picture; the caller frees it. */
static char *picture_of(const attend_plot *plots, size_t count)
{
    assert_int_equal(attend_plot_write(path, plots, count), ATTEND_OK);
    return read_picture();
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *s = text; (s = strstr(s, part)) != NULL; s += strlen(part)) count++;
    return count;
}

/* ---- scales ---- */

static attend_plot_scale scale_of(bool logarithmic, bool from_zero, double a, double b)
{
    attend_plot_scale s = attend_plot_scale_begin(logarithmic, from_zero);
    attend_plot_scale_include(&s, a);
    attend_plot_scale_include(&s, b);
    attend_plot_scale_end(&s, true);
    return s;
}

/* Every range has a few distinct ticks, inside it and in ascending order, and its values have positions. */
static void every_range_has_ticks(void **state)
{
    static const double values[] = { 0,   1e-310, 1e-12, 0.3,   1,      1.00001, 7,    99.99,
                                     100, 1e9,    1e150, 1e300, -1e-12, -3,      -1e9, -1e300 };
    enum { COUNT = sizeof values / sizeof *values };
    (void)state;
    for (int i = 0; i < COUNT * COUNT * 4; i++) {
        const double a = values[i % COUNT], b = values[i / COUNT % COUNT];
        const bool logarithmic = i / COUNT / COUNT % 2, from_zero = i / COUNT / COUNT / 2;
        const attend_plot_scale s = scale_of(logarithmic, from_zero, a, b);
        assert_in_range(s.tick_count, 2, 20);
        for (int k = 0; k < s.tick_count; k++) {
            char text[2][32];
            assert_true(attend_plot_scale_share(&s, s.ticks[k]) >= -1e-6);
            assert_true(attend_plot_scale_share(&s, s.ticks[k]) <= 1 + 1e-6);
            snprintf(text[0], 32, "%.6g", s.ticks[k]);
            snprintf(text[1], 32, "%.6g", s.ticks[k ? k - 1 : 0]);
            if (k) assert_true(s.ticks[k] > s.ticks[k - 1] && strcmp(text[0], text[1]) != 0);
        }
        const double share = attend_plot_scale_has(&s, a) ? attend_plot_scale_share(&s, a) : 0;
        assert_true(share >= -1e-9 && share <= 1 + 1e-9);
    }
}

static void ticks_are_round(void **state)
{
    (void)state;
    const attend_plot_scale linear = scale_of(false, true, 3, 57.6);
    assert_int_equal(linear.tick_count, 7);
    assert_float_equal(linear.ticks[6], 60, 1e-9);
    const attend_plot_scale logarithmic = scale_of(true, false, 4, 900);
    assert_float_equal(logarithmic.ticks[0], 5, 1e-9);
    assert_float_equal(logarithmic.ticks[logarithmic.tick_count - 1], 1000, 1e-9);
    assert_int_equal(logarithmic.tick_count, 8); /* 5 10 20 50 100 200 500 1000 */
}

/* ---- pictures ---- */

static void text_is_escaped(void **state)
{
    (void)state;
    static const attend_plot_point points[] = { { .x = 0, .y = 1 }, { .x = 1, .y = 2 } };
    const attend_plot_series series = { .name = "a<b>&\"c\xff\x01", .note = "</text>", .points = points, .count = 2 };
    const attend_plot plot = { .title = "<svg>", .subtitle = "]]>", .series = &series, .series_count = 1 };
    char *text = picture_of(&plot, 1);
    assert_non_null(strstr(text, "a&#60;b&#62;&#38;&#34;c\xef\xbf\xbd <tspan"));
    assert_non_null(strstr(text, "&#60;/text&#62;"));
    assert_non_null(strstr(text, "&#60;svg&#62;"));
    assert_non_null(strstr(text, "]]&#62;"));
    free(text);
}

/* Whatever the bytes of the names, the picture is well-formed XML in UTF-8 without control characters and overrides of
 * the direction. */
static void any_bytes_are_well_formed(void **state)
{
    (void)state;
    static const attend_plot_point points[] = { { .x = 0, .y = 1 }, { .x = 1, .y = 2, .low = 1, .high = 3 } };
    static const char odd[] = "\xc2\x9b\xe2\x80\xae\xed\xa0\x80\xef\xbf\xbe\xef\xbf\xbf\xf4\x90\x80\x80<&>\"'\x1b\x7f";
    for (uint64_t i = 0; i < 120; i++) {
        char name[64];
        const attend_rng r = { .seed = i };
        for (size_t k = 0; k < sizeof name; k++) {
            const double x = attend_rng_uniform(&r, 2 * k), y = attend_rng_uniform(&r, 2 * k + 1);
            name[k] = x < 0.5 ? odd[(size_t)(y * (double)(sizeof odd - 1))] : (char)(1 + (int)(y * 255));
        }
        memcpy(name, odd, i % 2 ? sizeof odd - 1 : 0);
        name[sizeof name - 1] = '\0';
        const attend_plot_category categories[] = { { name + 5, name + 1 }, { name + 2, NULL } };
        const attend_plot_series series = { .name = name + 1, .note = name + 3, .points = points, .count = 2 };
        const attend_plot plot = { .title = name,
                                   .subtitle = name + 7,
                                   .x = { .title = name + 2 },
                                   .y = { .title = name + 4 },
                                   .categories = i % 3 ? categories : NULL,
                                   .category_count = i % 3 ? 2 : 0,
                                   .transposed = i % 3 == 2,
                                   .legend_at_right = i % 5 == 0,
                                   .series = &series,
                                   .series_count = 1 };
        char *text = picture_of(&plot, 1);
        int elements;
        assert_null(xml_fault(text, &elements));
        static const char *const bad[] = { "\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xef\xbf\xbe", "\xef\xbf\xbf" };
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) assert_null(strstr(text, bad[k]));
        free(text);
    }
}

/* Long names are shortened between characters. */
static void names_are_shortened(void **state)
{
    (void)state;
    char name[401];
    for (int i = 0; i < 200; i++) memcpy(name + 2 * i, "\xc3\xa9", 2);
    name[400] = '\0';
    static const attend_plot_point point = { .y = 1 };
    const attend_plot_category category = { name, name };
    const attend_plot_series series = { .name = name, .points = &point, .count = 1 };
    const attend_plot plot = { .categories = &category,
                               .category_count = 1,
                               .transposed = true,
                               .legend_at_right = true,
                               .series = &series,
                               .series_count = 1 };
    char *text = picture_of(&plot, 1);
    assert_int_equal(count_of(text, "\xc3\xa9\xe2\x80\xa6"), 3);
    assert_int_equal(count_of(text, "\xc3\xa9"), 3 * 36);
    free(text);
}

static void points_and_error_bars_are_drawn(void **state)
{
    (void)state;
    static const attend_plot_point points[] = { { .x = 0, .y = 10, .low = 8, .high = 12 },
                                                { .x = 1, .y = NAN, .low = 8, .high = 12 },
                                                { .x = 2, .y = 30 } };
    static const attend_plot_category categories[] = { { "one", "n = 1" }, { "two", "n = 2" }, { "three", "n = 3" } };
    const attend_plot_series series = { .name = "s", .points = points, .count = 3, .marker = ATTEND_PLOT_DISC };
    attend_plot plot = { .categories = categories, .category_count = 3, .series = &series, .series_count = 1 };
    for (int transposed = 0; transposed < 2; transposed++) {
        plot.transposed = transposed;
        char *text = picture_of(&plot, 1);
        assert_int_equal(count_of(text, "<circle"), 3); /* two points, and the legend */
        assert_int_equal(count_of(text, "<path"), 1);
        assert_int_equal(count_of(text, "n = "), 3);
        free(text);
    }
}

/* Several plots form one picture; a plot may be empty. */
static void plots_share_a_picture(void **state)
{
    (void)state;
    const attend_plot plots[2] = { { .title = "empty" }, { .title = "also empty", .y = { .logarithmic = true } } };
    char *text = picture_of(plots, 2);
    assert_int_equal(count_of(text, "empty"), 2);
    assert_int_equal(count_of(text, "<svg"), 1);
    free(text);
}

/* Coordinates have a decimal point in every locale. */
static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const attend_plot_point points[] = { { .x = 0.25, .y = 1.5 }, { .x = 1.75, .y = 0.125 } };
    const attend_plot_series series = { .points = points, .count = 2, .marker = ATTEND_PLOT_DISC };
    const attend_plot plot = { .title = "t", .series = &series, .series_count = 1 };
    char *plain = picture_of(&plot, 1);
    if (!comma_locale_begin()) {
        free(plain);
        skip_part(COMMA_LOCALE_MISSING);
    }
    char *text = picture_of(&plot, 1);
    comma_locale_end();
    assert_string_equal(text, plain);
    free(plain);
    free(text);
}

/* ---- the training log ---- */

/* The losses of a training that diverged are finite, but so large that their differences may overflow. */
static void diverged_training_is_plotted(void **state)
{
    char log[96];
    (void)state;
    snprintf(log, sizeof log, "%s.jsonl", path);
    FILE *f = fopen(log, "wb");
    assert_non_null(f);
    fputs("{\"update\": 5, \"valid_loss\": 595.24, \"valid_perplexity\": 3.2325e+258, \"valid_score\": 3.2325e+258, "
          "\"better\": true}\n"
          "not a line of a log\n"
          "{\"update\": 10, \"epoch\": 0, \"loss\": 1287.4, \"rows\": 500}\n"
          "{\"update\": 10, \"valid_loss\": 1083.6, \"valid_perplexity\": null, \"valid_score\": null, \"better\": "
          "false}\n"
          "{\"update\": 11, \"event\": \"\\\"loss\\\": 5, \\\"better\\\": true\", \"rate\": -1e-3}\n"
          "{\"update\": 12, \"los", /* the system failed */
          f);
    fclose(f);
    assert_int_equal(attend_training_plot_write(log, path, "diverged", "wer"), ATTEND_OK);
    char *text = read_picture();
    assert_non_null(strstr(text, ">validation wer</text>"));
    free(text);
    attend_training_history history = { 0 };
    assert_int_equal(attend_training_history_read(&history, log), ATTEND_OK);
    assert_int_equal(history.count, 4);
    assert_true(history.records[3].update == 11 && isnan(history.records[3].loss) && !history.records[3].better);
    assert_true(history.records[0].better && isnan(history.records[0].loss));
    assert_float_equal(history.records[1].rows, 500, 0);
    assert_float_equal(attend_training_history_best(&history), 5, 0);
    attend_training_history_free(&history);
    unlink(log);
    assert_int_equal(attend_training_history_read(&history, log), ATTEND_IO);
    assert_int_equal(attend_plot_write("/none/such/x.svg", NULL, 0), ATTEND_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_range_has_ticks),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(any_bytes_are_well_formed),
        cmocka_unit_test(names_are_shortened),
        cmocka_unit_test(points_and_error_bars_are_drawn),
        cmocka_unit_test(plots_share_a_picture),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(diverged_training_is_plotted),
    };
    return test_status(cmocka_run_group_tests(tests, set_up, tear_down));
}
