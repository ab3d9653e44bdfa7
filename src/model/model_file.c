/* model_file.c: a model as a safetensors file (format/tensor_file.h).
 *
 *     metadata    format = attend-model, format-version, made-by, and config.KEY for every field (config.c);
 *                 ensemble: the number of members, in files of format 2
 *     tensors     NAME: a parameter, F32; quantised matrices BF16, or I8 with NAME.steps, the scales of the rows
 *                 text.NAME: an attachment, U8
 *                 training.NAME: part of a checkpoint, ignored here
 *                 member.2.NAME: a parameter of the second member of an ensemble; those of the first have no prefix
 *
 * Loading reads the configuration, then looks up and checks each parameter that follows from it, then checks that
 * nothing else is in the file. Parameters and attachments stay where the file was copied to: the model takes over that
 * memory. */
#include "model/model.h"

#include "core/finite.h"
#include "core/status.h"
#include "core/memory.h"
#include "model/shortlist.h"
#include "format/tensor_file.h"
#include <attend/parse.h>
#include <attend/version.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ensembles have a version of their own, so that earlier versions, which would ignore the other members, refuse them. */
enum {
    FORMAT_VERSION = 1,
    ENSEMBLE_VERSION = 2,
    FIELD_TEXT = 64,
    NAME_TEXT = ATTEND_ATTACHMENT_NAME,
    PREFIX_TEXT = 24
};
static const char format[] = "attend-model", config_prefix[] = "config.", text_prefix[] = "text.",
                  training_prefix[] = "training.", member_prefix[] = "member.", scales_suffix[] = ".steps",
                  ensemble_key[] = "ensemble";

/* What precedes the names of a member's tensors: "" for the first, "member.2." for the second. */
static const char *prefix_of(char prefix[PREFIX_TEXT], int member)
{
    prefix[0] = '\0';
    if (member > 0) snprintf(prefix, PREFIX_TEXT, "%s%d.", member_prefix, member + 1);
    return prefix;
}

/* ---- attachments ---- */

int attend_model_attach(attend_model *m, const char *name, const void *bytes, size_t size)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && name && (bytes || size == 0));
    const int status = attend_attachments_set(&m->attachments, name, bytes, size);
    if (status == ATTEND_OK && attend_shortlist_is_named(name)) m->shortlist = NULL; /* its bytes were replaced */
    return status;
}

const void *attend_model_attached(const attend_model *m, const char *name, size_t *size)
{
    ATTEND_REQUIRE(NULL, m && name);
    const attachment *a = attend_attachments_find(m->owner ? &m->owner->attachments : &m->attachments, name);
    if (size) *size = a ? a->size : 0;
    return a ? a->bytes : NULL;
}

/* ---- saving ---- */

/* The values of a parameter as floats. *own: memory that the caller must free; NULL: none. */
static const float *as_floats(const attend_param *p, float **own)
{
    *own = NULL;
#ifdef ATTEND_DOUBLE
    *own = attend_memory_aligned(p->size * sizeof **own);
    const real *value = attend_param_value(p);
    for (size_t i = 0; *own && value && i < p->size; i++) (*own)[i] = (float)value[i];
    return value ? *own : NULL;
#else
    return attend_param_value(p);
#endif
}

/* The contents of the file, and temporary memory for them. */
typedef struct saving {
    attend_tensor *tensors;
    float **own; /* one per tensor: memory to free, or NULL */
    char (*names)[PREFIX_TEXT + NAME_TEXT + sizeof text_prefix + sizeof scales_suffix];
    size_t count;
    attend_metadata *metadata;
    char keys[ATTEND_CONFIG_FIELD_COUNT][FIELD_TEXT], values[ATTEND_CONFIG_FIELD_COUNT][FIELD_TEXT], version[16],
        maker[32], members[16];
    size_t pairs;
} saving;

