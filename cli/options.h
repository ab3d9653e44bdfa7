/* options.h: the command line of a verb.
 *
 * Each verb has one option table. Parsing, --help, suggestions for misspelt names, man pages and completions
 * (manual/) all read it.
 *
 * A value is written --name VALUE or --name=VALUE. A verb with `has_config` also accepts the fields of a model
 * configuration (attend/config.h) as options; a yes|no field without a value means yes. --config FILE reads options
 * from a file (config_file.c); an option on the command line overrides the file.
 *
 * A renamed option stays accepted under its old name (option_alias), with a note on standard error. */
#ifndef ATTEND_CLI_OPTIONS_H
#define ATTEND_CLI_OPTIONS_H

#include <attend/attend.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The type of the member that an option sets, and for files whether they are read or written: before a verb runs, every
 * output is compared with every input and with every other output (file_conflicts.c). */
typedef enum option_kind {
    OPTION_FLAG,         /* bool */
    OPTION_TEXT,         /* const char *; not the name of a file */
    OPTION_TEXTS,        /* texts_list; the option may be repeated */
    OPTION_INPUT,        /* const char *; a file that is read */
    OPTION_INPUTS,       /* texts_list of such files; may be repeated */
    OPTION_NAMED_INPUTS, /* texts_list of NAME=FILE, a file that is read; may be repeated */
    OPTION_PLUGINS,  /* texts_list of score plug-ins, which are loaded before other options are read; may be repeated */
    OPTION_OUTPUT,   /* const char *; a file that is written, or standard output. %d stands for numbers if the verb
                        replaces it */
    OPTION_FILE,     /* const char *; a file that is written and replaced as a whole; not standard output */
    OPTION_TRAINING, /* const char *; a model that is trained: attend_training_suffixes are written beside it */
    OPTION_DIRECTORY, /* const char *; a directory in which the verb's directory_files are written */
    OPTION_PAIRS,     /* pairs_list; one .tsv file, two line-aligned files, or several of these; may be repeated */
    OPTION_DATA,      /* pairs_list; files of pairs or, for a language model, of lines: data_files_resolve decides */
    OPTION_INTEGER,   /* long long */
    OPTION_REAL,      /* double */
    OPTION_SIZE,      /* long long: bytes, with an optional suffix k, M, G or T */
    OPTION_CHOICE     /* int: index into `choices` */
} option_kind;

typedef struct option {
    const char *name; /* without dashes; NULL ends the table */
    /* As --help shows it: "FILE". NULL: the option takes no value, or is an OPTION_CHOICE, whose argument is the list
     * of its choices. */
    const char *argument;
    /* --help adds "(default: X)" with the initial value of the member, unless the text itself speaks of a default. */
    const char *help;
    option_kind kind;
    size_t offset;              /* of the member in the verb's settings */
    double min, max;            /* of numbers */
    const char *const *choices; /* of OPTION_CHOICE; ends with NULL */
} option;

/* An option or configuration field that is chosen from the amount of data unless it is given. */
typedef struct chosen_option {
    const char *name; /* NULL ends the list */
    bool always;      /* false: its initial value may stay */
} chosen_option;

/* Options that several verbs share; their offsets apply to the beginning of the verb's settings. */
typedef struct option_group {
    const char *name;     /* "training": the heading in help and man pages */
    const char *document; /* "docs/training.md" */
    const option *options;
    const chosen_option *chosen; /* NULL: none */
} option_group;

/* An old spelling that stays accepted: of an option's name (old_value NULL) or of one of its values (old_name
 * NULL). */
typedef struct option_alias {
    const char *name; /* the option today; NULL ends the table */
    const char *old_name;
    const char *old_value, *value;
} option_alias;

/* A file name given to an OPTION_DATA. */
typedef struct data_name {
    const char *name;
    bool starts_group; /* the first name after one occurrence of the option */
} data_name;

typedef struct pairs_list {
    attend_pairs_spec *items; /* (count) */
    int count, capacity;
    data_name *names; /* (name_count); OPTION_DATA only */
    int name_count, name_capacity;
} pairs_list;

typedef struct texts_list {
    const char **items;
    int count, capacity;
} texts_list;

/* Upper bound on the options and configuration fields of a verb. */
enum { MAX_OPTIONS = 256 };

