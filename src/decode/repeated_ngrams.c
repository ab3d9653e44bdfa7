#include "decode/repeated_ngrams.h"

#include <string.h>

void attend_mark_repeated_ngrams(const int *history, int count, int n, unsigned char flag, unsigned char *flags)
{
    const size_t bytes = (size_t)(n - 1) * sizeof *history; /* of the n - 1 tokens before the last one of an n-gram */
    for (int i = 0; i <= count - n; i++)
        if (memcmp(history + i, history + count - (n - 1), bytes) == 0) flags[history[i + n - 1]] = flag;
}
