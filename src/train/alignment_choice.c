/* alignment_choice.c: at the end of a training run, chooses the attention layer and head whose map is used for word
 * alignment, and how it is read (map_selection.h), unless the model has an alignment head. It does so by the validation pairs and without gold links. The choice is stored in MODEL only,
 * not in the checkpoint: a training run that resumes chooses again. */
#include "train/training_run.h"

#include "core/memory.h"
#include "core/status.h"
#include <attend/map_selection.h>
#include <string.h>
#include <unistd.h>

enum {
    MIN_PAIRS = 50, /* 50 pairs rarely lead to another choice than 500 pairs; 20 often do (docs/metrics.md) */
    MAX_PAIRS = 500,
    MAX_BYTES = 1000 /* of a side */
};

typedef struct texts {
    char *sides[2][MAX_PAIRS];
    int count;
} texts;

static void texts_free(texts *x)
{
    for (int i = 0; x && i < x->count; i++)
        for (int side = 0; side < 2; side++) attend_memory_free(x->sides[side][i]);
    attend_memory_free(x);
}

static char *copy(const char *text, size_t size)
{
    char *to = attend_memory_zeroed(size + 1, 1);
    if (to) memcpy(to, text, size);
    return to;
}

/* The first pairs of the validation files. If the files no longer exist, there are none, and no choice is made. */
static int read_texts(texts *x, const attend_train_options *o)
{
    attend_pairs_file *file = NULL;
    attend_text_pair pair;
    int status = attend_pairs_file_open(&file, o->valid, o->valid_count);
    while (status == ATTEND_OK && x->count < MAX_PAIRS) {
        status = attend_pairs_file_next(file, &pair);
        if (status != ATTEND_OK || !pair.source) break;
        if (pair.source_size > MAX_BYTES || pair.target_size > MAX_BYTES) continue;
        x->sides[0][x->count] = copy(pair.source, pair.source_size);
        x->sides[1][x->count] = copy(pair.target, pair.target_size);
        if (!x->sides[0][x->count] || !x->sides[1][x->count])
            status = attend_fail(ATTEND_NO_MEMORY, "no memory for pairs to align");
        x->count++;
    }
    attend_pairs_file_close(file);
    return status == ATTEND_NO_MEMORY ? status : ATTEND_OK;
}

static int choose(training_run *run, attend_model *m, const texts *x)
{
    const attend_map_score *scores = NULL;
    attend_map_selection *selection = NULL;
    attend_alignment chosen = { .layer = 0, .head = 0 };
    int maps, best = 0, status = attend_map_selection_new(&selection, m, run->options.threads);
    if (status == ATTEND_OK)
        status = attend_map_selection_add(selection, x->count, (const char *const *)x->sides[0],
                                          (const char *const *)x->sides[1], NULL);
    if (status == ATTEND_OK) status = attend_map_selection_end(selection, &scores, &maps, &best);
    if (status == ATTEND_OK) {
        chosen = scores[best].map;
        attend_json_writer w = attend_training_log_begin(&run->log, run->state.update);
        attend_json_put_key(&w, "event"), attend_json_put_text(&w, "aligns");
        attend_json_put_key(&w, "layer"), attend_json_put_integer(&w, chosen.layer);
        attend_json_put_key(&w, "head"), attend_json_put_integer(&w, chosen.head);
        attend_json_put_key(&w, "shifted"), attend_json_put_bool(&w, chosen.shifted);
        attend_json_put_key(&w, "error"), attend_json_put_number(&w, 4, scores[best].error);
        status = attend_training_log_end(&run->log, &w);
    }
    attend_map_selection_free(selection);
    if (status == ATTEND_OK) status = attend_model_set_alignment(m, chosen);
    return status == ATTEND_OK ? attend_model_save(m, run->options.model) : status;
}

int attend_training_choose_alignment(training_run *run)
{
    const attend_config *c = &run->model->config;
    if (!run->valid || access(run->options.model, F_OK) != 0 || c->alignment_head ||
        attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) == 0)
        return ATTEND_OK;
    attend_model *m = NULL;
    texts *x = attend_memory_zeroed(1, sizeof *x);
    int status = x ? read_texts(x, &run->options) : attend_fail(ATTEND_NO_MEMORY, "no memory for pairs to align");
    if (status == ATTEND_OK && x->count >= MIN_PAIRS) {
        status = attend_model_load(&m, run->options.model, NULL);
        if (status == ATTEND_OK) status = choose(run, m, x);
    }
    attend_model_free(m);
    texts_free(x);
    return status;
}
