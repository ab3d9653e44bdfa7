#include "core/finite.h"

/* x - x is 0 for finite numbers and NaN for all others. Compilers vectorise a loop of fixed length. */
bool attend_all_finite(size_t n, const attend_real *x)
{
    enum { BLOCK = 64 };
    bool finite = true;
    for (; n >= BLOCK && finite; n -= BLOCK, x += BLOCK) {
        int others = 0;
        for (int i = 0; i < BLOCK; i++) others |= x[i] - x[i] != 0;
        finite = !others;
    }
    for (size_t i = 0; i < n && finite; i++) finite = x[i] - x[i] == 0;
    return finite;
}
