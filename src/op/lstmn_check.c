/* lstmn_check.c: the inputs of the LSTMN: sources, rows of a tape, and checks of all shapes. */
#include "op/lstmn.h"

#include "core/tape.h"
#include <limits.h>
#include <stdio.h>

static const char sequence_name[] = "attend_lstmn_sequence", source_name[] = "attend_lstmn_source_new";

lstmn_tape attend_lstmn_tape(const attend_device *d, size_t hidden, size_t gamma, size_t attention)
{
    lstmn_tape t = { .memory = hidden, .context = 2 * hidden, .source_context = 3 * hidden };
    t.key = t.source_context + gamma;
    t.prepared = t.key + attention;
    t.width = t.prepared + d->additive_row(attention);
    return t;
}

int attend_lstmn_tape_width(const attend_lstmn_cell *cell, const attend_lstmn_source *source)
{
    ATTEND_REQUIRE(0, cell);
    if (!cell->u || !cell->attention.wk) return 0;
    const size_t gamma = source ? (size_t)source->gamma->shape[1] : 0;
    const attend_device *d = attend_device_of(cell->u->context);
    return (int)attend_lstmn_tape(d, (size_t)cell->u->shape[1], gamma, (size_t)cell->attention.wk->shape[0]).width;
}

/* Whether v is given and has this shape; columns 0: a vector. */
static bool shaped(attend_ctx *c, const char *operation, const char *what, attend_var *v, bool optional, int rows,
                   int columns)
{
    if (!v && optional) return true;
    if (!(columns ? attend_check_weight(c, operation, v) : attend_check_inputs(c, operation, 1, v))) return false;
    if (columns ? v->rank == 2 && v->shape[0] == rows && v->shape[1] == columns : v->rank == 1 && v->shape[0] == rows)
        return true;
    char text[ATTEND_SHAPE_TEXT], columns_text[32] = "";
    if (columns) snprintf(columns_text, sizeof columns_text, ", %d", columns);
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %s has shape %s, expected (%d%s)", operation, what,
                    attend_shape_text(v, text), rows, columns_text);
    return false;
}

/* Whether a weight is a matrix, of any shape. */
static bool is_matrix(attend_ctx *c, const char *operation, const char *what, attend_var *v)
{
    if (!attend_check_weight(c, operation, v)) return false;
    if (v->rank == 2) return true;
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %s has %d axes, expected 2", operation, what, v->rank);
    return false;
}

static bool attention_fits(attend_ctx *c, const char *operation, const attend_lstmn_attention *l, int k, int in)
{
    if (!is_matrix(c, operation, "wk", l->wk)) return false;
    const int a = l->wk->shape[0];
    return shaped(c, operation, "wk", l->wk, false, a, k) && shaped(c, operation, "wx", l->wx, false, a, in) &&
           shaped(c, operation, "wt", l->wt, false, a, k) &&
           shaped(c, operation, "b of the attention", l->b, true, a, 0) && shaped(c, operation, "v", l->v, false, a, 0);
}

/* The rows of all pasts and of the longest sequence together must fit in an int. */
static bool past_fits(attend_ctx *c, const attend_lstmn_past *past, const attend_ragged *sequences)
{
    int left = INT_MAX - sequences->max_length;
    for (int b = 0; past && b < sequences->count; left -= past->lengths[b++])
        if (past->lengths[b] < 0 || past->lengths[b] > left) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the past of sequence %d has %d rows, which is not in [0, %d]",
                            sequence_name, b, past->lengths[b], left);
            return false;
        }
    return true;
}

/* The sources must fit the cell and x, and each sequence must have one. */
static bool source_fits(attend_ctx *c, const attend_lstmn_io *io, int count, int hidden, int in)
{
    const attend_lstmn_source *s = io->source;
    if (!s) return true;
    const attend_lstmn_fusion *f = &s->fusion;
    const int gamma = s->gamma->shape[1];
    if (!attend_check_inputs(c, sequence_name, 3, s->gamma, s->alpha, s->keys) ||
        !attention_fits(c, sequence_name, &f->attention, gamma, in) ||
        !shaped(c, sequence_name, "w of the fusion", f->w, false, hidden, in) ||
        !shaped(c, sequence_name, "u of the fusion", f->u, false, hidden, gamma) ||
        !shaped(c, sequence_name, "b of the fusion", f->b, true, hidden, 0))
        return false;
    if (!io->source_of && s->sequences->count != count) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: %d sequences and %d sources", sequence_name, count,
                        s->sequences->count);
        return false;
    }
    for (int b = 0; io->source_of && b < count; b++)
        if (io->source_of[b] < 0 || io->source_of[b] >= s->sequences->count) {
            attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: sequence %d has source %d, which is not in [0, %d)",
                            sequence_name, b, io->source_of[b], s->sequences->count);
            return false;
        }
    return true;
}

bool attend_lstmn_fits(attend_ctx *c, const attend_lstmn_cell *cell, attend_var *x, const attend_ragged *sequences,
                       const attend_lstmn_io *io)
{
    if (!attend_check_inputs(c, sequence_name, 1, x) || !attend_ragged_fits(c, sequence_name, sequences, x))
        return false;
    if (!is_matrix(c, sequence_name, "u", cell->u)) return false;
    const int hidden = cell->u->shape[1], in = x->shape[1];
    if (hidden > INT_MAX / 4) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: u has %d columns, too many for four gates", sequence_name, hidden);
        return false;
    }
    if (cell->span < 0) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the span %d is negative", sequence_name, cell->span);
        return false;
    }
    return shaped(c, sequence_name, "u", cell->u, false, 4 * hidden, hidden) &&
           shaped(c, sequence_name, "w", cell->w, false, 4 * hidden, in) &&
           shaped(c, sequence_name, "b", cell->b, true, 4 * hidden, 0) &&
           attention_fits(c, sequence_name, &cell->attention, hidden, in) && past_fits(c, io->past, sequences) &&
           source_fits(c, io, sequences->count, hidden, in);
}

const attend_lstmn_source *attend_lstmn_source_new(attend_ctx *c, const attend_lstmn_fusion *fusion, attend_var *gamma,
                                                   attend_var *alpha, const attend_ragged *sequences)
{
    ATTEND_REQUIRE_IN(c, fusion);
    if (!attend_check_inputs(c, source_name, 2, gamma, alpha) ||
        !attend_ragged_fits(c, source_name, sequences, gamma) ||
        !is_matrix(c, source_name, "u of the fusion", fusion->u) ||
        !is_matrix(c, source_name, "wk", fusion->attention.wk) ||
        !shaped(c, source_name, "alpha", alpha, false, sequences->rows, fusion->u->shape[0]))
        return NULL;
    attend_lstmn_source *s = attend_ctx_alloc(c, 1, sizeof *s);
    if (!s) return NULL;
    *s = (attend_lstmn_source){ .fusion = *fusion, .gamma = gamma, .alpha = alpha, .sequences = sequences };
    s->keys = attend_linear(c, gamma, fusion->attention.wk, NULL);
    if (!s->keys || !attend_check_inputs(c, source_name, 1, s->keys)) return NULL;
    const size_t rows = (size_t)sequences->rows, attention = (size_t)s->keys->shape[1];
    const attend_device *d = attend_device_of(c);
    const size_t prepared = d->additive_row(attention);
    s->prepared = attend_ctx_alloc_reals(c, rows * prepared);
    if (!s->prepared) return NULL;
    d->additive_keys(&c->compute, rows, attention, (device_input){ .data = s->keys->value, .stride = attention },
                     (device_output){ .data = s->prepared, .stride = prepared });
    return s;
}
