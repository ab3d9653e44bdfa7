/* alignment.c: the attention map that is used as the alignment. It is stored in the model as an attachment: "LAYER
 * HEAD" in decimal. */
#include "model/model.h"

#include "core/status.h"
#include <attend/parse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "alignment";

/* With several layers, the penultimate one usually aligns best (Garg et al. 2019). */
static attend_alignment default_alignment(const attend_config *c)
{
    const int layers = attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS);
    return (attend_alignment){ .layer = layers > 1 ? layers - 2 : 0, .head = -1 };
}

static bool is_valid(const attend_config *c, attend_alignment a)
{
    return a.layer >= -1 && a.layer < attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) && a.head >= -1 &&
           a.head < attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS);
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
    long long layer, head; /* the file is untrusted */
    const bool numbers = attend_parse_integer(copy, &rest, &layer) && attend_parse_integer(rest, NULL, &head) &&
                         fits_int(layer) && fits_int(head);
    const attend_alignment a = { .layer = numbers ? (int)layer : -2, .head = numbers ? (int)head : -2 };
    return is_valid(&m->config, a) ? a : default_alignment(&m->config);
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
    const int status = attend_alignment_check(a, &m->config),
              size = snprintf(text, sizeof text, "%d %d", a.layer, a.head);
    return status == ATTEND_OK ? attend_model_attach(m, name, text, (size_t)size) : status;
}

bool attend_alignment_includes(attend_alignment a, int layer, int head)
{
    return (a.layer < 0 || a.layer == layer) && (a.head < 0 || a.head == head);
}

int attend_alignment_map_count(attend_alignment a, const attend_config *c)
{
    return (a.layer < 0 ? attend_config_attention_layers(c, ATTEND_ATTENTION_CROSS) : 1) *
           (a.head < 0 ? attend_config_attention_heads(c, ATTEND_ATTENTION_CROSS) : 1);
}
