#include "misuse/objects.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A valid object must come to be; everything else is a fault of this file. */
static void need(int status, const char *what)
{
    if (status == ATTEND_OK) return;
    printf("objects.c: %s: %s\n", what, attend_message());
    fflush(stdout);
    _exit(3);
}
#define OK(call) need(call, #call)

static void *zeroed(size_t size)
{
    void *p = calloc(1, size);
    need(p ? ATTEND_OK : ATTEND_NO_MEMORY, "memory");
    return p;
}

/* A copy that a call may change. */
static void *copy(const void *from, size_t size)
{
    return memcpy(zeroed(size), from, size);
}
#define COPY(type, ...) copy(&(type)__VA_ARGS__, sizeof(type))

void *scratch(void)
{
    return zeroed(1 << 16);
}

/* ---- files ---- */

static char folder[] = "/tmp/attend-misuse-XXXXXX";

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "wb");
    need(f && fputs(text, f) >= 0 && fclose(f) == 0 ? ATTEND_OK : ATTEND_IO, name);
}

static attend_config config_of(int vocabulary)
{
    attend_config c = ATTEND_CONFIG_INIT;
    c.hidden = 4, c.embedding = 4, c.attention = &attend_score_dot, c.bidirectional = false, c.dropout = 0;
    c.source_vocab = c.target_vocab = vocabulary;
    return c;
}

static void write_model(void)
{
    attend_model *m = NULL;
    attend_tokenizer *t = a_tokenizer();
    attend_shortlist *s = NULL;
    const attend_config c = config_of(attend_tokenizer_size(t));
    OK(attend_model_new(&m, &c, 1));
    OK(attend_tokenizer_attach(t, m, "source"));
    OK(attend_tokenizer_attach(t, m, "target"));
    OK(attend_shortlist_new(&s, c.source_vocab, c.target_vocab));
    OK(attend_shortlist_add(s, 3, 3));
    OK(attend_shortlist_attach(s, m, 2, 2));
    OK(attend_model_save(m, "model"));
    attend_shortlist_free(s);
    attend_tokenizer_free(t);
    attend_model_free(m);
}

void objects_prepare(void)
{
    need(mkdtemp(folder) && chdir(folder) == 0 ? ATTEND_OK : ATTEND_IO, folder);
    write_file("lines", "a b\nb c\n");
    write_file("pairs.tsv", "a b\tb a\nb c\tc b\n");
    write_file("words", "a\tb\n");
    OK(attend_aligner_save(an_aligner(), "aligner"));
    write_file("log", "{\"update\": 1, \"loss\": 2.5}\n");
    write_model();
}

void objects_remove(void)
{
    DIR *names = opendir(".");
    for (const struct dirent *e; names && (e = readdir(names));) unlink(e->d_name);
    if (names) closedir(names);
    if (chdir("/") == 0) rmdir(folder);
}

/* ---- the tape ---- */

static attend_ctx *context; /* of the current call */
static attend_params *params;

void objects_begin(void)
{
    context = NULL;
    params = NULL;
}

attend_ctx *a_ctx(void)
{
    if (!context) OK(attend_ctx_new(&context));
    return context;
}

static attend_var *var_of(int rank, int a, int b, int c, int d)
{
    static const attend_real numbers[16] = { 1, 2, 3, 4 };
    return attend_input(a_ctx(), rank, (const int[4]){ a, b, c, d }, numbers);
}

attend_var *a_var(void)
{
    return var_of(2, 2, 4, 0, 0);
}

attend_var *a_vector(void)
{
    return var_of(1, 4, 0, 0, 0);
}

attend_var *a_number(void)
{
    return var_of(1, 1, 0, 0, 0);
}

attend_var *a_weights(void)
{
    return var_of(4, 1, 1, 2, 2);
}

attend_var *const *some_vars(void)
{
    attend_var **vars = zeroed(4 * sizeof *vars);
    for (int i = 0; i < 4; i++) vars[i] = a_var();
    return vars;
}

