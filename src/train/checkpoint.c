/* checkpoint.c: a model file that also holds what training needs to resume.
 *
 *     metadata    training.state.NAME   training_state
 *                 training.option.NAME  options and data that must be the same to resume
 *     tensors     training.first.NAME, training.second.NAME  optimizer moments of a parameter
 *                 training.average.NAME                      its moving average
 *
 * These names are part of the file format; renaming a C field does not change them. */
#include "train/training_run.h"

#include "core/finite.h"
#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include "train/rank_parameters.h"
#include <attend/device.h>
#include <attend/parse.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_ENTRIES = 96, NAME_SIZE = 96, TEXT_SIZE = 600 };

typedef struct metadata_entry {
    char name[NAME_SIZE], text[TEXT_SIZE];
} metadata_entry;

typedef struct metadata_list {
    metadata_entry list[MAX_ENTRIES];
    int count;
} metadata_list;

static void add_text(metadata_list *m, const char *kind, const char *name, const char *text)
{
    if (m->count == MAX_ENTRIES) return;
    metadata_entry *x = &m->list[m->count++];
    snprintf(x->name, sizeof x->name, "training.%s.%s", kind, name);
    snprintf(x->text, sizeof x->text, "%s", text);
}

static void add_number(metadata_list *m, const char *kind, const char *name, double x)
{
    char text[40];
    attend_format_real(text, sizeof text, x, 17);
    add_text(m, kind, name, text);
}

/* ---- the state ---- */

/* The C type of a field, and the numbers that it may have in a file: COUNT: uint64_t, up to INT64_MAX; INT: int, not
 * negative; FINITE: double; FACTOR: double, above 0 and at most 1; BEST: double, not negative, also NaN (not known); SCORE:
 * the same, also infinite; LOSS: double, also NaN and infinite. */
typedef enum state_kind { COUNT, INT, FINITE, FACTOR, BEST, SCORE, LOSS } state_kind;

typedef struct state_field {
    const char *name;
    size_t offset;
    state_kind kind;
} state_field;

/* name: that of the file format, unchanged since version 0.1 */
#define STATE(name, member, kind)                                                                                      \
    {                                                                                                                  \
        name, offsetof(training_state, member), kind                                                                   \
    }
static const state_field state_fields[] = {
    STATE("update", update, COUNT),
    STATE("position.epoch", position.epoch, COUNT),
    STATE("position.pool", position.pool, COUNT),
    STATE("position.batch", position.batch, COUNT),
    STATE("rows", rows, COUNT),
    STATE("loss", loss, FINITE),
    STATE("loss_rows", loss_rows, COUNT),
    STATE("best", best, BEST),
    STATE("best_update", best_update, COUNT),
    STATE("since_best", validations_since_best, INT),
    STATE("since_fall", validations_since_reduction, INT),
    STATE("falls", rate_reductions, INT),
    STATE("bad", skipped_updates, INT),
    STATE("returns", rollbacks, INT),
    STATE("rate_share", rate_factor, FACTOR),
    STATE("baseline", baseline, FINITE),
    STATE("valid_loss", valid_loss, LOSS),
    STATE("valid_score", valid_score, SCORE),
    STATE("journal", log_bytes, COUNT),
};
enum { STATE_FIELDS = sizeof state_fields / sizeof *state_fields };

static void put_state(metadata_list *m, const training_state *s, uint64_t steps)
{
    for (int i = 0; i < STATE_FIELDS; i++) {
        const char *at = (const char *)s + state_fields[i].offset;
        char text[40];
        if (state_fields[i].kind == COUNT)
            snprintf(text, sizeof text, "%llu", (unsigned long long)*(const uint64_t *)at);
        else if (state_fields[i].kind == INT)
            snprintf(text, sizeof text, "%d", *(const int *)at);
        else
            attend_format_real(text, sizeof text, *(const double *)at, 17);
        add_text(m, "state", state_fields[i].name, text);
    }
    char text[40];
    snprintf(text, sizeof text, "%llu", (unsigned long long)steps);
    add_text(m, "state", "steps", text);
}

enum { ID_SIZE = 17 }; /* 16 digits and '\0' */

/* Missing in version 0.1. The model that is replaced is no matter once this training has saved its own. */
static void put_identity(metadata_list *m, const training_run *run)
{
    char text[ID_SIZE];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)run->id);
    if (run->id != 0) add_text(m, "state", "id", text);
    if (!run->has_saved && *run->replaces) add_text(m, "state", "replaces", run->replaces);
}

