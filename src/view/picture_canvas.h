/* picture_canvas.h: what a picture is drawn on: SVG text, or a cairo surface for PDF and PNG.
 *
 * Text is measured by pango for both. SVG is written here and not by cairo, which would replace letters by outlines. All
 * lengths are in points. */
#ifndef ATTEND_VIEW_PICTURE_CANVAS_H
#define ATTEND_VIEW_PICTURE_CANVAS_H

#include <attend/palette.h>
#include <attend/string.h>
#include <pango/pangocairo.h>

typedef struct attend_canvas {
    cairo_t *cairo;     /* NULL: SVG */
    attend_string *svg; /* receives it */
    int status;         /* of the first failure to write SVG */
    PangoFontMap *fonts;
    PangoContext *context;
    PangoLayout *layout;
} attend_canvas;

/* Prepares a canvas for measuring; *c is then freed by attend_canvas_free. */
void attend_canvas_init(attend_canvas *c);
void attend_canvas_free(attend_canvas *c);
/* Draws on a surface from now on, until attend_canvas_end. */
void attend_canvas_begin_cairo(attend_canvas *c, cairo_surface_t *surface);
/* Writes SVG of this size from now on. */
void attend_canvas_begin_svg(attend_canvas *c, attend_string *to, double width, double height, const char *title);
/* Returns the status of the drawing. */
cairo_status_t attend_canvas_end(attend_canvas *c);

/* A text in a size, and where it is drawn. */
typedef struct attend_canvas_text {
    const char *text; /* cut with an ellipsis to max_width */
    double size, max_width;
    double x, y;   /* y: of its middle line */
    double anchor; /* the part of its width to the left of x: 0, 0.5 or 1 */
    double angle;  /* rotation around (x, y), in degrees, clockwise */
    double grey;   /* its colour */
    bool bold;
} attend_canvas_text;

/* The width and height of a text; where it is drawn does not matter. */
double attend_canvas_text_width(attend_canvas *c, const attend_canvas_text *t);
double attend_canvas_text_height(attend_canvas *c, const attend_canvas_text *t);
void attend_canvas_write(attend_canvas *c, const attend_canvas_text *t);

void attend_canvas_fill(attend_canvas *c, double x, double y, double width, double height, attend_colour colour);
void attend_canvas_frame(attend_canvas *c, double x, double y, double width, double height, double line, double grey);
void attend_canvas_line(attend_canvas *c, double x, double y, double across, double down, double line, double grey);

#endif
