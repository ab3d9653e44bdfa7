/* round_trip.h: checks that decode(encode(x)) is x in normal form C, and that its spans cover it in order. */
#ifndef ATTEND_TEST_ROUND_TRIP_H
#define ATTEND_TEST_ROUND_TRIP_H

#include "unit/unit.h"

static inline bool spans_cover(const attend_ids *ids, size_t size)
{
    int at = 0;
    for (int i = 0; i < ids->count; i++) {
        if (ids->spans[i].begin != at || ids->spans[i].end < at) return false;
        if (ids->spans[i].end == at && i > 0) return false; /* only the added first space has no bytes */
        at = ids->spans[i].end;
    }
    return (size_t)at == size;
}

/* Returns the error, or NULL. For lossless tokenizers. */
static inline const char *round_trip(const attend_tokenizer *t, const char *text, size_t size, double dropout,
                                     uint64_t index)
{
    static attend_string normal, back; /* reused by the next call */
    static attend_ids ids;
    ids.count = 0;
    back.size = 0;
    if (attend_normalize(&normal, text, size) != ATTEND_OK) return attend_message();
    if (attend_tokenizer_encode(t, text, size, &ids, dropout, 7, index) != ATTEND_OK) return attend_message();
    if (attend_tokenizer_decode(t, ids.ids, ids.count, &back) != ATTEND_OK) return attend_message();
    if (back.size != normal.size || memcmp(back.text, normal.text, back.size) != 0) return "the text is not the same";
    return spans_cover(&ids, normal.size) ? NULL : "spans do not cover the text";
}

#endif
