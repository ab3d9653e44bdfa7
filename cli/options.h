/* options.h: what a verb takes on its command line. One table a verb: parsing, help, the nearest right word for a wrong one, man pages and
 * completions (manual/) all read it.
 *
 * A value is written --name VALUE or --name=VALUE. Fields of a model's configuration (attend/config.h) are options too where a verb says
 * so; yes|no fields may stand alone for yes. --config FILE has the same words, a line each ("hidden 256" or "hidden = 256", "fresh no"; # begins
 * a comment, at the beginning of a line or behind a blank); what the command line says comes before it. */
#ifndef ATTEND_CLI_OPTIONS_H
#define ATTEND_CLI_OPTIONS_H

#include <attend/attend.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char * */
    OPTION_TEXTS, /* texts_list: one each time it is given */
    OPTION_PAIRS, /* pairs_list: one .tsv file or two others, or several of them, each time it is given */
    OPTION_DATA, /* pairs_list: files of pairs or of lines; which, data_settle (data_files.h) is told once the task is known */
    OPTION_WHOLE, /* long long */
    OPTION_REAL,  /* double */
    OPTION_SIZE,  /* long long: bytes, with k, M or G */
    OPTION_WORD   /* int: the place of the word in the list */
} option_kind;

typedef struct option {
    const char *name;     /* without the dashes; NULL behind the last */
    const char *argument; /* in help: "FILE"; NULL: there is none */
    const char *help;
    option_kind kind;
    size_t offset; /* in the verb's own struct */
    double least, most;
    const char *const *words;
} option;

/* What was given for an option that may come several times. */
typedef struct pairs_given {
    const char *first, *second; /* second NULL: one file with both sides; first NULL: lines alone */
} pairs_given;

/* A name of a file, as it was given. */
typedef struct data_name {
    const char *name;
    bool first; /* of those behind one option */
} data_name;

typedef struct pairs_list {
    pairs_given *items;
    int count;
    data_name *names; /* of OPTION_DATA */
    int name_count;
} pairs_list;

typedef struct texts_list {
    const char **items;
    int count;
} texts_list;

/* Which options were given, by their place in the table; fields of the configuration follow behind. */
enum { MOST_OPTIONS = 256 };

typedef struct verb {
    const char *name, *summary;
    const char *synopsis; /* "attend train --train PAIRS .." */
    const char *details;  /* what it does, for help */
    const char *examples;
    const option *options;
    const option *training; /* a second table for the same struct: train_options.h; NULL: none */
    bool has_config;        /* fields of a configuration, at .. */
    size_t config;          /* .. this place in the struct */
    int (*run)(int argc, char **argv);
} verb;

typedef struct parsed {
    const char **rest; /* what is no option */
    int rest_count;
    bool given[MOST_OPTIONS];
    bool from_file[MOST_OPTIONS]; /* options that a configuration file has, which the command line replaces */
    bool help;                    /* was asked for and printed */
    char **texts;                 /* of the configuration file: values point into it */
    int text_count;
} parsed;

/* 0, or an exit code after a message. `to` is the verb's struct with its defaults set. */
int options_parse(const verb *v, void *to, int argc, char **argv, parsed *p);
void options_free(const verb *v, void *to, parsed *p);
/* Sets an option or field from text, as if it had been given. */
int options_set(const verb *v, void *to, const char *name, const char *value);
/* An option of numbers or words, or a field, as text that options_set understands; false: it is of another kind, or does not fit. */
bool options_get(const verb *v, const void *from, const char *name, char *text, size_t size);
/* The i-th option of the verb's own table and of that of training behind it; NULL: there are no more. */
const option *options_entry(const verb *v, int i);
/* A message about wrong usage; returns the exit code for it. */
int options_wrong(const verb *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the user set this option or field. */
bool options_given(const verb *v, const parsed *p, const char *name);
/* Whether each field of the model's configuration was given, for attend_config_check_given. */
const bool *options_fields_given(const verb *v, const parsed *p);
void options_help(const verb *v, FILE *to);

/* An option as help, man pages and completions show it. */
typedef struct option_shown {
    const char *name, *argument, *help; /* argument NULL: there is none */
    const option *entry;                /* of the table; NULL: --help, or a field of the configuration */
    enum option_group { OWN_OPTION, TRAINING_OPTION, FIELD_OPTION } group;
    bool may_stand_alone; /* a field that is yes or no */
} option_shown;

/* The i-th: those of the table, --help, those of training, fields of the configuration; false behind the last. */
bool options_shown(const verb *v, int i, option_shown *shown);

/* How the user called attend, for commands that are suggested: a word for the shell. */
extern const char *cli_program;
/* A word as the shell must be given it: in quotes if there is anything odd in it. */
void cli_print_word(FILE *to, const char *word);

/* The exit code for a status, after its message on standard error. */
int cli_fail(const verb *v, int status);
/* The exit code at the end: what was printed must have arrived. */
int cli_end(int status);

extern const verb verb_demo, verb_train, verb_translate, verb_score, verb_evaluate, verb_align, verb_show, verb_compare,
    verb_check, verb_convert, verb_info;
/* Words of an option that names an attend_precision. */
extern const char *const precision_words[];
/* All of them; NULL at the end. */
extern const verb *const verbs[];

#endif
