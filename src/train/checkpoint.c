/* checkpoint.c: a model file that also holds what training needs to go on.
 *
 *     metadata    training.state.NAME   the numbers of train_state;  training.option.NAME  what must be the same to go on
 *     tensors     training.first.NAME, training.second.NAME  what the optimizer remembers of a parameter;  training.average.NAME */
#include "train/trainer.h"

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
enum { MOST_FACTS = 96, NAME_SIZE = 96, TEXT_SIZE = 600 };

typedef struct fact {
    char name[NAME_SIZE], text[TEXT_SIZE];
} fact;

typedef struct facts {
    fact list[MOST_FACTS];
    int count;
} facts;

static void add_text(facts *f, const char *kind, const char *name, const char *text)
{
    if (f->count == MOST_FACTS) return;
    fact *x = &f->list[f->count++];
    snprintf(x->name, sizeof x->name, "training.%s.%s", kind, name);
    snprintf(x->text, sizeof x->text, "%s", text);
}

static void add_number(facts *f, const char *kind, const char *name, double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", x);
    add_text(f, kind, name, text);
}

/* ---- the state ---- */

typedef struct state_field {
    const char *name;
    size_t offset;
    enum { COUNT, NUMBER, INT } kind;
} state_field;

#define STATE(member, kind)                                                                                            \
    {                                                                                                                  \
#member, offsetof(train_state, member), kind                                                                   \
    }
static const state_field state_fields[] = {
    STATE(update, COUNT),      STATE(position.epoch, COUNT), STATE(position.pool, COUNT), STATE(position.batch, COUNT),
    STATE(rows, COUNT),        STATE(loss, NUMBER),          STATE(loss_rows, COUNT),     STATE(best, NUMBER),
    STATE(best_update, COUNT), STATE(since_best, INT),       STATE(since_fall, INT),      STATE(falls, INT),
    STATE(bad, INT),           STATE(returns, INT),          STATE(rate_share, NUMBER),   STATE(baseline, NUMBER),
    STATE(valid_loss, NUMBER), STATE(valid_score, NUMBER),   STATE(journal, COUNT),
};
enum { STATE_FIELDS = sizeof state_fields / sizeof *state_fields };

static void put_state(facts *f, const train_state *s, uint64_t steps)
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
        add_text(f, "state", state_fields[i].name, text);
    }
    char text[40];
    snprintf(text, sizeof text, "%llu", (unsigned long long)steps);
    add_text(f, "state", "steps", text);
}

static int get_fact(const attend_tensor_file *file, const char *path, const char *kind, const char *name,
                    const char **text)
{
    char key[NAME_SIZE];
    snprintf(key, sizeof key, "training.%s.%s", kind, name);
    *text = attend_tensor_file_metadata(file, key);
    if (*text) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_MODEL,
                       "%s: not a checkpoint, or one of another version: it has no \"%s\"; begin anew with --fresh",
                       path, key);
}

static bool read_number(const char *text, int kind, void *to)
{
    if (kind == COUNT) return attend_parse_unsigned(text, NULL, to);
    if (kind != INT) return attend_parse_real(text, NULL, to);
    long long x;
    if (!attend_parse_integer(text, NULL, &x) || x < INT_MIN || x > INT_MAX) return false;
    *(int *)to = (int)x;
    return true;
}

static int get_state(const attend_tensor_file *file, const char *path, train_state *s)
{
    for (int i = 0; i < STATE_FIELDS; i++) {
        const char *text;
        int status = get_fact(file, path, "state", state_fields[i].name, &text);
        if (status != ATTEND_OK) return status;
        if (!read_number(text, state_fields[i].kind, (char *)s + state_fields[i].offset))
            return attend_fail(ATTEND_BAD_MODEL, "%s: \"training.state.%s\" is '%.40s', which is not a number", path,
                               state_fields[i].name, text);
    }
    return ATTEND_OK;
}

/* ---- options that must stay the same ---- */

/* What the files are called does not matter, what is in them does. */
static void put_data(facts *f, const trainer *t, const char *name, const attend_corpus *c)
{
    char text[120];
    const attend_corpus_counts n = c ? attend_corpus_count(c) : (attend_corpus_counts){ 0 };
    if (attend_trainer_lines(t))
        snprintf(text, sizeof text, "%llu lines, %llu words, %016llx", (unsigned long long)n.pairs,
                 (unsigned long long)n.target_ids, (unsigned long long)n.fingerprint);
    else
        snprintf(text, sizeof text, "%llu pairs, %llu and %llu words, %016llx", (unsigned long long)n.pairs,
                 (unsigned long long)n.source_ids, (unsigned long long)n.target_ids, (unsigned long long)n.fingerprint);
    add_text(f, "option", name, text);
}

