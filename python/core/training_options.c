#include "training_options.h"

#include "ensemble_training.h"

#include <attend/parse.h>
#include <attend/processors.h>
#include <attend/text.h>
#include <attend/training_choice.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the table ---- */

typedef enum option_kind { KIND_INT, KIND_UINT64, KIND_SIZE, KIND_REAL, KIND_FLAG, KIND_CHOICE } option_kind;

typedef struct option {
    const char *name;
    option_kind kind;
    size_t offset; /* in training_settings */
    double min, max;
    const char *const *names; /* of KIND_CHOICE, an int */
} option;

enum { LOWERCASE_NONE, LOWERCASE_SOURCE, LOWERCASE_BOTH };
static const char *const lowercase_names[] = { "none", "source", "both", NULL };
/* "word-error" is the share of wrong lines where a line is a word, otherwise of wrong words. */
static const char *const metric_names[] = {
    "perplexity", "bleu", "chrf", "token-accuracy", "word-error", "exact", "phoneme-error", "character-error",
    "wer",        "cer",  NULL
};
enum { METRIC_WORD_ERROR = 4 };
static const attend_valid_metric metrics[] = { ATTEND_VALID_LOSS, ATTEND_VALID_BLEU,
                                               ATTEND_VALID_CHRF, ATTEND_VALID_TOKEN_ACCURACY,
                                               ATTEND_VALID_WER,  ATTEND_VALID_EXACT,
                                               ATTEND_VALID_WER,  ATTEND_VALID_CER,
                                               ATTEND_VALID_WER,  ATTEND_VALID_CER };

#define AT(member) offsetof(training_settings, member)
#define OF(member) offsetof(training_settings, options.member)
static const option table[] = {
    { "preset", KIND_CHOICE, AT(preset), 0, 0, attend_preset_names },
    { "lowercase", KIND_CHOICE, AT(lowercase), 0, 0, lowercase_names },
    { "valid-metric", KIND_CHOICE, AT(metric), 0, 0, metric_names },
    { "source-tokens", KIND_CHOICE, OF(tokens[0].kind), 0, 0, attend_token_kind_names },
    { "target-tokens", KIND_CHOICE, OF(tokens[1].kind), 0, 0, attend_token_kind_names },
    { "source-vocab-size", KIND_INT, AT(vocab_size[0]), 0, 1e7, NULL },
    { "target-vocab-size", KIND_INT, AT(vocab_size[1]), 0, 1e7, NULL },
    { "min-count", KIND_INT, OF(tokens[0].min_count), 1, 1e9, NULL },
    { "bpe-split", KIND_CHOICE, AT(bpe_split), 0, 0, core_split_names },
    { "bpe-dropout", KIND_REAL, OF(bpe_dropout), 0, 0.99, NULL },
    { "crop", KIND_REAL, OF(crop), 0, 0.99, NULL },
    { "guidance", KIND_REAL, OF(guidance), 0, 100, NULL },
    { "ensemble", KIND_INT, AT(ensemble), 1, ATTEND_MAX_MEMBERS, NULL },
    { "max-length", KIND_INT, OF(max_length), 1, 1e6, NULL },
    { "optimizer", KIND_CHOICE, OF(optimizer.kind), 0, 0, attend_optimizer_names },
    { "momentum", KIND_REAL, OF(optimizer.momentum), 0, 0.9999, NULL },
    { "weight-decay", KIND_REAL, OF(optimizer.weight_decay), 0, 1, NULL },
    { "learning-rate", KIND_REAL, OF(schedule.rate), 0, 100, NULL },
    { "schedule", KIND_CHOICE, OF(schedule.kind), 0, 0, attend_schedule_names },
    { "warmup", KIND_UINT64, OF(schedule.warmup), 0, 1e9, NULL },
    { "clip", KIND_REAL, OF(clip), 0, 1e9, NULL },
    { "label-smoothing", KIND_REAL, OF(label_smoothing), 0, 0.99, NULL },
    { "average", KIND_REAL, OF(average), 0, 0.999999, NULL },
    { "average-last", KIND_INT, OF(average_checkpoints), 0, ATTEND_MAX_AVERAGED_CHECKPOINTS, NULL },
    { "accumulate", KIND_INT, OF(accumulate), 1, 1e4, NULL },
    { "batch-tokens", KIND_INT, OF(batch_tokens), 1, 1e8, NULL },
    { "epochs", KIND_UINT64, OF(epochs), 1, 1e9, NULL },
    { "updates", KIND_UINT64, OF(updates), 1, 1e15, NULL },
    { "patience", KIND_INT, OF(patience), 0, 1e9, NULL },
    { "valid-every", KIND_UINT64, OF(valid_every), 1, 1e15, NULL },
    { "save-every", KIND_UINT64, OF(save_every), 1, 1e15, NULL },
    { "log-every", KIND_UINT64, OF(log_every), 1, 1e15, NULL },
    { "keep", KIND_INT, OF(keep), 0, 1e6, NULL },
    { "compute", KIND_CHOICE, OF(compute), 0, 0, attend_compute_names },
    { "seed", KIND_UINT64, OF(seed), 0, 9e15, NULL },
    { "threads", KIND_INT, OF(threads), 1, 1024, NULL },
    { "memory", KIND_SIZE, OF(memory), 0, 1e18, NULL },
    { "fresh", KIND_FLAG, OF(fresh), 0, 0, NULL },
    { "new-vocab", KIND_FLAG, OF(new_vocab), 0, 0, NULL },
};