const attend_ragged *a_ragged(void)
{
    return attend_ragged_new(a_ctx(), 1, (const int[1]){ 2 });
}

static attend_var *matrix(int rows, int columns)
{
    return attend_input(a_ctx(), 2, (const int[2]){ rows, columns }, NULL);
}

attend_cell *a_cell(void)
{
    return COPY(attend_cell, { .kind = ATTEND_CELL_GRU, .w = matrix(12, 4), .u = matrix(12, 4) });
}

attend_state *a_state(void)
{
    return COPY(attend_state, { .h = NULL });
}

static attend_lstmn_attention lstmn_attention(void)
{
    return (attend_lstmn_attention){ .wk = matrix(4, 4), .wx = matrix(4, 4), .wt = matrix(4, 4), .v = a_vector() };
}

attend_lstmn_cell *an_lstmn_cell(void)
{
    return COPY(attend_lstmn_cell, { .attention = lstmn_attention(), .w = matrix(16, 4), .u = matrix(16, 4) });
}

attend_lstmn_fusion *a_fusion(void)
{
    return COPY(attend_lstmn_fusion, { .attention = lstmn_attention(), .w = matrix(4, 4), .u = matrix(4, 4) });
}

const attend_lstmn_source *an_lstmn_source(void)
{
    return attend_lstmn_source_new(a_ctx(), a_fusion(), a_var(), a_var(), a_ragged());
}

attend_lstmn_io *lstmn_io(void)
{
    return COPY(attend_lstmn_io, { .source = an_lstmn_source(), .want_tape = true, .want_weights = true });
}

/* ---- attention ---- */

attend_attention_options *an_attention(void)
{
    return COPY(attend_attention_options, ATTEND_ATTENTION_OPTIONS_INIT);
}

attend_attention_inputs *attention_inputs(void)
{
    return COPY(attend_attention_inputs, { .first_position = 0 });
}

attend_source *a_source(void)
{
    return attend_source_new(a_ctx(), an_attention(), NULL, a_var(), NULL, a_ragged());
}

attend_arrays *some_arrays(void)
{
    return COPY(attend_arrays, { .batch = 1,
                                 .queries = 2,
                                 .keys = 2,
                                 .query_width = 4,
                                 .key_width = 4,
                                 .value_width = 4,
                                 .query = scratch(),
                                 .key = scratch(),
                                 .value = scratch() });
}

attend_array_gradients *array_gradients(void)
{
    return COPY(attend_array_gradients, { .query = scratch(), .key = scratch(), .value = scratch() });
}

attend_runner *a_runner(void)
{
    attend_runner *r = NULL;
    OK(attend_runner_new(&r, 1));
    OK(attend_runner_forward(r, an_attention(), some_arrays(), scratch(), scratch(), NULL));
    return r;
}

attend_cache *a_cache(void)
{
    attend_cache *cache = NULL;
    OK(attend_cache_new(&cache, 2, 1, 4, 4));
    OK(attend_cache_append(cache, 2, scratch(), scratch(), false));
    return cache;
}

/* ---- parameters and training ---- */

attend_params *some_params(void)
{
    attend_param *p;
    if (params) return params;
    OK(attend_params_new(&params));
    OK(attend_params_add(&p, params, "w", 2, (const int[2]){ 2, 4 }));
    return params;
}

attend_param *a_param(void)
{
    return attend_params_at(some_params(), 0);
}

attend_grads *some_grads(void)
{
    attend_grads *g = NULL;
    OK(attend_grads_new(&g, some_params()));
    return g;
}

attend_var *a_loss(attend_ctx *c, void *user)
{
    (void)user;
    return attend_sum(c, attend_parameter(c, a_param()));
}

attend_var *a_shard(attend_ctx *c, int shard, void *user)
{
    (void)shard;
    return a_loss(c, user);
}

attend_team *a_team(void)
{
    attend_team *t = NULL;
    OK(attend_team_new(&t, some_params(), 1));
    return t;
}

