/* test_golden_metrics.c: compares scores of corpora and sentences with sacreBLEU and with plain definitions
 * (metric_*.golden; tools/make_metric_goldens.py documents the format). */
#include "unit/unit.h"

#include <math.h>

enum { LONGEST = 16384, GROUPS = 64, REFERENCES = 3 };
static const double tolerance = 1e-9;
static const char *directory = GOLDEN_DIRECTORY;

typedef struct corpus {
    char *lines[GROUPS][1 + REFERENCES]; /* a hypothesis and its references */
    int count;
} corpus;

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Replaces \\ and \xHH in place. */
static void unescape(char *s)
{
    char *out = s;
    for (; *s; s++) {
        if (*s != '\\') {
            *out++ = *s;
        } else if (s[1] == 'x') {
            *out++ = (char)(digit(s[2]) << 4 | digit(s[3]));
            s += 3;
        } else {
            *out++ = *++s;
        }
    }
    *out = '\0';
}

static bool read_line(FILE *f, char *line)
{
    if (!fgets(line, LONGEST, f)) return false;
    const size_t length = strlen(line);
    assert_true(length > 0 && line[length - 1] == '\n');
    line[length - 1] = '\0';
    return true;
}

static void read_corpus(corpus *c, FILE *f, const char *header)
{
    static char line[LONGEST];
    int references = 0;
    assert_int_equal(sscanf(header, "lines %d %d", &c->count, &references), 2);
    assert_true(c->count > 0 && c->count <= GROUPS && references == REFERENCES);
    for (int i = 0; i < c->count; i++)
        for (int r = 0; r <= REFERENCES; r++) {
            assert_true(read_line(f, line) && line[0] == (r ? 'r' : 'h') && line[1] == ' ');
            unescape(line + 2);
            c->lines[i][r] = strdup(line + 2);
            assert_non_null(c->lines[i][r]);
        }
}

static void free_corpus(corpus *c)
{
    for (int i = 0; i < c->count; i++)
        for (int r = 0; r <= REFERENCES; r++) free(c->lines[i][r]);
    c->count = 0;
}

static void check(double found, const char **numbers, const char *what, int line)
{
    char *end;
    const double wanted = strtod(*numbers, &end);
    assert_true(end != *numbers);
    *numbers = end;
    if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s, line %d: %.15g, expected %.15g", what, line, found, wanted);
}

/* "bleu 13a mixed 1", then the numbers. */
static void check_scores(const corpus *c, const char *row)
{
    char kind[32], tokens[8], letters[8], what[96];
    int references = 0, used = 0;
    attend_metric_options o = { 0 };
    assert_int_equal(sscanf(row, "%31s %7s %7s %d%n", kind, tokens, letters, &references, &used), 4);
    snprintf(what, sizeof what, "%.*s", used, row);
    assert_true(attend_metric_find(kind, &o.kind));
    o.tokens = strcmp(tokens, "char") == 0   ? ATTEND_BLEU_CHAR
               : strcmp(tokens, "none") == 0 ? ATTEND_BLEU_NONE
                                             : ATTEND_BLEU_13A;
    o.lowercase = strcmp(letters, "lc") == 0;

    static attend_metric_sums each[GROUPS];
    attend_metric_sums all = { 0 };
    for (int i = 0; i < c->count; i++) {
        each[i] = (attend_metric_sums){ 0 };
        assert_ok(attend_metric_add(&o, &each[i], c->lines[i][0], (const char *const *)&c->lines[i][1], references));
        attend_metric_merge(&all, &each[i]);
    }
    const char *numbers = row + used;
    check(attend_metric_score(&o, &all), &numbers, what, 0);
    for (int i = 0; i < c->count; i++) check(attend_metric_score(&o, &each[i]), &numbers, what, i + 1);
    assert_int_equal(*numbers, '\0');
}

static void check_file(const char *name)
{
    static char path[512], line[LONGEST];
    corpus c = { 0 };
    int rows = 0;
    snprintf(path, sizeof path, "%s/metric_%s.golden", directory, name);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s cannot be opened", path);
    while (read_line(f, line)) {
        if (line[0] == '#') continue;
        if (strncmp(line, "lines ", 6) == 0) {
            read_corpus(&c, f, line);
        } else {
            check_scores(&c, line);
            rows++;
        }
    }
    fclose(f);
    assert_int_equal(rows, 40); /* 8 metrics, BLEU with 3 tokenizations; mixed and lower case; 1 and 3 references */
    free_corpus(&c);
}

static void test_file(void **state)
{
    check_file(*state);
}

#define FILE_TEST(name)                                                                                                \
    {                                                                                                                  \
        name, test_file, NULL, NULL, name                                                                              \
    }

int main(int argc, char **argv)
{
    if (argc > 1) directory = argv[1];
    static char marks[] = "marks", scripts[] = "scripts", small[] = "short", edits[] = "edits", bytes[] = "bytes",
                drawn[] = "drawn";
    const struct CMUnitTest tests[] = { FILE_TEST(marks), FILE_TEST(scripts), FILE_TEST(small),
                                        FILE_TEST(edits), FILE_TEST(bytes),   FILE_TEST(drawn) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