typedef struct verb {
    const char *name, *summary;
    const char *synopsis; /* "attend train --train PAIRS [options]" */
    const char *details;
    const char *examples;
    const option *options;
    const option_group *shared;      /* NULL: none */
    const option_alias *aliases;     /* NULL: none */
    const char *const *main_options; /* those that --help shows, NULL after the last; NULL: --help shows all */
    bool has_config;                 /* accepts configuration fields as options */
    size_t config;                   /* offset of the attend_config in which they are stored */
    const void *(*defaults)(void);   /* the settings before parsing; NULL: no option has a default */
    bool arguments_are_inputs;       /* arguments that are not options are files to read */
    const char *stdin_option; /* standard input is read unless this option is given; NULL: only if it is named (-) */
    /* The files that the verb writes into its OPTION_DIRECTORY, in any of its subdirectories if they begin with a star
     * and a slash; a + at the end: a model that is trained. NULL after the last. */
    const char *const *directory_files;
    /* What the verb writes to an OPTION_OUTPUT or OPTION_FILE, after all options were parsed; an existing file of another kind is not
     * replaced. NULL: text. */
    attend_content (*content)(const void *settings, const option *o);
    int (*run)(int argc, char **argv);
} verb;

/* The outcome of parsing. The indices of `given` are those of the option tables, followed by the configuration
 * fields. */
typedef struct parsed {
    const char **positional; /* arguments that are not options */
    int positional_count;
    bool given[MAX_OPTIONS];
    bool from_file[MAX_OPTIONS]; /* set by --config; the command line overrides it */
    bool help;                   /* --help or --help-all was given and printed */
    char **texts;                /* contents of configuration files; values point into them */
    int text_count, text_capacity;
} parsed;

/* Parses a command line into `to`, the verb's settings, which hold the defaults. Returns 0, or an exit code after a
 * message. */
int options_parse(const verb *v, void *to, int argc, char **argv, parsed *p);
void options_free(const verb *v, void *to, parsed *p);
/* Sets an option or field from text, as if it were given. */
int options_set(const verb *v, void *to, const char *name, const char *value);
/* Formats a number, choice or field so that options_set reads it back. False: another kind of option, or `size` is too
 * small. */
bool options_get(const verb *v, const void *from, const char *name, char *text, size_t size);
/* Formats the initial value of an option or field (verb.defaults). False: it has none. */
bool options_default(const verb *v, const char *name, char *text, size_t size);
/* Entry i of the verb's table followed by the shared options; NULL after the last. */
const option *options_entry(const verb *v, int i);
/* Whether the user set this option or field. */
bool options_given(const verb *v, const parsed *p, const char *name);
/* Whether each configuration field was given, for attend_config_check_given. */
const bool *options_fields_given(const verb *v, const parsed *p);
/* Prints a message about wrong usage and returns the exit code for it. */
int usage_error(const verb *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the help of a verb. all: every option, not only its main_options. */
void options_help(const verb *v, FILE *to, bool all);

enum { OPTION_ARGUMENT = 160, OPTION_HELP = 1000 };

/* An option as help, man pages and completions show it. */
typedef struct option_shown {
    const char *name, *argument; /* argument NULL: no value */
    const option *entry;         /* NULL: --help, or a configuration field */
    enum option_group_kind { OWN_OPTION, SHARED_OPTION, FIELD_OPTION } group;
    bool value_is_optional;        /* a yes|no field */
    char help[OPTION_HELP];        /* with the default */
    char choices[OPTION_ARGUMENT]; /* the argument of an OPTION_CHOICE */
} option_shown;

/* Entry i, in the order of help: the verb's options, --help, --help-all if it differs, shared options, configuration
 * fields. False after the last. */
bool options_shown(const verb *v, int i, option_shown *shown);

/* argv[0], for commands that are suggested to the user. */
extern const char *cli_program;
/* Prints a word quoted for the shell where necessary. */
void cli_print_word(FILE *to, const char *word);

/* " (option --score-plugin FILE)" if the message of the last failed call says that a score plug-in is missing; else "". */
const char *cli_plugin_hint(void);
/* Prints the message of a failed library call and returns its exit code. */
int cli_fail(const verb *v, int status);
/* The exit code of the command: that of `status`, or of a failure to write standard output. */
int cli_end(int status);

extern const verb verb_demo, verb_train, verb_translate, verb_score, verb_evaluate, verb_align, verb_show, verb_compare,
    verb_tune, verb_check, verb_convert, verb_info;
#ifdef ATTEND_SERVE
extern const verb verb_serve; /* needs libmicrohttpd */
#endif
/* All verbs; ends with NULL. */
extern const verb *const verbs[];

#endif
