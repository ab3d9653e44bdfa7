/* json.c: an attention map as one line of JSON, for other programs. */
#include <attend/json.h>
#include <attend/view.h>

#include "core/memory.h"
#include "core/status.h"

static void put_tokens(attend_json_writer *w, const char *key, const attend_map_token *tokens, int count)
{
    attend_json_put_key(w, key);
    attend_json_begin_array(w);
    for (int i = 0; i < count; i++) {
        attend_json_begin_object(w);
        attend_json_put_key(w, "text"), attend_json_put_text(w, tokens[i].text);
        attend_json_put_key(w, "id"), attend_json_put_integer(w, tokens[i].id);
        attend_json_put_key(w, "word");
        if (tokens[i].word >= 0)
            attend_json_put_integer(w, tokens[i].word);
        else
            attend_json_put_null(w);
        if (tokens[i].unknown) attend_json_put_key(w, "unknown"), attend_json_put_bool(w, true);
        attend_json_end_object(w);
    }
    attend_json_end_array(w);
}

/* The words, or characters, that the training data did not have. */
static void put_unknown(attend_json_writer *w, const attend_map *map)
{
    attend_json_put_key(w, "unknown");
    attend_json_begin_array(w);
    for (int i = 0; i < map->source_word_count; i++)
        if (attend_map_word_is_unknown(map, false, i)) attend_json_put_text(w, map->source_words[i]);
    attend_json_end_array(w);
}

static void put_words(attend_json_writer *w, const char *key, const char *const *words, int count)
{
    attend_json_put_key(w, key);
    attend_json_begin_array(w);
    for (int i = 0; i < count; i++) attend_json_put_text(w, words[i]);
    attend_json_end_array(w);
}

