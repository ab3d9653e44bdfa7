/* picture.h: attention maps as SVG and PNG.
 *
 * Purpose    The only functions of attend that need cairo and pango. They are in a library of their own, libattend-view
 *            (pkg-config attend-view, CMake attend::view), so that programs without pictures need neither; everything
 *            else is in libattend.
 * Errors     ATTEND_BAD_USAGE: the map has no attention, or not the layer or head of the options. ATTEND_BAD_DATA: no
 *            rows, or more than ATTEND_PICTURE_MAX rows or columns. cairo and pango allocate memory themselves; if they
 *            get none, they end the process.
 * Threads    Any number of threads may draw at a time. */
#ifndef ATTEND_PICTURE_H
#define ATTEND_PICTURE_H

#include <attend/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of rows, and of columns. */
enum { ATTEND_PICTURE_MAX = 400 };

/* Replace `out` by the bytes of a file. options->title, if any, is drawn above the map. */
int attend_view_svg(const attend_map *map, const attend_view_options *options, attend_string *out);
int attend_view_png(const attend_map *map, const attend_view_options *options, attend_string *out);

#ifdef __cplusplus
}
#endif
#endif
