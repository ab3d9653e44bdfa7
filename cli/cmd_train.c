/* cmd_train.c: trains a model. */
#include "train_options.h"
#include "device_option.h"
#include "plugin_option.h"

#include "data_files.h"
#include "ensemble_training.h"
#include "fine_tuning.h"
#include "interrupt.h"
#include "job.h"
#include "memory_option.h"
#include "progress.h"
#include "stream_copies.h"
#include "train_report.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    train_settings t;
    fine_tuning fine;
    const char *model, *log;
    long long ensemble; /* members */
    long long rank_timeout;
    bool mixed_ranks, reports; /* reports: at the end, on all ranks */
    char *first;               /* the model that is trained first: a member, or NULL: `model` */
    texts_list config_files, plugins;
} settings;

#define AT(member) offsetof(settings, member)
static const option table[] = {
    { "train", "PAIRS",
      "training pairs: one .tsv file or two line-aligned files; may be repeated. With --task language-model: files "
      "with "
      "one sentence per line",
      OPTION_DATA, AT(t.train), 0, 0, NULL },
    { "valid", "PAIRS|N%|none",
      "validation data, used for early stopping and to select the best model: files; a percentage of the training "
      "data, "
      "which is held out; or none (default: 10%, at most 2000 pairs)",
      OPTION_DATA, AT(t.valid), 0, 0, NULL },
    { "model", "FILE", "the model to write; also writes FILE.checkpoint, FILE.log.jsonl and FILE.svg", OPTION_TRAINING,
      AT(model), 0, 0, NULL },
    { "config", "FILE", "read options from a file, one per line, such as \"hidden 256\"", OPTION_INPUTS,
      AT(config_files), 0, 0, NULL },
    { "init-from", "FILE",
      "fine-tuning: start with the weights, sizes and vocabularies of this model, which is not changed", OPTION_INPUT,
      AT(fine.init_from), 0, 0, NULL },
    { "new-vocab", NULL,
      "with --init-from: learn vocabularies from the data; tokens that the model has too start with its weights",
      OPTION_FLAG, AT(fine.new_vocab), 0, 0, NULL },
    PLUGIN_OPTION(AT(plugins)),
    { "ensemble", "N",
      "train N models, with the seeds --seed, --seed + 1 and so on, and write one model file that predicts with all of "
      "them; their own files are in FILE.members",
      OPTION_INTEGER, AT(ensemble), 1, ATTEND_MAX_MEMBERS, NULL },
    { "save-every", "N",
      "updates between checkpoints (default: as --valid-every if that is given, else about one epoch)", OPTION_INTEGER,
      AT(t.save_every), 1, 1e15, NULL },
    { "keep", "N", "keep the models of the last N checkpoints as FILE.update-NUMBER", OPTION_INTEGER, AT(t.keep), 0,
      1e6, NULL },
    { "log", "FILE", "training log, one JSON object per line; -: standard output (default: MODEL.log.jsonl)",
      OPTION_OUTPUT, AT(log), 0, 0, NULL },
    { "log-every", "N", "updates between lines of the log", OPTION_INTEGER, AT(t.log_every), 1, 1e15, NULL },
    { "threads", "N",
      "number of threads; does not change the model (default: one per physical core that this process may use)",
      OPTION_INTEGER, AT(t.threads), 1, 1024, NULL },
    DEVICE_OPTION(AT(t.device)),
    MEMORY_OPTION(AT(t.memory), " (default: none)"),
    RANK_TIMEOUT_OPTION(AT(rank_timeout)),
    MIXED_RANKS_OPTION(AT(mixed_ranks), "the model"),
    { "fresh", NULL, "start from scratch instead of resuming from the checkpoint, and replace an existing model",
      OPTION_FLAG, AT(t.fresh), 0, 0, NULL },
    { "no-check", NULL, "do not check the data before training", OPTION_FLAG, AT(t.no_check), 0, 0, NULL },
    { "quiet", NULL, "print errors only", OPTION_FLAG, AT(t.quiet), 0, 0, NULL },
    { NULL, NULL, NULL, OPTION_FLAG, 0, 0, 0, NULL },
};

