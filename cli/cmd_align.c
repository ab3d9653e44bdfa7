/* cmd_align.c: which word comes from which? Attention of a model that is made to say given targets, as links between words. */
#include "options.h"
#include "pairs_stream.h"

#include "text/lines.h"
#include <attend/scorer.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *model, *gold;
    pairs_list input;
    long long threads;
    int kind;
} settings;

static const char *const kinds[] = { "hard", "soft", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "model", "FILE", "a model with attention", OPTION_TEXT, AT(model), 0, 0, NULL },
    { "input", "PAIRS", "pairs to align: one .tsv file or two line-aligned files", OPTION_PAIRS, AT(input), 0, 0,
      NULL },
    { "alignment", "hard|soft", "the word looked at most, or all weights of all pieces as JSON", OPTION_WORD, AT(kind),
      0, 0, kinds },
    { "gold", "FILE",
      "links that are right: prints the alignment error instead (a line a pair, \"0-0 1?2\", or lines of \"pair source "
      "target S|P\" from 1)",
      OPTION_TEXT, AT(gold), 0, 0, NULL },
    { "threads", "N", "any number gives the same links", OPTION_WHOLE, AT(threads), 1, 1024, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

enum { MOST_LINKS = 4096 };

/* ---- gold links ---- */

typedef struct gold_link {
    unsigned long long pair;
    attend_aligned link;
} gold_link;

typedef struct gold {
    gold_link *list;
    size_t count, room, next;
} gold;

static bool add_gold(gold *g, unsigned long long pair, int source, int target, bool sure)
{
    if (g->count == g->room) {
        gold_link *larger = realloc(g->list, (2 * g->room + 256) * sizeof *larger);
        if (!larger) return false;
        g->list = larger, g->room = 2 * g->room + 256;
    }
    g->list[g->count++] = (gold_link){ pair, { .source = source, .target = target, .sure = sure } };
    return true;
}

/* One line of either format; false: it is neither. */
static bool read_gold_line(gold *g, const char *text, unsigned long long line)
{
    unsigned long long pair;
    int source, target, used = 0;
    char kind = 'S';
    if (sscanf(text, "%llu %d %d %c %n", &pair, &source, &target, &kind, &used) >= 3 &&
        (used == 0 || text[used] == '\0'))
        return pair > 0 && source > 0 && target > 0 && add_gold(g, pair - 1, source - 1, target - 1, kind != 'P');
    for (const char *s = text; *s; s += used) {
        char mark;
        used = 0;
        if (sscanf(s, " %d%c%d %n", &source, &mark, &target, &used) < 3 || !strchr("-?:", mark) || source < 0 ||
            target < 0)
            return *s == ' ' && s[1] == '\0';
        if (!add_gold(g, line, source, target, mark == '-')) return false;
        if (used == 0) return false;
    }
    return true;
}

static int read_gold(gold *g, const char *path)
{
    attend_lines *from = NULL;
    int status = attend_lines_open(&from, path);
    for (unsigned long long line = 0; status == ATTEND_OK; line++) {
        const char *text;
        size_t size;
        status = attend_lines_next(from, &text, &size);
        if (status != ATTEND_OK || !text) break;
        if (!read_gold_line(g, text, line)) {
            fprintf(stderr, "attend align: %s:%llu: '%.60s' is no link: write \"0-0 1?2\" or \"1 1 1 S\"\n", path,
                    line + 1, text);
            attend_lines_close(from);
            return -1;
        }
    }
    attend_lines_close(from);
    return status;
}

/* The gold links of a pair; they are in the order of pairs. */
static int gold_of(gold *g, unsigned long long pair, attend_aligned *links)
{
    int n = 0;
    while (g->next < g->count && g->list[g->next].pair < pair) g->next++;
    for (; g->next < g->count && g->list[g->next].pair == pair; g->next++)
        if (n < MOST_LINKS) links[n++] = g->list[g->next].link;
    return n;
}

/* ---- what is printed ---- */

static void print_soft(const attend_scored *r)
{
    printf("{\"source\": %d, \"target\": %d, \"weights\": [", r->source_count, r->rows);
    for (int i = 0; !r->fault && i < r->rows; i++) {
        printf("%s[", i ? ", " : "");
        for (int j = 0; j < r->source_count; j++)
            printf("%s%.5f", j ? ", " : "", (double)r->weights[(size_t)i * (size_t)r->source_count + (size_t)j]);
        printf("]");
    }
    printf("]}\n");
}

static int one_pair(const attend_scored *r, const settings *s, unsigned long long number, gold *g,
                    attend_aer_sums *sums)
{
    static attend_aligned links[MOST_LINKS], right[MOST_LINKS];
    if (s->kind == 1 && !s->gold) {
        print_soft(r);
        return ATTEND_OK;
    }
    const int count = attend_scorer_links(r, links, MOST_LINKS);
    if (s->gold) return attend_aer_add(sums, links, count, right, gold_of(g, number, right));
    for (int i = 0; i < count; i++) printf("%s%d-%d", i ? " " : "", links[i].source, links[i].target);
    printf("\n");
    return ATTEND_OK;
}

static int align(const settings *s)
{
    attend_model *m = NULL;
    attend_scorer *scorer = NULL;
    pairs_stream *from = NULL;
    gold g = { .list = NULL };
    attend_aer_sums sums = { 0 };
    int status = attend_model_load(&m, s->model, NULL);
    if (status == ATTEND_OK && !attend_model_config(m)->attention) {
        fprintf(stderr, "attend align: %s has no attention to align with\n", s->model);
        attend_model_free(m);
        return 2;
    }
    if (status == ATTEND_OK) status = attend_scorer_new(&scorer, m, (int)s->threads, true);
    if (status == ATTEND_OK) status = pairs_stream_open(&from, &s->input);
    if (status == ATTEND_OK && s->gold) status = read_gold(&g, s->gold);
    while (status == ATTEND_OK && (status = pairs_stream_next(from)) == ATTEND_OK && from->count > 0) {
        status = attend_scorer_run(scorer, from->count, (const char *const *)from->sources,
                                   (const char *const *)from->targets);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++)
            status = one_pair(attend_scorer_result(scorer, i), s, from->first + (unsigned long long)i, &g, &sums);
    }
    if (status == ATTEND_OK && s->gold)
        printf("AER %.4f  precision %.4f  recall %.4f  (%.0f links, %.0f sure)\n", attend_aer(&sums),
               sums.found > 0 ? sums.both_possible / sums.found : 0, sums.sure > 0 ? sums.both_sure / sums.sure : 0,
               sums.found, sums.sure);
    if (status < 0)
        status = ATTEND_BAD_DATA;
    else if (status != ATTEND_OK)
        status = cli_fail(&verb_align, status);
    free(g.list);
    pairs_stream_close(from);
    attend_scorer_free(scorer);
    attend_model_free(m);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .model = NULL };
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.threads = cores > 0 ? cores : 1;
    parsed p;
    int status = options_parse(&verb_align, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_align, "'%s' is not understood; pairs are given by --input", p.rest[0]);
        else if (!s.model || s.input.count == 0)
            status = options_wrong(&verb_align, "--model FILE and --input PAIRS are both needed");
        else
            status = align(&s);
    }
    options_free(&verb_align, &s, &p);
    return status;
}

const verb verb_align = {
    .name = "align",
    .summary = "which word comes from which: Pharaoh alignments",
    .synopsis = "attend align --model FILE --input PAIRS [--alignment soft] [--gold FILE]",
    .details = "Makes the model say each target and prints where it looked: of every target word the source word with "
               "the most attention, as\n"
               "source-target from 0; pieces of words are merged to words. With --gold, the alignment error rate (Och, "
               "Ney 2003).",
    .examples = "  attend align --model en-de --input test.en test.de\n  attend align --model en-fr --input dev.en "
                "dev.fr --gold dev.wa\n",
    .options = table,
    .run = run,
};
