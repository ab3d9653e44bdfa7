/* build.c: the parameters of a model and their initial values. Parameters have the same names in the model file. */
#include "model/model.h"

#include "core/machine_memory.h"
#include "core/status.h"
#include "core/memory.h"
#include "core/precision.h"
#include "device/device.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void *attend_build_own(model_builder *b, size_t size)
{
    b->m->own = attend_memory_zeroed(1, size);
    if (!b->m->own && b->status == ATTEND_OK) b->status = attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
    return b->m->own;
}

attend_param *attend_build_tensor(model_builder *b, const char *prefix, const char *name, int rank, int rows,
                                  int columns)
{
    char whole[64];
    const int shape[2] = { rows, columns };
    attend_param *p = NULL;
    param_storage numbers = { 0 };
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    if (b->status == ATTEND_OK && b->values) b->status = b->values(b->user, whole, rank, shape, &numbers);
    const bool given = numbers.value || numbers.quantized;
    if (b->status == ATTEND_OK)
        b->status = attend_params_add_stored(&p, b->m->params, whole, rank, shape, given ? &numbers : NULL);
    return p;
}

attend_param *attend_build_matrix(model_builder *b, const char *prefix, const char *name, int rows, int columns)
{
    attend_param *p = attend_build_tensor(b, prefix, name, 2, rows, columns);
    if (p) p->quantizable = true;
    return p;
}

attend_param *attend_build_vector(model_builder *b, const char *prefix, const char *name, int size)
{
    return attend_build_tensor(b, prefix, name, 1, size, 1);
}

int attend_model_build(attend_model *m, model_values values, void *user)
{
    model_builder b = { .m = m, .values = values, .user = user };
    const attend_config *c = &m->config;
    m->architecture = attend_architectures[c->architecture];
    if (c->task == ATTEND_TASK_TRANSLATION)
        m->source_table = attend_build_matrix(&b, "", c->shared_vocab ? "embedding" : "source.embedding",
                                              c->source_vocab, c->embedding);
    if (m->source_table && c->shared_vocab)
        m->target_table = m->source_table;
    else
        m->target_table = attend_build_matrix(&b, "", "target.embedding", c->target_vocab, c->embedding);
    m->architecture->build(&b);
    m->output_w = c->tie_embeddings ? m->target_table
                                    : attend_build_matrix(&b, "", "output.w", c->target_vocab, m->readout_width);
    m->output_b = attend_build_vector(&b, "", "output.b", c->target_vocab);
    attend_build_alignment_head(&b, m->readout_width, m->memory_width); /* last: other initial values stay the same */
    return b.status;
}

/* ---- initial values ---- */

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Sets elements [first, last) to 1. */
static void set_ones(attend_param *p, size_t first, size_t last)
{
    attend_device_at(p->memory)->fill(&(attend_compute){ 0 }, last - first, 1, p->value + first);
    attend_param_computed(p);
}

/* Uniform in +-range. Embeddings: see architecture.h; learned positions: 1; matrices: sqrt(6 / (in + out)) (Glorot,
 * Bengio 2010); recurrent matrices: 1 / sqrt(H); vectors of score functions: 1 / sqrt(size). Gains of layer norms are
 * 1, biases 0 except 1 for the forget gate of an LSTM (Jozefowicz et al. 2015); position.v is 0 with diagonal_start. */
static void initialize(const attend_model *m, attend_param *p, uint64_t seed)
{
    const char *name = attend_param_name(p);
    const int hidden = m->config.hidden;
    const double range = m->architecture->embedding_range;
    if (ends_with(name, "embedding"))
        attend_param_fill_uniform(p, seed, range > 0 ? range : sqrt(3.0 / hidden));
    else if (ends_with(name, ".position"))
        attend_param_fill_uniform(p, seed, 1);
    else if (ends_with(name, ".gain"))
        set_ones(p, 0, p->size);
    else if (m->config.diagonal_start && strcmp(name, "position.v") == 0)
        return; /* 0: the diagonal */
    else if (ends_with(name, ".u") && p->rank == 2)
        attend_param_fill_uniform(p, seed, 1 / sqrt(hidden));
    else if (p->rank == 2)
        attend_param_fill_uniform(p, seed, sqrt(6.0 / (p->shape[0] + p->shape[1])));
    else if (strncmp(name, "attention.", 10) == 0 || ends_with(name, ".v"))
        attend_param_fill_uniform(p, seed, 1 / sqrt((double)p->size));
    else if (ends_with(name, ".bw") && m->config.cell == ATTEND_CELL_LSTM)
        set_ones(p, (size_t)hidden, 2 * (size_t)hidden);
}