static const char *const main_options[] = { "train",   "valid", "model",           "task", "init-from", "ensemble",
                                            "threads", "fresh", TRAIN_MAIN_OPTIONS };

static const void *defaults(void)
{
    static settings s;
    s = (settings){ .t = train_settings_defaults(), .ensemble = 1, .rank_timeout = RANK_TIMEOUT };
    return &s;
}

/* Checks the data as `attend check --quick` does, and chooses sizes from the amount of data. */
static int check_data(train_settings *s, const parsed *p)
{
    attend_data_check_report *report = NULL;
    int status = data_files_hold_out(&verb_train, &s->train, &s->valid, &s->held_out, s->quiet);
    if (status != 0) return status;
    status = attend_data_check(&report, s->train.items, s->train.count, s->valid.items, s->valid.count, true, 0);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    const bool stops = !s->no_check && attend_data_check_stops(report);
    if (stops) attend_data_check_print(report, stderr);
    status = stops ? ATTEND_BAD_DATA : train_settings_choose(&verb_train, s, p, &report->train);
    attend_data_check_free(report);
    if (status == 0) train_settings_print_choice(s);
    return status;
}

/* ---- training ---- */

/* Trains one model, which `seed` is added to the seed of. */
static int train_model(const settings *s, const parsed *p, const char *model, int seed)
{
    attend_train_options o = train_settings_options(&verb_train, &s->t, p);
    o.model = model, o.log = s->log && strcmp(s->log, "-") == 0 ? "/dev/stdout" : s->log;
    o.seed += (uint64_t)seed;
    o.fresh = s->t.fresh && s->ensemble == 1; /* the files of members were removed */
    o.init_from = s->fine.init_from, o.new_vocab = s->fine.new_vocab;
    o.ranks = job_ranks(), o.mixed_ranks = s->mixed_ranks;
    progress_view view = progress_new(stderr, s->t.quiet, valid_metric_style(s->t.metric), s->t.valid.count > 0);
    const attend_train_events events = { .user = &view,
                                         .plan = progress_plan,
                                         .progress = progress_show,
                                         .notice = progress_message,
                                         .stop = interrupt_stop };
    attend_train_end end = ATTEND_TRAIN_DONE;
    interrupt_catch();
    interrupt_catch_user_signal(); /* a job of one rank is warned in the same way */
    const int status = attend_train(&o, &events, &end);
    progress_end(&view);
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    if (end == ATTEND_TRAIN_STOPPED) {
        if (!s->t.quiet && view.planned)
            attend_print(stderr, "stopped; the same command resumes from %s.checkpoint\n", model);
        else if (!s->t.quiet)
            attend_print(stderr, "stopped before the first update\n");
        return 128 + (interrupt_caught() ? interrupt_caught() : SIGUSR1); /* 0: another rank was asked to stop */
    }
    if (!s->t.quiet)
        attend_print(stderr, "%s %s\n",
                     end == ATTEND_TRAIN_PATIENCE ? "no improvement; the best model is" : "done:", model);
    return s->ensemble == 1 && s->reports ? train_report(&verb_train, &s->t, model, &s->plugins, &view.now) : 0;
}

/* Trains the members one after another and writes the ensemble. A member that is complete is not trained again. */
static int train_ensemble(const settings *s, const parsed *p)
{
    int held = -1; /* locked until the process ends */
    int status = job_speaks() ? ensemble_begin(s->model, s->t.fresh, &held) : ATTEND_OK;
    if (status == ATTEND_OK) status = attend_ranks_wait(job_ranks()); /* until old files are removed */
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    for (int i = 0; status == 0 && i < s->ensemble; i++) {
        char *member = ensemble_member_path(s->model, i);
        if (!member) return cli_fail(&verb_train, ATTEND_NO_MEMORY);
        if (!s->t.quiet) attend_print(stderr, "member      %d of %lld, seed %lld\n", i + 1, s->ensemble, s->t.seed + i);
        status = train_model(s, p, member, i);
        free(member);
    }
    if (status != 0) return status;
    status = job_speaks() ? ensemble_write(s->model, (int)s->ensemble) : ATTEND_OK;
    if (status != ATTEND_OK) return cli_fail(&verb_train, status);
    if (!s->reports) return 0;
    if (!s->t.quiet) attend_print(stderr, "done: %s, an ensemble of %lld models\n", s->model, s->ensemble);
    return train_report(&verb_train, &s->t, s->model, &s->plugins, &(attend_progress){ 0 });
}

