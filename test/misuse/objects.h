/* objects.h: a valid argument of every type in the public headers, for the generated calls (tools/make_misuse_test.py).
 *
 * Everything is made anew for each call and never freed: a call may free or damage it, and the process ends soon. */
#ifndef ATTEND_TEST_MISUSE_OBJECTS_H
#define ATTEND_TEST_MISUSE_OBJECTS_H

#include <attend/attend.h>
#include <attend/picture.h>

/* Makes a directory with the files that objects are read from, and makes it the current one. */
void objects_prepare(void);
void objects_remove(void);
/* Before each call: forgets the objects of the last one. */
void objects_begin(void);

/* Zeroed memory, larger than any argument requires. */
void *scratch(void);

attend_ctx *a_ctx(void);     /* the same within a call; variables belong to it */
attend_var *a_var(void);     /* (2, 4) */
attend_var *a_vector(void);  /* (4) */
attend_var *a_number(void);  /* (1) */
attend_var *a_weights(void); /* (1, 1, 2, 2) */
attend_var *const *some_vars(void);
const attend_ragged *a_ragged(void); /* one sequence of two rows */
attend_source *a_source(void);
attend_attention_options *an_attention(void);
attend_attention_inputs *attention_inputs(void);
attend_arrays *some_arrays(void);
attend_array_gradients *array_gradients(void);
attend_runner *a_runner(void); /* after a forward pass */
attend_cache *a_cache(void);
attend_cell *a_cell(void);
attend_state *a_state(void);
attend_lstmn_cell *an_lstmn_cell(void);
attend_lstmn_fusion *a_fusion(void);
const attend_lstmn_source *an_lstmn_source(void);
attend_lstmn_io *lstmn_io(void);

attend_params *some_params(void); /* the same within a call */
attend_param *a_param(void);      /* (2, 4), of some_params() */
attend_grads *some_grads(void);
attend_team *a_team(void);
attend_optimizer *an_optimizer(void);
attend_schedule *a_schedule(void);
attend_var *a_loss(attend_ctx *c, void *user);
attend_var *a_shard(attend_ctx *c, int shard, void *user);

attend_config *a_config(void);
attend_model *a_model(void); /* with tokenizers, a shortlist and cross-attention */
const attend_model *const *some_models(void);
attend_ctx *const *some_contexts(void);
attend_pairs *some_pairs(void);
attend_decoding *a_decoding(void); /* after a step */
attend_decoding *a_new_decoding(void);
attend_loss_options *loss_options(void);
attend_search_options *search_options(void);
attend_search_sources *search_sources(void);
attend_search_result *a_search_result(void);
attend_shortlist *a_shortlist(void);

attend_tokenizer *a_tokenizer(void);
attend_tokenizer_options *tokenizer_options(void);
int next_line(void *user, const char **line, size_t *size);
attend_string *a_string(void);
attend_ids *some_ids(void);
attend_string_table *a_string_table(void);
attend_lines *some_lines(void);
attend_pairs_spec *a_spec(void);
attend_pairs_file *a_pairs_file(void);
attend_data_check_report *a_report(void);
attend_atomic_file *an_atomic_file(void);
attend_json_writer *a_json_writer(void);
attend_json_reader *a_json_reader(void); /* before a string */
int a_sink(void *user, const char *bytes, size_t size);
FILE *a_file(void);

attend_metric_options *metric_options(void);
attend_metric_sums *metric_sums(void);
attend_aer_sums *aer_sums(void);
attend_word_link *some_links(void);
attend_pair_links *pair_links(void);

attend_scorer *a_scorer(void); /* after a run that kept its maps */
const attend_scored_pair *a_scored_pair(void);
attend_aligner_options *aligner_options(void);
attend_aligner *a_new_aligner(void);
attend_aligner *an_aligner(void);
attend_map_selection *a_map_selection(void);
attend_translator *a_translator(void); /* after a run */
attend_translator_options *translator_options(void);
const attend_line_result *a_line_result(void);
const attend_hypothesis *a_hypothesis(void);
attend_dictionary *a_dictionary(void);
attend_batcher_options *batcher_options(void);
attend_batcher *a_batcher(void);
attend_batcher_model *a_batcher_model(void);
attend_request *some_requests(void);
attend_future *a_future(void); /* done */

attend_map *a_map(void);
attend_view_options *view_options(void);
attend_map_list *a_map_list(void);
attend_panel *some_panels(void);
attend_grid *a_grid(void);
attend_plot *a_plot(void);

attend_train_options *train_options(void);
attend_train_events *train_events(void);
attend_data_size *data_size(void);
attend_training_request *training_request(void);
attend_training_history *a_history(void);

#endif
