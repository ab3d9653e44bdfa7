/* unused_fields.h: which fields of a configuration do anything, by what kind of network it is and what for. */
#ifndef ATTEND_CLI_IDLE_FIELDS_H
#define ATTEND_CLI_IDLE_FIELDS_H

#include "options.h"

/* Nothing in a model of this architecture and task goes by this field. */
bool field_is_idle(const attend_config *c, const char *field);

/* The first field that was given though it is idle, and says something else than what holds anyway; NULL: none. */
const char *idle_field_given(const verb *v, const attend_config *c, const parsed *p);
/* Why, for a message: "--cell belongs to ..". */
enum { IDLE_TEXT = 160 };
const char *idle_field_text(char text[IDLE_TEXT], const attend_config *c, const char *field);

#endif