static void put_rows(attend_json_writer *w, const float *weights, int rows, int columns)
{
    attend_json_begin_array(w);
    for (int i = 0; i < rows; i++) {
        attend_json_begin_array(w);
        for (int j = 0; j < columns; j++)
            attend_json_put_number(w, 5, (double)weights[(size_t)i * (size_t)columns + (size_t)j]);
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
}

static void put_number(attend_json_writer *w, const char *key, double x)
{
    attend_json_put_key(w, key);
    attend_json_put_number(w, 6, x);
}

static void put_probabilities(attend_json_writer *w, const attend_map *map)
{
    attend_json_put_key(w, "probability");
    attend_json_begin_array(w);
    for (int i = 0; i < map->target_count; i++) attend_json_put_number(w, 6, map->probability[i]);
    attend_json_end_array(w);
    attend_json_put_key(w, "choices");
    attend_json_begin_array(w);
    for (int i = 0; i < map->target_count; i++) {
        const attend_map_candidate *c = map->candidates + (size_t)i * ATTEND_MAP_CANDIDATES;
        attend_json_begin_array(w);
        for (int k = 0; k < ATTEND_MAP_CANDIDATES && c[k].text; k++) {
            attend_json_begin_object(w);
            attend_json_put_key(w, "text"), attend_json_put_text(w, c[k].text);
            put_number(w, "probability", c[k].probability);
            attend_json_end_object(w);
        }
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
}

/* An encoder's map has no probabilities, so only the entropy of its rows. */
static void put_statistics(attend_json_writer *w, const attend_map *map, const attend_view_options *o)
{
    attend_map_statistics s;
    attend_map_describe(map, o->layer, o->head, &s);
    if (map->probability) {
        attend_json_put_key(w, "forced"), attend_json_put_bool(w, map->forced);
        put_number(w, "log_probability", map->log_probability);
        put_number(w, "score", map->score);
        put_number(w, "confidence", s.confidence);
    }
    if (map->weights) put_number(w, "entropy", s.entropy);
    if (map->weights && map->kind == ATTEND_ATTENTION_CROSS)
        attend_json_put_key(w, "unseen"), attend_json_put_integer(w, s.uncovered);
    if (map->probability) attend_json_put_key(w, "loops"), attend_json_put_bool(w, s.is_repetitive);
}

/* null: the mean over all. */
static void put_index(attend_json_writer *w, const char *key, int index)
{
    attend_json_put_key(w, key);
    if (index >= 0)
        attend_json_put_integer(w, index);
    else
        attend_json_put_null(w);
}

static void put_rest(attend_json_writer *w, const char *key, const attend_map *map, const attend_view_options *o,
                     bool by_token, float *rest)
{
    attend_map_rest(map, o->layer, o->head, by_token, rest);
    attend_json_put_key(w, key);
    attend_json_begin_array(w);
    for (int i = 0; i < (by_token ? map->target_count : map->target_word_count); i++)
        attend_json_put_number(w, 5, (double)rest[i]);
    attend_json_end_array(w);
}

/* The weights of each layer and head: [layer][head][row][column]. */
static void put_all(attend_json_writer *w, const char *key, const attend_map *map, bool by_token, float *weights)
{
    attend_json_put_key(w, key);
    attend_json_begin_array(w);
    for (int layer = 0; layer < map->layers; layer++) {
        attend_json_begin_array(w);
        for (int head = 0; head < map->heads && w->status == ATTEND_OK; head++) {
            (by_token ? attend_map_weights : attend_map_word_weights)(map, layer, head, weights);
            put_rows(w, weights, by_token ? map->target_count : map->target_word_count,
                     by_token ? map->source_count : map->source_word_count);
        }
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
}

static int put_weights(attend_json_writer *w, const attend_map *map, const attend_view_options *o)
{
    const int rows = map->target_count > map->target_word_count ? map->target_count : map->target_word_count;
    const int columns = map->source_count > map->source_word_count ? map->source_count : map->source_word_count;
    float *weights = attend_memory_zeroed((size_t)rows * (size_t)columns + (size_t)rows, sizeof *weights);
    if (!weights) return attend_fail(ATTEND_NO_MEMORY, "no memory for the weights of %d tokens", map->source_count);
    attend_json_put_key(w, "layers"), attend_json_put_integer(w, map->layers);
    attend_json_put_key(w, "heads"), attend_json_put_integer(w, map->heads);
    put_index(w, "layer", o->layer);
    put_index(w, "head", o->head);
    attend_map_weights(map, o->layer, o->head, weights);
    attend_json_put_key(w, "weights"), put_rows(w, weights, map->target_count, map->source_count);
    put_rest(w, "rest", map, o, true, weights);
    attend_map_word_weights(map, o->layer, o->head, weights);
    attend_json_put_key(w, "word_weights"), put_rows(w, weights, map->target_word_count, map->source_word_count);
    put_rest(w, "word_rest", map, o, false, weights);
    if (o->all_heads) {
        put_all(w, "all_weights", map, true, weights);
        put_all(w, "all_word_weights", map, false, weights);
    }
    attend_memory_free(weights);
    return w->status;
}

int attend_view_json_members(const attend_map *map, const attend_view_options *o, attend_json_writer *w)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, map && o && w);
    if (map->weights) {
        const int status = attend_view_check(map, o);
        if (status != ATTEND_OK) return status;
    }
    const char *model = attend_view_model_name(map, o);
    if (model) attend_json_put_key(w, "model"), attend_json_put_text(w, model);
    attend_json_put_key(w, "attention"), attend_json_put_text(w, attend_attention_kind_name(map->kind));
    attend_json_put_key(w, "source"), attend_json_put_text(w, map->source_text);
    attend_json_put_key(w, "target"), attend_json_put_text(w, map->target_text);
    put_statistics(w, map, o);
    put_words(w, "source_words", map->source_words, map->source_word_count);
    put_words(w, "target_words", map->target_words, map->target_word_count);
    put_unknown(w, map);
    put_tokens(w, "source_pieces", map->source, map->source_count);
    put_tokens(w, "target_pieces", map->target, map->target_count);
    if (map->probability) put_probabilities(w, map);
    if (w->status == ATTEND_OK && map->weights) w->status = put_weights(w, map, o);
    return w->status;
}

int attend_view_json(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, map && o && out);
    out->size = 0;
    attend_json_writer w = attend_json_to_string(out);
    attend_json_begin_object(&w);
    const int status = attend_view_json_members(map, o, &w);
    if (status != ATTEND_OK) {
        out->size = 0;
        return status;
    }
    attend_json_end_object(&w);
    attend_json_put_space(&w, "\n");
    return w.status;
}
