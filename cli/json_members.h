/* json_members.h: members of JSON objects, a name and a value each, for attend/json.h.
 *
 * Errors of the output are not checked here: cli_end does so for standard output. */
#ifndef ATTEND_CLI_JSON_MEMBERS_H
#define ATTEND_CLI_JSON_MEMBERS_H

#include <attend/json.h>

void json_text(attend_json_writer *w, const char *name, const char *text);
void json_integer(attend_json_writer *w, const char *name, long long x);
/* With `digits` decimals; null if not finite. */
void json_number(attend_json_writer *w, const char *name, int digits, double x);
void json_bool(attend_json_writer *w, const char *name, bool x);
/* Begins an object or an array that is a member. */
void json_begin_object(attend_json_writer *w, const char *name);
void json_begin_array(attend_json_writer *w, const char *name);

/* Ends the outermost object and its line. */
void json_end_line(attend_json_writer *w);
/* {"fault": reason}, for a line or pair that cannot be processed. */
void json_print_fault(FILE *to, const char *reason);

#endif
