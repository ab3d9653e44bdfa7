/* alignment_text.h: a description of the attention map a model aligns by: "layer 1, head 2", "layer 0, mean of 4
 * heads", "mean of 6 layers and 8 heads". */
#ifndef ATTEND_CLI_ALIGNMENT_TEXT_H
#define ATTEND_CLI_ALIGNMENT_TEXT_H

#include <attend/model.h>

enum { ALIGNMENT_TEXT = 80 };

/* Returns `text`. */
const char *alignment_text(char text[ALIGNMENT_TEXT], attend_alignment alignment, const attend_config *config);

#endif
