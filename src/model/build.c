/* build.c: which parameters a configuration has. Their names are those of the model file. */
#include "model/model.h"

#include "core/memory.h"
#include "core/precision.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    attend_model *m;
    model_values values;
    void *user;
    int status;
} builder;

static attend_param *declare(builder *b, const char *name, int rank, int rows, int columns)
{
    const int shape[2] = { rows, columns };
    attend_param *p = NULL;
    param_numbers numbers = { 0 };
    if (b->status == ATTEND_OK && b->values) b->status = b->values(b->user, name, rank, shape, &numbers);
    const bool given = numbers.value || numbers.bits;
    if (b->status == ATTEND_OK)
        b->status = attend_params_add_at(&p, b->m->params, name, rank, shape, given ? &numbers : NULL);
    return p;
}

/* Every matrix here is used by attend_linear, attend_gather and the cells alone. */
static attend_param *matrix(builder *b, const char *name, int rows, int columns)
{
    attend_param *p = declare(b, name, 2, rows, columns);
    if (p) p->weights = true;
    return p;
}

static attend_param *vector(builder *b, const char *name, int size)
{
    return declare(b, name, 1, size, 1);
}

static model_cell cell(builder *b, const char *place, int in)
{
    const attend_config *c = &b->m->config;
    const int wide = attend_cell_gates(c->cell) * c->hidden;
    char name[64];
    model_cell p;
    snprintf(name, sizeof name, "%s.w", place);
    p.w = matrix(b, name, wide, in);
    snprintf(name, sizeof name, "%s.u", place);
    p.u = matrix(b, name, wide, c->hidden);
    if (p.u && c->cell == ATTEND_CELL_GRU_RESET_BEFORE) p.u->weights = false; /* which takes it apart */
    snprintf(name, sizeof name, "%s.bw", place);
    p.bw = vector(b, name, wide);
    snprintf(name, sizeof name, "%s.bu", place);
    p.bu = vector(b, name, wide);
    return p;
}

static void encoder(builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const int directions = c->bidirectional ? 2 : 1;
    char name[64];
    for (int i = 0; i < c->layers; i++)
        for (int way = 0; way < directions; way++) {
            snprintf(name, sizeof name, "encoder.%d.%s", i, way ? "backward" : "forward");
            m->encoder[i][way] = cell(b, name, i == 0 ? c->embedding : directions * c->hidden);
        }
    for (int i = 0; c->start == ATTEND_START_MAP && i < c->layers; i++)
        for (int part = 0; part < (c->cell == ATTEND_CELL_LSTM ? 2 : 1); part++) {
            snprintf(name, sizeof name, "start.%d.%s.w", i, part ? "c" : "h");
            m->start_w[i][part] = matrix(b, name, c->hidden, directions * c->hidden);
            snprintf(name, sizeof name, "start.%d.%s.b", i, part ? "c" : "h");
            m->start_b[i][part] = vector(b, name, c->hidden);
        }
}

/* Whether a score that maps neither queries nor keys refuses them as they are, since they differ in width. */
static bool needs_map(const attend_config *c, int memory)
{
    const attend_score *s = c->attention;
    const attend_tile tile = { .query_width = c->hidden / c->heads, .key_width = memory / c->heads, .heads = c->heads };
    return !s->prepare_keys && !s->prepare_queries && s->refuse_tile && memory != c->hidden && s->refuse_tile(&tile);
}

static void attention(builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    m->memory_width = (c->bidirectional ? 2 : 1) * c->hidden;
    if (!c->attention) return;
    if (needs_map(c, m->memory_width)) {
        m->memory_w = matrix(b, "memory.w", c->hidden, m->memory_width);
        m->memory_b = vector(b, "memory.b", c->hidden);
        m->memory_width = c->hidden;
    }
    const attend_widths w = { .query = c->hidden,
                              .key = m->memory_width,
                              .value = m->memory_width,
                              .heads = c->heads,
                              .key_heads = c->heads,
                              .attention = c->attention_width,
                              .longest = c->longest,
                              .filters = c->filters,
                              .filter_size = c->filter_size };
    m->context_width = c->attention->context_width ? c->attention->context_width(&w) : m->memory_width;
    for (int i = 0; c->attention->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter p = c->attention->parameter(&w, i);
        if (!p.name) break;
        char name[64];
        const int length = snprintf(name, sizeof name, "attention.%s", p.name);
        if (p.rank < 1 || p.rank > 2 || length >= (int)sizeof name) {
            if (b->status == ATTEND_OK)
                b->status = attend_fail(ATTEND_BAD_USAGE,
                                        "score %s: parameter '%.80s' has rank %d; 1 or 2, and a name of at most %d "
                                        "bytes, are possible",
                                        c->attention->name, p.name, p.rank, (int)(sizeof name - sizeof "attention."));
            return;
        }
        m->score[i] = declare(b, name, p.rank, p.shape[0], p.rank > 1 ? p.shape[1] : 1);
        if (m->score[i] && p.rank == 2) m->score[i]->weights = c->attention->in_linear >> i & 1;
    }
    if (c->window == ATTEND_WINDOW_LOCAL_P) {
        m->position_w = declare(b, "position.w", 2, c->hidden, c->hidden);
        m->position_v = declare(b, "position.v", 2, 1, c->hidden);
    }
}

