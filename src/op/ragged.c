#include "op/ragged.h"

#include "core/status.h"
#include <limits.h>

const attend_ragged *attend_ragged_new(attend_ctx *c, int count, const int *lengths)
{
    ATTEND_REQUIRE_IN(c, c && (lengths || count < 1));
    if (c->status != ATTEND_OK) return NULL;
    if (count < 0)
        return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_ragged_new: the number of sequences, %d, is negative",
                               count);
    int rows = 0, max_length = 0;
    for (int i = 0; i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > INT_MAX - rows)
            return attend_ctx_fail(c, ATTEND_BAD_USAGE, "attend_ragged_new: the length %d of sequence %d is invalid",
                                   lengths[i], i);
        rows += lengths[i];
        if (lengths[i] > max_length) max_length = lengths[i];
    }
    attend_ragged *r = attend_ctx_alloc(c, 1, sizeof *r);
    int *own = attend_ctx_alloc(c, 3 * (size_t)count, sizeof *own);
    int *active = attend_ctx_alloc(c, (size_t)max_length + 1, sizeof *active);
    if (!r || !own || !active) return NULL;
    int *offsets = own + count, *order = offsets + count;

    /* active[t]: sequences longer than t. The position of a sequence of length l follows from the number of longer
     * ones. */
    for (int t = 0; t <= max_length; t++) active[t] = 0;
    for (int i = 0, row = 0; i < count; row += lengths[i++]) {
        own[i] = lengths[i];
        offsets[i] = row;
        active[lengths[i]]++;
    }
    for (int t = max_length, longer = 0; t >= 0; t--) {
        int equal = active[t];
        active[t] = longer;
        longer += equal;
    }
    for (int i = 0; i < count; i++) order[active[lengths[i]]++] = i;
    /* filling has advanced each count by the sequences of its own length: it is now the count of step t - 1 */
    for (int t = 0; t < max_length; t++) active[t] = active[t + 1];

    *r = (attend_ragged){ count, rows, max_length, own, offsets, order, active };
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
    return r && sequence >= 0 && sequence < r->count ? r->lengths[sequence] : 0;
}

int attend_ragged_offset(const attend_ragged *r, int sequence)
{
    return r && sequence >= 0 && sequence < r->count ? r->offsets[sequence] : 0;
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