static int get_entry(const attend_tensor_file *file, const char *path, const char *kind, const char *name,
                     const char **text)
{
    char key[NAME_SIZE];
    snprintf(key, sizeof key, "training.%s.%s", kind, name);
    *text = attend_tensor_file_metadata(file, key);
    if (*text) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s: not a checkpoint, or one of another version: it has no \"%s\"; start over (option 'fresh')",
                       path, key);
}

/* Digits alone: no sign, no white space. */
static bool read_count(const char *text, uint64_t max, uint64_t *count)
{
    return strspn(text, "0123456789") == strlen(text) && attend_parse_unsigned(text, NULL, count) && *count <= max;
}

/* What attend_format_real writes: no hexadecimal number, no white space, no other spelling of infinity. */
static bool read_real(const char *text, double *x)
{
    const char *magnitude = *text == '-' ? text + 1 : text;
    const bool is_special = strcmp(magnitude, "nan") == 0 || strcmp(magnitude, "inf") == 0;
    return (is_special ||
            (*magnitude >= '0' && *magnitude <= '9' && strspn(magnitude, "0123456789.e+-") == strlen(magnitude))) &&
           attend_parse_real(text, NULL, x);
}

static bool read_number(const char *text, state_kind kind, void *to)
{
    uint64_t count;
    double x;
    if (kind == COUNT) return read_count(text, INT64_MAX, to);
    if (kind == INT) {
        if (!read_count(text, INT_MAX, &count)) return false;
        *(int *)to = (int)count;
        return true;
    }
    if (!read_real(text, &x) || (kind == FINITE && !isfinite(x)) || (kind == FACTOR && !(x > 0 && x <= 1)) ||
        ((kind == BEST || kind == SCORE) && x < 0) || (kind == BEST && isinf(x)))
        return false;
    *(double *)to = x;
    return true;
}

static int bad_number(const char *path, const char *kind, const char *name, const char *text)
{
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s: \"training.%s.%s\" is '%.40s', which is not a number that it can have: the checkpoint is "
                       "damaged; start over (option 'fresh')",
                       path, kind, name, text);
}

static int bad_state(const attend_tensor_file *file, const char *path, const char *name)
{
    char key[NAME_SIZE];
    snprintf(key, sizeof key, "training.state.%s", name);
    return bad_number(path, "state", name, attend_tensor_file_metadata(file, key));
}

static int get_state(const attend_tensor_file *file, const char *path, training_state *s)
{
    for (int i = 0; i < STATE_FIELDS; i++) {
        const char *text;
        const int status = get_entry(file, path, "state", state_fields[i].name, &text);
        if (status != ATTEND_OK) return status;
        if (!read_number(text, state_fields[i].kind, (char *)s + state_fields[i].offset))
            return bad_number(path, "state", state_fields[i].name, text);
    }
    const struct {
        const char *name;
        uint64_t value, max;
    } limited[] = { { "best_update", s->best_update, s->update },
                    { "since_best", (uint64_t)s->validations_since_best, s->update },
                    { "since_fall", (uint64_t)s->validations_since_reduction, s->update },
                    { "falls", (uint64_t)s->rate_reductions, s->update },
                    { "loss_rows", s->loss_rows, s->rows } };
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++)
        if (limited[i].value > limited[i].max) return bad_state(file, path, limited[i].name);
    return ATTEND_OK;
}

/* 16 hexadecimal digits, or none. */
static int get_digits(const attend_tensor_file *file, const char *path, const char *name, char digits[ID_SIZE])
{
    char key[NAME_SIZE];
    snprintf(key, sizeof key, "training.state.%s", name);
    const char *text = attend_tensor_file_metadata(file, key);
    *digits = '\0';
    if (!text) return ATTEND_OK;
    if (strlen(text) != ID_SIZE - 1 || strspn(text, "0123456789abcdef") != ID_SIZE - 1)
        return bad_number(path, "state", name, text);
    memcpy(digits, text, ID_SIZE);
    return ATTEND_OK;
}

static int get_id(const attend_tensor_file *file, const char *path, uint64_t *id)
{
    char digits[ID_SIZE];
    const int status = get_digits(file, path, "id", digits);
    *id = status == ATTEND_OK ? strtoull(digits, NULL, 16) : 0;
    return status == ATTEND_OK && *digits && *id == 0 ? bad_number(path, "state", "id", digits) : status;
}

