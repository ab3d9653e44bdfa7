/* cmd_check.c: checks data for faults that prevent or harm training. */
#include "options.h"

#include "data_files.h"
#include "memory_option.h"
#include <attend/data_check.h>
#include <sys/stat.h>

typedef struct settings {
    pairs_list train, valid;
    int task; /* attend_task */
    long long memory;
    bool json, quick;
} settings;

static const char *const tasks[] = { "translation", "language-model", NULL };

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS", "pairs to check: one .tsv file or two line-aligned files; may be repeated", OPTION_DATA,
      AT(train), 0, 0, NULL },
    { "valid", "PAIRS",
      "validation or test pairs: they must not overlap with the training pairs, and what the training pairs do not "
      "have in them is reported (default: the pairs that attend train holds out)",
      OPTION_DATA, AT(valid), 0, 0, NULL },
    { "task", NULL, "language-model: the files contain lines of text instead of pairs", OPTION_CHOICE, AT(task), 0, 0,
      tasks },
    { "quick", NULL, "check only for faults that prevent training", OPTION_FLAG, AT(quick), 0, 0, NULL },
    MEMORY_OPTION(AT(memory), " (default: half of the machine's memory; 0: no limit)"),
    { "json", NULL, "print one JSON object", OPTION_FLAG, AT(json), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* Whether the data can be read twice. */
static bool is_in_files(const pairs_list *list)
{
    struct stat of;
    for (int i = 0; i < list->count; i++) {
        const char *const names[] = { list->items[i].source, list->items[i].target };
        for (int side = 0; side < 2; side++)
            if (names[side] && (stat(names[side], &of) != 0 || !S_ISREG(of.st_mode))) return false;
    }
    return true;
}

static int check(const settings *s)
{
    attend_data_check_report *report = NULL;
    int status = attend_data_check(&report, s->train.items, s->train.count, s->valid.items, s->valid.count, s->quick,
                                   memory_limit(s->memory));
    if (status == ATTEND_OK)
        status = s->json ? attend_data_check_json(report, stdout) : attend_data_check_print(report, stdout);
    int code = 0;
    if (status != ATTEND_OK)
        code = cli_fail(&verb_check, status);
    else if (attend_data_check_stops(report))
        code = ATTEND_BAD_DATA;
    attend_data_check_free(report);
    return code;
}

static const void *defaults(void)
{
    static const settings s = { .task = ATTEND_TASK_TRANSLATION, .memory = MEMORY_DEFAULT };
    return &s;
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    int status = options_parse(&verb_check, &s, argc, argv, &p);
    if (status == 0 && !p.help) status = data_files_resolve(&verb_check, "train", &s.train, (attend_task)s.task);
    held_out h;
    if (status == 0 && !p.help) status = data_files_resolve_valid(&verb_check, &p, &s.valid, (attend_task)s.task, &h);
    if (status == 0 && !p.help) {
        if (p.positional_count > 0)
            status = usage_error(&verb_check, "unexpected argument '%s'; give pairs with --train", p.positional[0]);
        else if (s.train.count == 0)
            status = usage_error(&verb_check, "--train PAIRS is required");
        if (status == 0 && !s.quick && is_in_files(&s.train)) /* as attend train does */
            status = data_files_hold_out(&verb_check, &s.train, &s.valid, &h, true);
        if (status == 0) status = check(&s);
    }
    options_free(&verb_check, &s, &p);
    return status;
}

const verb verb_check = {
    .name = "check",
    .summary = "check training data for faults",
    .synopsis = "attend check --train PAIRS [--valid PAIRS] [--task language-model] [--json]",
    .details = "Finds faults that prevent or harm training: different numbers of lines, text that is not UTF-8,\n"
               "empty sides, outliers in length, duplicates, copies of the source, and overlap with the validation\n"
               "pairs. Also says what a model will not know: characters and words of the validation pairs that the\n"
               "training pairs do not have. Exits with status 3 if a fault prevents training.",
    .examples =
        "  attend check --train train.tsv\n  attend check --train train.en train.de --valid valid.en valid.de --json\n"
        "  attend check --task language-model --train train.txt --valid valid.txt\n",
    .options = table,
    .defaults = defaults,
    .run = run,
};
