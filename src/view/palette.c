#include <attend/palette.h>

#include "core/status.h"
#include <math.h>
#include <stddef.h>

enum { STOPS = 5, PALETTES = ATTEND_PALETTE_VIRIDIS + 1 };

/* sRGB at weights of 0, 1/4, 1/2, 3/4 and 1. */
typedef unsigned char ramp[STOPS][3];

static const ramp on_white[PALETTES] = {
    [ATTEND_PALETTE_BLUE] = { { 255, 255, 255 },
                              { 203, 224, 242 },
                              { 120, 174, 216 },
                              { 44, 108, 176 },
                              { 10, 38, 94 } },
    [ATTEND_PALETTE_GREY] = { { 255, 255, 255 }, { 215, 215, 215 }, { 160, 160, 160 }, { 94, 94, 94 }, { 16, 16, 16 } },
    [ATTEND_PALETTE_VIRIDIS] = { { 255, 255, 250 },
                                 { 196, 224, 116 },
                                 { 56, 172, 132 },
                                 { 46, 100, 142 },
                                 { 62, 10, 84 } },
};
static const ramp on_black[PALETTES] = {
    [ATTEND_PALETTE_BLUE] = { { 28, 33, 43 }, { 36, 64, 106 }, { 52, 104, 172 }, { 110, 162, 224 }, { 202, 226, 252 } },
    [ATTEND_PALETTE_GREY] = { { 30, 30, 30 }, { 76, 76, 76 }, { 124, 124, 124 }, { 178, 178, 178 }, { 240, 240, 240 } },
    [ATTEND_PALETTE_VIRIDIS] = { { 36, 22, 48 }, { 60, 78, 138 }, { 34, 144, 140 }, { 96, 202, 98 }, { 252, 232, 64 } },
};

const char *const attend_palette_names[] = { "blue", "grey", "viridis", NULL };

const char *attend_palette_name(attend_palette palette)
{
    return (unsigned)palette < PALETTES ? attend_palette_names[palette] : NULL;
}

attend_colour attend_palette_colour(attend_palette palette, double weight, bool on_dark)
{
    ATTEND_REQUIRE((attend_colour){ 0 }, (unsigned)palette < PALETTES);
    const ramp *stops = &(on_dark ? on_black : on_white)[palette];
    const double at = (weight > 0 ? weight < 1 ? weight : 1 : 0) * (STOPS - 1);
    const int low = at < STOPS - 1 ? (int)at : STOPS - 2;
    double rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = ((*stops)[low][i] + (at - low) * ((*stops)[low + 1][i] - (*stops)[low][i])) / 255;
    return (attend_colour){ rgb[0], rgb[1], rgb[2] };
}

/* The linear intensity of an sRGB component (IEC 61966-2-1). */
static double linear(double x)
{
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* The contrast of two luminances is (a + 0.05) / (b + 0.05) (WCAG 2). Black and white are equal where the luminance is
 * sqrt(1.05 * 0.05) - 0.05. */
bool attend_colour_is_bright(attend_colour c)
{
    return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue) > 0.17912878474779;
}
