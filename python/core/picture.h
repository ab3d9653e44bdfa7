/* picture.h: SVG of maps by the shared library libattend-view, where it is installed. It needs cairo and pango, which
 * the module must not need, so that it is loaded at the first use. */
#ifndef ATTEND_PYTHON_PICTURE_H
#define ATTEND_PYTHON_PICTURE_H

#include <attend/view.h>

bool picture_is_available(void);
/* attend_view_svg; ATTEND_FAILED if the library is not installed. */
int picture_svg(const attend_map *map, const attend_view_options *options, attend_string *out);

#endif
