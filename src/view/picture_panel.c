#include "view/picture_panel.h"

#include <math.h>
#include <stdio.h>

enum {
    MIN_CELL_WITH_NUMBER = 24,
    MAX_LABEL = 150,
    MAX_CAPTION = 420,
    GAP = 5 /* between cells and labels */
};
static const double slant = 0.70710678118654752; /* sine and cosine of 45 degrees */
static const double rest_gap = 0.3;              /* before the column for the rest, in cells */
static const double label_grey = 0.1, rest_grey = 0.45;

/* ---- measures ---- */

static double clamp(double x, double min, double max)
{
    return x < min ? min : x > max ? max : x;
}

static attend_canvas_text label_text(const attend_picture_panel *p, const char *text)
{
    return (attend_canvas_text){ .text = text, .size = p->font, .max_width = MAX_LABEL, .grey = label_grey };
}

static attend_canvas_text caption_text(const attend_picture_panel *p, int line)
{
    return (attend_canvas_text){ .text = p->caption[line].text,
                                 .size = fmax(p->font, 8.5),
                                 .max_width = MAX_CAPTION,
                                 .grey = line == 0 && p->caption[1].size ? 0 : 0.25,
                                 .bold = line == 0 && p->caption[1].size };
}

static double caption_line(const attend_picture_panel *p)
{
    return 1.5 * fmax(p->font, 8.5);
}

static double column_x(const attend_picture_panel *p, int j)
{
    return p->left + (j + (j == p->g->columns ? rest_gap : 0)) * p->cell;
}

double attend_panel_across(const attend_picture_panel *p)
{
    return (p->g->columns + (p->g->rest ? 1 + rest_gap : 0)) * p->cell;
}

double attend_panel_down(const attend_picture_panel *p)
{
    return p->g->rows * p->cell;
}

/* The label of a column; the last one is that of the rest. */
static const char *column_label(const attend_picture_panel *p, int j)
{
    return j < p->g->columns ? p->g->column_labels[j] : ATTEND_REST_LABEL;
}

static int column_count(const attend_picture_panel *p)
{
    return p->g->columns + (p->g->rest != NULL);
}

static bool is_slanted(const attend_picture_panel *p, int j)
{
    return p->slanted[j == p->g->columns];
}

void attend_panel_measure(attend_canvas *c, attend_picture_panel *p, double cell)
{
    double row = 0, column[2] = { 0, 0 }, rightmost = 0, line = 0, caption = 0, captions = 0, above = 0;
    p->cell = cell, p->font = clamp(0.55 * cell, 7, 13), p->left = 0;
    for (int i = 0; p->has_row_labels && i < p->g->rows; i++) {
        const attend_canvas_text t = label_text(p, p->g->row_labels[i]);
        row = fmax(row, attend_canvas_text_width(c, &t));
    }
    for (int j = 0; p->has_column_labels && j < column_count(p); j++) {
        const attend_canvas_text t = label_text(p, column_label(p, j));
        const double width = attend_canvas_text_width(c, &t), height = attend_canvas_text_height(c, &t);
        double *widest = &column[j == p->g->columns];
        *widest = fmax(*widest, width), line = fmax(line, height);
    }
    for (int i = 0; i < ATTEND_CAPTION_LINES; i++) {
        if (p->caption[i].size == 0) continue;
        const attend_canvas_text t = caption_text(p, i);
        caption = fmax(caption, attend_canvas_text_width(c, &t)), captions += caption_line(p);
    }
    p->slanted[0] = column[0] > cell - 4, p->slanted[1] = p->slanted[0] || column[1] > cell - 4;
    for (int j = 0; p->has_column_labels && j < column_count(p); j++) {
        const attend_canvas_text t = label_text(p, column_label(p, j));
        const double width = attend_canvas_text_width(c, &t), height = attend_canvas_text_height(c, &t);
        if (is_slanted(p, j)) rightmost = fmax(rightmost, column_x(p, j) + 0.5 * cell + slant * (width + height / 2));
        above = fmax(above, is_slanted(p, j) ? slant * (width + line / 2) : line);
    }
    p->left = p->has_row_labels ? ceil(row + GAP) : 0;
    p->top = captions + above;
    p->top = ceil(p->top + (p->top > 0 ? GAP : 0));
    p->width = ceil(fmax(p->left + fmax(attend_panel_across(p), rightmost), caption));
    p->height = ceil(p->top + attend_panel_down(p));
}