static bool set_number(void *at, const option *o, const char *text)
{
    double x;
    if (!attend_parse_real(text, NULL, &x) || !(x >= o->min && x <= o->max) ||
        (o->kind != KIND_REAL && x != (double)(long long)x)) {
        core_fail(ATTEND_BAD_USAGE, "%s=%.40s: must be %s from %g to %g", o->name, text,
                  o->kind == KIND_REAL ? "a number" : "an integer", o->min, o->max);
        return false;
    }
    if (o->kind == KIND_INT) *(int *)at = (int)x;
    if (o->kind == KIND_UINT64) *(uint64_t *)at = (uint64_t)x;
    if (o->kind == KIND_REAL) *(double *)at = x;
    return true;
}

static bool set_size(size_t *at, const char *text)
{
    PyObject *value = PyUnicode_FromString(text);
    const bool ok = value && core_memory(value, at);
    Py_XDECREF(value);
    return ok;
}

/* "tokens" and "vocab-size" set both sides; an option of a side takes precedence. */
static bool set_both(training_settings *s, const char *name, const char *text)
{
    int kind, size;
    if (strcmp(name, "tokens") == 0) {
        if (!core_choice(text, attend_token_kind_names, name, &kind)) return false;
        s->options.tokens[0].kind = s->options.tokens[1].kind = (attend_token_kind)kind;
        return true;
    }
    const option o = { "vocab-size", KIND_INT, 0, 0, 1e7, NULL };
    if (!set_number(&size, &o, text)) return false;
    s->options.tokens[0].vocab_size = s->options.tokens[1].vocab_size = size;
    return true;
}

static bool set_option(training_settings *s, const char *name, const char *text)
{
    if (strcmp(name, "tokens") == 0 || strcmp(name, "vocab-size") == 0) return set_both(s, name, text);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const option *o = &table[i];
        void *at = (char *)s + o->offset;
        if (strcmp(o->name, name) != 0) continue;
        if (o->kind == KIND_CHOICE) return core_choice(text, o->names, name, at);
        if (o->kind == KIND_SIZE) return set_size(at, text);
        if (o->kind != KIND_FLAG) return set_number(at, o, text);
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return core_fail(ATTEND_BAD_USAGE, "%s=%.40s: must be True or False", name, text) != NULL;
        *(bool *)at = strcmp(text, "yes") == 0;
        return true;
    }
    if (strcmp(name, "source-vocab") == 0 || strcmp(name, "target-vocab") == 0)
        return core_fail(ATTEND_BAD_USAGE, "vocabulary sizes are determined by the data; vocab_size limits them") !=
               NULL;
    const int status = attend_config_set(&s->options.config, name, text);
    if (status != ATTEND_OK) core_raise(status);
    return status == ATTEND_OK;
}

/* ---- what the caller gave ---- */

static bool is_given(void *user, const char *name)
{
    const training_settings *s = user;
    PyObject *value;
    return core_dict_find(s->given, name, &value) > 0; /* without memory: false, and an exception is set */
}

static bool read_path(core_paths *path, const training_settings *s, const char *name)
{
    PyObject *value;
    const int has = core_dict_find(s->given, name, &value);
    return has == 0 || (has > 0 && core_path_read(path, value, name));
}

static bool is_path(const char *name)
{
    return strcmp(name, "init-from") == 0 || strcmp(name, "log") == 0 || strcmp(name, "guided-alignment") == 0;
}

