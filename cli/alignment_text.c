#include "alignment_text.h"

#include <stdio.h>

const char *alignment_text(char text[ALIGNMENT_TEXT], attend_alignment a, const attend_config *config)
{
    const int layers = attend_config_look_layers(config, ATTEND_LOOK_SOURCE),
              heads = attend_config_look_heads(config, ATTEND_LOOK_SOURCE);
    if (a.layer < 0 && a.head < 0)
        snprintf(text, ALIGNMENT_TEXT, "mean of %d layers and %d heads", layers, heads);
    else if (a.layer < 0)
        snprintf(text, ALIGNMENT_TEXT, "mean of %d layers, head %d", layers, a.head);
    else if (a.head < 0 && heads > 1)
        snprintf(text, ALIGNMENT_TEXT, "layer %d, mean of %d heads", a.layer, heads);
    else
        snprintf(text, ALIGNMENT_TEXT, "layer %d, head %d", a.layer, a.head < 0 ? 0 : a.head);
    return text;
}
