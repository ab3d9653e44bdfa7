/* option_table.h: lookup and assignment of single options; shared by the parser (options.c), --config (config_file.c)
 * and --vary (variants.c). */
#ifndef ATTEND_CLI_OPTION_TABLE_H
#define ATTEND_CLI_OPTION_TABLE_H

#include "options.h"

/* Entries of both tables. */
int options_count(const verb *v);
/* The index of an option, or of a configuration field; -1: no such name. */
int options_find(const verb *v, const char *name);
int options_find_field(const verb *v, const char *name);
/* Whether option i belongs to the shared options. */
bool options_is_shared(const verb *v, int i);
/* A yes|no field. */
bool options_is_switch(int field);

/* The current name of an option for an old one, with a note on standard error; anything else is returned unchanged.
 * If the value given to the option is an old one, the same note names the current value; NULL: there is no value. */
const char *options_current_name(const verb *v, const char *name, const char *value);
/* The current value of an option for an old one, without a note; anything else is returned unchanged. */
const char *options_current_value(const verb *v, const char *name, const char *value);

/* Marks an existing option or field as given. */
void options_mark_given(const verb *v, parsed *p, const char *name);

/* The usage error for an unknown name, with the closest known one. */
int unknown_option_error(const verb *v, const char *name);

/* Assigns a value to one option; NULL for a flag. */
int option_assign(const verb *v, const option *o, void *base, const char *value);
int field_assign(const verb *v, void *base, const char *name, const char *value);
/* The argument as help and messages show it: that of the table, or the choices, which are written to `text`. */
const char *option_argument(const option *o, char text[OPTION_ARGUMENT]);
/* The member is a const char *, a texts_list, or a pairs_list. */
bool option_is_text(const option *o);
bool option_is_texts(const option *o);
bool option_takes_files(const option *o);
/* Adds the file names of one occurrence of an option that takes files. */
int option_add_files(const verb *v, const option *o, void *base, const char *const *names, int count);

/* Prefixes usage errors with a location, "FILE:LINE: ", until it is set to "". Borrows the text. */
void options_set_location(const char *where);

/* Refuses an output that is also an input or another output, standard streams included, that would replace a file of
 * another kind, or that cannot be written, and standard input that is read twice. Returns 0, or an exit code after a
 * message. */
int options_check_files(const verb *v, const void *base, const parsed *p);

/* Reads a configuration file. Returns 0, or an exit code after a message. */
int options_read_config(const verb *v, void *base, parsed *p, const char *path);

#endif
