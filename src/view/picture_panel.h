/* picture_panel.h: one map of a picture: labels, cells, and its caption above them. */
#ifndef ATTEND_VIEW_PICTURE_PANEL_H
#define ATTEND_VIEW_PICTURE_PANEL_H

#include "view/picture_canvas.h"
#include <attend/grid.h>

enum { ATTEND_CAPTION_LINES = 2 };

typedef struct attend_picture_panel {
    attend_grid *g;
    attend_string caption[ATTEND_CAPTION_LINES]; /* empty: none */
    attend_palette palette;
    bool has_row_labels, has_column_labels;
    /* measured by attend_panel_measure */
    double cell, font;
    bool slanted[2];      /* the labels of the columns; the label of the rest */
    double left, top;     /* of the cells, from the corner of the panel */
    double width, height; /* of all */
} attend_picture_panel;

/* Computes everything from the size of a cell. */
void attend_panel_measure(attend_canvas *c, attend_picture_panel *p, double cell);
void attend_panel_draw(attend_canvas *c, const attend_picture_panel *p, double x, double y);
/* The width and height of the cells, with the column for the rest. */
double attend_panel_across(const attend_picture_panel *p);
double attend_panel_down(const attend_picture_panel *p);

#endif