/* The number of steps of the optimizer: skipped updates are not counted. */
static int get_steps(const attend_tensor_file *file, const char *path, uint64_t update, uint64_t *steps)
{
    const char *text;
    const int status = get_entry(file, path, "state", "steps", &text);
    if (status != ATTEND_OK) return status;
    return read_count(text, update, steps) ? ATTEND_OK : bad_number(path, "state", "steps", text);
}

/* The size of shards affects rounding: the checkpoint's is used, whatever options.memory allows now. */
static int get_shard_tokens(const attend_tensor_file *file, const char *path, int *tokens)
{
    uint64_t count;
    const char *text = attend_tensor_file_metadata(file, "training.option.shard-tokens");
    if (!text) return ATTEND_OK;
    if (!read_count(text, INT_MAX, &count) || count == 0) return bad_number(path, "option", "shard-tokens", text);
    *tokens = (int)count;
    return ATTEND_OK;
}

/* ---- options that must stay the same ---- */

static const char device_key[] = "device", cpu_name[] = "cpu";

/* The kind of the device, which decides rounding. */
static const char *device_name(void)
{
    const attend_device_info d = attend_device_describe();
    return d.is_gpu ? d.model : cpu_name;
}

/* Files are compared by content, not by name. The text is part of the file format of version 0.1, which calls tokens
 * "words". */
static void put_data(metadata_list *m, const training_run *run, const char *name, const attend_corpus *c)
{
    char text[120];
    const attend_corpus_counts n = c ? attend_corpus_count(c) : (attend_corpus_counts){ 0 };
    if (attend_training_is_language_model(run))
        snprintf(text, sizeof text, "%llu lines, %llu words, %016llx", (unsigned long long)n.pairs,
                 (unsigned long long)n.target_ids, (unsigned long long)n.fingerprint);
    else
        snprintf(text, sizeof text, "%llu pairs, %llu and %llu words, %016llx", (unsigned long long)n.pairs,
                 (unsigned long long)n.source_ids, (unsigned long long)n.target_ids, (unsigned long long)n.fingerprint);
    add_text(m, "option", name, text);
}

static const char start_key[] = "training.option.init-from";

/* How a run of fine-tuning began; NULL: it is none. The model that it began with may change meanwhile. */
static const char *start_of(const attend_train_options *o)
{
    return !o->init_from ? NULL : o->new_vocab ? "new vocabularies" : "its vocabularies";
}

/* Without effect if the vocabularies are those of another model. */
static void put_tokens(metadata_list *m, const attend_train_options *o)
{
    static const char *const token_names[2] = { "source-tokens", "target-tokens" }, *const size_names[2] = {
        "source-vocab-size", "target-vocab-size"
    };
    for (int side = 0; side < 2; side++) {
        add_text(m, "option", token_names[side], attend_token_kind_name(o->tokens[side].kind));
        add_number(m, "option", size_names[side], o->tokens[side].vocab_size);
    }
    add_number(m, "option", "min-count", o->tokens[0].min_count);
    add_text(m, "option", "bpe-split", o->tokens[0].split_classes ? "classes" : "spaces");
    add_text(m, "option", "lowercase",
             !o->tokens[ATTEND_SOURCE].lowercase   ? "none"
             : !o->tokens[ATTEND_TARGET].lowercase ? "source"
                                                   : "both");
}

/* The fraction of pairs that is held out, with few digits. */
static const char *held_out_text(const attend_train_options *o, char text[40])
{
    attend_format_real(text, 40, o->train[0].part == ATTEND_PART_TRAINING ? o->train[0].held_out : 0, 6);
    return text;
}

static const char held_out_key[] = "training.option.held-out", max_held_out_key[] = "training.option.max-held-out";

/* A file is compared by its links. */
static void put_guidance(metadata_list *m, const training_run *run)
{
    const attend_train_options *o = &run->options;
    char text[40] = "none";
    if (run->links)
        snprintf(text, sizeof text, "links %016llx",
                 (unsigned long long)attend_guided_links_count(run->links).fingerprint);
    add_text(m, "option", "guided-alignment", text);
    if (run->links) add_number(m, "option", "guidance", o->guidance);
}

