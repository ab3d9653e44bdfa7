/* language_model.h: a small GRU language model on random ids, for tests and benchmarks of whole training steps.
 *
 *     x_t = E[id_t]      h = GRU(dropout(x))      loss = -sum log softmax(W h_t + b)[id_{t+1}] / tokens
 *
 * A batch is divided into shards of `shard` sequences each, independent of the number of threads. */
#ifndef ATTEND_TEST_LANGUAGE_MODEL_H
#define ATTEND_TEST_LANGUAGE_MODEL_H

#include "core/rng.h"
#include <attend/attend.h>
#include <math.h>
#include <stdlib.h>

typedef struct language_model {
    int vocabulary, embedding, hidden; /* sizes */
    int count, max_length, shard;      /* sequences of a batch, maximum length, sequences of a shard */
    bool ragged;                       /* lengths from 0 to `max_length`; otherwise all `max_length` */
    double dropout;

    attend_params *params;
    attend_param *table, *w, *u, *bw, *bu, *out, *bias;
    int *ids; /* (count, max_length + 1) */
    int *lengths;
    int tokens;
} language_model;

static inline int language_model_new(language_model *m)
{
    int status = attend_params_new(&m->params), g = 3 * m->hidden;
    const struct {
        attend_param **p;
        const char *name;
        int rank, shape[2];
    } list[] = { { &m->table, "embedding", 2, { m->vocabulary, m->embedding } },
                 { &m->w, "gru.w", 2, { g, m->embedding } },
                 { &m->u, "gru.u", 2, { g, m->hidden } },
                 { &m->bw, "gru.bw", 1, { g, 0 } },
                 { &m->bu, "gru.bu", 1, { g, 0 } },
                 { &m->out, "output.w", 2, { m->vocabulary, m->hidden } },
                 { &m->bias, "output.b", 1, { m->vocabulary, 0 } } };
    for (size_t i = 0; status == ATTEND_OK && i < sizeof list / sizeof *list; i++) {
        status = attend_params_add(list[i].p, m->params, list[i].name, list[i].rank, list[i].shape);
        if (status == ATTEND_OK) attend_param_fill_uniform(*list[i].p, 11, 1 / sqrt((double)m->hidden));
    }
    m->ids = malloc((size_t)(m->count * (m->max_length + 1)) * sizeof *m->ids);
    m->lengths = malloc((size_t)m->count * sizeof *m->lengths);
    if (!m->ids || !m->lengths) return ATTEND_NO_MEMORY;
    const attend_rng rng = { .seed = 3 };
    m->tokens = 0;
    for (int i = 0; i < m->count; i++) {
        m->lengths[i] = m->ragged ? (i * 7 + 3) % (m->max_length + 1) : m->max_length;
        m->tokens += m->lengths[i];
    }
    for (int i = 0; i < m->count * (m->max_length + 1); i++)
        m->ids[i] = (int)(attend_rng_uniform(&rng, (uint64_t)i) * m->vocabulary);
    return status;
}

static inline void language_model_free(language_model *m)
{
    attend_params_free(m->params);
    free(m->ids);
    free(m->lengths);
}

static inline int language_model_shards(const language_model *m)
{
    return (m->count + m->shard - 1) / m->shard;
}

/* The loss of one shard: an attend_shard_fn. */
static inline attend_var *language_model_loss(attend_ctx *c, int shard, void *user)
{
    const language_model *m = user;
    int first = shard * m->shard, n = m->count - first < m->shard ? m->count - first : m->shard;
    int rows = 0;
    int *in = malloc((size_t)(n * m->max_length + 1) * sizeof *in),
        *next = malloc((size_t)(n * m->max_length + 1) * sizeof *next);
    for (int i = first; i < first + n; i++)
        for (int t = 0; t < m->lengths[i]; t++, rows++) {
            in[rows] = m->ids[i * (m->max_length + 1) + t];
            next[rows] = m->ids[i * (m->max_length + 1) + t + 1];
        }
    const attend_ragged *r = attend_ragged_new(c, n, m->lengths + first);
    attend_var *x = attend_gather(c, attend_parameter(c, m->table), in, rows);
    if (m->dropout > 0) x = attend_dropout(c, x, m->dropout);
    const attend_cell cell = { .kind = ATTEND_CELL_GRU,
                               .w = attend_parameter(c, m->w),
                               .u = attend_parameter(c, m->u),
                               .bw = attend_parameter(c, m->bw),
                               .bu = attend_parameter(c, m->bu) };
    attend_var *h = attend_cell_sequence(c, &cell, x, r, false, NULL);
    attend_var *logits = attend_linear(c, h, attend_parameter(c, m->out), attend_parameter(c, m->bias));
    attend_var *loss = attend_cross_entropy(c, logits, next, 0.1, 1.0 / m->tokens, NULL);
    free(in);
    free(next);
    return loss;
}

#endif
