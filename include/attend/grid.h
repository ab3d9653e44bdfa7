/* grid.h: an attention map as a labelled grid of cells, for drawing.
 *
 * Purpose    attend_grid_new selects words or tokens, a layer and a head of a map and makes its labels safe to display.
 *            The terminal, SVG and PNG output of attend are drawn from it; a program can draw its own picture from it.
 * Ownership  A grid is the caller's, freed by attend_grid_free, and independent of the map.
 * Threads    A grid is read by any number of threads. */
#ifndef ATTEND_GRID_H
#define ATTEND_GRID_H

#include <attend/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attend_grid {
    int rows, columns;                /* rows attend to columns */
    const char *const *row_labels;    /* (rows); see attend_label. ATTEND_UNKNOWN_MARK ends those that are unknown */
    const char *const *column_labels; /* (columns) */
    const float *weights;             /* (rows, columns) */
    /* (rows): what the row lacks to a sum of 1, see attend_map_rest. NULL: every row lacks less than 0.005. */
    const float *rest;
    const double *probability; /* (rows): of a word, the product over its tokens; NAN: none. NULL: no row has one */
    bool is_causal;            /* self-attention in which no row attends to a later column */
} attend_grid;

/* The label of the column that shows `rest`. */
#define ATTEND_REST_LABEL "(rest)"

/* U+2047, after the label of a word or token that the training data did not have (attend_map_token.unknown). */
#define ATTEND_UNKNOWN_MARK "\xe2\x81\x87"

/* ATTEND_BAD_USAGE: the map has no attention, or not the layer or head of the options. */
int attend_grid_new(attend_grid **out, const attend_map *map, const attend_view_options *options);
void attend_grid_free(attend_grid *g);

/* Replaces `out` by a displayable form of `text`: control characters and bytes that are not UTF-8 become U+FFFD,
 * characters that change the writing direction are left out, and an empty text becomes U+2423 (open box). */
int attend_label(attend_string *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif
