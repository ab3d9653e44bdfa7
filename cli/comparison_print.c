/* comparison_print.c: the table as text and as Markdown. */
#include "comparison.h"
#include "option_table.h"
#include "progress.h"
#include "result_text.h"

#include <attend/status.h>
#include <attend/terminal.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 48, MAX_COLUMNS = 2 * METRICS + 10 };

typedef struct cell {
    char text[CELL]; /* "": empty */
    char marks[4];   /* '+': best of the column; '*': significant difference */
    double value;    /* NAN: not comparable */
} cell;

typedef struct column {
    char title[CELL];
    int direction; /* 1: higher is better; -1: lower is better; 0: neither */
    int width, marks;
    int order; /* columns are dropped on a narrow terminal in decreasing order; below 2: never */
    bool shown;
    cell *cells; /* (variants) */
} column;

typedef struct table {
    const comparison *c;
    column columns[MAX_COLUMNS];
    int count;   /* columns */
    int names;   /* width of the names */
    bool failed; /* out of memory */
} table;

/* ---- numbers ---- */

static void count_text(char text[CELL], double n)
{
    if (n >= 1e6)
        snprintf(text, CELL, "%.2f M", n * 1e-6);
    else if (n >= 1e4)
        snprintf(text, CELL, "%.1f k", n * 1e-3);
    else
        snprintf(text, CELL, "%.0f", n);
}

/* The perplexity of an untrained model can be very large. */
static void number_text(char text[CELL], int digits, double x)
{
    if (!isfinite(x))
        snprintf(text, CELL, "-");
    else if (fabs(x) >= 1e6)
        snprintf(text, CELL, "%.2g", x);
    else
        snprintf(text, CELL, "%.*f", digits, x);
}

/* ---- columns ---- */

static column *add_column(table *t, const char *title, int direction, int order)
{
    column *k = &t->columns[t->count];
    *k = (column){ .direction = direction, .order = order, .shown = true };
    snprintf(k->title, sizeof k->title, "%s", title);
    k->cells = calloc((size_t)t->c->count + 1, sizeof *k->cells);
    t->failed = t->failed || !k->cells;
    if (!k->cells) return NULL;
    t->count++;
    for (int i = 0; i < t->c->count; i++) k->cells[i].value = NAN;
    return k;
}

static void fill_number(const table *t, column *k, int digits, double (*number)(const variant *))
{
    for (int i = 0; k && i < t->c->count; i++) {
        const variant *x = &t->c->variants[i];
        if (x->state != VARIANT_DONE) continue;
        k->cells[i].value = number(x);
        number_text(k->cells[i].text, digits, k->cells[i].value);
    }
}

static bool differs(const comparison *c, int i, int metric)
{
    return c->e.samples > 0 && i != c->base && c->variants[i].scores[metric].p < 0.05;
}

static void fill_scores(const table *t, column *k, int metric)
{
    const comparison *c = t->c;
    for (int i = 0; k && i < c->count; i++) {
        if (c->variants[i].state != VARIANT_DONE) continue;
        k->cells[i].value = c->variants[i].scores[metric].score;
        number_text(k->cells[i].text, c->e.by_word ? 1 : 2, k->cells[i].value);
        if (differs(c, i, metric)) strcpy(k->cells[i].marks, "*");
    }
}

static void fill_intervals(const table *t, column *k, int metric)
{
    for (int i = 0; k && i < t->c->count; i++) {
        const attend_interval *s = &t->c->variants[i].scores[metric];
        if (t->c->variants[i].state == VARIANT_DONE) snprintf(k->cells[i].text, CELL, "%.1f to %.1f", s->low, s->high);
    }
}

static double parameters_of(const variant *x)
{
    return x->r.parameters;
}

static double best_of(const variant *x)
{
    return x->r.best_update;
}

static double epochs_of(const variant *x)
{
    return x->r.best_update / x->r.updates_per_epoch;
}

static void mark_best(const table *t, column *k)
{
    double best = NAN;
    int done = 0;
    for (int i = 0; i < t->c->count; i++) {
        const double x = k->cells[i].value;
        if (isnan(x)) continue;
        done++;
        if (isnan(best) || k->direction * x > k->direction * best) best = x;
    }
    for (int i = 0; k->direction && done > 1 && i < t->c->count; i++)
        if (k->cells[i].value == best) {
            cell *b = &k->cells[i];
            memmove(b->marks + 1, b->marks, sizeof b->marks - 1);
            b->marks[0] = '+';
        }
}

