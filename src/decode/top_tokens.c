#include "decode/top_tokens.h"

#include <attend/model.h>
#include <math.h>

int attend_top_tokens(const attend_real *log_p, int n, const unsigned char *banned, int max, int *tokens)
{
    int count = 0;
    attend_real threshold =
        -INFINITY; /* log p of the last one once there are `max`: most tokens need one comparison only */
    for (int i = 0; i < n; i++) {
        const attend_real x = log_p[i];
        if (!(x > threshold) || i == ATTEND_BEGIN || (banned && banned[i])) continue;
        int at = count < max ? count++ : max - 1;
        for (; at > 0 && log_p[tokens[at - 1]] < x; at--) tokens[at] = tokens[at - 1];
        tokens[at] = i;
        if (count == max) threshold = log_p[tokens[max - 1]];
    }
    return count;
}
