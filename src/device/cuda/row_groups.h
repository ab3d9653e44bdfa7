/* row_groups.h: rows that are added to the same row, in order. The host knows the indices, so that sums need neither atomics
 * nor a sort on the GPU. */
#ifndef ATTEND_DEVICE_CUDA_ROW_GROUPS_H
#define ATTEND_DEVICE_CUDA_ROW_GROUPS_H

#include "device/cuda/launch.h"

struct row_groups {
    size_t count;
    const int *targets; /* (count): the row to add to, in ascending order */
    const int *starts;  /* (count + 1) of each group in `members` */
    const int *members; /* (n): indices of the rows to add */
};

/* Groups the indices [0, n) by rows[i]. False: the device has failed. */
bool row_groups_new(cuda_call *call, size_t n, const int *rows, row_groups *g);

#endif
