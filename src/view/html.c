/* html.c: attention maps as one HTML page: page.html with its style and script, and the maps as JSON in a <script>
 * element.
 *
 * Nothing in the JSON can end that element or be taken for markup (attend/json.h: in_html). Numbers are stored as
 * integers, in units of 1/10000: four decimals in the fewest bytes. */
#include <attend/json.h>
#include <attend/view.h>

#include "core/status.h"
#include "format/xml_text.h"
#include "view/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALE = 10000, LEVELS = 48 /* of colour, without that of 0 */ };
static const double LIMIT = 1e11; /* before scaling: far beyond any log-probability */

/* ---- maps as JSON ---- */

static void put_number(attend_json_writer *w, double x)
{
    if (isnan(x))
        attend_json_put_null(w);
    else
        attend_json_put_integer(w, llround(SCALE * fmax(-LIMIT, fmin(LIMIT, x))));
}

/* "source" or "target" with "Tokens", "Word", "Unknown" or "Words" after it. */
static void put_side_key(attend_json_writer *w, const char *side, const char *part)
{
    char key[32];
    snprintf(key, sizeof key, "%s%s", side, part);
    attend_json_put_key(w, key);
}

static void put_side(attend_json_writer *w, const char *side, const char *text, const attend_map_token *tokens,
                     int count, const char *const *words, int word_count)
{
    put_side_key(w, side, ""), attend_json_put_text(w, text);
    put_side_key(w, side, "Tokens"), attend_json_begin_array(w);
    for (int i = 0; i < count; i++) attend_json_put_text(w, tokens[i].text);
    attend_json_end_array(w);
    put_side_key(w, side, "Word"), attend_json_begin_array(w);
    for (int i = 0; i < count; i++) attend_json_put_integer(w, tokens[i].word);
    attend_json_end_array(w);
    put_side_key(w, side, "Unknown"), attend_json_begin_array(w);
    for (int i = 0; i < count; i++)
        if (tokens[i].unknown) attend_json_put_integer(w, i);
    attend_json_end_array(w);
    put_side_key(w, side, "Words"), attend_json_begin_array(w);
    for (int i = 0; i < word_count; i++) attend_json_put_text(w, words[i]);
    attend_json_end_array(w);
}

static void put_candidates(attend_json_writer *w, const attend_map_candidate *candidates) /* (ATTEND_MAP_CANDIDATES) */
{
    attend_json_begin_array(w);
    for (int k = 0; k < ATTEND_MAP_CANDIDATES && candidates[k].text; k++) {
        attend_json_begin_array(w);
        attend_json_put_text(w, candidates[k].text), put_number(w, candidates[k].probability);
        attend_json_end_array(w);
    }
    attend_json_end_array(w);
}

static void put_probabilities(attend_json_writer *w, const attend_map *map)
{
    attend_json_put_key(w, "probability");
    if (!map->probability) {
        attend_json_put_null(w);
        attend_json_put_key(w, "candidates"), attend_json_put_null(w);
        return;
    }
    attend_json_begin_array(w);
    for (int i = 0; i < map->target_count; i++) put_number(w, map->probability[i]);
    attend_json_end_array(w);
    attend_json_put_key(w, "candidates"), attend_json_begin_array(w);
    for (int i = 0; i < map->target_count; i++) put_candidates(w, map->candidates + (size_t)i * ATTEND_MAP_CANDIDATES);
    attend_json_end_array(w);
}

static void put_weights(attend_json_writer *w, const attend_map *map)
{
    attend_json_put_key(w, "weights");
    if (!map->weights) {
        attend_json_put_null(w);
        return;
    }
    const size_t count =
        (size_t)map->layers * (size_t)map->heads * (size_t)map->target_count * (size_t)map->source_count;
    attend_json_begin_array(w);
    for (size_t i = 0; i < count && w->status == ATTEND_OK; i++) put_number(w, (double)map->weights[i]);
    attend_json_end_array(w);
}