attend_optimizer *an_optimizer(void)
{
    attend_optimizer *o = NULL;
    const attend_optimizer_options options = ATTEND_OPTIMIZER_OPTIONS_INIT;
    OK(attend_optimizer_new(&o, a_team(), &options));
    return o;
}

attend_schedule *a_schedule(void)
{
    return COPY(attend_schedule, ATTEND_SCHEDULE_INIT);
}

/* ---- text ---- */

int next_line(void *user, const char **line, size_t *size)
{
    static int given;
    (void)user;
    *line = "a b c", *size = 5;
    return given++ % 4 < 3;
}

attend_tokenizer_options *tokenizer_options(void)
{
    return COPY(attend_tokenizer_options, { .kind = ATTEND_TOKENS_WORD, .min_count = 1 });
}

attend_tokenizer *a_tokenizer(void)
{
    attend_tokenizer *t = NULL;
    OK(attend_tokenizer_learn(&t, tokenizer_options(), next_line, NULL));
    return t;
}

attend_string *a_string(void)
{
    return zeroed(sizeof(attend_string));
}

attend_ids *some_ids(void)
{
    return zeroed(sizeof(attend_ids));
}

attend_string_table *a_string_table(void)
{
    attend_string_table *t = zeroed(sizeof *t);
    int number;
    OK(attend_string_table_add(t, "a", 1, &number));
    return t;
}

attend_lines *some_lines(void)
{
    attend_lines *l = NULL;
    OK(attend_lines_open(&l, "lines"));
    return l;
}

attend_pairs_spec *a_spec(void)
{
    attend_pairs_spec *specs = zeroed(4 * sizeof *specs);
    specs[0].source = "pairs.tsv";
    return specs;
}

attend_pairs_file *a_pairs_file(void)
{
    attend_pairs_file *f = NULL;
    OK(attend_pairs_file_open(&f, a_spec(), 1));
    return f;
}

attend_data_check_report *a_report(void)
{
    attend_data_check_report *r = NULL;
    OK(attend_data_check(&r, a_spec(), 1, NULL, 0, false, 0));
    return r;
}

attend_atomic_file *an_atomic_file(void)
{
    attend_atomic_file *f = NULL;
    OK(attend_atomic_file_begin(&f, "written", 0));
    return f;
}

int a_sink(void *user, const char *bytes, size_t size)
{
    (void)user, (void)bytes, (void)size;
    return ATTEND_OK;
}

attend_json_writer *a_json_writer(void)
{
    return COPY(attend_json_writer, { .sink = a_sink });
}

attend_json_reader *a_json_reader(void)
{
    static const char text[] = "\"a\"";
    return COPY(attend_json_reader, { .start = text, .at = text, .end = text + 3, .pool = scratch() });
}

FILE *a_file(void)
{
    return fopen("/dev/null", "wb");
}

/* ---- metrics ---- */

attend_metric_options *metric_options(void)
{
    return zeroed(sizeof(attend_metric_options));
}

attend_metric_sums *metric_sums(void)
{
    return zeroed(4 * sizeof(attend_metric_sums));
}

attend_aer_sums *aer_sums(void)
{
    return zeroed(sizeof(attend_aer_sums));
}

attend_word_link *some_links(void)
{
    return zeroed(64 * sizeof(attend_word_link));
}

attend_pair_links *pair_links(void)
{
    attend_pair_links *links = zeroed(4 * sizeof *links);
    for (int i = 0; i < 4; i++) links[i] = (attend_pair_links){ some_links(), 1 };
    return links;
}

/* ---- models ---- */

attend_config *a_config(void)
{
    return copy((attend_config[]){ config_of(6) }, sizeof(attend_config));
}

attend_model *a_model(void)
{
    attend_model *m = NULL;
    OK(attend_model_load(&m, "model", NULL));
    return m;
}

const attend_model *const *some_models(void)
{
    const attend_model **models = zeroed(4 * sizeof *models);
    for (int i = 0; i < 4; i++) models[i] = a_model();
    return models;
}

