#include "device/cuda/row_groups.h"

#include <algorithm>
#include <new>
#include <vector>

/* Indices in ascending order of their rows, those of one row in their order. */
static void sort_by_row(size_t n, const int *rows, std::vector<uint64_t> *keys)
{
    for (size_t i = 0; i < n; i++) (*keys)[i] = (uint64_t)(uint32_t)rows[i] << 32 | i;
    if (!std::is_sorted(keys->begin(), keys->end())) std::sort(keys->begin(), keys->end());
}

bool row_groups_new(cuda_call *call, size_t n, const int *rows, row_groups *g)
{
    try {
        std::vector<uint64_t> keys(n);
        std::vector<int> all(3 * n + 1); /* targets, starts, members, so that one copy suffices */
        size_t count = 0;
        sort_by_row(n, rows, &keys);
        for (size_t i = 0; i < n; i++) {
            const int row = (int)(keys[i] >> 32);
            if (i == 0 || row != (int)(keys[i - 1] >> 32)) {
                all[count] = row;
                all[n + count++] = (int)i;
            }
            all[2 * n + 1 + i] = (int)(keys[i] & 0xffffffffu);
        }
        all[n + count] = (int)n;
        const int *on_gpu = call->indices(all.data(), all.size());
        if (!on_gpu) {
            cuda_fail("adding rows", "no memory for their numbers");
            return false;
        }
        *g = row_groups{ count, on_gpu, on_gpu + n, on_gpu + 2 * n + 1 };
        return true;
    } catch (const std::bad_alloc &) {
        cuda_fail("adding rows", "no memory for their numbers");
        return false;
    }
}