static void put_map(attend_json_writer *w, const attend_map *map, const attend_view_options *o)
{
    attend_json_begin_object(w);
    if (o->model_count > 1) attend_json_put_key(w, "model"), attend_json_put_integer(w, map->model);
    attend_json_put_key(w, "attention"), attend_json_put_text(w, attend_attention_kind_name(map->kind));
    put_side(w, "source", map->source_text, map->source, map->source_count, map->source_words, map->source_word_count);
    put_side(w, "target", map->target_text, map->target, map->target_count, map->target_words, map->target_word_count);
    attend_json_put_key(w, "unit");
    attend_json_put_text(w, map->source_unit == ATTEND_UNIT_CHARACTER ? "letters"
                            : map->source_unit == ATTEND_UNIT_PIECE   ? "tokens"
                                                                      : "words");
    attend_json_put_key(w, "layers"), attend_json_put_integer(w, map->layers);
    attend_json_put_key(w, "heads"), attend_json_put_integer(w, map->heads);
    put_probabilities(w, map);
    attend_json_put_key(w, "logProbability"), put_number(w, map->log_probability);
    attend_json_put_key(w, "score"), put_number(w, map->score);
    attend_json_put_key(w, "forced"), attend_json_put_bool(w, map->forced);
    put_weights(w, map);
    attend_json_end_object(w);
}

/* The colours of equally spaced weights, from 0 to 1. */
static void put_ramp(attend_json_writer *w, const char *key, attend_palette palette, bool on_dark)
{
    attend_json_put_key(w, key), attend_json_begin_array(w);
    for (int i = 0; i <= LEVELS; i++) {
        const attend_colour c = attend_palette_colour(palette, (double)i / LEVELS, on_dark);
        char text[16];
        snprintf(text, sizeof text, "#%02x%02x%02x", (unsigned)(c.red * 255 + 0.5), (unsigned)(c.green * 255 + 0.5),
                 (unsigned)(c.blue * 255 + 0.5));
        attend_json_put_text(w, text);
    }
    attend_json_end_array(w);
}

/* Without models, one without a name. */
static void put_models(attend_json_writer *w, const attend_view_options *o)
{
    const attend_view_model unknown = { "", o->layer, o->head };
    attend_json_put_key(w, "models"), attend_json_begin_array(w);
    for (int i = 0; i < (o->model_count > 0 ? o->model_count : 1); i++) {
        const attend_view_model *m = o->model_count > 0 ? &o->models[i] : &unknown;
        attend_json_begin_object(w);
        attend_json_put_key(w, "name"), attend_json_put_text(w, m->name ? m->name : "");
        attend_json_put_key(w, "layer"), attend_json_put_integer(w, m->layer);
        attend_json_put_key(w, "head"), attend_json_put_integer(w, m->head);
        attend_json_end_object(w);
    }
    attend_json_end_array(w);
}

static int put_data(attend_string *out, const attend_map_list *sentences, int count, const attend_view_options *options)
{
    attend_json_writer w = attend_json_to_string(out);
    w.compact = w.in_html = true;
    attend_json_begin_object(&w);
    attend_json_put_key(&w, "title"), attend_json_put_text(&w, options->title ? options->title : "");
    put_models(&w, options);
    put_ramp(&w, "light", options->palette, false);
    put_ramp(&w, "dark", options->palette, true);
    attend_json_put_key(&w, "allHeads"), attend_json_put_bool(&w, options->all_heads);
    attend_json_put_key(&w, "byToken"), attend_json_put_bool(&w, options->by_token);
    attend_json_put_key(&w, "sentences"), attend_json_begin_array(&w);
    for (int i = 0; i < count && w.status == ATTEND_OK; i++) {
        attend_json_begin_line(&w);
        attend_json_begin_array(&w);
        for (int k = 0; k < sentences[i].count; k++) put_map(&w, sentences[i].maps[k], options);
        attend_json_end_array(&w);
    }
    attend_json_end_array(&w);
    attend_json_end_object(&w);
    return w.status;
}

/* ---- the page ---- */

