/* options_internal.h: what options.c shares with those who set options by other ways: config_file.c, variants.c. */
#ifndef ATTEND_CLI_OPTIONS_INSIDE_H
#define ATTEND_CLI_OPTIONS_INSIDE_H

#include "options.h"

int options_count(const verb *v);
/* The place of an option, or of a field of the configuration; -1: there is none of that name. */
int options_find(const verb *v, const char *name);
int options_find_field(const verb *v, const char *name);
/* A field that is yes or no. */
bool options_is_switch(int field);

/* An option or field that there is counts as given from now on. */
void options_mark(const verb *v, parsed *p, const char *name);

int options_unknown(const verb *v, const char *name);
/* OPTION_PAIRS or OPTION_DATA. */
bool options_has_files(const option *o);
/* What a list of names means: attend_pairs_specs; of OPTION_DATA that is not known yet. */
int options_add_pairs(const verb *v, const option *o, void *base, const char *const *names, int count);

/* What stands before messages about wrong usage from now on: "FILE:LINE: ". Kept by the caller. */
void options_at(const char *where);

/* 0, or an exit code after a message: what is written must not be what is read. */
int options_outputs_apart(const verb *v, const void *base);

/* 0, or an exit code after a message. */
int options_read_config(const verb *v, void *base, parsed *p, const char *path);

#endif
