/* average.c: the mean of the weights of several models, for example of the last checkpoints of a training run (Vaswani
 * et al. 2017).
 *
 *     w = (w_1 + ... + w_n) / n
 *
 * The terms are added in double precision in ascending order, so that the result does not depend on the order of the
 * models. All terms of a weight are needed at once, but not all weights: each model is loaded and checked, and only the
 * first is kept; then the weights are read block by block from the files, which stay open. A file that changes in
 * between is an error. */
#include "model/model.h"

#include "core/memory.h"
#include "core/status.h"
#include "format/tensor_file.h"
#include "model/shortlist.h"
#include <math.h>
#include <string.h>

typedef struct averaging {
    const char *const *paths;
    int count;
    attend_tensor_file **files; /* (count) */
    attend_model *first;
    bool *is_common; /* for each attachment of the first model: whether all models have it */
} averaging;

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

static bool has_same(const attend_model *m, const attachment *a)
{
    const attachment *b = attend_attachments_find(&m->attachments, a->name);
    return b && b->size == a->size && (a->size == 0 || memcmp(b->bytes, a->bytes, a->size) == 0);
}

static int check_not_quantised(const attend_model *m, const char *path)
{
    for (int i = 0; i < attend_params_count(m->params); i++)
        if (!attend_params_at(m->params, i)->value)
            return attend_fail(ATTEND_BAD_USAGE, "%s is quantised: average the originals, and quantise the result",
                               path);
    return ATTEND_OK;
}

/* Compares the attachments of model m with those of the first. */
static int compare_attachments(averaging *v, const attend_model *m, const char *path)
{
    const attachments *of_first = &v->first->attachments, *of_m = &m->attachments;
    for (size_t i = 0; i < of_first->count; i++) {
        if (has_same(m, of_first->list[i])) continue;
        if (defines_tokens(of_first->list[i]->name)) return refuse(path, v->paths[0]);
        v->is_common[i] = false;
    }
    for (size_t i = 0; i < of_m->count; i++)
        if (defines_tokens(of_m->list[i]->name) && !attend_attachments_find(of_first, of_m->list[i]->name))
            return refuse(path, v->paths[0]);
    return ATTEND_OK;
}

static int open_first(averaging *v)
{
    int status = attend_model_open(&v->first, &v->files[0], v->paths[0], NULL);
    if (status == ATTEND_OK) status = check_not_quantised(v->first, v->paths[0]);
    if (status != ATTEND_OK) return status;
    const size_t attached = v->first->attachments.count;
    v->is_common = attend_memory_zeroed(attached, sizeof *v->is_common);
    if (!v->is_common) return attend_fail(ATTEND_NO_MEMORY, "no memory for the average of %d models", v->count);
    for (size_t i = 0; i < attached; i++) v->is_common[i] = true;
    return ATTEND_OK;
}

static int open_next(averaging *v, int i)
{
    attend_model *m = NULL;
    int status = attend_model_open(&m, &v->files[i], v->paths[i], NULL);
    if (status == ATTEND_OK) status = check_not_quantised(m, v->paths[i]);
    if (status == ATTEND_OK) status = same_config(v->first, v->paths[0], m, v->paths[i]);
    if (status == ATTEND_OK) status = compare_attachments(v, m, v->paths[i]);
    attend_model_free(m);
    return status;
}

/* Attaches what all models have in common. A shortlist from the attention of one model is not valid for the average. */
static int attach_common(const averaging *v, attend_model *to)
{
    const attachments *from = &v->first->attachments;
    for (size_t i = 0; i < from->count; i++) {
        const attachment *a = from->list[i];
        const int status = v->is_common[i]
                               ? attend_attachments_append(&to->attachments, a->name, a->bytes, a->size, false)
                               : ATTEND_OK;
        if (status != ATTEND_OK) return status;
    }
    attend_attachments_index(&to->attachments);
    return attend_shortlist_index(to);
}