static int save_config(saving *s, const attend_config *config, int members)
{
    snprintf(s->version, sizeof s->version, "%d", members > 1 ? ENSEMBLE_VERSION : FORMAT_VERSION);
    snprintf(s->maker, sizeof s->maker, "attend %s", attend_version());
    s->metadata[s->pairs++] = (attend_metadata){ "format", format };
    s->metadata[s->pairs++] = (attend_metadata){ "format-version", s->version };
    s->metadata[s->pairs++] = (attend_metadata){ "made-by", s->maker };
    snprintf(s->members, sizeof s->members, "%d", members);
    if (members > 1) s->metadata[s->pairs++] = (attend_metadata){ ensemble_key, s->members };
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        snprintf(s->keys[i], FIELD_TEXT, "%s%s", config_prefix, f->key);
        const int status = attend_config_get(config, f->name, s->values[i], FIELD_TEXT);
        if (status != ATTEND_OK) return status;
        s->metadata[s->pairs++] = (attend_metadata){ s->keys[i], s->values[i] };
    }
    return ATTEND_OK;
}

/* A quantised matrix, and with int8 its scales. */
static int save_quantised(saving *s, attend_param *p, attend_tensor t)
{
    t.dtype = p->precision == ATTEND_INT8 ? ATTEND_I8 : ATTEND_BF16;
    t.bytes = p->size * attend_dtype_size(t.dtype);
    t.data = attend_param_quantized(p);
    if (!t.data) return attend_param_unreadable(p);
    s->tensors[s->count++] = t;
    if (p->precision != ATTEND_INT8) return ATTEND_OK;
    snprintf(s->names[s->count], sizeof *s->names, "%s%s", t.name, scales_suffix);
    s->tensors[s->count] = (attend_tensor){ .name = s->names[s->count],
                                            .dtype = ATTEND_F32,
                                            .rank = 1,
                                            .shape = { p->shape[0] },
                                            .bytes = (size_t)p->shape[0] * sizeof(float),
                                            .data = attend_param_scales(p) };
    return s->tensors[s->count++].data ? ATTEND_OK : attend_param_unreadable(p);
}

static int save_parameters(saving *s, const attend_model *m, int member)
{
    char prefix[PREFIX_TEXT];
    for (int i = 0; i < attend_params_count(m->params); i++) {
        attend_param *p = attend_params_at(m->params, i);
        snprintf(s->names[s->count], sizeof *s->names, "%s%s", prefix_of(prefix, member), p->name);
        attend_tensor t = {
            .name = s->names[s->count], .dtype = ATTEND_F32, .rank = p->rank, .bytes = p->size * sizeof(float)
        };
        for (int axis = 0; axis < p->rank; axis++) t.shape[axis] = p->shape[axis];
        if (p->precision != ATTEND_FP32) {
            const int status = save_quantised(s, p, t);
            if (status != ATTEND_OK) return status;
            continue;
        }
        const real *value = attend_param_value(p);
        if (!value) return attend_param_unreadable(p);
        if (!attend_all_finite(p->size, value))
            return attend_fail(ATTEND_FAILED, "'%s' has non-finite values; such a model is not saved", p->name);
        t.data = as_floats(p, &s->own[s->count]);
        if (!t.data) return attend_fail(ATTEND_NO_MEMORY, "no memory to save '%s'", p->name);
        s->tensors[s->count++] = t;
    }
    return ATTEND_OK;
}

static void save_attachments(saving *s, const attend_model *m)
{
    for (size_t i = 0; i < m->attachments.count; i++) {
        const attachment *a = m->attachments.list[i];
        snprintf(s->names[s->count], sizeof *s->names, "%s%s", text_prefix, a->name);
        s->tensors[s->count] = (attend_tensor){ .name = s->names[s->count],
                                                .dtype = ATTEND_U8,
                                                .rank = 1,
                                                .shape = { (int64_t)a->size },
                                                .bytes = a->size,
                                                .data = a->bytes };
        s->count++;
    }
}

