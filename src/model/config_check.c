/* config_check.c: checks a configuration and sets the fields that follow from others. The checks of an architecture are
 * in its own files. */
#include "core/status.h"
#include "model/architecture.h"
#include "model/config.h"

static const architecture *architecture_of(const attend_config *c)
{
    return attend_architectures[c->architecture];
}

void attend_config_set_defaults(attend_config *c)
{
    if (c->heads == 0) c->heads = 1;
    if (c->attention_width == 0) c->attention_width = c->hidden;
    c->decoder_layers = attend_config_decoder_layers(c);
    if (c->feed_forward_width == 0) c->feed_forward_width = 4 * c->hidden;
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) c->shared_vocab = true;
    architecture_of(c)->set_defaults(c);
}

static int check_heads(const attend_config *c)
{
    if (!c->attention) return ATTEND_OK;
    const bool inner_fits = !c->attention->has_inner_width || c->attention_width % c->heads == 0;
    if (c->hidden % c->heads == 0 && inner_fits) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE, "hidden %d%s must be divisible by heads %d", c->hidden,
                       inner_fits ? "" : " and the attention-width", c->heads);
}

static int check_conflicts(const attend_config *c)
{
    const char *conflict = architecture_of(c)->conflict(c);
    if (!conflict && c->shared_vocab && c->source_vocab != c->target_vocab)
        conflict = "shared-vocab means one vocabulary, but source-vocab and target-vocab differ";
    return conflict ? attend_fail(ATTEND_BAD_USAGE, "%s", conflict) : ATTEND_OK;
}

int attend_config_check(attend_config *c)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    if (c->task == ATTEND_TASK_LANGUAGE_MODEL) c->source_vocab = c->target_vocab; /* there is only one vocabulary */
    int status = attend_config_check_ranges(c);
    if (status != ATTEND_OK) return status;
    attend_config_set_defaults(c);
    status = check_conflicts(c);
    if (status == ATTEND_OK) status = attend_config_check_effects(c);
    return status == ATTEND_OK ? check_heads(c) : status;
}

int attend_config_max_tokens(const attend_config *c, bool target)
{
    ATTEND_REQUIRE(0, attend_config_has_architecture(c));
    return architecture_of(c)->max_tokens(c, target);
}

int attend_config_attention_layers(const attend_config *c, attend_attention_kind kind)
{
    ATTEND_REQUIRE(0, attend_config_has_architecture(c));
    const int layers = architecture_of(c)->attention_layers(c, kind);
    return kind == ATTEND_ATTENTION_CROSS && layers > 0 && c->alignment_head ? layers + 1 : layers;
}

bool attend_config_can_attend(const attend_config *c, int source, int target)
{
    const double sizes[][2] = { [ATTEND_ATTENTION_CROSS] = { source, target },
                                [ATTEND_ATTENTION_ENCODER] = { source, source },
                                [ATTEND_ATTENTION_DECODER] = { target, target } };
    for (int kind = ATTEND_ATTENTION_CROSS; kind <= ATTEND_ATTENTION_DECODER; kind++)
        if (sizes[kind][0] * sizes[kind][1] > ATTEND_MAX_ATTENTION_STEPS &&
            attend_config_attention_layers(c, (attend_attention_kind)kind) > 0)
            return false;
    return true;
}

int attend_config_alignment_layer(const attend_config *c)
{
    ATTEND_REQUIRE(-1, attend_config_has_architecture(c));
    return c->alignment_head ? attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) - 1 : -1;
}

int attend_config_attention_heads(const attend_config *c, attend_attention_kind kind)
{
    return attend_config_attention_layers(c, kind) > 0 ? architecture_of(c)->attention_heads(c, kind) : 0;
}
