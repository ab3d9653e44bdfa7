#include "picture.h"

#include <attend/version.h>
#include <dlfcn.h>
#include <stdio.h>

typedef int (*svg_writer)(const attend_map *, const attend_view_options *, attend_string *);

/* The soname has the version of the structs that are passed (src/CMakeLists.txt). */
static svg_writer find_writer(void)
{
    static svg_writer found;
    char name[64];
    if (found) return found;
    if (ATTEND_VERSION_MAJOR > 0)
        snprintf(name, sizeof name, "libattend-view.so.%d", ATTEND_VERSION_MAJOR);
    else
        snprintf(name, sizeof name, "libattend-view.so.%d.%d", ATTEND_VERSION_MAJOR, ATTEND_VERSION_MINOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&found = dlsym(library, "attend_view_svg");
    return found;
}

bool picture_is_available(void)
{
    return find_writer() != NULL;
}

int picture_svg(const attend_map *map, const attend_view_options *options, attend_string *out)
{
    const svg_writer write = find_writer();
    if (!write)
        return attend_fail(ATTEND_FAILED, "SVG needs the shared library libattend-view; install it, or use html()");
    const int status = write(map, options, out);
    /* the message of a failure is in the other copy of the library */
    return status == ATTEND_OK ? status : attend_fail(status, "the map cannot be drawn: it is empty or too large");
}
