/* training_options.c: defaults of the training options, the names of their choices, and their checks. */
#include "train/training_run.h"

#include "core/status.h"
#include <limits.h>

const char *const attend_optimizer_names[] = { "sgd", "adam", NULL };
const char *const attend_schedule_names[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
const char *const attend_valid_metric_names[] = { "perplexity", "bleu",       "chrf", "token-accuracy", "wer", "exact",
                                                  "cer",        "line-error", NULL };

attend_train_options attend_train_defaults(void)
{
    static const attend_config config = ATTEND_CONFIG_INIT;
    static const attend_tokenizer_options tokens = ATTEND_TOKENIZER_OPTIONS_INIT;
    static const attend_optimizer_options optimizer = ATTEND_OPTIMIZER_OPTIONS_INIT;
    static const attend_schedule schedule = ATTEND_SCHEDULE_INIT;
    return (attend_train_options){ .config = config,
                                   .tokens = { tokens, tokens },
                                   .max_length = 200,
                                   .guidance = 0.3,
                                   .optimizer = optimizer,
                                   .schedule = schedule,
                                   .clip = 1,
                                   .label_smoothing = 0.1,
                                   .accumulate = 1,
                                   .batch_tokens = 2000,
                                   .shard_tokens = 0,
                                   .patience = 10,
                                   .log_every = 50,
                                   .seed = 1,
                                   .threads = 1 };
}

bool attend_training_is_language_model(const training_run *run)
{
    return run->options.config.task == ATTEND_TASK_LANGUAGE_MODEL;
}

static int check_guidance(const attend_train_options *o)
{
    const bool is_fine_tuning = o->init_from != NULL;
    if (!o->guided_alignment && o->config.alignment_head && !is_fine_tuning)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "an alignment head learns from links: give guided-alignment ('auto', or a file of links), or "
            "leave alignment-head out");
    if (!o->guided_alignment) return ATTEND_OK;
    if (o->config.task == ATTEND_TASK_LANGUAGE_MODEL)
        return attend_fail(ATTEND_BAD_USAGE, "guided alignment applies to pairs; a language model is trained on lines");
    if (o->bpe_dropout > 0 || o->crop > 0)
        return attend_fail(ATTEND_BAD_USAGE,
                           "guided alignment has links between fixed tokens and cannot be combined with BPE dropout or "
                           "crop");
    if (attend_config_attention_layers(&o->config, ATTEND_ATTENTION_CROSS) == 0)
        return attend_fail(ATTEND_BAD_USAGE, "guided alignment guides an attention, and the model has none");
    if (!(o->guidance > 0 && o->guidance <= 100))
        return attend_fail(ATTEND_BAD_USAGE, "guidance is %g; it must be above 0 and at most 100", o->guidance);
    return ATTEND_OK;
}

int attend_training_check_options(const attend_train_options *o)
{
    if (o->train_count < 1 || !o->train || !o->model || (o->valid_count > 0 && !o->valid))
        return attend_fail(ATTEND_BAD_USAGE, "training needs files of pairs or lines, and a model path");
    if ((unsigned)o->valid_metric > ATTEND_VALID_LINE_ERROR)
        return attend_fail(ATTEND_BAD_USAGE, "there is no validation metric with the number %d", (int)o->valid_metric);
    if (o->config.task == ATTEND_TASK_LANGUAGE_MODEL && o->valid_metric != ATTEND_VALID_LOSS)
        return attend_fail(ATTEND_BAD_USAGE,
                           "valid-metric '%s' compares translations, and a language model makes none: use perplexity",
                           attend_valid_metric_names[o->valid_metric]);
    if ((unsigned)o->compute > ATTEND_COMPUTE_TF32)
        return attend_fail(ATTEND_BAD_USAGE, "there is no compute precision with the number %d", (int)o->compute);
    if (o->threads < 1 || o->threads > 1024)
        return attend_fail(ATTEND_BAD_USAGE, "the number of threads is %d; it must be 1 to 1024", o->threads);
    if (o->accumulate < 1 || o->accumulate > 10000 || o->batch_tokens < 1 || o->shard_tokens < 0 || o->keep < 0)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "accumulate must be 1 to 10000, batch tokens at least 1, and shard tokens and keep at least 0");
    if (o->average_checkpoints < 0 || o->average_checkpoints == 1 ||
        o->average_checkpoints > ATTEND_MAX_AVERAGED_CHECKPOINTS)
        return attend_fail(ATTEND_BAD_USAGE, "average-last is %d; it must be 0 or from 2 to %d", o->average_checkpoints,
                           ATTEND_MAX_AVERAGED_CHECKPOINTS);
    if (!(o->average >= 0 && o->average < 1) || !(o->bpe_dropout >= 0 && o->bpe_dropout < 1) ||
        !(o->label_smoothing >= 0 && o->label_smoothing < 1) || !(o->crop >= 0 && o->crop < 1))
        return attend_fail(ATTEND_BAD_USAGE, "average, BPE dropout, label smoothing and crop must lie in [0, 1)");
    if (o->crop > 0 && (o->bpe_dropout > 0 || o->config.task == ATTEND_TASK_LANGUAGE_MODEL))
        return attend_fail(ATTEND_BAD_USAGE, o->bpe_dropout > 0
                                                 ? "crop and BPE dropout cannot be combined: use one of them"
                                                 : "crop applies to pairs; a language model is trained on lines");
    if (o->updates == 0 && o->epochs == 0 && (o->valid_count == 0 || o->patience == 0))
        return attend_fail(
            ATTEND_BAD_USAGE,
            "training would never end: give a number of updates or epochs, or validation data and patience");
    return check_guidance(o);
}

/* On a device that threads use in turns, a whole batch is one shard unless memory is short; a pair counts one token more than
 * its sides. */
int attend_training_shard_tokens(const attend_train_options *o)
{
    enum { DEFAULT = 800, MAX = 1 << 30 };
    const device_memory *memory = attend_device_default();
    if (o->shard_tokens > 0 || !memory || !memory->is_serial) return o->shard_tokens > 0 ? o->shard_tokens : DEFAULT;
    const int64_t batch = 3 * (int64_t)o->batch_tokens * o->accumulate;
    return batch < MAX ? (int)batch : MAX;
}

/* The vocabularies are not known yet. */
int attend_training_check_config(training_run *run)
{
    attend_config *config = &run->options.config;
    config->source_vocab = config->target_vocab = ATTEND_FIRST_TOKEN + 1;
    const int status = attend_config_check(config);
    for (int side = 0; status == ATTEND_OK && side < 2; side++) {
        const int max = attend_config_max_tokens(config, side) - 1; /* one position for the end or begin token */
        if (max < run->options.max_length) run->options.max_length = max;
        if (max < INT_MAX - 1 && run->options.bpe_dropout > 0)
            return attend_fail(
                ATTEND_BAD_USAGE,
                "BPE dropout can make a sentence longer than 'max-positions' allows: turn BPE dropout off, or choose "
                "positions or an attention without that limit");
    }
    return status;
}
