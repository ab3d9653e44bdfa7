/* cmd_train.c: from files of pairs, or of lines, to a model. */
#include "train_options.h"

#include "data_files.h"
#include "interrupt.h"
#include "progress.h"
#include "streams.h"
#include <stdlib.h>

typedef struct settings {
    train_settings t;
    const char *model, *log, *config_file;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS",
      "training pairs: one .tsv file or two line-aligned files; may be given several times. With --task "
      "language-model: any number of files of text, a sentence a line",
      OPTION_DATA, AT(t.train), 0, 0, NULL },
    { "valid", "PAIRS", "validation pairs, or lines: to stop in time and keep the best model", OPTION_DATA, AT(t.valid),
      0, 0, NULL },
    { "model", "FILE", "the model to make (and FILE.checkpoint, FILE.log.jsonl, FILE.svg)", OPTION_TEXT, AT(model), 0,
      0, NULL },
    { "config", "FILE", "options from a file, a line each: hidden 256", OPTION_TEXT, AT(config_file), 0, 0, NULL },
    { "save-every", "N", "updates between checkpoints", OPTION_WHOLE, AT(t.save_every), 1, 1e15, NULL },
    { "keep", "N", "the last N models are kept as FILE.update-..", OPTION_WHOLE, AT(t.keep), 0, 1e6, NULL },
    { "log", "FILE", "the log, a JSON object a line", OPTION_TEXT, AT(log), 0, 0, NULL },
    { "log-every", "N", "updates between its lines", OPTION_WHOLE, AT(t.log_every), 1, 1e15, NULL },
    { "threads", "N", "any number gives the same model", OPTION_WHOLE, AT(t.threads), 1, 1024, NULL },
    { "memory", "SIZE", "what it may take (2G, say)", OPTION_SIZE, AT(t.memory), 0, 1e18, NULL },
    { "fresh", NULL, "begin anew instead of going on from the checkpoint", OPTION_FLAG, AT(t.fresh), 0, 0, NULL },
    { "no-check", NULL, "do not look through the data first", OPTION_FLAG, AT(t.no_check), 0, 0, NULL },
    { "quiet", NULL, "errors only", OPTION_FLAG, AT(t.quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

/* The quick part of `attend check`: what would stop training is said before it begins. Sizes go by what it counts. */
static int look_through(train_settings *s, const parsed *p, const attend_pairs_spec *train,
                        const attend_pairs_spec *valid)
{
    attend_data_check_report *report = NULL;
    int status = attend_data_check(&report, train, s->train.count, valid, s->valid.count, true);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    const bool stops = !s->no_check && attend_data_check_stops(report);
    if (stops) attend_data_check_print(report, stderr);
    status = stops ? ATTEND_BAD_DATA : train_settings_choose(&verb_train, s, p, &report->train);
    attend_data_check_free(report);
    if (status == 0) train_settings_print_choice(s);
    return status;
}

/* ---- training ---- */

static int train(const settings *s, const parsed *p, const attend_pairs_spec *train_specs,
                 const attend_pairs_spec *valid_specs)
{
    attend_train_options o = train_settings_options(&verb_train, &s->t, p, train_specs, valid_specs);
    o.model = s->model, o.log = s->log;
    progress_view view = progress_new(stderr, s->t.quiet, attend_valid_metric_names[s->t.metric], s->t.valid.count > 0);
    const attend_train_events events = {
        .user = &view, .plan = progress_plan, .progress = progress_show, .notice = progress_say, .stop = interrupt_stop
    };
    attend_train_end end = ATTEND_TRAIN_DONE;
    interrupt_catch(); /* a training is worth more than whoever reads along */
    const int status = attend_train(&o, &events, &end);
    progress_end(&view);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    if (end == ATTEND_TRAIN_STOPPED) {
        if (!s->t.quiet && view.planned)
            fprintf(stderr, "stopped; %s.checkpoint has everything: the same command goes on from there\n", s->model);
        else if (!s->t.quiet)
            fprintf(stderr, "stopped before the first update\n");
        return 128 + interrupt_caught();
    }
    if (!s->t.quiet)
        fprintf(stderr, "%s %s\n",
                end == ATTEND_TRAIN_PATIENCE ? "no better model for a while; the best is" : "done:", s->model);
    return 0;
}

/* Refuses fields of the model that were given and have no effect. */
static int check_fields(const train_settings *s, const parsed *p)
{
    if (attend_config_check_given(&s->config, options_fields_given(&verb_train, p)) == ATTEND_OK) return 0;
    return options_wrong(&verb_train, "--%s", attend_message());
}

/* What was parsed makes sense; now for the files. */
static int run_with(settings *s, const parsed *p)
{
    pairs_list *const lists[] = { &s->t.train, &s->t.valid };
    stream_copies copies;
    int status = streams_keep(&verb_train, lists, 2, &copies);
    attend_pairs_spec *train_specs = pairs_list_specs(&s->t.train), *valid_specs = pairs_list_specs(&s->t.valid);
    if (status == 0 && (!train_specs || !valid_specs)) status = options_wrong(&verb_train, "no memory");
    if (status == 0) status = look_through(&s->t, p, train_specs, valid_specs);
    if (status == 0) status = train(s, p, train_specs, valid_specs);
    if (status != 0 && status < 128) streams_explain(&copies);
    streams_free(&copies);
    free(train_specs);
    free(valid_specs);
    return status;
}

static int run(int argc, char **argv)
{
    settings s = { .t = train_settings_defaults() };
    parsed p;
    int status = options_parse(&verb_train, &s, argc, argv, &p);
    if (status == 0 && !p.help) {
        train_settings_limit_threads(&s.t);
        status = data_settle(&verb_train, "train", &s.t.train, s.t.config.task);
        if (status == 0) status = data_settle(&verb_train, "valid", &s.t.valid, s.t.config.task);
    }
    if (status == 0 && !p.help) {
        if (p.rest_count > 0)
            status = options_wrong(&verb_train, "'%s' is not understood", p.rest[0]);
        else if (s.t.train.count == 0)
            status = options_wrong(&verb_train, "--train PAIRS is missing");
        else if (!s.model)
            status = options_wrong(&verb_train, "--model FILE is missing");
        else
            status = check_fields(&s.t, &p);
        if (status == 0) status = train_settings_check(&verb_train, &s.t, &p);
        if (status == 0) status = run_with(&s, &p);
    }
    options_free(&verb_train, &s, &p);
    return status;
}

const verb verb_train = {
    .name = "train",
    .summary = "from files of pairs, or of lines, to a model",
    .synopsis = "attend train --train PAIRS --valid PAIRS --model FILE [options]\n"
                "       attend train --task language-model --train FILE.. --valid FILE.. --model FILE [options]",
    .details = "Looks through the data, learns vocabularies and trains. FILE is the best model by validation so far.\n"
               "The same command goes on from the last checkpoint; SIGINT, SIGTERM and SIGHUP save one and end\n"
               "with 130, 143 and 129. Sizes that are not given go by the data (docs/training.md). A language model\n"
               "learns from lines of text alone (docs/language-models.md).",
    .examples =
        "  attend train --train train.tsv --valid valid.tsv --model m\n"
        "  attend train --train train.en train.de --valid valid.en valid.de --model en-de --preset translate-small\n"
        "  attend train --train words.tsv --valid dev.tsv --model g2p --preset g2p --valid-metric word-error\n"
        "  attend train --task language-model --train a.txt b.txt.gz --valid valid.txt --model lm\n"
        "  zcat big*.tsv.gz | attend train --train - --valid valid.tsv --model m --memory 2G\n",
    .options = table,
    .training = train_option_table,
    .has_config = true,
    .config = AT(t.config),
    .run = run,
};
