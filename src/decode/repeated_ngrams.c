#include "decode/repeated_ngrams.h"

#include <string.h>

void attend_mark_repeated_ngrams(const int *said, int count, int n, unsigned char flag, unsigned char *flags)
{
    const size_t before = (size_t)(n - 1) * sizeof *said; /* bytes of the words that stand before the last of a run */
    for (int i = 0; i <= count - n; i++)
        if (memcmp(said + i, said + count - (n - 1), before) == 0) flags[said[i + n - 1]] = flag;
}
