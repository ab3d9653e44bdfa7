/* fine_tuning.c: a new training that begins with the weights of an existing model (options.init_from), the base. The
 * configuration is that of the base, except for fields of training such as dropout. With the base's vocabularies all
 * weights are taken over. With new ones (options.new_vocab), rows of the embeddings and of the output layer are taken
 * over for tokens that both vocabularies have, by name; the others start at random. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include "text/tokenizer.h"
#include <string.h>

/* ---- the base ---- */

static int check_trainable(const attend_model *m, const char *path)
{
    if (attend_model_member_count(m) > 1)
        return attend_fail(ATTEND_BAD_USAGE, "%s is an ensemble and cannot be trained: start from one of its members",
                           path);
    for (int i = 0; i < attend_params_count(m->params); i++)
        if (!attend_params_at(m->params, i)->value)
            return attend_fail(ATTEND_BAD_USAGE, "%s is quantised and cannot be trained: start from the original model",
                               path);
    return ATTEND_OK;
}

/* Vocabulary sizes follow from the tokenizers. */
static bool may_differ(const attend_config *config, const attend_config_field *f)
{
    return f->training_only || !attend_config_field_applies(config, f) || strcmp(f->name, "source-vocab") == 0 ||
           strcmp(f->name, "target-vocab") == 0;
}

static int same_config(const attend_model *base, const char *path, const attend_config *config)
{
    const attend_config_field *f;
    for (int i = 0; (f = attend_config_field_at(i)); i++) {
        char theirs[64], ours[64];
        if (may_differ(&base->config, f)) continue;
        int status = attend_config_get(&base->config, f->name, theirs, sizeof theirs);
        if (status == ATTEND_OK) status = attend_config_get(config, f->name, ours, sizeof ours);
        if (status == ATTEND_OK && strcmp(theirs, ours) != 0)
            status =
                attend_fail(ATTEND_BAD_USAGE,
                            "%s has %s '%s', and now it is '%s': a model that starts with its weights has the same "
                            "configuration; only dropout and other fields of training may differ",
                            path, f->name, theirs, ours);
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

int attend_training_open_base(training_run *run, attend_model **base)
{
    const char *path = run->options.init_from;
    int status = attend_model_load(base, path, NULL);
    if (status == ATTEND_OK) status = check_trainable(*base, path);
    if (status == ATTEND_OK) status = same_config(*base, path, &run->options.config);
    if (status == ATTEND_OK && !run->options.new_vocab) {
        status = attend_training_read_tokenizers(run, *base);
        if (status == ATTEND_BAD_MODEL) {
            char why[ATTEND_MESSAGE_SIZE];
            snprintf(why, sizeof why, "%s", attend_message());
            status = attend_fail(status, "%s: %s", path, why);
        }
    }
    return status;
}

/* ---- weights ---- */

/* Which row of a table of the base becomes row i; -1: none. */
typedef struct row_map {
    int *rows; /* (count); NULL: the vocabulary is that of the base */
    int count, shared;
} row_map;

static int map_rows(row_map *map, const attend_tokenizer *ours, const attend_model *base, const char *side)
{
    attend_tokenizer *theirs = NULL;
    int status = attend_tokenizer_from_model(&theirs, base, side);
    map->count = attend_tokenizer_size(ours);
    map->rows = attend_memory_zeroed((size_t)map->count, sizeof *map->rows);
    if (status == ATTEND_OK && !map->rows)
        status = attend_fail(ATTEND_NO_MEMORY, "no memory to compare vocabularies of %d tokens", map->count);
    for (int i = 0; status == ATTEND_OK && i < map->count; i++) {
        map->rows[i] = attend_string_table_find(&theirs->tokens, attend_string_table_at(&ours->tokens, i),
                                                attend_string_table_size(&ours->tokens, i));
        map->shared += map->rows[i] >= 0;
    }
    attend_tokenizer_free(theirs);
    return status;
}

/* The side whose tokens are the rows of a parameter; -1: none. */
static int side_of(const attend_model *m, const attend_param *p)
{
    if (p == m->target_table || p == m->output_w || p == m->output_b) return ATTEND_TARGET;
    return p == m->source_table ? ATTEND_SOURCE : -1;
}

static void take_weights(attend_model *m, const attend_model *base, const row_map maps[2])
{
    for (int i = 0; i < attend_params_count(m->params); i++) {
        attend_param *to = attend_params_at(m->params, i);
        const attend_param *from = attend_params_at(base->params, i);
        const int side = side_of(m, to);
        const int *rows = side >= 0 ? maps[side].rows : NULL;
        const size_t width = to->rank > 1 ? (size_t)to->shape[1] : 1;
        const device_memory *memory = to->memory;
        if (!rows) memory->copy(to->value, from->value, to->size * sizeof(real));
        for (int row = 0; rows && row < to->shape[0]; row++)
            if (rows[row] >= 0)
                memory->copy(to->value + (size_t)row * width, from->value + (size_t)rows[row] * width,
                             width * sizeof(real));
        attend_param_computed(to);
    }
}

static void report(const training_run *run, const row_map maps[2])
{
    const char *path = run->options.init_from;
    if (!maps[1].rows)
        attend_training_notice(run, "starting with the weights and vocabularies of %s", path);
    else if (run->tokenizers[0] == run->tokenizers[1] || !maps[0].rows)
        attend_training_notice(run, "starting with the weights of %s; %d of %d tokens are in its vocabulary", path,
                               maps[1].shared, maps[1].count);
    else
        attend_training_notice(run,
                               "starting with the weights of %s; %d of %d source tokens and %d of %d target tokens are "
                               "in its vocabularies",
                               path, maps[0].shared, maps[0].count, maps[1].shared, maps[1].count);
}

int attend_training_take_weights(training_run *run, const attend_model *base)
{
    row_map maps[2] = { { 0 } };
    int status = ATTEND_OK;
    if (run->options.new_vocab) {
        if (!attend_training_is_language_model(run)) status = map_rows(&maps[0], run->tokenizers[0], base, "source");
        if (status == ATTEND_OK) status = map_rows(&maps[1], run->tokenizers[1], base, "target");
    }
    if (status == ATTEND_OK) take_weights(run->model, base, maps);
    if (status == ATTEND_OK && attend_model_attached(base, "alignment", NULL))
        status = attend_model_set_alignment(run->model, attend_model_alignment(base));
    if (status == ATTEND_OK) report(run, maps);
    attend_memory_free(maps[0].rows);
    attend_memory_free(maps[1].rows);
    return status;
}
