#include <attend/parse.h>

#include "core/status.h"
#include <string.h>

enum { MAX_LETTERS = 63 };

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment over three rows of the usual table. */
int attend_word_distance(const char *a, const char *b)
{
    ATTEND_REQUIRE(0, a && b);
    int rows[3][MAX_LETTERS + 1];
    const int n = (int)strnlen(a, MAX_LETTERS), m = (int)strnlen(b, MAX_LETTERS);
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        const int *previous = rows[(i + 2) % 3], *second_previous = rows[(i + 1) % 3];
        int *current = rows[i % 3];
        current[0] = i;
        for (int j = 1; j <= m; j++) {
            current[j] = min(min(previous[j], current[j - 1]) + 1, previous[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                current[j] = min(current[j], second_previous[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *attend_closest_word(const char *word, const char *const *list, size_t count)
{
    ATTEND_REQUIRE(NULL, word && (list || count == 0));
    const char *best = NULL;
    int distance = (int)strnlen(word, MAX_LETTERS) / 3 + 2; /* a word at this distance is not a plausible misspelling */
    for (size_t i = 0; i < count; i++) {
        const int d = attend_word_distance(word, list[i]);
        if (d < distance) distance = d, best = list[i];
    }
    return best;
}