/* ---- drawing ---- */

static void draw_caption(attend_canvas *c, const attend_picture_panel *p, double x, double y)
{
    for (int i = 0, line = 0; i < ATTEND_CAPTION_LINES; i++) {
        if (p->caption[i].size == 0) continue;
        attend_canvas_text t = caption_text(p, i);
        t.x = x, t.y = y + (line++ + 0.45) * caption_line(p);
        attend_canvas_write(c, &t);
    }
}

static void draw_labels(attend_canvas *c, const attend_picture_panel *p, double x, double y)
{
    for (int i = 0; p->has_row_labels && i < p->g->rows; i++) {
        attend_canvas_text t = label_text(p, p->g->row_labels[i]);
        t.x = x + p->left - GAP, t.y = y + p->top + (i + 0.5) * p->cell, t.anchor = 1;
        attend_canvas_write(c, &t);
    }
    for (int j = 0; p->has_column_labels && j < column_count(p); j++) {
        attend_canvas_text t = label_text(p, column_label(p, j));
        if (j == p->g->columns) t.grey = rest_grey;
        t.x = x + column_x(p, j) + 0.5 * p->cell, t.y = y + p->top - GAP;
        if (is_slanted(p, j))
            t.angle = -45;
        else
            t.y -= 0.6 * p->font, t.anchor = 0.5;
        attend_canvas_write(c, &t);
    }
}

static void draw_cell(attend_canvas *c, const attend_picture_panel *p, double weight, double x, double y)
{
    char number[16];
    if (!(weight > 0.002)) return; /* white, like the background */
    const attend_colour colour = attend_palette_colour(p->palette, weight, false);
    attend_canvas_fill(c, x, y, p->cell, p->cell, colour);
    if (p->cell < MIN_CELL_WITH_NUMBER || weight < 0.05) return;
    snprintf(number, sizeof number, "%.2f", weight);
    for (char *at = number; *at; at++)
        if (*at == ',') *at = '.'; /* in every locale */
    attend_canvas_write(c, &(attend_canvas_text){ .text = number,
                                                  .size = 0.34 * p->cell,
                                                  .max_width = p->cell,
                                                  .x = x + p->cell / 2,
                                                  .y = y + p->cell / 2,
                                                  .anchor = 0.5,
                                                  .grey = attend_colour_is_bright(colour) ? 0 : 1 });
}

/* Cells that a causal mask excludes are grey, to tell them from weights of 0. */
static void draw_masked_cells(attend_canvas *c, const attend_picture_panel *p, double x, double y)
{
    const attend_colour masked = { 0.955, 0.955, 0.955 };
    const int n = p->g->rows;
    for (int i = 0; i + 1 < n; i++)
        attend_canvas_fill(c, x + (i + 1) * p->cell, y + i * p->cell, (n - 1 - i) * p->cell, p->cell, masked);
}

/* Lines between cells, and around them. */
static void draw_grid(attend_canvas *c, const attend_picture_panel *p, double x, double y, int columns)
{
    const double across = columns * p->cell, down = attend_panel_down(p);
    for (int i = 1; i < p->g->rows; i++) attend_canvas_line(c, x, y + i * p->cell, across, 0, 0.4, 0.82);
    for (int j = 1; j < columns; j++) attend_canvas_line(c, x + j * p->cell, y, 0, down, 0.4, 0.82);
    attend_canvas_frame(c, x, y, across, down, 0.8, 0.35);
}

void attend_panel_draw(attend_canvas *c, const attend_picture_panel *p, double x, double y)
{
    const attend_grid *g = p->g;
    const double left = x + p->left, top = y + p->top, rest = x + column_x(p, g->columns);
    draw_caption(c, p, x, y);
    draw_labels(c, p, x, y);
    for (int i = 0; i < g->rows; i++) {
        for (int j = 0; j < g->columns; j++)
            draw_cell(c, p, (double)g->weights[(size_t)i * (size_t)g->columns + (size_t)j], left + j * p->cell,
                      top + i * p->cell);
        if (g->rest) draw_cell(c, p, (double)g->rest[i], rest, top + i * p->cell);
    }
    if (g->is_causal) draw_masked_cells(c, p, left, top);
    draw_grid(c, p, left, top, g->columns);
    if (g->rest) draw_grid(c, p, rest, top, 1);
}
