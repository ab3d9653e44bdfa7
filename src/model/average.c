/* average.c: the mean of the weights of several models, for example of the last checkpoints of a training run (Vaswani
 * et al. 2017).
 *
 *     w = (w_1 + ... + w_n) / n
 *
 * The terms are added in double precision in ascending order, so that the result does not depend on the order of the
 * models. */
#include "model/model.h"

#include "core/memory.h"
#include "core/status.h"
#include "model/shortlist.h"
#include <string.h>

/* Attachments that must be equal in all models, since they define what each token is. */
static bool defines_tokens(const char *name)
{
    return strcmp(name, "source.vocabulary") == 0 || strcmp(name, "source.tokenizer") == 0 ||
           strcmp(name, "target.vocabulary") == 0 || strcmp(name, "target.tokenizer") == 0;
}

static int refuse(const char *path, const char *first)
{
    return attend_fail(ATTEND_BAD_USAGE,
                       "%s has other vocabularies than %s: only models of one training run can be averaged", path,
                       first);
}

static int same_config(const attend_model *a, const char *first, const attend_model *b, const char *path)
{
    for (int i = 0; attend_config_field_at(i); i++) {
        const char *name = attend_config_field_at(i)->name;
        char x[64], y[64];
        int status = attend_config_get(&a->config, name, x, sizeof x);
        if (status == ATTEND_OK) status = attend_config_get(&b->config, name, y, sizeof y);
        if (status == ATTEND_OK && strcmp(x, y) != 0)
            status = attend_fail(ATTEND_BAD_USAGE,
                                 "%s has %s '%s', and %s has '%s': only models of one training run can be averaged",
                                 path, name, y, first, x);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

static bool has_same(const attend_model *m, const char *name, const void *bytes, size_t size)
{
    size_t other;
    const void *found = attend_model_attached(m, name, &other);
    return found && other == size && (size == 0 || memcmp(found, bytes, size) == 0);
}

static int same_vocabularies(const attend_model *a, const char *first, const attend_model *b, const char *path)
{
    const char *name;
    for (int i = 0; (name = attend_model_attachment_name(a, i)); i++) {
        size_t size;
        const void *bytes = attend_model_attached(a, name, &size);
        if (defines_tokens(name) && !has_same(b, name, bytes, size)) return refuse(path, first);
    }
    for (int i = 0; (name = attend_model_attachment_name(b, i)); i++)
        if (defines_tokens(name) && !attend_model_attached(a, name, NULL)) return refuse(path, first);
    return ATTEND_OK;
}

static int check_not_quantised(const attend_model *m, const char *path)
{
    for (int i = 0; i < attend_params_count(m->params); i++)
        if (!attend_params_at(m->params, i)->value)
            return attend_fail(ATTEND_BAD_USAGE, "%s is quantised: average the originals, and quantise the result",
                               path);
    return ATTEND_OK;
}

static int open_all(attend_model **models, const char *const *paths, int count)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        status = attend_model_load(&models[i], paths[i], NULL);
        if (status == ATTEND_OK) status = check_not_quantised(models[i], paths[i]);
        if (status == ATTEND_OK && i > 0) status = same_config(models[0], paths[0], models[i], paths[i]);
        if (status == ATTEND_OK && i > 0) status = same_vocabularies(models[0], paths[0], models[i], paths[i]);
    }
    return status;
}

/* Attaches what all models have in common. A shortlist from the attention of one model is not valid for the average. */
static int attach_common(attend_model *to, attend_model *const *models, int count)
{
    int status = ATTEND_OK;
    const char *name;
    for (int i = 0; status == ATTEND_OK && (name = attend_model_attachment_name(models[0], i)); i++) {
        size_t size;
        const void *bytes = attend_model_attached(models[0], name, &size);
        bool common = true;
        for (int k = 1; common && k < count; k++) common = has_same(models[k], name, bytes, size);
        if (common) status = attend_model_attach(to, name, bytes, size);
    }
    return status == ATTEND_OK ? attend_shortlist_index(to) : status;
}

/* Inserts x into n numbers in ascending order. */
static void insert(double *sorted, int n, double x)
{
    for (; n > 0 && sorted[n - 1] > x; n--) sorted[n] = sorted[n - 1];
    sorted[n] = x;
}

static void average(attend_model *to, attend_model *const *models, int count, double *sorted)
{
    for (int i = 0; i < attend_params_count(to->params); i++) {
        attend_param *p = attend_params_at(to->params, i);
        for (size_t j = 0; j < p->size; j++) {
            double sum = 0;
            for (int k = 0; k < count; k++) insert(sorted, k, (double)attend_params_at(models[k]->params, i)->value[j]);
            for (int k = 0; k < count; k++) sum += sorted[k];
            p->value[j] = (real)(sum / count);
        }
        attend_param_changed(p);
        for (int k = 0; k < count; k++) attend_param_release_pages(attend_params_at(models[k]->params, i));
    }
}

int attend_models_average(attend_model **out, const char *const *paths, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (paths || count < 1));
    *out = NULL;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "an average needs at least one model");
    attend_model **models = attend_memory_zeroed((size_t)count, sizeof(attend_model *)), *mean = NULL;
    double *sorted = attend_memory_zeroed((size_t)count, sizeof *sorted);
    int status =
        models && sorted ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for the average of %d models", count);
    if (status == ATTEND_OK) status = open_all(models, paths, count);
    if (status == ATTEND_OK) status = attend_model_new(&mean, &models[0]->config, 0);
    if (status == ATTEND_OK) status = attach_common(mean, models, count);
    if (status == ATTEND_OK) average(mean, models, count, sorted);
    for (int i = 0; models && i < count; i++) attend_model_free(models[i]);
    attend_memory_free(models);
    attend_memory_free(sorted);
    if (status == ATTEND_OK)
        *out = mean;
    else
        attend_model_free(mean);
    return status;
}