/* Options on which the weights of every update depend. */
static void put_options_of_weights(metadata_list *m, const training_run *run)
{
    const attend_train_options *o = &run->options;
    char held_out[40];
    add_text(m, "option", "held-out", held_out_text(o, held_out));
    add_number(m, "option", "max-held-out",
               o->train[0].part == ATTEND_PART_TRAINING ? (double)o->train[0].max_held_out : 0);
    if (o->basis) add_text(m, "option", "data", o->basis);
    put_data(m, run, "training data", run->train);
    put_data(m, run, "validation data", run->valid);
    if (start_of(o)) add_text(m, "option", "init-from", start_of(o));
    if (!o->init_from || o->new_vocab) put_tokens(m, o);
    add_number(m, "option", "bpe-dropout", o->bpe_dropout);
    add_number(m, "option", "crop", o->crop);
    put_guidance(m, run);
    add_number(m, "option", "max-length", o->max_length);
    add_text(m, "option", "compute", attend_compute_names[o->compute]);
    add_text(m, "option", "optimizer", attend_optimizer_names[o->optimizer.kind]);
    add_number(m, "option", "momentum", o->optimizer.momentum);
    add_number(m, "option", "weight-decay", o->optimizer.weight_decay);
    add_text(m, "option", "schedule", attend_schedule_names[o->schedule.kind]);
    add_number(m, "option", "learning-rate", o->schedule.rate);
    add_number(m, "option", "warmup", (double)o->schedule.warmup);
    if (o->schedule.kind == ATTEND_SCHEDULE_COSINE) /* every rate depends on the last update */
        add_number(m, "option", "updates", (double)o->schedule.updates);
    add_number(m, "option", "clip", o->clip);
    add_number(m, "option", "label-smoothing", o->label_smoothing);
    add_number(m, "option", "average", o->average);
    add_number(m, "option", "accumulate", o->accumulate);
    add_number(m, "option", "batch-tokens", o->batch_tokens);
    add_number(m, "option", "shard-tokens", o->shard_tokens);
    add_number(m, "option", "seed", (double)o->seed);
    add_text(m, "option", "valid-metric", attend_valid_metric_names[o->valid_metric]);
}

/* The interval follows from the number of updates, which may change. */
static void put_options(metadata_list *m, const training_run *run)
{
    put_options_of_weights(m, run);
    add_number(m, "option", "valid-every", (double)run->intervals.valid_every);
}

int attend_checkpoint_hash_options(const training_run *run, uint64_t *hash)
{
    metadata_list *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory to compare options");
    put_options(m, run);
    /* these are not part of checkpoints, but decide which exchanges there are */
    add_number(m, "rank", "updates", (double)run->options.updates);
    add_number(m, "rank", "epochs", (double)run->options.epochs);
    add_number(m, "rank", "patience", run->options.patience);
    add_number(m, "rank", "save-every", (double)run->options.save_every);
    *hash = XXH3_64bits(m->list, (size_t)m->count * sizeof *m->list);
    attend_memory_free(m);
    return ATTEND_OK;
}

int attend_checkpoint_identify(training_run *run)
{
    metadata_list *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory to begin a log");
    put_options_of_weights(m, run);
    for (int i = 0; attend_config_field_at(i); i++) {
        char text[64];
        const char *name = attend_config_field_at(i)->name;
        if (attend_config_get(&run->model->config, name, text, sizeof text) == ATTEND_OK)
            add_text(m, "config", name, text);
    }
    run->id = XXH3_64bits(m->list, (size_t)m->count * sizeof *m->list);
    for (int i = 0; i < attend_params_count(run->model->params); i++) {
        const attend_param *p = attend_params_at(run->model->params, i);
        const real *value = attend_param_value(p);
        if (!value) {
            attend_memory_free(m);
            return attend_param_unreadable(p);
        }
        run->id = XXH3_64bits_withSeed(value, p->size * sizeof(real), run->id);
    }
    attend_memory_free(m);
    return ATTEND_OK;
}

static int same_option(const char *path, const char *name, const char *then, const char *now)
{
    if (!then || strcmp(then, now) == 0) return ATTEND_OK; /* NULL: an older version, which did not have this option */
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s was made with %s '%.80s', and now it is '%.80s': use the same value to resume, choose "
                       "another model path, or start over (option 'fresh')",
                       path, name, then, now);
}

/* Compares the configuration with that of the checkpoint field by field, except for the vocabulary sizes, which follow
 * from the data. */
static int same_config(const char *path, const attend_config *now, const attend_config *then)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        char a[64], b[64];
        if (strcmp(name, "source-vocab") == 0 || strcmp(name, "target-vocab") == 0) continue;
        if (attend_config_get(now, name, a, sizeof a) == ATTEND_OK &&
            attend_config_get(then, name, b, sizeof b) == ATTEND_OK)
            status = same_option(path, name, b, a);
    }
    return status;
}