static void fill(table *t)
{
    const comparison *c = t->c;
    column *k = add_column(t, "parameters", 0, 5);
    fill_number(t, k, 0, parameters_of);
    for (int i = 0; k && i < c->count; i++)
        if (*k->cells[i].text) count_text(k->cells[i].text, k->cells[i].value);
    fill_number(t, add_column(t, "perplexity", -1, 4), 2, comparison_perplexity);
    for (int at = 0; at < METRICS; at++) {
        const int m = evaluation_metric_at(&c->e, at);
        char title[CELL];
        if (!c->e.selected[m]) continue;
        evaluation_metric_title(&c->e, m, title, sizeof title);
        const bool first = m == c->metric;
        fill_scores(t,
                    add_column(t, title, attend_metric_higher_is_better((attend_metric_kind)m) ? 1 : -1, first ? 0 : 2),
                    m);
        if (c->e.samples > 0) fill_intervals(t, add_column(t, "95 %", 0, first ? 3 : 11), m);
    }
    if (c->s->gold) fill_number(t, add_column(t, "AER", -1, 1), 4, comparison_aer);
    fill_number(t, add_column(t, "updates", 0, 9), 0, best_of);
    fill_number(t, add_column(t, "epochs", 0, 8), 1, epochs_of);
    k = add_column(t, "time", 0, 6);
    for (int i = 0; k && i < c->count; i++)
        if (c->variants[i].state == VARIANT_DONE) progress_time_text(c->variants[i].r.seconds, k->cells[i].text, CELL);
    fill_number(t, add_column(t, "train tokens/s", 1, 7), 0, comparison_train_speed);
    fill_number(t, add_column(t, "translate tokens/s", 1, 10), 0, comparison_translate_speed);
    for (int i = 0; i < t->count; i++) mark_best(t, &t->columns[i]);
}

static void measure(table *t)
{
    t->names = (int)strlen("variant");
    for (int i = 0; i < t->c->count; i++) {
        const int n = attend_columns(t->c->variants[i].name);
        if (n > t->names) t->names = n;
    }
    for (int j = 0; j < t->count; j++) {
        column *k = &t->columns[j];
        k->width = (int)strlen(k->title);
        for (int i = 0; i < t->c->count; i++) {
            const int marks = (int)strlen(k->cells[i].marks), n = (int)strlen(k->cells[i].text);
            if (marks > k->marks) k->marks = marks;
            if (n > k->width) k->width = n;
        }
    }
}

/* Drops columns until the table fits; keeps the name, the first score and the alignment error. Returns whether any
 * was dropped. */
static bool drop_columns(table *t, int width)
{
    for (bool dropped = false;; dropped = true) {
        int all = t->names;
        column *last = NULL;
        for (int j = 0; j < t->count; j++) {
            column *k = &t->columns[j];
            if (!k->shown) continue;
            all += 2 + k->width + k->marks;
            if (k->order > 1 && (!last || k->order > last->order)) last = k;
        }
        if (width == 0 || all <= width || !last) return dropped;
        last->shown = false;
    }
}

/* ---- text ---- */

static void put_spaces(FILE *to, int count)
{
    attend_print(to, "%*s", count > 0 ? count : 0, "");
}

/* A cell, right-aligned. *pad: spaces to print before the next cell. */
static void print_cell(FILE *to, const column *k, const char *text, const char *marks, bool bold, int *pad)
{
    put_spaces(to, *pad + 2 + k->width - (int)strlen(text));
    attend_print(to, bold ? "\033[1m%s%s\033[0m" : "%s%s", text, marks);
    *pad = k->marks - (int)strlen(marks);
}

static void print_text(const table *t, FILE *to, bool bold)
{
    const comparison *c = t->c;
    int pad = t->names - (int)strlen("variant");
    attend_print(to, "variant");
    for (int j = 0; j < t->count; j++)
        if (t->columns[j].shown) print_cell(to, &t->columns[j], t->columns[j].title, "", false, &pad);
    attend_print(to, "\n");
    for (int i = 0; i < c->count; i++) {
        const variant *x = &c->variants[i];
        attend_print(to, "%s", x->name);
        pad = t->names - attend_columns(x->name);
        if (x->state != VARIANT_DONE) put_spaces(to, pad + 2);
        if (x->state == VARIANT_FAILED) attend_print(to, "failed: %s", x->reason);
        if (x->state == VARIANT_PENDING) attend_print(to, "pending");
        for (int j = 0; x->state == VARIANT_DONE && j < t->count; j++) {
            const cell *k = &t->columns[j].cells[i];
            if (t->columns[j].shown)
                print_cell(to, &t->columns[j], k->text, k->marks, bold && k->marks[0] == '+', &pad);
        }
        attend_print(to, "\n");
    }
}

