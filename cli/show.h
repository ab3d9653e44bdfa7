/* show.h: what the parts of attend show share: cmd_show.c (options, input), show_maps.c (computes attention maps),
 * show_output.c (writes them), show_models.c (for other verbs). */
#ifndef ATTEND_CLI_SHOW_H
#define ATTEND_CLI_SHOW_H

#include "options.h"
#include "output_file.h"

#include <attend/string.h>
#include <attend/translator.h>
#include <attend/view.h>

typedef enum show_format {
    SHOW_TERMINAL,
    SHOW_SVG,
    SHOW_PDF,
    SHOW_PNG,
    SHOW_HTML,
    SHOW_JSON,
    SHOW_NPZ,
    SHOW_FROM_OUTPUT /* by the name of --output */
} show_format;

enum { ATTENTION_KINDS = 3, KIND_DEFAULT = -1 };

typedef struct show_settings {
    texts_list models, plugins;
    const char *device, *target, *output;
    pairs_list input;
    long long layer, head, hypothesis, beam, width, threads, memory;
    int format;  /* show_format */
    int kind;    /* attend_attention_kind, or KIND_DEFAULT */
    int palette; /* attend_palette */
    int unit;    /* attend_unit */
    int compute; /* attend_compute_precision */
    bool layer_given, head_given, beam_given, hypothesis_given;
    bool tokens, all_heads, quiet;
} show_settings;

/* The maps of one sentence, model by model: those of the best hypothesis or of all, each followed by its maps of other
 * kinds. */
typedef struct sentence_maps {
    attend_map **items;
    int count;
} sentence_maps;

/* A model whose maps are shown; the name, layer and head of its maps are in show_job.view.models. */
typedef struct show_model {
    attend_model *m;
    attend_translator *translator; /* NULL: targets are given or not needed */
} show_model;

typedef struct show_job {
    const show_settings *s;
    attend_view_options view;
    show_model *models;      /* (s->models.count) */
    attend_view_model *maps; /* of each model: view.models */
    bool is_language_model;  /* as all models, or none */
    attend_attention_kind kind;
    bool all_kinds; /* a page with maps of the other kinds too */
    attend_ctx *c;
    output_file *to;        /* of formats other than pictures */
    attend_string text;     /* the map being written */
    attend_string texts[2]; /* source and target of a line */
    sentence_maps *page;    /* (page_count) of an HTML page */
    int page_count, page_capacity;
    size_t page_weights;     /* number of attention weights on the page */
    size_t page_maps;        /* number of maps on the page */
    int reduced;             /* sentences on the page with maps of one kind only, to limit its size */
    const char *file;        /* the current input file; NULL: the sentence is an argument */
    unsigned long long line; /* in this file */
    unsigned long long lines, shown;
    unsigned long long maps_written; /* to the terminal */
    unsigned long long empty;        /* sentences whose translation has no words */
    int empty_model;                 /* the last model that wrote such a translation */
} show_job;

/* Loads the models. */
int show_load(show_job *j);
/* Chooses the kind of attention, the layer and the head, checks them against the models, and prepares the search. */
int show_prepare(show_job *j);
void show_job_free(show_job *j);
/* Computes the maps of a sentence. target NULL: of the model's own translation. */
int show_make_maps(show_job *j, const char *source, const char *target, sentence_maps *out);
void sentence_maps_free(sentence_maps *x);

/* Writes the maps of a sentence; for an HTML page, takes them over until show_write_page. */
int show_write_maps(show_job *j, sentence_maps *x);
int show_write_page(show_job *j);
/* Says what to do about translations without words, if there were any. */
void show_explain_empty(const show_job *j);
/* The number of attention weights of a map. */
size_t show_weight_count(const attend_map *map);
/* Skips a line of a file that cannot be shown: warns, and writes an object with the reason to JSON output. The reason
 * is attend_message. */
int show_skip_line(show_job *j);

/* Several models, and the pairs whose cross-attention is shown. */
typedef struct show_models_spec {
    const char *const *names, *const *paths; /* (model_count): as captions show them, and their files */
    int model_count;
    const char *const *sources, *const *targets; /* (pair_count) */
    int pair_count;
    int unit; /* attend_unit: rows and columns of the maps */
    const char *title;
} show_models_spec;

/* Writes a page with the maps of all models side by side, forced along the targets. Pairs that cannot be shown are left
 * out; without any, no page is written. ATTEND_BAD_USAGE if a model has no cross-attention. */
int show_models_page(const show_models_spec *spec, const char *output);

/* Whether each sentence is a file of its own: pictures and NumPy archives. */
bool show_is_file_per_sentence(const show_settings *s);
/* Whether the input contains pairs, not only lines. */
bool show_is_pairs(const attend_pairs_spec *input);

#endif