/* A run that began with the weights of a model must not be taken for one that began at random, nor the other way
 * round. */
static int same_start(const attend_tensor_file *file, const char *path, const attend_train_options *o)
{
    const char *const now = start_of(o), *const then = attend_tensor_file_metadata(file, start_key);
    if (!then != !now)
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s was %s with the weights of another model (init-from): use the same options to resume, "
                           "choose another model path, or start over (option 'fresh')",
                           path, then ? "begun" : "not begun");
    return then ? same_option(path, "init-from", then, now) : ATTEND_OK;
}

/* Some options may have been chosen from the size of the data. The data is compared first, because otherwise the
 * message would name an option that the user did not set. */
static int same_basis(const attend_tensor_file *file, const char *path, const attend_train_options *o)
{
    if (!o->basis) return ATTEND_OK;
    return same_option(path, "data", attend_tensor_file_metadata(file, "training.option.data"), o->basis);
}

/* Compared before the data, which depends on it. */
static int same_held_out(const attend_tensor_file *file, const char *path, const attend_train_options *o)
{
    char now[40];
    return same_option(path, "held-out", attend_tensor_file_metadata(file, held_out_key), held_out_text(o, now));
}

/* A checkpoint of another kind of device has other roundings, so that training resumes with the shards and the precision that
 * are right for this device. */
static bool is_other_device(const attend_tensor_file *file)
{
    const char *then = attend_tensor_file_metadata(file, "training.option.device");
    return strcmp(then ? then : cpu_name, device_name()) != 0;
}

/* An earlier version, which did not write it, had products in fp32 only. */
static int same_compute(const attend_tensor_file *file, const char *path, const attend_train_options *o)
{
    if (is_other_device(file)) return ATTEND_OK;
    const char *then = attend_tensor_file_metadata(file, "training.option.compute");
    return same_option(path, "compute", then ? then : attend_compute_names[ATTEND_COMPUTE_FP32],
                       attend_compute_names[o->compute]);
}

static int same_options(const attend_tensor_file *file, const char *path, const training_run *run)
{
    metadata_list *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory to resume from %s", path);
    put_options(m, run);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < m->count; i++) {
        const char *then = attend_tensor_file_metadata(file, m->list[i].name),
                   *name = strrchr(m->list[i].name, '.') + 1;
        if (then && strcmp(name, "valid-metric") == 0 && strcmp(then, "word-error") == 0) then = "wer"; /* until 0.1 */
        if (!then && strcmp(name, "lowercase") == 0) then = "none"; /* an earlier version did not have it */
        if (!then && strcmp(name, "guided-alignment") == 0) then = "none";
        if (!then && strcmp(name, "crop") == 0) then = "0";
        if (is_other_device(file) && (strcmp(name, "compute") == 0 || strcmp(name, "shard-tokens") == 0)) continue;
        status = same_option(path, name, then, m->list[i].text);
    }
    attend_memory_free(m);
    return status;
}

/* ---- optimizer moments and averaged weights ---- */

/* which: 0 and 1, the optimizer's moments; 2, the moving average. NULL: the run does not have it. */
static number_array *array_of(const training_run *run, int parameter, int which)
{
    if (which < 2) return attend_optimizer_array(run->optimizer, parameter, which);
    return run->average.values ? &run->average.values[parameter] : NULL;
}

static void set_array(training_run *run, int parameter, int which, const real *values)
{
    if (which < 2)
        attend_optimizer_set_moment(run->optimizer, parameter, which, values);
    else
        attend_number_array_write(&run->average.values[parameter], values);
}

enum { FIRST, SECOND, AVERAGE, ARRAY_KINDS };
static const char *const array_kinds[ARRAY_KINDS] = { "first", "second", "average" };

static void array_name(char name[NAME_SIZE], int which, const attend_param *p)
{
    snprintf(name, NAME_SIZE, "training.%s.%s", array_kinds[which], attend_param_name(p));
}

typedef struct arrays {
    attend_tensor *tensors;
    char (*names)[NAME_SIZE];
    real **collected; /* (count) of several ranks: what was collected from them */
    size_t count;
} arrays;

static void arrays_free(arrays *a)
{
    for (size_t i = 0; a->collected && i < a->count; i++) attend_memory_free(a->collected[i]);
    attend_memory_free(a->collected);
    attend_memory_free(a->tensors);
    attend_memory_free(a->names);
}