static void saving_free(saving *s, size_t max_tensors)
{
    if (!s) return;
    for (size_t i = 0; s->own && i < max_tensors; i++) attend_memory_free(s->own[i]);
    attend_memory_free(s->tensors);
    attend_memory_free(s->own);
    attend_memory_free(s->names);
    attend_memory_free(s->metadata);
    attend_memory_free(s);
}

static saving *saving_new(size_t max_tensors, size_t metadata_count)
{
    saving *s = attend_memory_zeroed(1, sizeof *s);
    if (!s) return NULL;
    s->tensors = attend_memory_zeroed(max_tensors, sizeof *s->tensors);
    s->own = attend_memory_zeroed(max_tensors, sizeof *s->own);
    s->names = attend_memory_zeroed(max_tensors, sizeof *s->names);
    s->metadata = attend_memory_zeroed(ATTEND_CONFIG_FIELD_COUNT + 4 + metadata_count, sizeof *s->metadata);
    if (s->tensors && s->own && s->names && s->metadata) return s;
    saving_free(s, max_tensors);
    return NULL;
}

int attend_model_save_with(const attend_model *m, const char *path, const attend_tensor *more, size_t more_count,
                           const attend_metadata *metadata, size_t metadata_count)
{
    /* An int8 matrix is two tensors: the matrix and its scales. */
    const int members = attend_model_member_count(m);
    const size_t max_tensors =
        2 * (size_t)members * (size_t)attend_params_count(m->params) + more_count + m->attachments.count;
    saving *s = saving_new(max_tensors, metadata_count);
    if (!s) return attend_fail(ATTEND_NO_MEMORY, "no memory to save a model");
    int status = save_config(s, &m->config, members);
    for (int i = 0; status == ATTEND_OK && i < members; i++) status = save_parameters(s, attend_model_member(m, i), i);
    if (status == ATTEND_OK) {
        save_attachments(s, m);
        for (size_t i = 0; i < more_count; i++) s->tensors[s->count++] = more[i];
        for (size_t i = 0; i < metadata_count; i++) s->metadata[s->pairs++] = metadata[i];
        status = attend_tensor_file_write(path, s->tensors, s->count, s->metadata, s->pairs);
    }
    saving_free(s, max_tensors);
    return status;
}

int attend_model_save(const attend_model *m, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && path);
    return attend_model_save_with(m, path, NULL, 0, NULL, 0);
}

/* ---- loading ---- */

typedef struct loading {
    attend_model *m;
    char prefix[PREFIX_TEXT]; /* of the member that is being loaded */
    int members;              /* 1: not an ensemble */
    attend_tensor_file *file;
    const char *name; /* of the file */
    const attend_load_options *options;
    const attend_tensor *non_finite; /* the first tensor of floats with non-finite values; NULL: none */
} loading;

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The program that made the file, for messages. */
static const char *maker_of(const loading *l)
{
    const char *maker = attend_tensor_file_metadata(l->file, "made-by");
    return maker && strlen(maker) <= 40 ? maker : "an unknown program";
}

/* The number of members. */
static int load_member_count(loading *l, long long version)
{
    const char *text = attend_tensor_file_metadata(l->file, ensemble_key);
    long long count = 1;
    if (version >= ENSEMBLE_VERSION &&
        (!text || !attend_parse_integer(text, NULL, &count) || count < 2 || count > ATTEND_MAX_MEMBERS))
        return attend_fail(ATTEND_BAD_MODEL, "%s: an ensemble of '%.20s' models; there must be 2 to %d", l->name,
                           text ? text : "", ATTEND_MAX_MEMBERS);
    l->members = (int)count;
    return ATTEND_OK;
}

