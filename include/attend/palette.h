/* palette.h: the colours of attention weights, the same on the terminal, in pictures and on pages.
 *
 * Purpose    A palette maps weights from 0 to 1 to colours whose lightness changes steadily, so that weights remain
 *            distinguishable in print without colours and with any colour vision.
 * Threads    Every function may be called from any thread. */
#ifndef ATTEND_PALETTE_H
#define ATTEND_PALETTE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attend_palette {
    ATTEND_PALETTE_BLUE,   /* one hue, from white to dark blue */
    ATTEND_PALETTE_GREY,   /* from white to black */
    ATTEND_PALETTE_VIRIDIS /* several hues, from white over green to violet */
} attend_palette;

extern const char *const attend_palette_names[]; /* "blue", "grey", "viridis", in order; then NULL */
/* One of them; NULL: there is no such palette. */
const char *attend_palette_name(attend_palette palette);

/* Each component is from 0 to 1. */
typedef struct attend_colour {
    double red, green, blue;
} attend_colour;

/* The colour of a weight. A weight of 0 is close to the background: white or, if `on_dark`, almost black. */
attend_colour attend_palette_colour(attend_palette palette, double weight, bool on_dark);
/* Whether black text has more contrast with the colour than white text. The larger contrast is at least 4.5 : 1. */
bool attend_colour_is_bright(attend_colour c);

#ifdef __cplusplus
}
#endif
#endif
