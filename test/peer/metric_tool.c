/* Scores files as the library does, for check_metrics.py to compare with other programs.
 *   metric_tool lower                                    standard input, line by line, in lower case
 *   metric_tool KIND 13a|none|char mixed|lc FILE FILE..  hypotheses, references: the signature, then the scores
 *                                                        of every line and of the corpus, one a line */
#include "metric/text.h"

#include <attend/attend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16, MOST_REFERENCES = 8 };

static int fail(const char *what)
{
    fprintf(stderr, "metric_tool: %s: %s\n", what, attend_message());
    return 1;
}

static bool read_line(FILE *f, char *line)
{
    if (!fgets(line, LONGEST, f)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void put_utf8(uint32_t c)
{
    if (c >= 0xdc80 && c <= 0xdcff) putchar((int)(c - 0xdc00)); /* a byte that is not UTF-8 */
    if (c < 0x80) putchar((int)c);
    if (c < 0x80 || (c >= 0xdc80 && c <= 0xdcff)) return;
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    putchar((int)((0xff80u >> more & 0xff) | c >> 6 * more));
    for (int i = more - 1; i >= 0; i--) putchar((int)(0x80 | (c >> 6 * i & 0x3f)));
}

static int lower(void)
{
    static char line[LONGEST];
    while (read_line(stdin, line)) {
        attend_metric_text t;
        if (attend_metric_text_read(&t, line, true) != ATTEND_OK) return fail("lower");
        for (size_t i = 0; i < t.n; i++) put_utf8(t.c[i]);
        putchar('\n');
        attend_metric_text_free(&t);
    }
    return 0;
}

static int score(const attend_metric_options *o, char **paths, int count)
{
    static char lines[1 + MOST_REFERENCES][LONGEST];
    const char *references[MOST_REFERENCES];
    FILE *files[1 + MOST_REFERENCES];
    attend_metric_sums all = { 0 };
    char signature[256];
    attend_metric_signature(o, count - 1, signature, sizeof signature);
    puts(signature);
    for (int i = 0; i < count; i++) {
        files[i] = fopen(paths[i], "r");
        if (!files[i]) return fail(paths[i]);
        if (i > 0) references[i - 1] = lines[i];
    }
    while (read_line(files[0], lines[0])) {
        attend_metric_sums one = { 0 };
        for (int i = 1; i < count; i++)
            if (!read_line(files[i], lines[i])) return fail("too few references");
        if (attend_metric_add(o, &one, lines[0], references, count - 1) != ATTEND_OK) return fail(paths[0]);
        attend_metric_merge(&all, &one);
        printf("%.17g\n", attend_metric_score(o, &one));
    }
    printf("%.17g\n", attend_metric_score(o, &all));
    for (int i = 0; i < count; i++) fclose(files[i]);
    return 0;
}

int main(int argc, char **argv)
{
    attend_metric_options o = { 0 };
    if (argc == 2 && strcmp(argv[1], "lower") == 0) return lower();
    if (argc < 6 || argc > 5 + MOST_REFERENCES || !attend_metric_find(argv[1], &o.kind)) return fail("wrong usage");
    o.tokens = strcmp(argv[2], "char") == 0   ? ATTEND_BLEU_CHAR
               : strcmp(argv[2], "none") == 0 ? ATTEND_BLEU_NONE
                                              : ATTEND_BLEU_13A;
    o.lowercase = strcmp(argv[3], "lc") == 0;
    return score(&o, argv + 4, argc - 4);
}