static int load_version(loading *l)
{
    const char *found = attend_tensor_file_metadata(l->file, "format");
    if (!found)
        return attend_fail(ATTEND_BAD_MODEL,
                           "%s: a safetensors file, but not an attend model: its metadata has no \"format\"", l->name);
    if (strcmp(found, format) != 0)
        return attend_fail(ATTEND_BAD_MODEL, "%s: a safetensors file of format '%.40s', not '%s'", l->name, found,
                           format);
    const char *version = attend_tensor_file_metadata(l->file, "format-version");
    long long number = 0;
    if (!version || !attend_parse_integer(version, NULL, &number) || number < 1)
        return attend_fail(
            ATTEND_BAD_MODEL,
            "%s: the format-version '%.40s' is not a positive number; the file was made by %s: train the "
            "model again with this version, %s",
            l->name, version ? version : "", maker_of(l), attend_version());
    if (number > ENSEMBLE_VERSION)
        return attend_fail(
            ATTEND_BAD_MODEL,
            "%s: made by a newer version (%s): format %lld; this is attend %s, which reads formats up to %d: "
            "update attend",
            l->name, maker_of(l), number, attend_version(), ENSEMBLE_VERSION);
    return load_member_count(l, number);
}

/* Reports a failure of a called function as an error in this file. */
static int bad_model(const loading *l, int status)
{
    char why[ATTEND_MESSAGE_SIZE];
    if (status == ATTEND_OK || status == ATTEND_NO_MEMORY) return status;
    snprintf(why, sizeof why, "%s", attend_message());
    return attend_fail(ATTEND_BAD_MODEL, "%s: %s", l->name, why);
}

static const attend_score *own_score(const loading *l, const char *name)
{
    const attend_score *const *s = l->options ? l->options->scores : NULL;
    for (; s && *s; s++)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}

static bool is_field(const char *name)
{
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++)
        if (strcmp(f->key, name) == 0) return true;
    return false;
}

static int load_config(const loading *l)
{
    static const attend_config defaults = ATTEND_CONFIG_INIT;
    attend_config *config = &l->m->config;
    *config = defaults;
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        char key[FIELD_TEXT];
        snprintf(key, sizeof key, "%s%s", config_prefix, f->key);
        const char *value = attend_tensor_file_metadata(l->file, key);
        if (!value && strcmp(f->since, "0.0") != 0) continue; /* a file of an earlier version: the default */
        if (!value)
            return attend_fail(ATTEND_BAD_MODEL,
                               "%s: the metadata has no \"%s\"; the file was made by %s: train the "
                               "model again with this version, %s",
                               l->name, key, maker_of(l), attend_version());
        const attend_score *own = f->type == ATTEND_FIELD_SCORE ? own_score(l, value) : NULL;
        if (f->type == ATTEND_FIELD_SCORE && !own && strcmp(value, "none") != 0 && !attend_score_find(value))
            return attend_fail(
                ATTEND_BAD_MODEL,
                "%s: the model needs the score function '%.40s', which is not built in; " ATTEND_SCORE_IS_MISSING,
                l->name, value);
        if (own)
            config->attention = own;
        else if (attend_config_set(config, f->name, value) != ATTEND_OK)
            return bad_model(l, ATTEND_BAD_USAGE);
    }
    for (size_t i = 0; i < attend_tensor_file_metadata_count(l->file); i++) {
        const char *key = attend_tensor_file_metadata_at(l->file, i)->key;
        if (starts_with(key, config_prefix) && !is_field(key + strlen(config_prefix)))
            return attend_fail(ATTEND_BAD_MODEL,
                               "%s: the metadata has an unknown field: \"%.60s\"; the file was made by %s, and this is "
                               "attend %s: update attend",
                               l->name, key, maker_of(l), attend_version());
    }
    return bad_model(l, attend_config_check(config));
}

/* A tensor of the member that is being loaded. */
static const attend_tensor *find(const loading *l, const char *name)
{
    char full[PREFIX_TEXT + NAME_TEXT + sizeof scales_suffix];
    snprintf(full, sizeof full, "%s%s", l->prefix, name);
    return attend_tensor_file_find(l->file, full);
}

