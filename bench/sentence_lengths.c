/* sentence_lengths.c: lengths of the sentences of a real corpus. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

static int count_words(const char *line)
{
    int words = 0;
    for (const char *s = line; *s; s++) words += *s > ' ' && (s == line || s[-1] <= ' ');
    return words;
}

static int compare_lengths(const void *a, const void *b)
{
    const pair_lengths *x = a, *y = b;
    return x->target != y->target ? x->target - y->target : x->source - y->source;
}

int bench_sentence_lengths(pair_lengths *lengths, int max_count)
{
    const char *directory = getenv("ATTEND_DATA");
    static const char *const sides[] = { "en", "de" };
    FILE *f[2];
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command, "gzip -dc '%s/multi30k/train.%s.gz' 2>/dev/null",
                 directory ? directory : BENCH_DATA, sides[i]);
        f[i] = popen(command, "r");
    }
    char *line = NULL;
    size_t capacity = 0;
    int count = 0;
    for (; count < max_count && f[0] && f[1]; count++) {
        if (getline(&line, &capacity, f[0]) < 0) break;
        lengths[count].source = count_words(line) + 1;
        if (getline(&line, &capacity, f[1]) < 0) break;
        lengths[count].target = count_words(line) + 1;
    }
    free(line);
    for (int i = 0; i < 2; i++)
        if (f[i]) pclose(f[i]);
    return count;
}

void bench_sort_sentence_lengths(pair_lengths *lengths, int count)
{
    qsort(lengths, (size_t)count, sizeof *lengths, compare_lengths);
}