/* Sets all options of the dict but file names. */
static bool set_given(training_settings *s)
{
    static const char *const first[] = { "tokens", "vocab-size" }; /* those of a side override them */
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (size_t i = 0; i < 2; i++) {
        PyObject *text;
        if (core_dict_find(s->given, first[i], &text) < 0) return false;
        const char *chars = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        if (text && (!chars || !set_both(s, first[i], chars))) return false;
    }
    while (PyDict_Next(s->given, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name) return false;
        if (strcmp(name, "tokens") == 0 || strcmp(name, "vocab-size") == 0 || is_path(name)) continue;
        const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
        if (!text || !set_option(s, name, text)) return false;
    }
    return true;
}

/* Fine-tuning: the configuration is that of the model, except for fields that are given. */
static bool take_model(training_settings *s)
{
    static const char *const sides[2] = { "source", "target" };
    attend_model *m = NULL;
    int status;
    const char *path = s->checkpoint ? s->checkpoint : s->init_from.names[0];
    Py_BEGIN_ALLOW_THREADS status = attend_model_load(&m, path, NULL);
    Py_END_ALLOW_THREADS if (status != ATTEND_OK) return core_raise(status) != NULL;
    s->options.config = *attend_model_config(m);
    if (attend_model_member_count(m) > 1) {
        attend_model_free(m);
        return core_fail(ATTEND_BAD_USAGE, "%s is an ensemble and cannot be trained: start from one of its members",
                         path) != NULL;
    }
    for (int side = s->options.config.task == ATTEND_TASK_LANGUAGE_MODEL; status == ATTEND_OK && side < 2; side++) {
        attend_tokenizer *t = NULL;
        status = attend_tokenizer_from_model(&t, m, sides[side]);
        if (status == ATTEND_OK) s->requested[side] = (int)attend_tokenizer_kind(t);
        attend_tokenizer_free(t);
    }
    attend_model_free(m);
    if (status != ATTEND_OK) return core_raise(status) != NULL;
    s->has_config = true;
    return true;
}

static bool find_checkpoint(training_settings *s)
{
    s->member = s->ensemble > 1 ? ensemble_member_path(s->model.names[0], 0) : NULL;
    if (s->ensemble > 1 && !s->member) return PyErr_NoMemory() != NULL;
    const char *const first = s->member ? s->member : s->model.names[0];
    const size_t size = strlen(first) + sizeof ".checkpoint";
    s->checkpoint = PyMem_Malloc(size);
    if (!s->checkpoint) return PyErr_NoMemory() != NULL;
    PyOS_snprintf(s->checkpoint, size, "%s.checkpoint", first);
    if (!s->options.fresh && access(s->checkpoint, F_OK) == 0) return true;
    PyMem_Free(s->checkpoint);
    s->checkpoint = NULL;
    return true;
}

static bool check_fields(const training_settings *s)
{
    bool given[ATTEND_CONFIG_FIELD_COUNT] = { false };
    const attend_config_field *field;
    for (int i = 0; (field = attend_config_field_at(i)); i++) given[i] = is_given((void *)s, field->name);
    if (PyErr_Occurred()) return false;
    const int status = attend_config_check_given(&s->options.config, given);
    if (status != ATTEND_OK) core_raise(status);
    return status == ATTEND_OK;
}

/* ---- combinations of options, which `attend train` refuses too ---- */

typedef struct option_name {
    char text[40];
} option_name;

/* Finds the first of the options, by their names of the command line, that was given: *found is its name in Python. False:
 * none, or an exception is set. */
static bool find_given(training_settings *s, const char *const *names, size_t count, option_name *found)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_given(s, names[i])) continue;
        PyOS_snprintf(found->text, sizeof found->text, "%s", names[i]);
        for (char *c = found->text; *c; c++)
            if (*c == '-') *c = '_';
        return true;
    }
    return false;
}

#define FIND_GIVEN(s, names, found) find_given(s, names, sizeof(names) / sizeof *(names), found)

static bool check_lines(training_settings *s)
{
    static const char *const of_pairs[] = { "source-tokens", "target-tokens", "source-vocab-size", "target-vocab-size",
                                            "guided-alignment" };
    option_name found;
    const char *name = FIND_GIVEN(s, of_pairs, &found) ? found.text : NULL;
    if (!name && s->lowercase == LOWERCASE_SOURCE) name = "lowercase='source'";
    if (!name && s->preset == ATTEND_PRESET_G2P) name = "preset='g2p'";
    return !name ||
           core_fail(ATTEND_BAD_USAGE, "%s applies to pairs; a language model is trained on lines", name) != NULL;
}

