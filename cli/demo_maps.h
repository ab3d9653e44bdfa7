/* demo_maps.h: the attention maps of the demo: a few on the terminal, more of them on an HTML page. */
#ifndef ATTEND_CLI_DEMO_MAPS_H
#define ATTEND_CLI_DEMO_MAPS_H

#include <attend/translator.h>
#include <attend/view.h>

enum { DEMO_PAGE_SENTENCES = 40 };

typedef struct demo_maps {
    attend_ctx *c;
    const attend_model *m;
    attend_view_model model; /* its name, and the map it aligns by */
    attend_map **maps;       /* of all hypotheses of all sentences */
    int map_count, map_capacity;
    int counts[DEMO_PAGE_SENTENCES];
    int sentences;
} demo_maps;

/* Zero-initialised: empty. Must be freed after a failure too. name: of the model, for captions. */
int demo_maps_new(demo_maps *d, const attend_model *m, const char *name);
void demo_maps_free(demo_maps *d);

/* Adds the maps of a line's translations to the page, if there is room. With `print`, draws the map of the best on
 * the terminal. */
int demo_maps_add(demo_maps *d, const char *source, const attend_line_result *r, bool print);
int demo_maps_write_page(const demo_maps *d, const char *path);

#endif