static int train(const settings *s, const parsed *p)
{
    return s->ensemble > 1 ? train_ensemble(s, p) : train_model(s, p, s->model, 0);
}

/* A plug-in's score function is the attention unless another is given. */
static int use_plugin(settings *s, const parsed *p)
{
    const attend_score *score;
    if (s->plugins.count == 0 || s->fine.init_from || options_given(&verb_train, p, "attention")) return 0;
    if (s->plugins.count > 1)
        return usage_error(&verb_train, "there are %d score plug-ins; say which one is used, with --attention NAME",
                           s->plugins.count);
    const int status = attend_score_plugin_load(&score, s->plugins.items[0]); /* it is loaded already */
    if (status == ATTEND_OK) s->t.config.attention = score;
    return status == ATTEND_OK ? 0 : cli_fail(&verb_train, status);
}

/* Refuses model options that are given but have no effect. */
static int check_fields(const train_settings *s, const parsed *p)
{
    if (attend_config_check_given(&s->config, options_fields_given(&verb_train, p)) == ATTEND_OK) return 0;
    return usage_error(&verb_train, "--%s", attend_message());
}

/* Reads the files and trains. */
static int run_training(settings *s, const parsed *p)
{
    pairs_list *const lists[] = { &s->t.train, &s->t.valid };
    stream_copies copies;
    int status = stream_copies_make(&verb_train, lists, 2, &copies);
    if (status == 0 && copies.count > 0 && attend_ranks_count(job_ranks()) > 1)
        status =
            usage_error(&verb_train, "%s can be read only once, and each of the %d ranks reads the data: use a file",
                        copies.items[0].name, attend_ranks_count(job_ranks()));
    if (status == 0) status = check_data(&s->t, p);
    if (status == 0) status = train(s, p);
    if (status != 0 && status < 128) stream_copies_explain(&copies);
    stream_copies_free(&copies);
    return status;
}

/* Without --valid, training resumes with the pairs that its checkpoint held out: an earlier version held out none. A
 * checkpoint that cannot be read is reported when training resumes. */
static void resume_held_out(settings *s)
{
    held_out h = { 0 };
    if (s->t.checkpoint && attend_checkpoint_held_out(s->t.checkpoint, &h.fraction, &h.max_pairs) == ATTEND_OK)
        s->t.held_out = h;
}

/* Checks the combination of options; 0, or an exit code after a message. */
static int check(settings *s, const parsed *p)
{
    if (p->positional_count > 0)
        return usage_error(&verb_train, "unexpected argument '%s'; give pairs with --train", p->positional[0]);
    if (s->t.train.name_count == 0) return usage_error(&verb_train, "--train PAIRS is required");
    if (!s->model) return usage_error(&verb_train, "--model FILE is required");
    if (s->ensemble > 1 && s->log)
        return usage_error(&verb_train, "--log does not apply to --ensemble: each member has its own log");
    if (s->ensemble > 1) s->first = ensemble_member_path(s->model, 0);
    if (s->ensemble > 1 && !s->first) return cli_fail(&verb_train, ATTEND_NO_MEMORY);
    const char *first = s->first ? s->first : s->model;
    s->t.checkpoint = train_settings_checkpoint(&s->t, first);
    int status = fine_tuning_prepare(&verb_train, &s->fine, first, &s->t, p); /* may set the task */
    if (status == 0) status = data_files_resolve(&verb_train, "train", &s->t.train, s->t.config.task);
    if (status == 0) status = data_files_resolve_valid(&verb_train, p, &s->t.valid, s->t.config.task, &s->t.held_out);
    if (status == 0 && s->t.held_out.is_default) resume_held_out(s);
    if (status == 0) status = use_plugin(s, p);
    if (status == 0) status = check_fields(&s->t, p);
    return status == 0 ? train_settings_check(&verb_train, &s->t, p) : status;
}