/* The numbers of an array: this process has them, or rank 0 collects them from all ranks. */
static int collect(const training_run *run, int parameter, int which, real **collected, const real **data)
{
    number_array *own = array_of(run, parameter, which);
    *data = NULL;
    if (!own) return ATTEND_OK;
    if (!attend_ranks_are_several(run->options.ranks)) {
        *data = attend_number_array_read(own);
        if (*data) return ATTEND_OK;
        return attend_device_memory_check(own->memory) == ATTEND_OK ? ATTEND_NO_MEMORY : ATTEND_FAILED;
    }
    const int status = attend_rank_array_gather(run->team, parameter, own, collected);
    *data = *collected;
    return status;
}

static int arrays_new(const training_run *run, arrays *a)
{
    const size_t max = ARRAY_KINDS * (size_t)attend_params_count(run->model->params);
    a->count = 0;
    a->tensors = attend_memory_zeroed(max, sizeof *a->tensors);
    a->names = attend_memory_zeroed(max, sizeof *a->names);
    a->collected = attend_memory_zeroed(max, sizeof *a->collected);
    int status = ATTEND_OK;
    if (!a->tensors || !a->names || !a->collected)
        return attend_fail(ATTEND_NO_MEMORY, "no memory to save a checkpoint");
    for (int which = 0; which < ARRAY_KINDS; which++)
        for (int i = 0; status == ATTEND_OK && i < attend_params_count(run->model->params); i++) {
            const attend_param *p = attend_params_at(run->model->params, i);
            const real *data;
            status = collect(run, i, which, &a->collected[a->count], &data);
            if (!data) continue;
            array_name(a->names[a->count], which, p);
            attend_tensor x = { .name = a->names[a->count],
                                .dtype = sizeof(real) == 4 ? ATTEND_F32 : ATTEND_F64,
                                .rank = p->rank,
                                .bytes = p->size * sizeof(real),
                                .data = data };
            for (int axis = 0; axis < p->rank; axis++) x.shape[axis] = p->shape[axis];
            a->tensors[a->count++] = x;
        }
    return status;
}

/* ---- saving ---- */

int attend_checkpoint_save(training_run *run)
{
    metadata_list *m = attend_memory_zeroed(1, sizeof *m);
    attend_metadata metadata[MAX_ENTRIES];
    arrays a = { .count = 0 };
    int status = attend_training_log_flush(&run->log);
    run->state.log_bytes = run->log.bytes;
    if (status == ATTEND_OK && !m) status = attend_fail(ATTEND_NO_MEMORY, "no memory to save a checkpoint");
    if (status == ATTEND_OK) status = arrays_new(run, &a);
    if (status == ATTEND_OK && attend_training_writes(run)) {
        put_state(m, &run->state, attend_optimizer_steps(run->optimizer));
        put_identity(m, run);
        put_options(m, run);
        add_text(m, "option", device_key, device_name());
        for (int i = 0; i < m->count; i++) metadata[i] = (attend_metadata){ m->list[i].name, m->list[i].text };
        status = attend_model_save_with(run->model, attend_training_path(run, ".checkpoint"), a.tensors, a.count,
                                        metadata, (size_t)m->count);
    }
    arrays_free(&a);
    attend_memory_free(m);
    return status;
}

/* ---- resuming ---- */

/* The checkpoint is opened once and copied to memory, so that weights, state and moments are of the same checkpoint
 * even if another process replaces the file meanwhile. */
static int open_checkpoint(training_run *run, attend_model **model)
{
    const char *path = attend_training_path(run, ".checkpoint");
    attend_tensor_file_close(run->checkpoint);
    run->checkpoint = NULL;
    int status = attend_tensor_file_open(&run->checkpoint, path, ATTEND_TENSOR_HEADER_ONLY);
    if (status == ATTEND_OK) status = attend_model_from_file(model, run->checkpoint, path, NULL, true);
    if (status == ATTEND_IO) /* starting over would overwrite it */
        status = attend_fail(status, "%s; fix that to resume, or start over (option 'fresh')", attend_message());
    for (int i = 0; status == ATTEND_OK && i < attend_params_count((*model)->params); i++)
        if (attend_params_at((*model)->params, i)->precision != ATTEND_FP32)
            status = attend_fail(ATTEND_BAD_MODEL,
                                 "%s is quantised, so that training cannot resume from it: start over (option 'fresh')",
                                 path);
    return status;
}