/* Inserts x into n numbers in ascending order. */
static void insert(double *sorted, int n, double x)
{
    for (; n > 0 && sorted[n - 1] > x; n--) sorted[n] = sorted[n - 1];
    sorted[n] = x;
}

enum { BLOCK = 1 << 14 }; /* weights that are averaged at once */

/* Averages the weights [first, first + n) of a parameter. sorted: (count); blocks: (count, BLOCK). */
static int average_block(const averaging *v, attend_param *p, size_t first, size_t n, double *sorted, float *blocks)
{
    real mean[256];
    for (int k = 0; k < v->count; k++) {
        const attend_tensor *t = attend_tensor_file_find(v->files[k], p->name);
        float *block = blocks + (size_t)k * BLOCK;
        const int status = attend_tensor_file_read(v->files[k], t, first * sizeof *block, block, n * sizeof *block);
        if (status != ATTEND_OK) return status;
        for (size_t j = 0; j < n; j++)
            if (!isfinite(block[j]))
                return attend_fail(ATTEND_BAD_MODEL, "%s: '%s' has non-finite values", v->paths[k], p->name);
    }
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (int k = 0; k < v->count; k++) insert(sorted, k, (double)blocks[(size_t)k * BLOCK + j]);
        for (int k = 0; k < v->count; k++) sum += sorted[k];
        mean[j % 256] = (real)(sum / v->count);
        if (j % 256 == 255 || j == n - 1) attend_param_write(p, first + j / 256 * 256, j % 256 + 1, mean);
    }
    return ATTEND_OK;
}

static int average(const averaging *v, attend_model *to)
{
    double *sorted = attend_memory_zeroed((size_t)v->count, sizeof *sorted);
    float *blocks = attend_memory_zeroed((size_t)v->count * BLOCK, sizeof *blocks);
    int status = sorted && blocks ? ATTEND_OK
                                  : attend_fail(ATTEND_NO_MEMORY, "no memory for the average of %d models", v->count);
    for (int i = 0; status == ATTEND_OK && i < attend_params_count(to->params); i++) {
        attend_param *p = attend_params_at(to->params, i);
        for (size_t first = 0; status == ATTEND_OK && first < p->size; first += BLOCK)
            status = average_block(v, p, first, p->size - first < BLOCK ? p->size - first : BLOCK, sorted, blocks);
        attend_param_computed(p);
    }
    for (int k = 0; status == ATTEND_OK && k < v->count; k++) status = attend_tensor_file_check(v->files[k]);
    attend_memory_free(sorted);
    attend_memory_free(blocks);
    return status;
}

int attend_models_average(attend_model **out, const char *const *paths, int count)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && (paths || count < 1));
    *out = NULL;
    if (count < 1) return attend_fail(ATTEND_BAD_USAGE, "an average needs at least one model");
    averaging v = { .paths = paths, .count = count };
    attend_model *mean = NULL;
    v.files = attend_memory_zeroed((size_t)count, sizeof(attend_tensor_file *));
    int status =
        v.files ? open_first(&v) : attend_fail(ATTEND_NO_MEMORY, "no memory for the average of %d models", count);
    for (int i = 1; status == ATTEND_OK && i < count; i++) status = open_next(&v, i);
    if (status == ATTEND_OK) status = attend_model_new(&mean, &v.first->config, 0);
    if (status == ATTEND_OK) status = attach_common(&v, mean);
    if (status == ATTEND_OK) status = average(&v, mean);
    if (status == ATTEND_OK) mean->name = v.first->name, v.first->name = NULL; /* the texts are those of the first */
    for (int i = 0; v.files && i < count; i++) attend_tensor_file_close(v.files[i]);
    attend_memory_free(v.files);
    attend_memory_free(v.is_common);
    attend_model_free(v.first);
    if (status == ATTEND_OK)
        *out = mean;
    else
        attend_model_free(mean);
    return status;
}
