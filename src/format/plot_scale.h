/* plot_scale.h: the range of an axis of a plot and its ticks. */
#ifndef ATTEND_FORMAT_PLOT_SCALE_H
#define ATTEND_FORMAT_PLOT_SCALE_H

#include <stdbool.h>

enum { ATTEND_PLOT_MAX_TICKS = 32 };

typedef struct attend_plot_scale {
    double low, high; /* logarithms, if it is logarithmic */
    bool logarithmic;
    double ticks[ATTEND_PLOT_MAX_TICKS]; /* values */
    int tick_count;
} attend_plot_scale;

/* begin, then include for each value (at most 1e300 in magnitude), then end. */
attend_plot_scale attend_plot_scale_begin(bool logarithmic, bool from_zero);
void attend_plot_scale_include(attend_plot_scale *s, double value);
/* rounded: widen a linear range to whole ticks, and a logarithmic one by 3 %. Without any value the range is 0 to 1. */
void attend_plot_scale_end(attend_plot_scale *s, bool rounded);

/* Whether the axis can show a value: a logarithmic one begins at 1e-300. */
bool attend_plot_scale_has(const attend_plot_scale *s, double value);
/* 0 at the low end, 1 at the high end. */
double attend_plot_scale_share(const attend_plot_scale *s, double value);

#endif
