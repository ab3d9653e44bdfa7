/* cmd_check.c: what is wrong with this data? */
#include "options.h"

#include "data_files.h"
#include "streams.h"
#include <attend/data_check.h>
#include <stdlib.h>

typedef struct settings {
    pairs_list train, valid;
    int task; /* attend_task */
    bool json, quick;
} settings;

static const char *const tasks[] = { "translation", "language-model", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS", "pairs to look at: one .tsv file or two line-aligned files; may be given several times",
      OPTION_DATA, AT(train), 0, 0, NULL },
    { "valid", "PAIRS", "validation pairs: do they overlap?", OPTION_DATA, AT(valid), 0, 0, NULL },
    { "task", "translation|language-model", "of a language model, all files are lines of text alone", OPTION_WORD,
      AT(task), 0, 0, tasks },
    { "quick", NULL, "only what would stop training", OPTION_FLAG, AT(quick), 0, 0, NULL },
    { "json", NULL, "one JSON object", OPTION_FLAG, AT(json), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static int check(const settings *s)
{
    attend_pairs_spec *specs = calloc((size_t)(s->train.count + s->valid.count) + 1, sizeof *specs);
    if (!specs) return options_wrong(&verb_check, "no memory");
    attend_pairs_spec *valid = specs + s->train.count;
    for (int i = 0; i < s->train.count; i++)
        specs[i] = (attend_pairs_spec){ s->train.items[i].first, s->train.items[i].second };
    for (int i = 0; i < s->valid.count; i++)
        valid[i] = (attend_pairs_spec){ s->valid.items[i].first, s->valid.items[i].second };
    attend_data_check_report *report = NULL;
    int status = attend_data_check(&report, specs, s->train.count, valid, s->valid.count, s->quick);
    if (status == ATTEND_OK)
        status = s->json ? attend_data_check_json(report, stdout) : attend_data_check_print(report, stdout);
    int code = 0;
    if (status != ATTEND_OK)
        code = cli_fail(&verb_check, status);
    else if (attend_data_check_stops(report))
        code = ATTEND_BAD_DATA;
    attend_data_check_free(report);
    free(specs);
    return code;
}

static int run(int argc, char **argv)
{
    settings s = { .json = false };
    parsed p;
    int status = options_parse(&verb_check, &s, argc, argv, &p);
    if (status == 0 && !p.help) status = data_settle(&verb_check, "train", &s.train, (attend_task)s.task);
    if (status == 0 && !p.help) status = data_settle(&verb_check, "valid", &s.valid, (attend_task)s.task);
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_check, "'%s' is not understood; pairs are given by --train", p.rest[0]);
        else if (s.train.count == 0)
            status = options_wrong(&verb_check, "--train PAIRS is missing");
        else
            status = streams_check(&verb_check, (const pairs_list *const[]){ &s.train, &s.valid }, 2);
        if (status == 0) status = check(&s);
    }
    options_free(&verb_check, &s, &p);
    return status;
}

const verb verb_check = {
    .name = "check",
    .summary = "what is wrong with this data",
    .synopsis = "attend check --train PAIRS [--valid PAIRS] [--task language-model] [--json]",
    .details = "Looks for what stops training or harms it: line counts that differ, text that is not UTF-8, empty "
               "sides, outliers of length,\n"
               "duplicates, copies, overlap with the validation pairs. Ends with 3 if something would stop training.",
    .examples =
        "  attend check --train train.tsv\n  attend check --train train.en train.de --valid valid.en valid.de --json\n"
        "  attend check --task language-model --train train.txt --valid valid.txt\n",
    .options = table,
    .run = run,
};
