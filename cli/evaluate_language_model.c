#include "evaluate_language_model.h"

#include "data_files.h"
#include "json_members.h"
#include "perplexity.h"

typedef struct visitor {
    const verb *v; /* NULL: no warnings */
    perplexity sums;
} visitor;

static int add_line(void *user, const attend_scored_pair *line, unsigned long long index)
{
    visitor *x = user;
    if (line->fault && x->v)
        attend_print(stderr, "attend %s: line %llu is not scored: %s\n", x->v->name, index + 1, line->fault);
    perplexity_add(&x->sums, line);
    return ATTEND_OK;
}

static void print(const perplexity *p)
{
    for (int i = 0; i < PERPLEXITY_UNITS; i++) {
        const perplexity_unit unit = (perplexity_unit)i;
        char text[PERPLEXITY_TEXT], bits[PERPLEXITY_TEXT];
        attend_print(stdout, "%-15s %10s  per %s (%s bits), %llu units\n", i ? "" : "perplexity",
                     perplexity_text(text, 4, perplexity_of(p, unit)), perplexity_unit_name(unit),
                     perplexity_text(bits, 4, perplexity_bits(p, unit)), p->units[i] + p->lines);
    }
    attend_print(stdout, "%-15s %10llu (each line end counts as one unit)\n", "lines", p->lines);
    if (p->unknown) attend_print(stdout, "%-15s %10llu tokens\n", "unknown", p->unknown);
}

int evaluate_language_model(const verb *v, const char *path, const attend_model *m, pairs_list *input,
                            const score_options *o, bool json, bool quiet)
{
    visitor x = { .v = quiet ? NULL : v };
    const int usage = data_files_resolve(v, "input", input, ATTEND_TASK_LANGUAGE_MODEL);
    if (usage != 0) return usage;
    const int status = score_pairs(m, input, o, add_line, &x);
    if (status != ATTEND_OK) return cli_fail(v, status);
    if (json) {
        attend_json_writer w = attend_json_to_file(stdout);
        attend_json_begin_object(&w);
        json_text(&w, "system", path);
        perplexity_json(&w, &x.sums);
        json_end_line(&w);
    } else {
        print(&x.sums);
    }
    return perplexity_check(v, &x.sums, path);
}