static void put_options(facts *f, const trainer *t)
{
    const attend_train_options *o = &t->o;
    if (o->basis) add_text(f, "option", "data", o->basis);
    put_data(f, t, "training data", t->train);
    put_data(f, t, "validation data", t->valid);
    static const char *const token_names[2] = { "source-tokens", "target-tokens" }, *const size_names[2] = {
        "source-vocab-size", "target-vocab-size"
    };
    for (int side = 0; side < 2; side++) {
        add_text(f, "option", token_names[side], attend_token_kind_name(o->tokens[side].kind));
        add_number(f, "option", size_names[side], o->tokens[side].vocab_size);
    }
    add_number(f, "option", "min-count", o->tokens[0].min_count);
    add_number(f, "option", "bpe-dropout", o->bpe_dropout);
    add_number(f, "option", "max-length", o->max_length);
    add_text(f, "option", "optimizer", attend_optimizer_names[o->optimizer.kind]);
    add_number(f, "option", "momentum", o->optimizer.momentum);
    add_number(f, "option", "weight-decay", o->optimizer.weight_decay);
    add_text(f, "option", "schedule", attend_schedule_names[o->schedule.kind]);
    add_number(f, "option", "learning-rate", o->schedule.rate);
    add_number(f, "option", "warmup", (double)o->schedule.warmup);
    if (o->schedule.kind == ATTEND_SCHEDULE_COSINE) /* whose end is part of every step */
        add_number(f, "option", "updates", (double)o->schedule.updates);
    add_number(f, "option", "clip", o->clip);
    add_number(f, "option", "label-smoothing", o->label_smoothing);
    add_number(f, "option", "average", o->average);
    add_number(f, "option", "accumulate", o->accumulate);
    add_number(f, "option", "batch-tokens", o->batch_tokens);
    add_number(f, "option", "shard-tokens", o->shard_tokens);
    add_number(f, "option", "seed", (double)o->seed);
    add_text(f, "option", "valid-metric", attend_valid_metric_names[o->valid_metric]);
    add_number(f, "option", "valid-every", (double)t->valid_every);
}

/* The configuration in the file is compared field by field: it has been read already. */
static int same_config(const char *path, const attend_config *now, const attend_config *then)
{
    for (int i = 0; attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        char a[64], b[64];
        if (strcmp(name, "source-vocab") == 0 || strcmp(name, "target-vocab") == 0) continue;
        if (attend_config_get(now, name, a, sizeof a) != ATTEND_OK ||
            attend_config_get(then, name, b, sizeof b) != ATTEND_OK || strcmp(a, b) == 0)
            continue;
        return attend_fail(ATTEND_BAD_USAGE,
                           "%s was made with %s '%s', and now it is '%s': take the same to go on, another --model, or "
                           "--fresh to begin anew",
                           path, name, b, a);
    }
    return ATTEND_OK;
}

static int same_option(const char *path, const char *name, const char *then, const char *now)
{
    if (!then || strcmp(then, now) == 0) return ATTEND_OK; /* not there: a version that did not ask */
    return attend_fail(
        ATTEND_BAD_USAGE,
        "%s was made with %s '%.80s', and now it is '%.80s': take the same to go on, another --model, or "
        "--fresh to begin anew",
        path, name, then, now);
}

/* Other data may have led to other options, which would then be to blame. */
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

static int same_options(const attend_tensor_file *file, const char *path, const trainer *t)
{
    facts *f = attend_memory_zeroed(1, sizeof *f);
    if (!f) return attend_fail(ATTEND_NO_MEMORY, "no memory to go on from %s", path);
    put_options(f, t);
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < f->count; i++) {
        const char *then = attend_tensor_file_metadata(file, f->list[i].name),
                   *name = strrchr(f->list[i].name, '.') + 1;
        status = same_option(path, name, then, f->list[i].text);
    }
    attend_memory_free(f);
    return status;
}

/* ---- arrays ---- */