/* The interval may depend on a number of updates that is another one now. */
static int get_valid_every(const attend_tensor_file *file, const char *path, uint64_t *updates)
{
    const char *text = attend_tensor_file_metadata(file, "training.option.valid-every");
    if (!text) return ATTEND_OK;
    return read_count(text, INT64_MAX, updates) && *updates > 0 ? ATTEND_OK
                                                                : bad_number(path, "option", "valid-every", text);
}

/* The number of updates for which the learning rates were planned. */
static int get_scheduled(const attend_tensor_file *file, const char *path, uint64_t *updates)
{
    const char *text = attend_tensor_file_metadata(file, "training.option.updates");
    if (!text) return ATTEND_OK;
    return read_count(text, INT64_MAX, updates) ? ATTEND_OK : bad_number(path, "option", "updates", text);
}

static int load_state(training_run *run)
{
    const char *path = attend_training_path(run, ".checkpoint");
    int status = get_state(run->checkpoint, path, &run->state);
    if (status == ATTEND_OK && run->intervals.valid_every == 0) /* else a rollback */
        status = get_valid_every(run->checkpoint, path, &run->intervals.valid_every);
    if (status == ATTEND_OK) status = get_scheduled(run->checkpoint, path, &run->intervals.scheduled);
    if (status == ATTEND_OK) status = get_id(run->checkpoint, path, &run->id);
    if (status == ATTEND_OK) status = get_digits(run->checkpoint, path, "replaces", run->replaces);
    if (status != ATTEND_OK || is_other_device(run->checkpoint)) return status;
    return get_shard_tokens(run->checkpoint, path, &run->options.shard_tokens);
}

int attend_checkpoint_load(training_run *run, bool *found)
{
    const char *path = attend_training_path(run, ".checkpoint");
    *found = false;
    if (access(path, F_OK) != 0 && errno == ENOENT) return ATTEND_OK;
    int status = open_checkpoint(run, &run->model);
    run->changes_device = status == ATTEND_OK && is_other_device(run->checkpoint);
    if (status == ATTEND_OK) status = same_start(run->checkpoint, path, &run->options);
    if (status == ATTEND_OK) status = same_held_out(run->checkpoint, path, &run->options);
    if (status == ATTEND_OK) status = same_compute(run->checkpoint, path, &run->options);
    if (status == ATTEND_OK) status = same_basis(run->checkpoint, path, &run->options);
    if (status == ATTEND_OK) status = same_config(path, &run->options.config, &run->model->config);
    if (status == ATTEND_OK) status = attend_training_read_tokenizers(run, run->model);
    if (status == ATTEND_OK) status = load_state(run);
    /* without validation data, MODEL is saved before every checkpoint but the first */
    run->has_saved =
        status == ATTEND_OK && (run->options.valid_count > 0 ? !isnan(run->state.best) : run->state.update > 0);
    *found = status == ATTEND_OK;
    return status;
}

static int load_array(training_run *run, const char *path, int parameter, int which)
{
    const attend_param *p = attend_params_at(run->model->params, parameter);
    const attend_tensor *x;
    char name[NAME_SIZE];
    if (!array_of(run, parameter, which)) return ATTEND_OK;
    array_name(name, which, p);
    x = attend_tensor_file_find(run->checkpoint, name);
    bool fits = x && x->dtype == (sizeof(real) == 4 ? ATTEND_F32 : ATTEND_F64) && x->rank == p->rank;
    for (int axis = 0; fits && axis < p->rank; axis++) fits = x->shape[axis] == p->shape[axis];
    if (!fits)
        return attend_fail(ATTEND_BAD_MODEL,
                           "%s: '%s' is missing or has another type or shape; start over (option "
                           "'fresh')",
                           path, name);
    real *numbers = attend_memory_aligned(x->bytes); /* those of the file may not be aligned */
    if (!numbers) return attend_fail(ATTEND_NO_MEMORY, "no memory to resume from %s", path);
    memcpy(numbers, x->data, x->bytes);
    /* a second moment is a mean of squares, which may be infinite */
    bool is_valid = which == SECOND || attend_all_finite(p->size, numbers);
    for (size_t i = 0; which == SECOND && is_valid && i < p->size; i++) is_valid = numbers[i] >= 0;
    if (is_valid) set_array(run, parameter, which, numbers);
    attend_memory_free(numbers);
    if (is_valid) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s: '%s' has %s values: the checkpoint is damaged; start over (option 'fresh')", path, name,
                       which == SECOND ? "negative" : "non-finite");
}

