/* verbs.c: the verbs, in the order of help, man pages and completions. */
#include "options.h"

const verb *const verbs[] = { &verb_demo,  &verb_train,    &verb_translate,
#ifdef ATTEND_SERVE
                              &verb_serve,
#endif
                              &verb_score, &verb_evaluate, &verb_align,     &verb_show, &verb_compare,
                              &verb_tune,  &verb_check,    &verb_convert,   &verb_info, NULL };