/* Whether training resumes from a checkpoint, as far as file names tell. */
static bool resumes(const settings *s)
{
    char *const member = s->model && s->ensemble > 1 ? ensemble_member_path(s->model, 0) : NULL;
    char *const checkpoint = s->model ? train_settings_checkpoint(&s->t, member ? member : s->model) : NULL;
    const bool exists = checkpoint != NULL;
    free(checkpoint);
    free(member);
    return exists;
}

/* Whether all ranks have the same options. Their data are compared while they are read. */
static int check_ranks(const settings *s)
{
    const char *links = s->t.guided_alignment;
    const job_file files[] = { { "model of --init-from", s->fine.init_from, resumes(s) },
                               { "file of --guided-alignment", links && strcmp(links, "auto") != 0 ? links : NULL,
                                 false } };
    const int status = job_check(&verb_train, s, files, sizeof files / sizeof *files, s->mixed_ranks);
    return status == ATTEND_OK ? 0 : cli_fail(&verb_train, status);
}

static int run(int argc, char **argv)
{
    settings s = *(const settings *)defaults();
    parsed p;
    job_begin();
    int status = options_parse(&verb_train, &s, argc, argv, &p);
    if (!p.help) {
        status = job_join(&verb_train, s.rank_timeout, status);
        s.reports = !s.t.quiet;
        if (!job_speaks()) s.t.quiet = true;
        if (!options_given(&verb_train, &p, "threads")) s.t.threads = job_threads();
        if (status == 0) train_settings_limit_threads(&s.t);
        if (status == 0) status = train_settings_use_device(&verb_train, &s.t, &p);
        if (status == 0) status = check_ranks(&s);
        if (status == 0) status = check(&s, &p);
        if (status == 0) status = run_training(&s, &p);
        status = job_end(&verb_train, status);
    }
    free(s.first);
    free(s.t.checkpoint);
    options_free(&verb_train, &s, &p);
    return status;
}

const verb verb_train = {
    .name = "train",
    .summary = "train a model",
    .synopsis = "attend train --train PAIRS [--valid PAIRS] --model FILE [options]\n"
                "       attend train --task language-model --train FILE... [--valid FILE...] --model FILE [options]",
    .details =
        "Checks the data, learns vocabularies and trains. FILE always holds the best model so far, by validation.\n"
        "The same command resumes from the last checkpoint; SIGINT, SIGTERM and SIGHUP save a checkpoint and\n"
        "exit with status 130, 143 and 129. Sizes that are not given are chosen from the amount of data\n"
        "(docs/training.md). A language model is trained on lines of text (docs/language-models.md).\n"
        "Without --valid, a tenth of the pairs, at most 2000, is held out for validation. A hash of the source "
        "decides,\n"
        "so that a pair always stays in its part, and pairs with the same source are in the same part.\n"
        "With --ensemble, the same command trains the members that are missing, resumes, and writes FILE at the end.",
    .examples =
        "  attend train --train pairs.tsv --model m\n"
        "  attend train --train train.tsv --valid valid.tsv --model m\n"
        "  attend train --train train.en train.de --valid valid.en valid.de --model en-de --preset translate-small\n"
        "  attend train --train words.tsv --valid dev.tsv --model g2p --preset g2p --valid-metric word-error\n"
        "  attend train --train words.tsv --model g2p --ensemble 5\n"
        "  attend train --task language-model --train a.txt b.txt.gz --valid valid.txt --model lm\n"
        "  attend train --train medical.tsv --valid valid.tsv --model medical --init-from m --learning-rate 0.0003\n"
        "  zcat big*.tsv.gz | attend train --train - --valid valid.tsv --model m --memory 2G\n",
    .options = table,
    .main_options = main_options,
    .shared = &train_option_group,
    .has_config = true,
    .config = AT(t.config),
    .defaults = defaults,
    .run = run,
};
