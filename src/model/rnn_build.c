/* rnn_build.c: the parameters of recurrent networks. */
#include "model/rnn.h"

#include "core/memory.h"
#include <stdio.h>

static rnn_cell cell(model_builder *b, const char *prefix, int in)
{
    const attend_config *c = &b->m->config;
    const int wide = attend_cell_gates(c->cell) * c->hidden;
    rnn_cell p;
    p.w = attend_build_matrix(b, prefix, ".w", wide, in);
    p.u = attend_build_matrix(b, prefix, ".u", wide, c->hidden);
    if (p.u && c->cell == ATTEND_CELL_GRU_RESET_BEFORE)
        p.u->quantizable = false; /* its step reads parts of the matrix */
    p.bw = attend_build_vector(b, prefix, ".bw", wide);
    p.bu = attend_build_vector(b, prefix, ".bu", wide);
    return p;
}

static void encoder(model_builder *b, rnn *r)
{
    const attend_config *c = &b->m->config;
    const int directions = c->bidirectional ? 2 : 1;
    char name[64];
    for (int i = 0; i < c->layers; i++)
        for (int direction = 0; direction < directions; direction++) {
            snprintf(name, sizeof name, "encoder.%d.%s", i, direction ? "backward" : "forward");
            r->encoder[i][direction] = cell(b, name, i == 0 ? c->embedding : directions * c->hidden);
        }
    for (int i = 0; c->start == ATTEND_START_MAP && i < c->layers; i++)
        for (int part = 0; part < (c->cell == ATTEND_CELL_LSTM ? 2 : 1); part++) {
            snprintf(name, sizeof name, "start.%d.%s", i, part ? "c" : "h");
            r->start_w[i][part] = attend_build_matrix(b, name, ".w", c->hidden, directions * c->hidden);
            r->start_b[i][part] = attend_build_vector(b, name, ".b", c->hidden);
        }
}

/* Whether the memory must be projected to the width of the queries: the score projects neither, and refuses keys of
 * another width. */
static bool needs_projection(const attend_config *c, int memory)
{
    const attend_score *s = c->attention;
    const attend_tile tile = { .query_width = c->hidden / c->heads, .key_width = memory / c->heads, .heads = c->heads };
    return !s->prepare_keys && !s->prepare_queries && s->check_tile && memory != c->hidden && s->check_tile(&tile);
}

void attend_build_attention(model_builder *b, cross_attention *a)
{
    const attend_config *c = &b->m->config;
    a->memory_width = (c->bidirectional ? 2 : 1) * c->hidden;
    if (!c->attention) return;
    if (needs_projection(c, a->memory_width)) {
        a->memory_w = attend_build_matrix(b, "", "memory.w", c->hidden, a->memory_width);
        a->memory_b = attend_build_vector(b, "", "memory.b", c->hidden);
        a->memory_width = c->hidden;
    }
    const attend_widths w = { .query = c->hidden,
                              .key = a->memory_width,
                              .value = a->memory_width,
                              .heads = c->heads,
                              .key_heads = c->heads,
                              .attention = c->attention_width,
                              .max_keys = c->max_positions,
                              .filters = c->filters,
                              .filter_size = c->filter_size };
    a->context_width = c->attention->context_width ? c->attention->context_width(&w) : a->memory_width;
    for (int i = 0; c->attention->parameter && i < ATTEND_SCORE_PARAMETERS; i++) {
        const attend_score_parameter p = c->attention->parameter(&w, i);
        if (!p.name) break;
        char name[64];
        const int length = snprintf(name, sizeof name, "attention.%s", p.name);
        if (p.rank < 1 || p.rank > 2 || length >= (int)sizeof name) {
            if (b->status == ATTEND_OK)
                b->status = attend_fail(
                    ATTEND_BAD_USAGE,
                    "score %s: parameter '%.80s' has rank %d; the rank must be 1 or 2, and the name at most "
                    "%d bytes long",
                    c->attention->name, p.name, p.rank, (int)(sizeof name - sizeof "attention."));
            return;
        }
        a->score[i] = attend_build_tensor(b, "", name, p.rank, p.shape[0], p.rank > 1 ? p.shape[1] : 1);
        if (a->score[i] && p.rank == 2) a->score[i]->quantizable = c->attention->linear_parameters >> i & 1;
    }
    if (c->window == ATTEND_WINDOW_LOCAL_P) {
        a->position_w = attend_build_tensor(b, "", "position.w", 2, c->hidden, c->hidden);
        a->position_v = attend_build_tensor(b, "", "position.v", 2, 1, c->hidden);
    }
}

static void decoder_of(model_builder *b, rnn *r)
{
    attend_model *m = b->m;
    cross_attention *a = &r->attention;
    const attend_config *c = &m->config;
    const int wide = attend_cell_gates(c->cell) * c->hidden;
    char name[64];
    for (int i = 0; i < c->layers; i++) {
        snprintf(name, sizeof name, "decoder.%d", i);
        r->decoder[i] = cell(b, name, i == 0 ? c->embedding : c->hidden);
    }
    int inputs = 0; /* width of the input of the readout */
    if (c->readout == ATTEND_READOUT_DEEP) inputs = c->hidden + a->context_width + c->embedding;
    if (is_luong(m)) inputs = a->context_width + c->hidden;
    m->readout_width = inputs == 0 ? c->hidden : c->tie_embeddings ? c->embedding : c->hidden;
    if (inputs) {
        a->readout_w = attend_build_matrix(b, "", "readout.w", m->readout_width, inputs);
        a->readout_b = attend_build_vector(b, "", "readout.b", m->readout_width);
    }
    if (is_bahdanau(m)) r->second_w = attend_build_matrix(b, "", "decoder.0.context", wide, a->context_width);
    if (c->input_feeding) r->second_w = attend_build_matrix(b, "", "decoder.0.feed", wide, m->readout_width);
}

void attend_rnn_build(model_builder *b)
{
    rnn *r = attend_build_own(b, sizeof *r);
    if (!r) return;
    pthread_mutex_init(&r->lock, NULL);
    if (b->m->config.task == ATTEND_TASK_TRANSLATION) {
        encoder(b, r);
        attend_build_attention(b, &r->attention);
        b->m->memory_width = r->attention.memory_width;
    }
    decoder_of(b, r);
}

void attend_rnn_free(attend_model *m)
{
    rnn *r = m->own;
    if (!r) return;
    attend_folded_context_free(r);
    pthread_mutex_destroy(&r->lock);
    attend_memory_free(r);
}