/* Layer and head with which the maps of a model begin. */
static int check_map(const attend_map *map, const attend_view_options *o, int sentence)
{
    const bool has_models = o->model_count > 0;
    if (map->model < 0 || map->model >= (has_models ? o->model_count : 1))
        return attend_fail(ATTEND_BAD_USAGE, "model %d of sentence %d is out of range: the page has %d, counted from 0",
                           map->model, sentence, has_models ? o->model_count : 1);
    const int layer = has_models ? o->models[map->model].layer : o->layer,
              head = has_models ? o->models[map->model].head : o->head;
    if (layer < -1 || layer >= map->layers)
        return attend_fail(ATTEND_BAD_USAGE, "layer %d is out of range: sentence %d has %d, counted from 0", layer,
                           sentence, map->layers);
    if (head < -1 || head >= map->heads)
        return attend_fail(ATTEND_BAD_USAGE, "head %d is out of range: sentence %d has %d, counted from 0", head,
                           sentence, map->heads);
    return ATTEND_OK;
}

static int check(const attend_map_list *sentences, int count, const attend_view_options *options)
{
    if (count < 0 || (count > 0 && !sentences))
        return attend_fail(ATTEND_BAD_USAGE, "attend_view_html: %d sentences", count);
    if (!attend_palette_name(options->palette) || options->model_count < 0 ||
        (options->model_count > 0 && !options->models))
        return attend_fail(ATTEND_BAD_USAGE, "attend_view_html: palette %d, %d models", (int)options->palette,
                           options->model_count);
    int status = ATTEND_OK;
    for (int i = 0; i < count; i++)
        for (int k = 0; status == ATTEND_OK && k < sentences[i].count; k++) {
            const attend_map *map = sentences[i].maps ? sentences[i].maps[k] : NULL;
            if (!map) return attend_fail(ATTEND_BAD_USAGE, "attend_view_html: map %d of sentence %d is NULL", k, i + 1);
            if (map->weights && map->kind == sentences[i].maps[0]->kind) status = check_map(map, options, i + 1);
        }
    return status;
}

static int put_html_text(attend_string *out, const char *text)
{
    int status = ATTEND_OK;
    for (size_t i = 0, size = strlen(text); i < size && status == ATTEND_OK;) {
        char character[ATTEND_XML_CHARACTER];
        int32_t code_point;
        i += attend_xml_character(text + i, size - i, character, &code_point);
        status = attend_string_add(out, character, strlen(character));
    }
    return status;
}

static int put_part(attend_string *out, const attend_page_part *part)
{
    return attend_string_add(out, (const char *)part->bytes, part->size);
}

/* The next "{{" at or after `at`; NULL: there is none. */
static const char *next_placeholder(const char *at, const char *end)
{
    for (; end - at >= 2; at++)
        if (at[0] == '{' && at[1] == '{') return at;
    return NULL;
}

static bool is(const char *name, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(name, text, size) == 0;
}

int attend_view_html(const attend_map_list *sentences, int count, const attend_view_options *options,
                     attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, out);
    const attend_view_options defaults = ATTEND_VIEW_OPTIONS_INIT;
    if (!options) options = &defaults;
    out->size = 0;
    int status = check(sentences, count, options);
    const char *at = (const char *)attend_page_frame.bytes, *end = at + attend_page_frame.size;
    for (const char *placeholder; status == ATTEND_OK && (placeholder = next_placeholder(at, end)) != NULL;) {
        status = attend_string_add(out, at, (size_t)(placeholder - at));
        at = placeholder + 2;
        const char *const name = at;
        while (*at != '}') at++;
        const size_t size = (size_t)(at - name);
        at += 2;
        if (status != ATTEND_OK) break;
        if (is(name, size, "title"))
            status = put_html_text(out, options->title ? options->title : "Attention maps");
        else if (is(name, size, "style"))
            status = put_part(out, &attend_page_style);
        else if (is(name, size, "style-hash"))
            status = attend_string_add(out, attend_page_style_hash, strlen(attend_page_style_hash));
        else if (is(name, size, "script"))
            status = put_part(out, &attend_page_script);
        else if (is(name, size, "script-hash"))
            status = attend_string_add(out, attend_page_script_hash, strlen(attend_page_script_hash));
        else
            status = put_data(out, sentences, count, options);
    }
    return status == ATTEND_OK ? attend_string_add(out, at, (size_t)(end - at)) : status;
}
