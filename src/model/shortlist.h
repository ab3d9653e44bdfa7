/* shortlist.h: the shortlist of a loaded model. */
#ifndef ATTEND_MODEL_SHORTLIST_H
#define ATTEND_MODEL_SHORTLIST_H

#include "model/model.h"
#include <attend/shortlist.h>

/* Whether this is the name of the attached shortlist. */
bool attend_shortlist_is_named(const char *name);
/* Validates and indexes the attached shortlist, if there is one. ATTEND_BAD_MODEL: it does not fit the model. */
int attend_shortlist_index(attend_model *m);
/* The target tokens for a source of n tokens, in ascending order, in the memory of the context; always with ATTEND_END.
 * The source tokens must be valid. NULL: no memory. */
int *attend_shortlist_tokens(attend_ctx *c, const attend_model *m, int n, const int *source, int *count);

#endif