/* The position must exist in the data, which is that of the checkpoint. */
static int check_position(const training_run *run, const char *path)
{
    static const char *const names[] = { "position.epoch", "position.pool", "position.batch" };
    int part = 0;
    const int status = attend_batches_check(run->batches, &run->state.position, &part);
    return status == ATTEND_BAD_USAGE ? bad_state(run->checkpoint, path, names[part]) : status;
}

int attend_checkpoint_load_optimizer(training_run *run)
{
    const char *path = attend_training_path(run, ".checkpoint");
    uint64_t steps = 0;
    int status = same_options(run->checkpoint, path, run);
    if (status == ATTEND_OK) status = get_steps(run->checkpoint, path, run->state.update, &steps);
    if (status == ATTEND_OK) attend_optimizer_set_steps(run->optimizer, steps);
    for (int which = 0; which < ARRAY_KINDS; which++)
        for (int i = 0; status == ATTEND_OK && i < attend_params_count(run->model->params); i++)
            status = load_array(run, path, i, which);
    if (status == ATTEND_OK) status = check_position(run, path);
    attend_tensor_file_close(run->checkpoint);
    run->checkpoint = NULL;
    return status;
}

int attend_checkpoint_reload(training_run *run)
{
    attend_model *saved = NULL;
    const char *path = attend_training_path(run, ".checkpoint");
    const attend_config *config = &run->model->config;
    /* makes room for the checkpoint: the packed copies of the old weights are not needed any more */
    for (int i = 0; i < attend_params_count(run->model->params); i++)
        attend_param_drop_copies(attend_params_at(run->model->params, i));
    int status = open_checkpoint(run, &saved);
    /* The file may have been replaced: weights are copied only if they have the same shapes. */
    if (status == ATTEND_OK) status = same_config(path, config, &saved->config);
    if (status == ATTEND_OK &&
        (saved->config.source_vocab != config->source_vocab || saved->config.target_vocab != config->target_vocab))
        status = attend_fail(ATTEND_BAD_MODEL, "%s was replaced by a checkpoint with other vocabularies", path);
    if (status == ATTEND_OK) status = load_state(run);
    if (status == ATTEND_OK) attend_training_copy_weights(run, saved);
    attend_model_free(saved);
    return status == ATTEND_OK ? attend_checkpoint_load_optimizer(run) : status;
}

int attend_is_checkpoint(const char *path, bool *is_checkpoint)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && is_checkpoint);
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    const char *format = status == ATTEND_OK ? attend_tensor_file_metadata(file, "format") : NULL;
    if (status == ATTEND_OK && (!format || strcmp(format, "attend-model") != 0))
        status = attend_fail(ATTEND_BAD_MODEL, "%s is not a model", path);
    *is_checkpoint = status == ATTEND_OK && attend_tensor_file_metadata(file, "training.state.update") != NULL;
    attend_tensor_file_close(file);
    return status;
}

int attend_checkpoint_option(const char *path, const char *name, char *text, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && name && text && size > 0);
    attend_tensor_file *file = NULL;
    const int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    const int field = attend_config_field_find(name);
    char key[NAME_SIZE];
    snprintf(key, sizeof key, field >= 0 ? "config.%s" : "training.option.%s",
             field >= 0 ? attend_config_field_at(field)->key : name);
    const char *value = status == ATTEND_OK ? attend_tensor_file_metadata(file, key) : NULL;
    snprintf(text, size, "%s", value && strlen(value) < size ? value : "");
    attend_tensor_file_close(file);
    return status;
}

int attend_checkpoint_held_out(const char *path, double *fraction, uint64_t *max_pairs)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && fraction && max_pairs);
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    const char *share = status == ATTEND_OK ? attend_tensor_file_metadata(file, held_out_key) : NULL;
    const char *max = status == ATTEND_OK ? attend_tensor_file_metadata(file, max_held_out_key) : NULL;
    *fraction = 0, *max_pairs = 0;
    if (share && (!attend_parse_real(share, NULL, fraction) || !(*fraction >= 0 && *fraction < 1)))
        status = bad_number(path, "option", "held-out", share);
    if (max && !read_count(max, UINT64_MAX, max_pairs)) status = bad_number(path, "option", "max-held-out", max);
    if (status != ATTEND_OK) *fraction = 0;
    attend_tensor_file_close(file);
    return status;
}
