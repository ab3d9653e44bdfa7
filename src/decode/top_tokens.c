#include "decode/top_tokens.h"

#include <attend/model.h>

void attend_top_tokens(attend_top_k *best, const attend_real *log_p, int n, const unsigned char *banned)
{
    attend_real threshold = -INFINITY; /* most tokens need only one comparison */
    best->count = 0;
    for (int i = 0; i < n; i++) {
        if (!(log_p[i] > threshold) || i == ATTEND_BEGIN || (banned && banned[i])) continue;
        attend_top_k_offer(best, (double)log_p[i], i);
        threshold = (attend_real)attend_top_k_threshold(best);
    }
    attend_top_k_sort(best);
}