/* A model of this configuration, with the given values. */
static int build_new(attend_model **out, const attend_config *config, model_values values)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && config);
    *out = NULL;
    attend_model *m = attend_memory_zeroed(1, sizeof *m);
    if (!m) return attend_fail(ATTEND_NO_MEMORY, "no memory for a model");
    m->config = *config;
    int status = attend_config_check(&m->config);
    if (status == ATTEND_OK) status = attend_params_new(&m->params);
    if (status == ATTEND_OK) status = attend_model_build(m, values, NULL);
    if (status == ATTEND_OK)
        *out = m;
    else
        attend_model_free(m);
    return status;
}

/* The model_values function of counting: no memory at all. */
static int no_values(void *user, const char *name, int rank, const int *shape, param_storage *numbers)
{
    static const uint16_t none;
    (void)user, (void)name, (void)rank, (void)shape;
    *numbers =
        (param_storage){ .precision = ATTEND_BFLOAT16, .quantized = &none, .borrowed = true, .shape_only = true };
    return ATTEND_OK;
}

int attend_config_count_parameters(const attend_config *config, size_t *count)
{
    attend_model *m = NULL;
    const int status = build_new(&m, config, no_values);
    *count = status == ATTEND_OK ? attend_params_size(m->params) : 0;
    attend_model_free(m);
    return status;
}

/* Refuses a model that does not fit into memory before its weights fill the memory. */
static int check_memory(const attend_config *config)
{
    size_t count, available;
    const int status = attend_config_count_parameters(config, &count);
    if (status != ATTEND_OK || attend_machine_has_memory(count * sizeof(real), &available)) return status;
    return attend_fail(ATTEND_NO_MEMORY,
                       "the model would have %zu million parameters, which take %zu MB, and %zu MB of memory are "
                       "available: reduce " ATTEND_SIZE_FIELDS,
                       count / 1000000, count * sizeof(real) / 1000000, available / 1000000);
}

int attend_model_new(attend_model **out, const attend_config *config, uint64_t seed)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out && config);
    attend_model *m = NULL;
    *out = NULL;
    int status = check_memory(config);
    if (status == ATTEND_OK) status = build_new(&m, config, NULL);
    if (status != ATTEND_OK) return status;
    for (int i = 0; i < attend_params_count(m->params); i++) initialize(m, attend_params_at(m->params, i), seed);
    *out = m;
    return ATTEND_OK;
}

void attend_model_free(attend_model *m)
{
    if (!m) return;
    for (int i = 0; m->members && i < m->member_count - 1; i++) attend_model_free(m->members[i]);
    attend_memory_free(m->members);
    attend_params_free(m->params);
    if (m->architecture) m->architecture->free(m);
    attend_memory_free(m->shortlist_starts);
    attend_attachments_free(&m->attachments);
    attend_memory_free(m->name);
    attend_memory_free(m->storage);
    attend_memory_free(m);
}

const attend_config *attend_model_config(const attend_model *m)
{
    ATTEND_REQUIRE(NULL, m);
    return &m->config;
}

attend_params *attend_model_params(const attend_model *m)
{
    ATTEND_REQUIRE(NULL, m);
    return m->params;
}

attend_precision attend_model_precision(const attend_model *m)
{
    ATTEND_REQUIRE((attend_precision)0, m);
    return m->output_w->precision;
}

static int quantize(attend_model *m, attend_precision precision)
{
    for (int i = 0; i < attend_params_count(m->params); i++) {
        attend_param *p = attend_params_at(m->params, i);
        const int status = p->quantizable ? attend_param_quantize(p, precision) : ATTEND_OK;
        if (status != ATTEND_OK) return status;
    }
    return ATTEND_OK;
}

int attend_model_quantize(attend_model *m, attend_precision precision)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m && attend_precision_name(precision));
    const attend_precision now = attend_model_precision(m);
    if (!attend_precision_name(precision))
        return attend_fail(ATTEND_BAD_USAGE, "there is no precision number %d", (int)precision);
    if (precision == now) return ATTEND_OK;
    if (now != ATTEND_FP32)
        return attend_fail(
            ATTEND_BAD_USAGE,
            "the model is already quantised to %s and cannot be quantised to %s; quantise the original model",
            attend_precision_name(now), attend_precision_name(precision));
    int status = quantize(m, precision);
    for (int i = 1; status == ATTEND_OK && i < m->member_count; i++) status = quantize(m->members[i - 1], precision);
    return status;
}
