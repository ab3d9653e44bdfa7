/* picture.h: attention maps as SVG, PDF and PNG.
 *
 * Purpose    The only functions of attend that need cairo and pango. They are in a library of their own, libattend-view
 *            (pkg-config attend-view, CMake attend::view), so that programs without pictures need neither; everything
 *            else is in libattend.
 * Errors     ATTEND_BAD_USAGE: a map has no attention, or not the layer or head that is to be drawn. ATTEND_BAD_DATA: no
 *            rows, more than ATTEND_PICTURE_MAX rows or columns, or panels that are too large together. cairo and pango
 *            allocate memory themselves; if they get none, they end the process.
 * Threads    Any number of threads may draw at a time. */
#ifndef ATTEND_PICTURE_H
#define ATTEND_PICTURE_H

#include <attend/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of rows, and of columns. */
enum { ATTEND_PICTURE_MAX = 400 };

typedef enum attend_picture_format {
    ATTEND_PICTURE_SVG, /* labels and numbers are text: they can be selected and searched */
    ATTEND_PICTURE_PDF,
    ATTEND_PICTURE_PNG /* two pixels per point, one if the picture is very large */
} attend_picture_format;

/* Replace `out` by the bytes of a file. options->title, if any, is drawn above the map, below it the caption of the map
 * (attend_view_caption). */
int attend_view_svg(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_pdf(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_png(const attend_map *map, const attend_view_options *options, attend_string *out);

/* One of several maps in a picture. */
typedef struct attend_panel {
    const attend_map *map;
    int layer, head; /* -1: the mean over all */
} attend_panel;

/* Draws maps beside and below each other, `across` in each row, for example all layers and heads of a map, or the maps
 * of one sentence by several models. Each has its caption. Panels of one map have its labels at the margins only. The
 * options' layer and head are not used. */
int attend_view_panels(const attend_panel *panels, int count, int across, const attend_view_options *options,
                       attend_picture_format format, attend_string *out);

#ifdef __cplusplus
}
#endif
#endif