static int wrong_shape(const loading *l, const attend_tensor *t, int rank, const int *shape)
{
    char expected[64], actual[128];
    int n = 0, k = 0;
    for (int i = 0; i < rank; i++)
        n += snprintf(expected + n, sizeof expected - (size_t)n, "%s%d", i ? ", " : "", shape[i]);
    for (int i = 0; i < t->rank; i++)
        k += snprintf(actual + k, sizeof actual - (size_t)k, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    if (t->rank == 0) actual[0] = '\0';
    return attend_fail(ATTEND_BAD_MODEL, "%s: '%s' is %s (%s), but the configuration requires F32 (%s)", l->name,
                       t->name, attend_dtype_name(t->dtype), actual, expected);
}

/* Whether a tensor exists and has this shape and type. */
static bool fits(const attend_tensor *t, int rank, const int *shape, attend_dtype dtype)
{
    bool same = t && t->dtype == dtype && t->rank == rank;
    for (int i = 0; i < rank && same; i++) same = t->shape[i] == shape[i];
    return same;
}

static int load_quantised(const loading *l, const attend_tensor *t, const int *shape, param_storage *out)
{
    char name[PREFIX_TEXT + NAME_TEXT + sizeof scales_suffix];
    out->precision = t->dtype == ATTEND_I8 ? ATTEND_INT8 : ATTEND_BFLOAT16;
    if (out->precision == ATTEND_INT8) {
        snprintf(name, sizeof name, "%s%s", t->name, scales_suffix);
        const attend_tensor *scales = attend_tensor_file_find(l->file, name); /* t->name has the prefix */
        if (!fits(scales, 1, shape, ATTEND_F32))
            return attend_fail(ATTEND_BAD_MODEL, "%s: '%s' is I8, but its scales '%s' are missing or not F32 (%d)",
                               l->name, t->name, name, shape[0]);
        out->scales = scales->data;
    }
    out->quantized = t->data;
    out->borrowed = true;
    return ATTEND_OK;
}

/* The model_values function of loading: finds a parameter in the file. */
static int load_parameter(void *user, const char *name, int rank, const int *shape, param_storage *out)
{
    loading *l = user;
    const attend_tensor *t = find(l, name);
    if (!t)
        return attend_fail(ATTEND_BAD_MODEL,
                           "%s: the configuration requires the tensor '%s%s', which the file does not have", l->name,
                           l->prefix, name);
    if (rank == 2 && (fits(t, rank, shape, ATTEND_I8) || fits(t, rank, shape, ATTEND_BF16)))
        return load_quantised(l, t, shape, out);
    if (!fits(t, rank, shape, ATTEND_F32)) return wrong_shape(l, t, rank, shape);
#ifndef ATTEND_DOUBLE
    out->value = (real *)t->data;
    out->borrowed = true;
#endif
    return ATTEND_OK;
}

/* The error in a quantised matrix; NULL: none. */
static const char *quantised_error(attend_param *p)
{
    if (!p->quantizable) return "is quantised, but this model needs full precision there";
    if (p->precision == ATTEND_BFLOAT16) {
        const uint16_t *bits = attend_param_quantized(p);
        if (!bits) return attend_message();
        for (size_t i = 0; i < p->size; i++)
            if ((bits[i] & 0x7f80) == 0x7f80) return "has non-finite values";
        return NULL;
    }
    const int8_t *bits = attend_param_quantized(p);
    const float *scales = attend_param_scales(p);
    if (!bits || !scales) return attend_message();
    for (size_t i = 0; i < p->size; i++)
        if (bits[i] == INT8_MIN) return "has a -128, which this format does not use";
    for (int i = 0; i < p->shape[0]; i++)
        if (!(isfinite(scales[i]) && scales[i] >= 0)) return "has scales that are negative or non-finite";
    return NULL;
}

/* Checks floats while they are read. The tensor is reported later: the file may have other errors, which explain it. */
static void find_non_finite(void *user, const attend_tensor *t, const void *bytes, size_t size)
{
    loading *l = user;
    const size_t n = size / sizeof(float);
    if (t->dtype != ATTEND_F32 || l->non_finite) return;
#ifdef ATTEND_DOUBLE
    for (size_t i = 0; i < n; i++)
        if (!isfinite(((const float *)bytes)[i])) l->non_finite = t;
#else
    if (!attend_all_finite(n, bytes)) l->non_finite = t;
#endif
}

/* Checks the numbers of all parameters, and converts them in the double-precision twin. */
static int load_numbers(const loading *l, const attend_model *m)
{
    for (int i = 0; i < attend_params_count(m->params); i++) {
        attend_param *p = attend_params_at(m->params, i);
        const char *problem = NULL;
        if (p->precision != ATTEND_FP32) {
            problem = quantised_error(p);
        } else {
            const attend_tensor *t = find(l, p->name);
#ifdef ATTEND_DOUBLE
            const float *from = t->data;
            real *to = attend_param_edit(p);
            if (!to) return ATTEND_NO_MEMORY;
            for (size_t j = 0; j < p->size; j++) to[j] = (real)from[j];
            attend_param_changed(p);
#endif
            if (t == l->non_finite) problem = "has non-finite values";
        }
        if (problem) return attend_fail(ATTEND_BAD_MODEL, "%s: '%s%s' %s", l->name, l->prefix, p->name, problem);
    }
    return ATTEND_OK;
}

/* Whether a tensor holds the scales of a matrix of a model. */
static bool is_scales(const attend_model *m, const char *name)
{
    char matrix[NAME_TEXT];
    const size_t length = strlen(name), suffix = sizeof scales_suffix - 1;
    if (length <= suffix || length - suffix >= sizeof matrix || strcmp(name + length - suffix, scales_suffix) != 0)
        return false;
    memcpy(matrix, name, length - suffix);
    matrix[length - suffix] = '\0';
    const attend_param *p = attend_params_find(m->params, matrix);
    return p && p->precision == ATTEND_INT8;
}

/* ---- the rest of the file ---- */

static int load_text(loading *l, const attend_tensor *t)
{
    const char *name = t->name + sizeof text_prefix - 1;
    if (t->dtype != ATTEND_U8 || t->rank != 1)
        return attend_fail(ATTEND_BAD_MODEL, "%s: '%s' is not a vector of bytes (U8)", l->name, t->name);
    return bad_model(l, attend_attachments_append(&l->m->attachments, name, t->data, t->bytes, true));
}

/* Whether a tensor is a parameter of a member, or the scales of one. */
static bool is_parameter(const loading *l, const char *name)
{
    const attend_model *m = l->m;
    char prefix[PREFIX_TEXT];
    for (int i = 1; i < l->members; i++)
        if (starts_with(name, prefix_of(prefix, i))) {
            m = attend_model_member(l->m, i);
            name += strlen(prefix);
            break;
        }
    return attend_params_find(m->params, name) || is_scales(m, name);
}

static int load_others(loading *l)
{
    for (size_t i = 0; i < attend_tensor_file_count(l->file); i++) {
        const attend_tensor *t = attend_tensor_file_at(l->file, i);
        int status = ATTEND_OK;
        if (starts_with(t->name, text_prefix))
            status = load_text(l, t);
        else if (!starts_with(t->name, training_prefix) && !is_parameter(l, t->name))
            status =
                attend_fail(ATTEND_BAD_MODEL, "%s: '%s' does not belong to the model that the configuration describes",
                            l->name, t->name);
        if (status != ATTEND_OK) return status;
    }
    attend_attachments_index(&l->m->attachments);
    return ATTEND_OK;
}

static int check_vocabulary(const loading *l, const char *name, int tokens)
{
    size_t size, lines = 0;
    const char *text = attend_model_attached(l->m, name, &size);
    if (!text) return ATTEND_OK;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
        if (text[i] == '\n' && (i == 0 || text[i - 1] == '\n'))
            return attend_fail(ATTEND_BAD_MODEL, "%s: token %zu of %s is empty", l->name, lines - 1, name);
    }
    if ((size && text[size - 1] != '\n') || lines != (size_t)tokens)
        return attend_fail(ATTEND_BAD_MODEL, "%s: %s has %zu tokens, but the embedding has %d rows", l->name, name,
                           lines, tokens);
    return ATTEND_OK;
}