attend_ctx *const *some_contexts(void)
{
    attend_ctx **contexts = zeroed(4 * sizeof *contexts);
    for (int i = 0; i < 4; i++) OK(attend_ctx_new(&contexts[i]));
    return contexts;
}

static const int tokens[] = { 3, 2, 3, 2 }, lengths[] = { 2, 2 }, one[] = { 1 }, zero[] = { 0 };

attend_pairs *some_pairs(void)
{
    return COPY(attend_pairs,
                { .count = 1, .source = tokens, .source_lengths = lengths, .target = tokens, .target_lengths = one });
}

attend_decoding *a_new_decoding(void)
{
    attend_decoding *d = NULL;
    OK(attend_decoding_new(&d, a_ctx(), a_model(), 1, tokens, lengths));
    return d;
}

attend_decoding *a_decoding(void)
{
    attend_decoding *d = a_new_decoding();
    OK(attend_decoding_step(d, one, zero, (const int[]){ ATTEND_BEGIN }));
    return d;
}

attend_loss_options *loss_options(void)
{
    return COPY(attend_loss_options, ATTEND_LOSS_OPTIONS_INIT);
}

attend_search_options *search_options(void)
{
    attend_search_options *o = COPY(attend_search_options, ATTEND_SEARCH_OPTIONS_INIT);
    o->weights = true;
    return o;
}

attend_search_sources *search_sources(void)
{
    return COPY(attend_search_sources, { .count = 1, .tokens = tokens, .lengths = lengths });
}

attend_search_result *a_search_result(void)
{
    attend_search_result *r = NULL;
    OK(attend_search(&r, a_ctx(), a_model(), search_options(), 1, tokens, lengths));
    return r;
}

attend_shortlist *a_shortlist(void)
{
    attend_shortlist *s = NULL;
    const attend_config *c = attend_model_config(a_model());
    OK(attend_shortlist_new(&s, c->source_vocab, c->target_vocab));
    return s;
}

/* ---- text in, text out ---- */

static const char *const texts[] = { "a b", "b c", "a b", "b c" };
static const size_t sizes[] = { 3, 3, 3, 3 };

attend_scorer *a_scorer(void)
{
    attend_scorer *s = NULL;
    OK(attend_scorer_new(&s, a_model(), 1, true));
    attend_scorer_keep_maps(s);
    OK(attend_scorer_run(s, 2, texts, texts));
    return s;
}

const attend_scored_pair *a_scored_pair(void)
{
    return attend_scorer_result(a_scorer(), 0);
}

attend_map_selection *a_map_selection(void)
{
    attend_map_selection *s = NULL;
    OK(attend_map_selection_new(&s, a_model(), 1));
    OK(attend_map_selection_add(s, 2, texts, texts, pair_links()));
    return s;
}

attend_aligner_options *aligner_options(void)
{
    attend_aligner_options o = attend_aligner_defaults();
    return copy(&o, sizeof o);
}

attend_aligner *a_new_aligner(void)
{
    attend_aligner *a = NULL;
    OK(attend_aligner_new(&a, aligner_options()));
    OK(attend_aligner_add(a, 2, texts, texts));
    return a;
}

attend_aligner *an_aligner(void)
{
    attend_aligner *a = a_new_aligner();
    OK(attend_aligner_train(a));
    OK(attend_aligner_align_added(a, 0, 2));
    return a;
}

attend_translator_options *translator_options(void)
{
    attend_translator_options *o = COPY(attend_translator_options, ATTEND_TRANSLATOR_OPTIONS_INIT);
    o->search.weights = true;
    return o;
}

attend_translator *a_translator(void)
{
    attend_translator *t = NULL;
    OK(attend_translator_new(&t, a_model(), translator_options()));
    OK(attend_translator_run(t, 2, texts, sizes));
    return t;
}

const attend_line_result *a_line_result(void)
{
    return attend_translator_result(a_translator(), 0);
}

const attend_hypothesis *a_hypothesis(void)
{
    return &a_line_result()->hypotheses[0];
}

attend_batcher_options *batcher_options(void)
{
    return COPY(attend_batcher_options, ATTEND_BATCHER_OPTIONS_INIT);
}

