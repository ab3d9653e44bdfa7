#include "core/closest_word.h"

#include <string.h>

enum { LONGEST = 63 }; /* letters of a word; what comes behind is not looked at */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Damerau's distance, in the form that changes no letter twice, over three rows of the usual table. */
int attend_word_distance(const char *a, const char *b)
{
    int rows[3][LONGEST + 1];
    const int n = (int)strnlen(a, LONGEST), m = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        const int *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        int *now = rows[i % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *attend_closest_word(const char *word, const char *const *list, size_t count)
{
    const char *best = NULL;
    int distance = (int)strnlen(word, LONGEST) / 3 + 2; /* farther than this is another word */
    for (size_t i = 0; i < count; i++) {
        const int d = attend_word_distance(word, list[i]);
        if (d < distance) distance = d, best = list[i];
    }
    return best;
}
