#include "op/ragged.h"

#include <limits.h>

const attend_ragged *attend_ragged_new(attend_ctx *c, int count, const int *lengths)
{
    if (c->status != ATTEND_OK) return NULL;
    if (count < 0) return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_ragged_new: %d sequences", count);
    int rows = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > INT_MAX - rows)
            return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_ragged_new: length %d of sequence %d", lengths[i], i);
        rows += lengths[i];
        if (lengths[i] > longest) longest = lengths[i];
    }
    attend_ragged *r = attend_take(c, 1, sizeof *r);
    int *own = attend_take(c, 3 * (size_t)count, sizeof *own);
    int *active = attend_take(c, (size_t)longest + 1, sizeof *active);
    if (!r || !own || !active) return NULL;
    int *offsets = own + count, *order = offsets + count;

    /* active[t]: sequences longer than t; where a sequence of length l goes follows from how many are longer */
    for (int t = 0; t <= longest; t++) active[t] = 0;
    for (int i = 0, row = 0; i < count; row += lengths[i++]) {
        own[i] = lengths[i];
        offsets[i] = row;
        active[lengths[i]]++;
    }
    for (int t = longest, longer = 0; t >= 0; t--) {
        int equal = active[t];
        active[t] = longer;
        longer += equal;
    }
    for (int i = 0; i < count; i++) order[active[lengths[i]]++] = i;
    /* filling moved each count on by the number of its own length: it is now what step t - 1 wants */
    for (int t = 0; t < longest; t++) active[t] = active[t + 1];

    *r = (attend_ragged){ count, rows, longest, own, offsets, order, active };
    return r;
}

int attend_ragged_count(const attend_ragged *r)
{
    return r ? r->count : 0;
}

int attend_ragged_rows(const attend_ragged *r)
{
    return r ? r->rows : 0;
}

int attend_ragged_length(const attend_ragged *r, int sequence)
{
    return r ? r->lengths[sequence] : 0;
}

int attend_ragged_offset(const attend_ragged *r, int sequence)
{
    return r ? r->offsets[sequence] : 0;
}

bool attend_ragged_fits(attend_ctx *c, const char *operation, const attend_ragged *r, const attend_var *x)
{
    if (!r) {
        attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: the sequences are NULL", operation);
        return false;
    }
    if (x->rank == 2 && x->shape[0] == r->rows) return true;
    char text[ATTEND_SHAPE_TEXT];
    attend_ctx_fail(c, ATTEND_BAD_USAGE, "%s: x is %s, but the sequences have %d rows in all", operation,
                    attend_shape_text(x, text), r->rows);
    return false;
}