attend_batcher *a_batcher(void)
{
    attend_batcher *b = NULL;
    OK(attend_batcher_new(&b, batcher_options()));
    return b;
}

attend_batcher_model *a_batcher_model(void)
{
    attend_batcher_model *m = NULL;
    OK(attend_batcher_add_model(&m, a_batcher(), a_model(), translator_options()));
    return m;
}

attend_request *some_requests(void)
{
    attend_request *requests = zeroed(4 * sizeof *requests);
    for (int i = 0; i < 4; i++) requests[i] = (attend_request){ .text = "a b", .size = 3 };
    return requests;
}

attend_future *a_future(void)
{
    attend_future *f = NULL;
    OK(attend_batcher_submit(&f, a_batcher_model(), 1, some_requests()));
    need(attend_future_wait(f, -1) == ATTEND_FUTURE_DONE ? ATTEND_OK : ATTEND_FAILED, "a future");
    return f;
}

attend_dictionary *a_dictionary(void)
{
    attend_dictionary *d = NULL;
    OK(attend_dictionary_read(&d, "words"));
    return d;
}

/* ---- pictures ---- */

attend_map *a_map(void)
{
    attend_map *map = NULL;
    OK(attend_map_new(&map, a_ctx(), a_model(), ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO, "a b", "b c", NULL, 0, 0));
    return map;
}

attend_view_options *view_options(void)
{
    return COPY(attend_view_options, ATTEND_VIEW_OPTIONS_INIT);
}

attend_map_list *a_map_list(void)
{
    const attend_map **maps = zeroed(sizeof *maps);
    attend_map_list *lists = zeroed(4 * sizeof *lists);
    maps[0] = a_map();
    for (int i = 0; i < 4; i++) lists[i] = (attend_map_list){ maps, 1 };
    return lists;
}

attend_panel *some_panels(void)
{
    attend_panel *panels = zeroed(4 * sizeof *panels);
    for (int i = 0; i < 4; i++) panels[i] = (attend_panel){ a_map(), -1, -1 };
    return panels;
}

attend_grid *a_grid(void)
{
    attend_grid *g = NULL;
    OK(attend_grid_new(&g, a_map(), view_options()));
    return g;
}

attend_plot *a_plot(void)
{
    attend_plot_series *series = COPY(attend_plot_series, { .name = "a", .points = scratch(), .count = 2 });
    attend_plot *plots = zeroed(4 * sizeof *plots);
    for (int i = 0; i < 4; i++) plots[i] = (attend_plot){ .title = "t", .series = series, .series_count = 1 };
    return plots;
}

/* ---- training ---- */

static bool stop_at_once(void *user)
{
    (void)user;
    return true;
}

attend_train_events *train_events(void)
{
    return COPY(attend_train_events, { .stop = stop_at_once });
}

attend_train_options *train_options(void)
{
    attend_train_options *o = copy((attend_train_options[]){ attend_train_defaults() }, sizeof *o);
    o->train = a_spec(), o->train_count = 1, o->model = "trained", o->fresh = true;
    o->config = config_of(0), o->updates = 1, o->threads = 1;
    o->tokens[0] = o->tokens[1] = *tokenizer_options();
    return o;
}

attend_data_size *data_size(void)
{
    return COPY(attend_data_size, { .pairs = 100, .words = { 500, 500 }, .characters = { 2000, 2000 } });
}

static bool nothing_given(void *user, const char *name)
{
    (void)user, (void)name;
    return false;
}

static int accept_choice(void *user, const char *name, const char *value)
{
    (void)user, (void)name, (void)value;
    return ATTEND_OK;
}

attend_training_request *training_request(void)
{
    return COPY(attend_training_request, { .tokens = { -1, -1 }, .given = nothing_given, .choose = accept_choice });
}

attend_training_history *a_history(void)
{
    attend_training_history *h = zeroed(sizeof *h);
    OK(attend_training_history_read(h, "log"));
    return h;
}
