/* Palettes: names, lightness that changes steadily, and text that can be read on every colour. */
#include "unit/unit.h"

#include <math.h>

enum { STEPS = 200 };

static double linear(double x)
{
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

static double luminance(attend_colour c)
{
    return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

/* Seen without red, green or blue receptors, colours differ less; their luminance still does. */
static void lightness_changes_steadily(void **state)
{
    (void)state;
    for (int palette = 0; attend_palette_names[palette]; palette++)
        for (int dark = 0; dark < 2; dark++) {
            double last = luminance(attend_palette_colour((attend_palette)palette, 0, dark));
            if (dark ? last > 0.03 : last < 0.95)
                fail_msg("%s begins far from the background", attend_palette_names[palette]);
            for (int i = 1; i <= STEPS; i++) {
                const double now = luminance(attend_palette_colour((attend_palette)palette, (double)i / STEPS, dark));
                if (dark ? now <= last : now >= last)
                    fail_msg("%s: luminance %g after %g at %d of %d", attend_palette_names[palette], now, last, i,
                             STEPS);
                last = now;
            }
            if (dark ? last < 0.7 : last > 0.05)
                fail_msg("%s ends with little contrast", attend_palette_names[palette]);
        }
}

static void text_is_readable(void **state)
{
    (void)state;
    for (int palette = 0; attend_palette_names[palette]; palette++)
        for (int i = 0; i <= 2 * STEPS + 1; i++) {
            const attend_colour c = attend_palette_colour((attend_palette)palette, (double)(i / 2) / STEPS, i % 2);
            const double l = luminance(c),
                         contrast = attend_colour_is_bright(c) ? (l + 0.05) / 0.05 : 1.05 / (l + 0.05);
            if (contrast < 4.5) fail_msg("%s: contrast %g", attend_palette_names[palette], contrast);
        }
}

static void limits(void **state)
{
    (void)state;
    const attend_colour white = attend_palette_colour(ATTEND_PALETTE_GREY, 0, false);
    const double outside[] = { -1, NAN, -INFINITY };
    for (int i = 0; i < 3; i++) {
        const attend_colour c = attend_palette_colour(ATTEND_PALETTE_GREY, outside[i], false);
        assert_memory_equal(&c, &white, sizeof c);
    }
    assert_true(white.red == 1 && white.green == 1 && white.blue == 1);
    assert_string_equal(attend_palette_name(ATTEND_PALETTE_VIRIDIS), "viridis");
    assert_null(attend_palette_name((attend_palette)3));
    assert_null(attend_palette_name((attend_palette)-1));
    const attend_colour none = attend_palette_colour((attend_palette)3, 1, false);
    assert_true(none.red == 0 && none.green == 0 && none.blue == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lightness_changes_steadily),
                                        cmocka_unit_test(text_is_readable), cmocka_unit_test(limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
