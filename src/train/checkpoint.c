/* checkpoint.c: a model file that also holds what training needs to resume.
 *
 *     metadata    training.state.NAME   training_state
 *                 training.option.NAME  options and data that must be the same to resume
 *     tensors     training.first.NAME, training.second.NAME  optimizer moments of a parameter
 *                 training.average.NAME                      its moving average
 *
 * These names are part of the file format: they stay as they are when a C field is renamed. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include <attend/parse.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef enum state_kind { COUNT, NUMBER, INT } state_kind; /* uint64_t, double, int */

typedef struct state_field {
    const char *name;
    size_t offset;
    state_kind kind;
} state_field;

/* name: in the file, as version 0.1 has it */
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
    STATE("loss", loss, NUMBER),
    STATE("loss_rows", loss_rows, COUNT),
    STATE("best", best, NUMBER),
    STATE("best_update", best_update, COUNT),
    STATE("since_best", validations_since_best, INT),
    STATE("since_fall", validations_since_reduction, INT),
    STATE("falls", rate_reductions, INT),
    STATE("bad", skipped_updates, INT),
    STATE("returns", rollbacks, INT),
    STATE("rate_share", rate_factor, NUMBER),
    STATE("baseline", baseline, NUMBER),
    STATE("valid_loss", valid_loss, NUMBER),
    STATE("valid_score", valid_score, NUMBER),
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

static bool read_number(const char *text, state_kind kind, void *to)
{
    if (kind == COUNT) return attend_parse_unsigned(text, NULL, to);
    if (kind != INT) return attend_parse_real(text, NULL, to);
    long long x;
    if (!attend_parse_integer(text, NULL, &x) || x < INT_MIN || x > INT_MAX) return false;
    *(int *)to = (int)x;
    return true;
}

static int get_state(const attend_tensor_file *file, const char *path, training_state *s)
{
    for (int i = 0; i < STATE_FIELDS; i++) {
        const char *text;
        int status = get_entry(file, path, "state", state_fields[i].name, &text);
        if (status != ATTEND_OK) return status;
        if (!read_number(text, state_fields[i].kind, (char *)s + state_fields[i].offset))
            return attend_fail(ATTEND_BAD_MODEL, "%s: \"training.state.%s\" is '%.40s', which is not a number", path,
                               state_fields[i].name, text);
    }
    return ATTEND_OK;
}

/* ---- options that must stay the same ---- */

/* The content of files must be the same; their names need not be. The text is part of the file format: "words" are
 * tokens. */
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

static void put_options(metadata_list *m, const training_run *run)
{
    const attend_train_options *o = &run->options;
    if (o->basis) add_text(m, "option", "data", o->basis);
    put_data(m, run, "training data", run->train);
    put_data(m, run, "validation data", run->valid);
    static const char *const token_names[2] = { "source-tokens", "target-tokens" }, *const size_names[2] = {
        "source-vocab-size", "target-vocab-size"
    };
    for (int side = 0; side < 2; side++) {
        add_text(m, "option", token_names[side], attend_token_kind_name(o->tokens[side].kind));
        add_number(m, "option", size_names[side], o->tokens[side].vocab_size);
    }
    add_number(m, "option", "min-count", o->tokens[0].min_count);
    add_number(m, "option", "bpe-dropout", o->bpe_dropout);
    add_number(m, "option", "max-length", o->max_length);
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
    add_number(m, "option", "valid-every", (double)run->intervals.valid_every);
}

static int same_option(const char *path, const char *name, const char *then, const char *now)
{
    if (!then || strcmp(then, now) == 0) return ATTEND_OK; /* NULL: written by a version without this option */
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s was made with %s '%.80s', and now it is '%.80s': use the same value to resume, choose "
                       "another model path, or start over (option 'fresh')",
                       path, name, then, now);
}

/* Compares the configuration of the checkpoint, which has been read already, field by field. */
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

/* Options may have been chosen by the data. So the data is compared first: otherwise the message would name an option
 * that the user did not set. */
static int same_basis(const char *path, const attend_train_options *o)
{
    attend_tensor_file *file = NULL;
    if (!o->basis) return ATTEND_OK;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK)
        status = same_option(path, "data", attend_tensor_file_metadata(file, "training.option.data"), o->basis);
    attend_tensor_file_close(file);
    return status;
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
        status = same_option(path, name, then, m->list[i].text);
    }
    attend_memory_free(m);
    return status;
}

/* ---- arrays ---- */

static real *array_of(const training_run *run, int parameter, int which)
{
    if (which < 2) return attend_optimizer_moment(run->optimizer, parameter, which);
    return run->average.values ? run->average.values[parameter] : NULL;
}

static const char *const array_kinds[3] = { "first", "second", "average" };

static void array_name(char name[NAME_SIZE], int which, const attend_param *p)
{
    snprintf(name, NAME_SIZE, "training.%s.%s", array_kinds[which], attend_param_name(p));
}

typedef struct arrays {
    attend_tensor *tensors;
    char (*names)[NAME_SIZE];
    size_t count;
} arrays;

