#include "alignment_text.h"

#include <stdio.h>
#include <string.h>

const char *alignment_text(char text[ALIGNMENT_TEXT], attend_alignment a, const attend_config *config)
{
    const int layers =
                  attend_config_attention_layers(config, ATTEND_ATTENTION_CROSS) - (config->alignment_head ? 1 : 0),
              heads = attend_config_attention_heads(config, ATTEND_ATTENTION_CROSS);
    if (a.layer < 0 && a.head < 0)
        snprintf(text, ALIGNMENT_TEXT, "mean of %d layers and %d heads", layers, heads);
    else if (a.layer < 0)
        snprintf(text, ALIGNMENT_TEXT, "mean of %d layers, head %d", layers, a.head);
    else if (a.head < 0 && heads > 1)
        snprintf(text, ALIGNMENT_TEXT, "layer %d, mean of %d heads", a.layer, heads);
    else
        snprintf(text, ALIGNMENT_TEXT, "layer %d, head %d", a.layer, a.head < 0 ? 0 : a.head);
    const size_t length = strlen(text);
    if (attend_alignment_has_null(a, config))
        snprintf(text + length, ALIGNMENT_TEXT - length, ", the alignment head");
    else if (a.shifted)
        snprintf(text + length, ALIGNMENT_TEXT - length, ", one step later");
    return text;
}
