/* plot.h: line plots with error bars, written as an SVG picture.
 *
 * Purpose    One picture holds one or more plots, one below the other. A plot has an x axis of numbers or of
 *            categories, one or two y axes, and series of points. Ranges, ticks, margins, the legend and the size of
 *            the picture follow from the data.
 * Ownership  Everything is borrowed for the duration of the call.
 * Text       UTF-8. Markup is escaped; control characters and direction overrides are left out; bytes that are not
 *            UTF-8 become U+FFFD.
 * Threads    Any number of threads may write different pictures. */
#ifndef ATTEND_PLOT_H
#define ATTEND_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Colours that people with colour blindness can tell apart (Okabe and Ito). */
enum { ATTEND_PLOT_COLORS = 8, ATTEND_PLOT_DASHES = 4 };

typedef enum attend_plot_marker { ATTEND_PLOT_NO_MARKER, ATTEND_PLOT_DISC, ATTEND_PLOT_RING } attend_plot_marker;

typedef struct attend_plot_point {
    double x;         /* on a category axis: the number of the category, from 0 */
    double y;         /* a point that has a non-finite x or y, or one beyond 1e300, is left out */
    double low, high; /* ends of the error bar, which is drawn if low < high */
} attend_plot_point;

/* Points joined by lines. The first series is drawn last, on top of the others. */
typedef struct attend_plot_series {
    const char *name; /* in the legend; NULL: not in the legend */
    const char *note; /* in the legend, after the name, in grey; may be NULL */
    const attend_plot_point *points;
    size_t count;
    int color;  /* modulo ATTEND_PLOT_COLORS */
    int dashes; /* modulo ATTEND_PLOT_DASHES; 0: a solid line */
    attend_plot_marker marker;
    double shift;       /* pixels along the x axis, so that error bars of several series do not overlap */
    bool on_right_axis; /* y belongs to the right axis */
} attend_plot_series;

typedef struct attend_plot_category {
    const char *label;
    const char *note; /* below the label, in grey; in a transposed plot at the right end of the row; may be NULL */
} attend_plot_category;

typedef struct attend_plot_axis {
    const char *title; /* may be NULL */
    bool from_zero;    /* the range includes 0; not with `logarithmic` */
    bool logarithmic;  /* values below 1e-300 are left out; y axes only */
} attend_plot_axis;

typedef struct attend_plot {
    const char *title, *subtitle; /* subtitle: after the title, in grey; either may be NULL */
    attend_plot_axis x, y, right;
    const attend_plot_category *categories; /* of the x axis; NULL: it is an axis of numbers */
    int category_count;
    /* the x axis, of categories, goes down the left side, a row for each, and the y axis across; no right axis */
    bool transposed;
    bool legend_at_right; /* beside the plot, a row for each series; else above it, side by side */
    const attend_plot_series *series;
    size_t series_count;
} attend_plot;

/* Replaces the file `path` as a whole. ATTEND_BAD_USAGE: an array is NULL. ATTEND_IO, ATTEND_NO_MEMORY. */
int attend_plot_write(const char *path, const attend_plot *plots, size_t count);

#ifdef __cplusplus
}
#endif
#endif