static real *array_of(const trainer *t, int parameter, int which)
{
    if (which < 2) return attend_optimizer_moment(t->optimizer, parameter, which);
    return t->average ? t->average[parameter] : NULL;
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

static bool arrays_new(const trainer *t, arrays *a)
{
    const size_t most = 3 * (size_t)attend_params_count(t->m->params);
    a->count = 0;
    a->tensors = attend_memory_zeroed(most, sizeof *a->tensors);
    a->names = attend_memory_zeroed(most, sizeof *a->names);
    if (!a->tensors || !a->names) return false;
    for (int which = 0; which < 3; which++)
        for (int i = 0; i < attend_params_count(t->m->params); i++) {
            const attend_param *p = attend_params_at(t->m->params, i);
            const real *data = array_of(t, i, which);
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

int attend_checkpoint_save(trainer *t)
{
    facts *f = attend_memory_zeroed(1, sizeof *f);
    attend_metadata metadata[MOST_FACTS];
    arrays a = { NULL, NULL, 0 };
    int status = attend_training_log_flush(&t->log);
    t->s.journal = t->log.bytes;
    if (status == ATTEND_OK && (!f || !arrays_new(t, &a)))
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to save a checkpoint");
    if (status == ATTEND_OK) {
        put_state(f, &t->s, attend_optimizer_steps(t->optimizer));
        put_options(f, t);
        for (int i = 0; i < f->count; i++) metadata[i] = (attend_metadata){ f->list[i].name, f->list[i].text };
        status = attend_model_save_with(t->m, attend_trainer_path(t, ".checkpoint"), a.tensors, a.count, metadata,
                                        (size_t)f->count);
    }
    attend_memory_free(a.tensors);
    attend_memory_free(a.names);
    attend_memory_free(f);
    return status;
}

/* ---- going on ---- */

int attend_checkpoint_load(trainer *t, bool *found)
{
    const char *path = attend_trainer_path(t, ".checkpoint");
    *found = false;
    FILE *there = fopen(path, "rb");
    if (!there && errno == ENOENT) return ATTEND_OK;
    if (!there) /* beginning anew would replace it */
        return attend_fail(ATTEND_IO, "cannot read %s: %s; mend that to go on, or begin anew with --fresh", path,
                           attend_errno_text(errno));
    fclose(there);
    int status = attend_model_load(&t->m, path, NULL);
    if (status == ATTEND_OK) status = same_basis(path, &t->o);
    if (status == ATTEND_OK) status = same_config(path, &t->o.config, &t->m->config);
    if (status == ATTEND_OK)
        status = attend_tokenizer_from_model(&t->tokenizers[0], t->m, attend_trainer_lines(t) ? "target" : "source");
    if (status == ATTEND_OK && t->o.config.shared_vocab)
        t->tokenizers[1] = t->tokenizers[0];
    else if (status == ATTEND_OK)
        status = attend_tokenizer_from_model(&t->tokenizers[1], t->m, "target");
    if (status == ATTEND_OK) status = attend_checkpoint_state(t);
    *found = status == ATTEND_OK;
    return status;
}

int attend_checkpoint_state(trainer *t)
{
    const char *path = attend_trainer_path(t, ".checkpoint");
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK) status = get_state(file, path, &t->s);
    /* shards were cut to the memory there was; they stay, whatever there is now */
    const char *shard = status == ATTEND_OK ? attend_tensor_file_metadata(file, "training.option.shard-tokens") : NULL;
    long long tokens;
    if (shard && attend_parse_integer(shard, NULL, &tokens) && tokens > 0 && tokens < 1 << 30)
        t->o.shard_tokens = (int)tokens;
    attend_tensor_file_close(file);
    return status;
}

int attend_checkpoint_moments(trainer *t)
{
    const char *path = attend_trainer_path(t, ".checkpoint"), *text;
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_SKIP_CHECKSUM);
    if (status == ATTEND_OK) status = same_options(file, path, t);
    if (status == ATTEND_OK) status = get_fact(file, path, "state", "steps", &text);
    uint64_t steps = 0;
    if (status == ATTEND_OK && !attend_parse_unsigned(text, NULL, &steps))
        status =
            attend_fail(ATTEND_BAD_MODEL, "%s: \"training.state.steps\" is '%.40s', which is not a number", path, text);
    if (status == ATTEND_OK) attend_optimizer_set_steps(t->optimizer, steps);
    for (int which = 0; status == ATTEND_OK && which < 3; which++)
        for (int i = 0; status == ATTEND_OK && i < attend_params_count(t->m->params); i++) {
            const attend_param *p = attend_params_at(t->m->params, i);
            real *to = array_of(t, i, which);
            char name[NAME_SIZE];
            if (!to) continue;
            array_name(name, which, p);
            const attend_tensor *x = attend_tensor_file_find(file, name);
            if (!x || x->bytes != p->size * sizeof(real))
                status = attend_fail(ATTEND_BAD_MODEL,
                                     "%s: '%s' is missing or of another size; begin anew with --fresh", path, name);
            else
                memcpy(to, x->data, x->bytes);
        }
    attend_tensor_file_close(file);
    return status;
}
