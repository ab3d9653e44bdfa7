#include "evaluate_language_model.h"

#include "data_files.h"
#include "json_members.h"
#include "pair_reader.h"
#include "perplexity.h"

#include <math.h>

static int add_lines(perplexity *sums, attend_scorer *scorer, pair_reader *from, const verb *v, bool quiet)
{
    int status = ATTEND_OK;
    while (status == ATTEND_OK && (status = pair_reader_next(from)) == ATTEND_OK && from->count > 0) {
        status = attend_scorer_run(scorer, from->count, NULL, (const char *const *)from->targets);
        for (int i = 0; status == ATTEND_OK && i < from->count; i++) {
            const attend_scored_pair *line = attend_scorer_result(scorer, i);
            if (line->fault && !quiet)
                fprintf(stderr, "attend %s: line %llu is not scored: %s\n", v->name,
                        from->first + (unsigned long long)i + 1, line->fault);
            perplexity_add(sums, line);
        }
    }
    return status;
}

static void print(const perplexity *p)
{
    for (int i = 0; i < PERPLEXITY_UNITS; i++) {
        const perplexity_unit unit = (perplexity_unit)i;
        const double x = perplexity_of(p, unit);
        printf("%-15s %10.4f  per %s (%.4f bits), %llu units\n", i ? "" : "perplexity", x, perplexity_unit_name(unit),
               log2(x), p->units[i] + p->lines);
    }
    printf("%-15s %10llu (each line end counts as one unit)\n", "lines", p->lines);
    if (p->unknown) printf("%-15s %10llu tokens\n", "unknown", p->unknown);
}

int evaluate_language_model(const verb *v, const char *path, const attend_model *m, pairs_list *input, int threads,
                            bool json, bool quiet)
{
    attend_scorer *scorer = NULL;
    pair_reader *from = NULL;
    perplexity sums = { 0 };
    const int usage = data_files_resolve(v, "input", input, ATTEND_TASK_LANGUAGE_MODEL);
    if (usage != 0) return usage;
    int status = attend_scorer_new(&scorer, m, threads, false);
    if (status == ATTEND_OK) status = pair_reader_open(&from, input);
    if (status == ATTEND_OK) status = add_lines(&sums, scorer, from, v, quiet);
    if (status == ATTEND_OK && json) {
        attend_json_writer w = attend_json_to_file(stdout);
        attend_json_begin_object(&w);
        json_text(&w, "system", path);
        perplexity_json(&w, &sums);
        json_end_line(&w);
    } else if (status == ATTEND_OK) {
        print(&sums);
    }
    pair_reader_close(from);
    attend_scorer_free(scorer);
    return status == ATTEND_OK ? 0 : cli_fail(v, status);
}
