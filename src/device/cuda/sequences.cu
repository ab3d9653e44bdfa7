#include "device/cuda/sequences.h"

#include <new>
#include <vector>

static const int *rows_of(cuda_call *call, const attend_ragged *s, bool position)
{
    try {
        std::vector<int> all((size_t)s->rows);
        for (int b = 0; b < s->count; b++)
            for (int t = 0; t < s->lengths[b]; t++) all[(size_t)s->offsets[b] + (size_t)t] = position ? t : b;
        const int *on_gpu = call->indices(all.data(), all.size());
        if (on_gpu) return on_gpu;
    } catch (const std::bad_alloc &) {
    }
    cuda_fail("the rows of sequences", "no memory for their numbers");
    return nullptr;
}

const int *cuda_sequence_of_rows(cuda_call *call, const attend_ragged *s)
{
    return rows_of(call, s, false);
}

const int *cuda_position_of_rows(cuda_call *call, const attend_ragged *s)
{
    return rows_of(call, s, true);
}