/* ---- loading a file ---- */

/* The other members of an ensemble have the configuration of the first. */
static int load_member(loading *l, int i)
{
    attend_model *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
    m->config = l->m->config;
    prefix_of(l->prefix, i);
    int status = attend_model_append_member(l->m, m);
    if (status != ATTEND_OK) {
        attend_model_free(m);
        return status;
    }
    status = attend_params_new(&m->params);
    if (status == ATTEND_OK) status = attend_model_build(m, load_parameter, l);
    return status == ATTEND_OK ? load_numbers(l, m) : status;
}

static int load(loading *l, bool keep_training)
{
    const attend_tensor_loading how = { .apart = training_prefix,
                                        .skip_apart = !keep_training,
                                        .skip_checksum = l->options && l->options->skip_checksum,
                                        .visit = find_non_finite,
                                        .user = l };
    l->m = attend_memory_zeroed(1, sizeof *l->m);
    if (l->m) l->m->name = attend_memory_zeroed(strlen(l->name) + 1, 1);
    if (!l->m || !l->m->name) return attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
    memcpy(l->m->name, l->name, strlen(l->name));
    int status = attend_tensor_file_load(l->file, &how);
    if (status == ATTEND_OK) status = load_version(l);
    if (status == ATTEND_OK) status = load_config(l);
    if (status == ATTEND_OK) status = attend_params_new(&l->m->params);
    if (status == ATTEND_OK) status = attend_model_build(l->m, load_parameter, l);
    if (status == ATTEND_OK) status = load_numbers(l, l->m);
    for (int i = 1; status == ATTEND_OK && i < l->members; i++) status = load_member(l, i);
    if (status == ATTEND_OK) status = load_others(l);
    if (status == ATTEND_OK) status = bad_model(l, attend_shortlist_index(l->m));
    if (status == ATTEND_OK) status = check_vocabulary(l, "source.vocabulary", l->m->config.source_vocab);
    if (status == ATTEND_OK) status = check_vocabulary(l, "target.vocabulary", l->m->config.target_vocab);
    return status;
}

