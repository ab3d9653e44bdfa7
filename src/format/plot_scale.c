#include "format/plot_scale.h"

#include <math.h>

attend_plot_scale attend_plot_scale_begin(bool logarithmic, bool from_zero)
{
    attend_plot_scale s = { .low = INFINITY, .high = -INFINITY, .logarithmic = logarithmic };
    if (from_zero && !logarithmic) s.low = s.high = 0;
    return s;
}

bool attend_plot_scale_has(const attend_plot_scale *s, double value)
{
    return !s->logarithmic || value >= 1e-300;
}

void attend_plot_scale_include(attend_plot_scale *s, double value)
{
    if (!attend_plot_scale_has(s, value)) return;
    if (s->logarithmic) value = log(value);
    s->low = fmin(s->low, value), s->high = fmax(s->high, value);
}

/* 1, 2 or 5 times a power of ten, so that a range has four to nine steps. */
static double step_of(double range)
{
    const double rough = range / 5, ten = pow(10, floor(log10(rough)));
    return ten * (rough / ten < 1.5 ? 1 : rough / ten < 3.5 ? 2 : rough / ten < 7.5 ? 5 : 10);
}

static void add_tick(attend_plot_scale *s, double value)
{
    if (s->tick_count < ATTEND_PLOT_MAX_TICKS) s->ticks[s->tick_count++] = value;
}

/* Widens a range that is much smaller than its values: its ticks would have identical labels, or a double could not
 * represent them. */
static void widen_narrow(attend_plot_scale *s)
{
    const double magnitude = fmax(fabs(s->low), fabs(s->high));
    if (magnitude < 1e-300)
        s->low = 0, s->high = 1;
    else if (s->high - s->low < 1e-4 * magnitude)
        s->low -= 0.05 * magnitude, s->high += 0.05 * magnitude;
}

static void end_linear(attend_plot_scale *s, bool rounded)
{
    widen_narrow(s);
    const double step = step_of(s->high - s->low);
    double first = ceil(s->low / step - 1e-9), last = floor(s->high / step + 1e-9);
    if (rounded) {
        first = floor(s->low / step + 1e-9), last = ceil(s->high / step - 1e-9);
        s->low = step * first, s->high = step * last;
    }
    const int count = (int)(last - first) + 1;                             /* few: the step is chosen by the range */
    for (int i = 0; i < count; i++) add_tick(s, step * (first + i) + 0.0); /* + 0.0: no -0 */
}

static void add_logarithmic_ticks(attend_plot_scale *s)
{
    static const double digits[] = { 1, 1.5, 2, 3, 4, 5, 6, 8 };
    const double decades = (s->high - s->low) / log(10), stride = fmax(1, ceil(decades / 9));
    const double first = stride * floor(s->low / log(10) / stride);
    const int count = (int)((s->high / log(10) - first) / stride) + 1;
    for (int j = 0; j < count; j++)
        for (int i = 0; i < (int)(sizeof digits / sizeof *digits); i++) {
            const bool is_main = digits[i] == 1 || (decades < 4 && (digits[i] == 2 || digits[i] == 5));
            const double value = digits[i] * pow(10, first + stride * j);
            if ((is_main || decades < log10(12)) && log(value) >= s->low && log(value) <= s->high) add_tick(s, value);
        }
}

/* 1, 2, 5, 10, and so on; more of them in a range below a factor of 12; powers of ten only, and not all of them, in a
 * large one; equal steps in one below a factor of 2. */
static void end_logarithmic(attend_plot_scale *s, bool rounded)
{
    const double more = fmax(0.03 * (s->high - s->low), 0.02);
    if (rounded) s->low -= more, s->high += more;
    if (s->high - s->low > log(2)) {
        add_logarithmic_ticks(s);
        return;
    }
    attend_plot_scale equal = { .low = exp(s->low), .high = exp(s->high) };
    end_linear(&equal, false);
    for (int i = 0; i < equal.tick_count; i++) add_tick(s, equal.ticks[i]);
}

void attend_plot_scale_end(attend_plot_scale *s, bool rounded)
{
    if (s->low > s->high) s->low = 0, s->high = s->logarithmic ? log(10) : 1;
    if (s->logarithmic)
        end_logarithmic(s, rounded);
    else
        end_linear(s, rounded);
}

double attend_plot_scale_share(const attend_plot_scale *s, double value)
{
    if (s->logarithmic) value = log(value);
    return (value - s->low) / (s->high - s->low);
}
