#include "decode/top_tokens.h"

#include <attend/model.h>
#include <math.h>

int attend_top_tokens(const attend_real *log_p, int n, const unsigned char *banned, int most, int *words)
{
    int found = 0;
    attend_real least = -INFINITY; /* of those found, once there are enough: nearly every word ends at one comparison */
    for (int i = 0; i < n; i++) {
        const attend_real x = log_p[i];
        if (!(x > least) || i == ATTEND_BEGIN || (banned && banned[i])) continue;
        int at = found < most ? found++ : most - 1;
        for (; at > 0 && log_p[words[at - 1]] < x; at--) words[at] = words[at - 1];
        words[at] = i;
        if (found == most) least = log_p[words[most - 1]];
    }
    return found;
}
