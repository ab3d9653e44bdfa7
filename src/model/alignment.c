/* alignment.c: the attention map that is used as the alignment. It is stored in the model as an attachment: "LAYER
 * HEAD" in decimal, and " 1" after it if the map is read shifted. */
#include "model/model.h"

#include "core/status.h"
#include <attend/parse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "alignment";

/* The alignment head, or with several layers the penultimate one, which usually aligns best (Garg et al. 2019). */
static attend_alignment default_alignment(const attend_config *c)
{
    if (c->alignment_head)
        return (attend_alignment){ .layer = attend_config_alignment_layer(c), .head = -1, .shifted = true };
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS);
    return (attend_alignment){ .layer = layers > 1 ? layers - 2 : 0, .head = -1 };
}

static bool is_valid(const attend_config *c, attend_alignment a)
{
    return a.layer >= -1 && a.layer < attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) && a.head >= -1 &&
           a.head < attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS);
}

/* The rows of the alignment head are trained to align the token that they have read. */
static attend_alignment with_shift(const attend_config *c, attend_alignment a)
{
    if (attend_alignment_has_null(a, c)) a.shifted = true;
    return a;
}

static bool fits_int(long long x)
{
    return x >= INT_MIN && x <= INT_MAX;
}

attend_alignment attend_model_alignment(const attend_model *m)
{
    ATTEND_REQUIRE((attend_alignment){ 0 }, m);
    size_t size;
    const char *text = attend_model_attached(m, name, &size);
    char copy[32] = "";
    const char *rest;
    if (text && size < sizeof copy) memcpy(copy, text, size);
    long long layer, head, shift = 0; /* the file is untrusted */
    const bool numbers = attend_parse_integer(copy, &rest, &layer) && attend_parse_integer(rest, &rest, &head) &&
                         (*rest == '\0' || attend_parse_integer(rest, NULL, &shift)) && fits_int(layer) &&
                         fits_int(head) && (shift == 0 || shift == 1);
    const attend_alignment a = { .layer = numbers ? (int)layer : -2,
                                 .head = numbers ? (int)head : -2,
                                 .shifted = shift == 1 };
    return is_valid(&m->config, a) ? with_shift(&m->config, a) : default_alignment(&m->config);
}

int attend_alignment_check(attend_alignment a, const attend_config *c)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, c);
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS),
              heads = attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS);
    if (layers == 0) return attend_fail(ATTEND_BAD_USAGE, "the model has no attention to align by");
    if (is_valid(c, a)) return ATTEND_OK;
    return attend_fail(ATTEND_BAD_USAGE,
                       "there is no layer %d with head %d: layers are 0 to %d, heads 0 to %d, and -1 means all",
                       a.layer, a.head, layers - 1, heads - 1);
}

int attend_model_set_alignment(attend_model *m, attend_alignment a)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, m);
    char text[32];
    const int status = attend_alignment_check(a, &m->config);
    const int size =
        snprintf(text, sizeof text, "%d %d%s", a.layer, a.head, with_shift(&m->config, a).shifted ? " 1" : "");
    return status == ATTEND_OK ? attend_model_attach(m, name, text, (size_t)size) : status;
}

/* Whether a layer takes part in translation. */
static bool translates(const attend_config *c, int layer)
{
    return layer != attend_config_alignment_layer(c);
}

bool attend_alignment_includes(attend_alignment a, const attend_config *c, int layer, int head)
{
    ATTEND_REQUIRE(false, c);
    return (a.layer < 0 ? translates(c, layer) : a.layer == layer) && (a.head < 0 || a.head == head);
}

int attend_alignment_map_count(attend_alignment a, const attend_config *c)
{
    ATTEND_REQUIRE(0, c);
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) - (c->alignment_head ? 1 : 0);
    return (a.layer < 0 ? layers : 1) * (a.head < 0 ? attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS) : 1);
}

bool attend_alignment_has_null(attend_alignment a, const attend_config *c)
{
    ATTEND_REQUIRE(false, c);
    return c->alignment_head && a.layer == attend_config_alignment_layer(c);
}