int attend_model_from_file(attend_model **out, attend_tensor_file *file, const char *name,
                           const attend_load_options *options, bool keep_training)
{
    loading l = { .file = file, .name = name, .options = options };
    const int status = load(&l, keep_training);
    *out = status == ATTEND_OK ? l.m : NULL;
    if (status == ATTEND_OK)
        l.m->storage = attend_tensor_file_take(file, false);
    else
        attend_model_free(l.m);
    return status;
}

int attend_model_open(attend_model **out, attend_tensor_file **file, const char *path,
                      const attend_load_options *options)
{
    *out = NULL;
    int status = attend_tensor_file_open(file, path, ATTEND_TENSOR_HEADER_ONLY);
    if (status == ATTEND_OK) status = attend_model_from_file(out, *file, path, options, false);
    if (status == ATTEND_OK) return ATTEND_OK;
    attend_tensor_file_close(*file);
    *file = NULL;
    return status;
}

int attend_model_load(attend_model **out, const char *path, const attend_load_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && path);
    attend_tensor_file *file = NULL;
    const int status = attend_model_open(out, &file, path, options);
    attend_tensor_file_close(file);
    return status;
}

int attend_model_load_bytes(attend_model **out, const void *bytes, size_t size, const char *name,
                            const attend_load_options *options)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (bytes || size == 0) && name);
    *out = NULL;
    attend_tensor_file *file = NULL;
    int status = attend_tensor_file_parse(&file, bytes, size, name, ATTEND_TENSOR_HEADER_ONLY);
    if (status == ATTEND_OK) status = attend_model_from_file(out, file, name, options, false);
    attend_tensor_file_close(file);
    return status;
}