static bool check_shared_vocabulary(training_settings *s)
{
    static const char *const of_target[] = { "target-vocab-size", "target-tokens" };
    option_name found;
    if (FIND_GIVEN(s, of_target, &found))
        return core_fail(ATTEND_BAD_USAGE, "with shared_vocab, source and target have one vocabulary; use tokens and "
                                           "vocab_size") != NULL;
    return s->lowercase != LOWERCASE_SOURCE ||
           core_fail(ATTEND_BAD_USAGE, "with shared_vocab, source and target have one tokenizer; use "
                                       "lowercase='both'") != NULL;
}

static bool check_fine_tuning(training_settings *s)
{
    static const char *const of_vocabularies[] = { "tokens",     "source-tokens",     "target-tokens",     "min-count",
                                                   "vocab-size", "source-vocab-size", "target-vocab-size", "lowercase",
                                                   "bpe-split" };
    const char *const path = s->init_from.count ? s->init_from.names[0] : NULL;
    option_name found;
    if (!path) return !s->options.new_vocab || core_fail(ATTEND_BAD_USAGE, "new_vocab requires init_from") != NULL;
    if (is_given(s, "preset"))
        return core_fail(ATTEND_BAD_USAGE, "preset chooses the size of a model, but init_from takes it from %s",
                         path) != NULL;
    if (s->options.new_vocab || !FIND_GIVEN(s, of_vocabularies, &found)) return true;
    return core_fail(ATTEND_BAD_USAGE,
                     "%s has no effect with init_from, which takes the vocabularies from %s; to learn new ones, use "
                     "new_vocab=True",
                     found.text, path) != NULL;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* The model to start from is neither the file nor one of the members that the training of an ensemble replaces. The training
 * of a single model checks this itself. */
static bool check_ensemble(const training_settings *s)
{
    if (s->ensemble == 1 || !s->init_from.count) return true;
    const char *const from = s->init_from.names[0], *const name = strrchr(from, '/');
    const char *const members_end = strrchr(s->member, '/');
    PyObject *directory = name ? PyBytes_FromStringAndSize(from, name - from + 1) : PyBytes_FromString(".");
    PyObject *members = PyBytes_FromStringAndSize(s->member, members_end - s->member);
    bool ok = directory && members;
    if (ok && (is_same_file(from, s->model.names[0]) ||
               is_same_file(PyBytes_AsString(directory), PyBytes_AsString(members)))) {
        core_fail(ATTEND_BAD_USAGE, "%s is the model to start from, and the training of the ensemble would replace it",
                  from);
        ok = false;
    }
    Py_XDECREF(directory);
    Py_XDECREF(members);
    return ok;
}

static bool check_combinations(training_settings *s)
{
    if (!check_ensemble(s)) return false;
    if (s->ensemble > 1 && s->log.count)
        return core_fail(ATTEND_BAD_USAGE, "log does not apply to an ensemble: each member has its own log") != NULL;
    const attend_config *c = &s->options.config;
    const bool ok = check_fine_tuning(s) && (c->task != ATTEND_TASK_LANGUAGE_MODEL || check_lines(s)) &&
                    (!c->shared_vocab || check_shared_vocabulary(s));
    return ok && !PyErr_Occurred();
}

/* What decides where training begins, before the other options are set. */
static bool read_first(training_settings *s)
{
    PyObject *fresh, *ensemble;
    if (core_dict_find(s->given, "fresh", &fresh) < 0 || core_dict_find(s->given, "ensemble", &ensemble) < 0)
        return false;
    s->options.fresh = fresh && PyUnicode_Check(fresh) && PyUnicode_CompareWithASCIIString(fresh, "yes") == 0;
    const char *count = ensemble ? PyUnicode_AsUTF8AndSize(ensemble, NULL) : NULL;
    return ensemble ? count && set_option(s, "ensemble", count) : true;
}

bool training_settings_read(training_settings *s, PyObject *model, PyObject *options)
{
    memset(s, 0, sizeof *s);
    s->options = attend_train_defaults();
    s->options.threads = attend_processors_threads();
    s->given = options;
    s->requested[0] = s->requested[1] = s->vocab_size[0] = s->vocab_size[1] = -1;
    s->ensemble = 1;
    s->chosen = PyDict_New();
    if (!s->chosen || !core_path_read(&s->model, model, "model") || !read_path(&s->init_from, s, "init-from") ||
        !read_path(&s->log, s, "log") || !read_path(&s->guided_alignment, s, "guided-alignment"))
        return false;
    if (!read_first(s) || !find_checkpoint(s) || (s->init_from.count && !take_model(s)) || !set_given(s) ||
        !check_fields(s) || !check_combinations(s))
        return false;
    s->has_vocabularies = s->init_from.count && !s->options.new_vocab;
    s->options.model = s->model.names[0];
    s->options.init_from = s->init_from.count ? s->init_from.names[0] : NULL;
    s->options.log = s->log.count ? s->log.names[0] : NULL;
    s->options.guided_alignment = s->guided_alignment.count ? s->guided_alignment.names[0] : NULL;
    s->options.tokens[1].min_count = s->options.tokens[0].min_count;
    const bool both = is_given(s, "tokens");
    if (both || is_given(s, "source-tokens")) s->requested[0] = (int)s->options.tokens[0].kind;
    if (both || is_given(s, "target-tokens")) s->requested[1] = (int)s->options.tokens[1].kind;
    return !PyErr_Occurred();
}

/* ---- what is chosen ---- */

static int take_choice(void *user, const char *name, const char *text)
{
    training_settings *s = user;
    PyObject *value = core_text(text);
    const bool ok = value && PyDict_SetItemString(s->chosen, name, value) == 0 && set_option(s, name, text);
    Py_XDECREF(value);
    return ok ? ATTEND_OK : ATTEND_FAILED;
}

bool training_settings_choose(training_settings *s, const attend_data_check_counts *n)
{
    const attend_train_options *o = &s->options;
    const attend_training_request r = {
        .preset = (attend_preset)s->preset,
        .task = o->config.task,
        .architecture = o->config.architecture,
        .window = o->config.window,
        .shared_vocab = o->config.shared_vocab,
        .tokens = { s->requested[0], s->requested[1] },
        .has_config = s->has_config,
        .has_vocabularies = s->has_vocabularies,
        .has_validation = s->valid.count > 0,
        .has_guided_alignment = o->guided_alignment != NULL,
        .label_smoothing = o->label_smoothing,
        .bpe_dropout = o->bpe_dropout,
        .updates = o->updates,
        .checkpoint = s->checkpoint,
        .user = s,
        .given = is_given,
        .choose = take_choice,
    };
    const attend_data_size data = attend_data_size_of(n);
    attend_training_choice z;
    const int status = attend_training_choose(&r, &data, &z);
    if (status != ATTEND_OK) return core_raise(status) != NULL;
    if (PyErr_Occurred()) return false; /* of is_given */
    for (int side = 0; side < 2; side++)
        if (s->requested[side] >= 0) s->options.tokens[side].kind = (attend_token_kind)s->requested[side];
    if (o->config.task == ATTEND_TASK_LANGUAGE_MODEL)
        s->options.tokens[0].kind = s->options.tokens[1].kind = z.tokens[0];
    s->is_word_level = z.is_word_level;
    memcpy(s->basis, z.basis, sizeof s->basis);
    return true;
}

/* Whether a model of this configuration can have an alignment head. */
static bool can_have_head(const attend_config *c)
{
    const attend_config_field *f = attend_config_field_at(attend_config_field_find("alignment-head"));
    return attend_config_field_applies(c, f) && attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) > 0;
}