/* ---- Markdown ---- */

/* Escapes the separator of cells. */
static void put_markdown(FILE *to, const char *text)
{
    for (size_t size; *text; text += size) {
        size = strcspn(text, "|");
        attend_print(to, size ? "%.*s" : "\\%.*s", (int)(size ? size : 1), text);
        if (size == 0) size = 1;
    }
}

static void print_markdown(const table *t, FILE *to)
{
    const comparison *c = t->c;
    attend_print(to, "| variant |");
    for (int j = 0; j < t->count; j++) attend_print(to, " %s |", t->columns[j].title);
    attend_print(to, "\n|---|");
    for (int j = 0; j < t->count; j++) attend_print(to, "---:|");
    attend_print(to, "\n");
    for (int i = 0; i < c->count; i++) {
        const variant *x = &c->variants[i];
        attend_print(to, "| ");
        put_markdown(to, x->name);
        attend_print(to, " |");
        for (int j = 0; j < t->count; j++) {
            const cell *k = &t->columns[j].cells[i];
            const char *bold = k->marks[0] == '+' ? "**" : "";
            const char *text = x->state == VARIANT_FAILED && j == 0 ? "failed" : k->text;
            attend_print(to, " %s%s%s%s |", bold, text, bold, strchr(k->marks, '*') ? " \\*" : "");
        }
        attend_print(to, "\n");
    }
    attend_print(to, "\n");
    for (int i = 0; i < c->count; i++)
        if (c->variants[i].state == VARIANT_FAILED) {
            put_markdown(to, c->variants[i].name);
            attend_print(to, " failed: %s\n\n", c->variants[i].reason);
        }
}

/* ---- notes ---- */

static bool any_mark(const table *t, char mark)
{
    for (int j = 0; j < t->count; j++)
        for (int i = 0; i < t->c->count; i++)
            if (t->columns[j].shown && strchr(t->columns[j].cells[i].marks, mark)) return true;
    return false;
}

/* Perplexities are per token, so they are comparable only if all variants tokenize alike. */
static bool same_tokens(const comparison *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->variants[i].state == VARIANT_DONE && c->variants[i].r.rows != c->variants[c->base].r.rows) return false;
    return true;
}

/* A note is a line, in Markdown a paragraph. */
static void end_note(FILE *to, bool markdown)
{
    write_unchanged(to, markdown ? "\n\n" : "\n");
}

static void print_notes(const table *t, FILE *to, bool markdown, bool dropped)
{
    const comparison *c = t->c;
    if (c->base < 0) return;
    if (any_mark(t, '+') && !markdown) attend_print(to, "+ best of the column\n");
    if (any_mark(t, '*')) {
        attend_print(to, "%s differs significantly from %s: p < 0.05 in a paired bootstrap test with %d samples",
                     markdown ? "\\*" : "*", c->variants[c->base].name, c->e.samples);
        end_note(to, markdown);
    }
    for (int at = 0; at < METRICS; at++) {
        const int m = evaluation_metric_at(&c->e, at);
        char signature[160];
        if (!c->e.selected[m]) continue;
        attend_metric_signature(&c->e.options[m], test_set_reference_count(&c->e.test_set), signature,
                                sizeof signature);
        attend_print(to, "%s%s%s, %d sources, beam %lld", markdown ? "`" : "", signature, markdown ? "`" : "",
                     c->e.test_set.count, c->s->beam);
        end_note(to, markdown);
    }
    if (c->s->test.count == 0) {
        attend_print(to, "tested on the validation pairs, which also selected the models%s",
                     options_find(c->v, "test") >= 0 ? "; use --test for other pairs" : "");
        end_note(to, markdown);
    }
    if (!same_tokens(c)) {
        attend_print(to, "perplexities are not comparable: the variants have different tokens");
        end_note(to, markdown);
    }
    if (!dropped) return;
    attend_print(to, "all columns are in %s/comparison.txt", c->s->output);
    end_note(to, markdown);
}

int comparison_print(const comparison *c, FILE *to, table_format format, int width, bool bold, bool notes)
{
    table t = { .c = c };
    fill(&t);
    if (!t.failed) {
        measure(&t);
        const bool dropped = format == TABLE_TEXT && drop_columns(&t, width);
        if (format == TABLE_TEXT)
            print_text(&t, to, bold);
        else
            print_markdown(&t, to);
        if (notes) print_notes(&t, to, format == TABLE_MARKDOWN, dropped);
    }
    for (int j = 0; j < t.count; j++) free(t.columns[j].cells);
    return !t.failed ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "out of memory for the table");
}