static bool arrays_new(const training_run *run, arrays *a)
{
    const size_t max = 3 * (size_t)attend_params_count(run->model->params);
    a->count = 0;
    a->tensors = attend_memory_zeroed(max, sizeof *a->tensors);
    a->names = attend_memory_zeroed(max, sizeof *a->names);
    if (!a->tensors || !a->names) return false;
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < attend_params_count(run->model->params); i++) {
            const attend_param *p = attend_params_at(run->model->params, i);
            const real *data = array_of(run, i, which);
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
    return true;
}

/* ---- saving ---- */

int attend_checkpoint_save(training_run *run)
{
    metadata_list *m = attend_memory_zeroed(1, sizeof *m);
    attend_metadata metadata[MAX_ENTRIES];
    arrays a = { NULL, NULL, 0 };
    int status = attend_training_log_flush(&run->log);
    run->state.log_bytes = run->log.bytes;
    if (status == ATTEND_OK && (!m || !arrays_new(run, &a)))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to save a checkpoint");
    if (status == ATTEND_OK) {
        put_state(m, &run->state, attend_optimizer_steps(run->optimizer));
        put_options(m, run);
        for (int i = 0; i < m->count; i++) metadata[i] = (attend_metadata){ m->list[i].name, m->list[i].text };
        status = attend_model_save_with(run->model, attend_training_path(run, ".checkpoint"), a.tensors, a.count,
                                        metadata, (size_t)m->count);
    }
    attend_memory_free(a.tensors);
    attend_memory_free(a.names);
    attend_memory_free(m);
    return status;
}

/* ---- resuming ---- */

int attend_checkpoint_load(training_run *run, bool *found)
{
    const char *path = attend_training_path(run, ".checkpoint");
    *found = false;
    FILE *existing = fopen(path, "rb");
    if (!existing && errno == ENOENT) return ATTEND_OK;
    if (!existing) /* starting over would overwrite it */
        return attend_fail(ATTEND_IO, "cannot read %s: %s; fix that to resume, or start over (option 'fresh')", path,
                           attend_errno_text(errno));
    fclose(existing);
    int status = attend_model_load(&run->model, path, NULL);
    if (status == ATTEND_OK) status = same_basis(path, &run->options);
    if (status == ATTEND_OK) status = same_config(path, &run->options.config, &run->model->config);
    if (status == ATTEND_OK)
        status = attend_tokenizer_from_model(&run->tokenizers[0], run->model,
                                             attend_training_is_language_model(run) ? "target" : "source");
    if (status == ATTEND_OK && run->options.config.shared_vocab)
        run->tokenizers[1] = run->tokenizers[0];
    else if (status == ATTEND_OK)
        status = attend_tokenizer_from_model(&run->tokenizers[1], run->model, "target");
    if (status == ATTEND_OK) status = attend_checkpoint_load_state(run);
    *found = status == ATTEND_OK;
    return status;
}

int attend_checkpoint_load_state(training_run *run)
{
    const char *path = attend_training_path(run, ".checkpoint");
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK) status = get_state(file, path, &run->state);
    /* the size of shards changes rounding: it stays as it was, whatever memory is allowed now */
    const char *shard = status == ATTEND_OK ? attend_tensor_file_metadata(file, "training.option.shard-tokens") : NULL;
    long long tokens;
    if (shard && attend_parse_integer(shard, NULL, &tokens) && tokens > 0 && tokens < 1 << 30)
        run->options.shard_tokens = (int)tokens;
    attend_tensor_file_close(file);
    return status;
}

int attend_checkpoint_load_optimizer(training_run *run)
{
    const char *path = attend_training_path(run, ".checkpoint"), *text;
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK) status = same_options(file, path, run);
    if (status == ATTEND_OK) status = get_entry(file, path, "state", "steps", &text);
    uint64_t steps = 0;
    if (status == ATTEND_OK && !attend_parse_unsigned(text, NULL, &steps))
        status =
            attend_fail(ATTEND_BAD_MODEL, "%s: \"training.state.steps\" is '%.40s', which is not a number", path, text);
    if (status == ATTEND_OK) attend_optimizer_set_steps(run->optimizer, steps);
    for (int which = 0; status == ATTEND_OK && which < 3; which++)
        for (int i = 0; status == ATTEND_OK && i < attend_params_count(run->model->params); i++) {
            const attend_param *p = attend_params_at(run->model->params, i);
            real *to = array_of(run, i, which);
            char name[NAME_SIZE];
            if (!to) continue;
            array_name(name, which, p);
            const attend_tensor *x = attend_tensor_file_find(file, name);
            if (!x || x->bytes != p->size * sizeof(real))
                status =
                    attend_fail(ATTEND_BAD_MODEL,
                                "%s: '%s' is missing or has another size; start over (option 'fresh')", path, name);
            else
                memcpy(to, x->data, x->bytes);
        }
    attend_tensor_file_close(file);
    return status;
}

int attend_is_checkpoint(const char *path, bool *is_checkpoint)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, path && is_checkpoint);
    attend_tensor_file *file = NULL;
    const int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    *is_checkpoint = status == ATTEND_OK && attend_tensor_file_metadata(file, "training.state.update") != NULL;
    attend_tensor_file_close(file);
    return status;
}
