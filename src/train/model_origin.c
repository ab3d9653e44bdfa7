/* model_origin.c: which training a model file comes from. A new training attaches its id to its model, so that MODEL, the
 * kept models, their average and the checkpoint have it. Before a training that resumes replaces MODEL, it compares: a
 * model that was copied there meanwhile is not lost. A training that an earlier version began has no id in its models;
 * then the configuration and the vocabularies decide. */
#include "train/training_run.h"

#include "core/status.h"
#include "format/tensor_file.h"
#include <stdio.h>
#include <string.h>

static const char origin_name[] = "training"; /* of the attachment; part of the file format */
enum { ID_DIGITS = 16 };

int attend_training_mark_model(training_run *run)
{
    char id[ID_DIGITS + 1];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)run->id);
    return attend_model_attach(run->model, origin_name, id, ID_DIGITS);
}

void attend_training_note_replaced(training_run *run)
{
    attend_tensor_file *file = NULL;
    if (attend_tensor_file_open(&file, run->options.model, ATTEND_TENSOR_HEADER_ONLY) == ATTEND_OK)
        attend_tensor_file_checksum(file, run->replaces);
    attend_tensor_file_close(file);
}

/* Whether a file has the same attachment as the run's model. It is read block by block. */
static bool has_same_attachment(const attend_tensor_file *file, const attend_model *m, const char *name)
{
    char tensor_name[64];
    unsigned char block[4096];
    size_t size;
    snprintf(tensor_name, sizeof tensor_name, "text.%s", name);
    const attend_tensor *t = attend_tensor_file_find(file, tensor_name);
    const unsigned char *bytes = attend_model_attached(m, name, &size);
    if (!t || !bytes) return !t && !bytes;
    if (t->bytes != size) return false;
    for (size_t at = 0; at < size; at += sizeof block) {
        const size_t n = size - at < sizeof block ? size - at : sizeof block;
        if (attend_tensor_file_read(file, t, at, block, n) != ATTEND_OK || memcmp(block, bytes + at, n) != 0)
            return false;
    }
    return true;
}

/* A field that the file does not have is one of a later version. */
static bool has_same_config(const attend_tensor_file *file, const attend_config *config)
{
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        char key[64], value[64];
        snprintf(key, sizeof key, "config.%s", f->key);
        const char *theirs = attend_tensor_file_metadata(file, key);
        if (theirs && attend_config_get(config, f->name, value, sizeof value) == ATTEND_OK &&
            strcmp(theirs, value) != 0)
            return false;
    }
    return true;
}

static bool is_own(const training_run *run, const attend_tensor_file *file)
{
    static const char *const vocabularies[] = { "source.vocabulary", "target.vocabulary" };
    char checksum[ATTEND_TENSOR_CHECKSUM];
    attend_tensor_file_checksum(file, checksum);
    if (*checksum && strcmp(checksum, run->replaces) == 0) return true; /* the training was told to replace it */
    if (attend_tensor_file_metadata(file, "ensemble")) return false;
    if (!has_same_attachment(file, run->model, origin_name)) return false; /* neither may have an id */
    if (attend_model_attached(run->model, origin_name, NULL)) return true;
    bool same = has_same_config(file, &run->model->config);
    for (int side = 0; side < 2; side++) same = same && has_same_attachment(file, run->model, vocabularies[side]);
    return same;
}

int attend_training_check_origin(training_run *run, const char *path, bool *is_other)
{
    attend_tensor_file *file = NULL;
    const int status = attend_tensor_file_open(&file, path, ATTEND_TENSOR_HEADER_ONLY);
    *is_other = status == ATTEND_OK && !is_own(run, file);
    attend_tensor_file_close(file);
    return status;
}
