/* grid.h: what every picture of a map shows: labelled rows and columns and a weight for each cell. */
#ifndef ATTEND_VIEW_GRID_H
#define ATTEND_VIEW_GRID_H

#include "core/arena.h"
#include <attend/view.h>

typedef struct attend_grid {
    int rows, columns;          /* words or pieces of who looks, and of what is looked at */
    const char **row, **column; /* labels: UTF-8 that nothing in it can disturb a terminal or a page */
    float *weights;             /* (rows, columns) */
    double *probability;        /* (rows) of a word: all its pieces; NAN: it has none. NULL: no row has */
    bool causal;                /* a side that looks at itself, and nowhere ahead */
    attend_arena arena;         /* everything it points to */
} attend_grid;

/* Of the words or pieces, the layer and the head that the options ask for. ATTEND_BAD_USAGE if there are none. */
int attend_grid_new(attend_grid *g, const attend_map *map, const attend_view_options *options);
void attend_grid_free(attend_grid *g);

/* A text that can be shown: control characters and what is not UTF-8 become U+FFFD, characters that turn the direction are left out; of an
 * empty one a sign for a space. NULL: no memory. */
const char *attend_grid_label(attend_arena *arena, const char *text);

/* Numbers of a colour: 0 to 1 each. */
typedef struct attend_colour {
    double red, green, blue;
} attend_colour;

/* Of a weight from 0 to 1: on paper from white to dark blue, on a screen (which may be dark or light) from violet to yellow. */
attend_colour attend_colour_paper(double weight);
attend_colour attend_colour_screen(double weight);
/* Whether black, rather than white, is read well on it. */
bool attend_colour_bright(attend_colour c);

#endif