static void decoder_of(builder *b)
{
    attend_model *m = b->m;
    const attend_config *c = &m->config;
    const int wide = attend_cell_gates(c->cell) * c->hidden;
    char name[64];
    for (int i = 0; i < c->layers; i++) {
        snprintf(name, sizeof name, "decoder.%d", i);
        m->decoder[i] = cell(b, name, i == 0 ? c->embedding : c->hidden);
    }
    int wants = 0; /* what the readout is made from */
    if (c->readout == ATTEND_READOUT_DEEP) wants = c->hidden + m->context_width + c->embedding;
    if (model_luong(m)) wants = m->context_width + c->hidden;
    m->readout_width = wants == 0 ? c->hidden : c->tie_embeddings ? c->embedding : c->hidden;
    if (wants) {
        m->readout_w = matrix(b, "readout.w", m->readout_width, wants);
        m->readout_b = vector(b, "readout.b", m->readout_width);
    }
    if (model_bahdanau(m)) m->second_w = matrix(b, "decoder.0.context", wide, m->context_width);
    if (c->input_feeding) m->second_w = matrix(b, "decoder.0.feed", wide, m->readout_width);
    m->output_w = c->tie_embeddings ? m->target_table : matrix(b, "output.w", c->target_vocab, m->readout_width);
    m->output_b = vector(b, "output.b", c->target_vocab);
}

int attend_model_build(attend_model *m, model_values values, void *user)
{
    builder b = { .m = m, .values = values, .user = user };
    const attend_config *c = &m->config;
    m->source_table = matrix(&b, c->shared_vocab ? "embedding" : "source.embedding", c->source_vocab, c->embedding);
    m->target_table = c->shared_vocab ? m->source_table : matrix(&b, "target.embedding", c->target_vocab, c->embedding);
    encoder(&b);
    attention(&b);
    decoder_of(&b);
    return b.status;
}

/* ---- first values ---- */

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Tables +-0.1; matrices +-sqrt(6 / (in + out)) (Glorot, Bengio 2010); the matrix of a recurrent step +-1 / sqrt(H); biases 0, but 1 for what
 * an LSTM keeps (Jozefowicz et al. 2015); vectors of a score +-1 / sqrt(size). */
static void first_value(const attend_model *m, attend_param *p, uint64_t seed)
{
    const char *name = attend_param_name(p);
    const int hidden = m->config.hidden;
    if (ends_with(name, "embedding"))
        attend_param_fill_uniform(p, seed, 0.1);
    else if (ends_with(name, ".u") && p->rank == 2)
        attend_param_fill_uniform(p, seed, 1 / sqrt(hidden));
    else if (p->rank == 2)
        attend_param_fill_uniform(p, seed, sqrt(6.0 / (p->shape[0] + p->shape[1])));
    else if (strncmp(name, "attention.", 10) == 0)
        attend_param_fill_uniform(p, seed, 1 / sqrt((double)p->size));
    else if (ends_with(name, ".bw") && m->config.cell == ATTEND_CELL_LSTM)
        for (int i = hidden; i < 2 * hidden; i++) p->value[i] = 1;
    attend_param_changed(p);
}

int attend_model_new(attend_model **out, const attend_config *config, uint64_t seed)
{
    *out = NULL;
    attend_model *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
    pthread_mutex_init(&m->lock, NULL);
    m->config = *config;
    int status = attend_config_check(&m->config);
    if (status == ATTEND_OK) status = attend_params_new(&m->params);
    if (status == ATTEND_OK) status = attend_model_build(m, NULL, NULL);
    if (status != ATTEND_OK) {
        attend_model_free(m);
        return status;
    }
    for (int i = 0; i < attend_params_count(m->params); i++) first_value(m, attend_params_at(m->params, i), seed);
    *out = m;
    return ATTEND_OK;
}

void attend_model_free(attend_model *m)
{
    if (!m) return;
    attend_params_free(m->params);
    attend_model_fold_free(m);
    attend_memory_free(m->shortlist_starts);
    attend_model_detach(m);
    pthread_mutex_destroy(&m->lock);
    attend_memory_free(m);
}

const attend_config *attend_model_config(const attend_model *m)
{
    return &m->config;
}

attend_params *attend_model_params(const attend_model *m)
{
    return m->params;
}

attend_precision attend_model_precision(const attend_model *m)
{
    return m->output_w->precision;
}

int attend_model_shorten(attend_model *m, attend_precision precision)
{
    const attend_precision now = attend_model_precision(m);
    if (precision == now) return ATTEND_OK;
    if (now != ATTEND_FP32)
        return attend_fail(ATTEND_BAD_USAGE, "the model is kept as %s and cannot become %s: shorten the original",
                           attend_precision_name(now), attend_precision_name(precision));
    for (int i = 0; i < attend_params_count(m->params); i++) {
        attend_param *p = attend_params_at(m->params, i);
        const int status = p->weights ? attend_param_shorten(p, precision) : ATTEND_OK;
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}