void training_settings_finish(training_settings *s)
{
    attend_train_options *o = &s->options;
    if (o->guided_alignment && !s->has_config && !is_given(s, "alignment-head"))
        o->config.alignment_head = can_have_head(&o->config);
    for (int side = 0; side < 2; side++) {
        attend_tokenizer_options *t = &o->tokens[side];
        t->lowercase = s->lowercase == LOWERCASE_BOTH || (s->lowercase == LOWERCASE_SOURCE && side == 0);
        t->split_classes = s->bpe_split == CORE_SPLIT_CLASSES;
        if (t->kind != ATTEND_TOKENS_BPE && !is_given(s, "vocab-size")) t->vocab_size = 0;
        if (s->vocab_size[side] >= 0) t->vocab_size = s->vocab_size[side];
    }
    o->valid_metric = s->metric == METRIC_WORD_ERROR && s->is_word_level ? ATTEND_VALID_LINE_ERROR : metrics[s->metric];
    o->basis = s->basis;
}

void training_settings_free(training_settings *s)
{
    data_files_free(&s->train);
    data_files_free(&s->valid);
    core_paths_free(&s->model);
    core_paths_free(&s->init_from);
    core_paths_free(&s->log);
    core_paths_free(&s->guided_alignment);
    free(s->member);
    Py_XDECREF(s->chosen);
    PyMem_Free(s->checkpoint);
}
