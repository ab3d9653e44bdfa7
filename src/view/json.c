/* json.c: a map as one line of JSON, for other programs. */
#include <attend/view.h>

#include "core/memory.h"
#include "core/status.h"
#include "format/json.h"
#include "text/buffers.h"
#include "view/grid.h"
#include "view/writer.h"
#include <math.h>

static void put_string(attend_writer *w, const char *text)
{
    const size_t size = attend_json_quote(NULL, text);
    if (w->status == ATTEND_OK) w->status = attend_string_reserve(w->to, size);
    if (w->status != ATTEND_OK) return;
    attend_json_quote(w->to->text + w->to->size, text);
    w->to->size += size;
    w->to->text[w->to->size] = '\0';
}

static void put_number(attend_writer *w, double x, int digits)
{
    if (isfinite(x))
        attend_put(w, "%.*f", digits, x);
    else
        attend_put_text(w, "null");
}

static void put_pieces(attend_writer *w, const char *name, const attend_map_piece *pieces, int count)
{
    attend_put(w, ", \"%s_pieces\": [", name);
    for (int i = 0; i < count; i++) {
        attend_put_text(w, i ? ", {\"text\": " : "{\"text\": ");
        put_string(w, pieces[i].text);
        attend_put(w, ", \"id\": %d, \"word\": ", pieces[i].id);
        if (pieces[i].word >= 0)
            attend_put(w, "%d}", pieces[i].word);
        else
            attend_put_text(w, "null}");
    }
    attend_put_text(w, "]");
}

static void put_words(attend_writer *w, const char *name, const char *const *words, int count)
{
    attend_put(w, ", \"%s_words\": [", name);
    for (int i = 0; i < count; i++) {
        if (i) attend_put_text(w, ", ");
        put_string(w, words[i]);
    }
    attend_put_text(w, "]");
}

static void put_matrix(attend_writer *w, const char *name, const float *weights, int rows, int columns)
{
    attend_put(w, ", \"%s\": [", name);
    for (int i = 0; i < rows; i++) {
        attend_put_text(w, i ? ", [" : "[");
        for (int j = 0; j < columns; j++) {
            if (j) attend_put_text(w, ", ");
            put_number(w, (double)weights[(size_t)i * (size_t)columns + (size_t)j], 5);
        }
        attend_put_text(w, "]");
    }
    attend_put_text(w, "]");
}

static void put_probabilities(attend_writer *w, const attend_map *map)
{
    attend_put_text(w, ", \"probability\": [");
    for (int i = 0; i < map->target_count; i++) {
        if (i) attend_put_text(w, ", ");
        put_number(w, map->probability[i], 6);
    }
    attend_put_text(w, "], \"choices\": [");
    for (int i = 0; i < map->target_count; i++) {
        const attend_map_choice *c = map->choices + (size_t)i * ATTEND_MAP_CHOICES;
        attend_put_text(w, i ? ", [" : "[");
        for (int k = 0; k < ATTEND_MAP_CHOICES && c[k].text; k++) {
            attend_put_text(w, k ? ", {\"text\": " : "{\"text\": ");
            put_string(w, c[k].text);
            attend_put_text(w, ", \"probability\": ");
            put_number(w, c[k].probability, 6);
            attend_put_text(w, "}");
        }
        attend_put_text(w, "]");
    }
    attend_put_text(w, "]");
}

/* What there is to say about it: of an encoder's map, which says nothing, only how widely it looks. */
static void put_remarks(attend_writer *w, const attend_map *map, const attend_view_options *o)
{
    attend_map_statistics r;
    attend_map_describe(map, o->layer, o->head, &r);
    if (map->probability) {
        attend_put(w, ", \"forced\": %s, \"log_probability\": ", map->forced ? "true" : "false");
        put_number(w, map->log_probability, 6);
        attend_put_text(w, ", \"score\": ");
        put_number(w, map->score, 6);
        attend_put_text(w, ", \"confidence\": ");
        put_number(w, r.confidence, 6);
    }
    if (map->weights) {
        attend_put_text(w, ", \"entropy\": ");
        put_number(w, r.entropy, 6);
    }
    if (map->weights && map->look == ATTEND_ATTENTION_CROSS) attend_put(w, ", \"unseen\": %d", r.unseen);
    if (map->probability) attend_put(w, ", \"loops\": %s", r.loops ? "true" : "false");
}

static void put_which(attend_writer *w, const char *name, int number)
{
    if (number >= 0)
        attend_put(w, ", \"%s\": %d", name, number);
    else
        attend_put(w, ", \"%s\": null", name);
}

static void put_weights(attend_writer *w, const attend_map *map, const attend_view_options *o)
{
    const int rows = map->target_count > map->target_word_count ? map->target_count : map->target_word_count;
    const int columns = map->source_count > map->source_word_count ? map->source_count : map->source_word_count;
    float *weights = attend_memory_zeroed((size_t)rows * (size_t)columns, sizeof *weights);
    if (!weights) {
        w->status = attend_fail(ATTEND_NO_MEMORY, "no memory for the weights of %d pieces", map->source_count);
        return;
    }
    attend_put(w, ", \"layers\": %d, \"heads\": %d", map->layers, map->heads);
    put_which(w, "layer", o->layer);
    put_which(w, "head", o->head);
    attend_map_weights(map, o->layer, o->head, weights);
    put_matrix(w, "weights", weights, map->target_count, map->source_count);
    attend_map_word_weights(map, o->layer, o->head, weights);
    put_matrix(w, "word_weights", weights, map->target_word_count, map->source_word_count);
    attend_memory_free(weights);
}

int attend_view_json(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    attend_writer w = attend_writer_begin(out);
    if (w.status == ATTEND_OK && map->weights) w.status = attend_grid_check(map, o);
    if (w.status != ATTEND_OK) return w.status;
    attend_put(&w, "{\"look\": \"%s\", \"source\": ", attend_attention_kind_name(map->look));
    put_string(&w, map->source_text);
    attend_put_text(&w, ", \"target\": ");
    put_string(&w, map->target_text);
    put_remarks(&w, map, o);
    put_words(&w, "source", map->source_words, map->source_word_count);
    put_words(&w, "target", map->target_words, map->target_word_count);
    put_pieces(&w, "source", map->source, map->source_count);
    put_pieces(&w, "target", map->target, map->target_count);
    if (map->probability) put_probabilities(&w, map);
    if (w.status == ATTEND_OK && map->weights) put_weights(&w, map, o);
    attend_put_text(&w, "}\n");
    return w.status;
}
