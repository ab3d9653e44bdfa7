/* html.c: maps as one HTML page: page.html with its style and script, and the maps as JSON in the middle.
 *
 * Nothing in the JSON can end the element it stands in, or be taken for markup: <, > and & are escaped, as are the two line ends that JavaScript
 * knows and JSON does not. Numbers are whole multiples of 1/10000: four decimals, in the fewest bytes. */
#include <attend/view.h>

#include "core/status.h"
#include "format/utf8.h"
#include "view/page.h"
#include "view/writer.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALE = 10000 };
static const double LARGEST = 1e11; /* before scaling: far beyond any log-probability */

/* ---- text ---- */

/* Bytes of the character at the front, which is not the end; 0: they are no UTF-8. */
static size_t character(const char *text)
{
    const size_t longest = strnlen(text, 4);
    for (size_t n = 1; n <= longest; n++)
        if (attend_utf8_valid(text, n) == n) return n;
    return 0;
}

/* How a character stands in JSON, if not as itself: what is markup in HTML, quotes, what cannot be seen, and line ends. */
static const char *json_escape(const char *at, size_t size, char *room, size_t room_size)
{
    const unsigned char c = (unsigned char)*at;
    if (size == 0) return "\\ufffd";
    if (c < ' ' || c == 0x7f || strchr("<>&\"\\'", c)) {
        snprintf(room, room_size, "\\u%04x", c);
        return room;
    }
    if (size == 3 && memcmp(at, "\xe2\x80\xa8", 3) == 0) return "\\u2028";
    if (size == 3 && memcmp(at, "\xe2\x80\xa9", 3) == 0) return "\\u2029";
    return NULL;
}

static const char *html_escape(const char *at, size_t size, char *room, size_t room_size)
{
    const unsigned char c = (unsigned char)*at;
    if (size == 0) return "\xef\xbf\xbd";
    if (c < ' ' || c == 0x7f) return " ";
    if (!strchr("<>&\"'", c)) return NULL;
    snprintf(room, room_size, "&#%u;", c);
    return room;
}

typedef const char *(*escape_fn)(const char *at, size_t size, char *room, size_t room_size);

static void put_escaped(attend_writer *p, const char *text, escape_fn escape)
{
    for (const char *plain = text; p->status == ATTEND_OK;) { /* from `plain` on, nothing is written yet */
        char room[16];
        if (*text == '\0') {
            attend_put_bytes(p, plain, (size_t)(text - plain));
            return;
        }
        const size_t size = character(text);
        const char *escaped = escape(text, size, room, sizeof room);
        if (escaped) {
            attend_put_bytes(p, plain, (size_t)(text - plain));
            attend_put_text(p, escaped);
        }
        text += size ? size : 1;
        if (escaped) plain = text;
    }
}

static void put_string(attend_writer *p, const char *text)
{
    attend_put_text(p, "\"");
    put_escaped(p, text ? text : "", json_escape);
    attend_put_text(p, "\"");
}

/* ---- numbers ---- */

static void put_whole(attend_writer *p, long long n)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%lld", n);
    attend_put_bytes(p, text, (size_t)size);
}

static void put_number(attend_writer *p, double x)
{
    if (isnan(x))
        attend_put_text(p, "null");
    else
        put_whole(p, llround(SCALE * fmax(-LARGEST, fmin(LARGEST, x))));
}

static void comma(attend_writer *p, int i)
{
    if (i > 0) attend_put_text(p, ",");
}

/* ---- maps ---- */

static void put_side(attend_writer *p, const char *side, const char *text, const attend_map_piece *pieces, int count,
                     const char *const *words, int word_count)
{
    attend_put_text(p, "\""), attend_put_text(p, side), attend_put_text(p, "\":"), put_string(p, text);
    attend_put_text(p, ",\""), attend_put_text(p, side), attend_put_text(p, "Pieces\":[");
    for (int i = 0; i < count; i++) comma(p, i), put_string(p, pieces[i].text);
    attend_put_text(p, "],\""), attend_put_text(p, side), attend_put_text(p, "Word\":[");
    for (int i = 0; i < count; i++) comma(p, i), put_whole(p, pieces[i].word);
    attend_put_text(p, "],\""), attend_put_text(p, side), attend_put_text(p, "Words\":[");
    for (int i = 0; i < word_count; i++) comma(p, i), put_string(p, words[i]);
    attend_put_text(p, "],");
}

static void put_choices(attend_writer *p, const attend_map_choice *choices) /* (ATTEND_MAP_CHOICES) */
{
    attend_put_text(p, "[");
    for (int k = 0; k < ATTEND_MAP_CHOICES && choices[k].text; k++) {
        comma(p, k), attend_put_text(p, "["), put_string(p, choices[k].text);
        attend_put_text(p, ","), put_number(p, choices[k].probability), attend_put_text(p, "]");
    }
    attend_put_text(p, "]");
}

static void put_probabilities(attend_writer *p, const attend_map *map)
{
    if (!map->probability) {
        attend_put_text(p, ",\"probability\":null,\"choices\":null");
        return;
    }
    attend_put_text(p, ",\"probability\":[");
    for (int i = 0; i < map->target_count; i++) comma(p, i), put_number(p, map->probability[i]);
    attend_put_text(p, "],\"choices\":[");
    for (int i = 0; i < map->target_count; i++)
        comma(p, i), put_choices(p, map->choices + (size_t)i * ATTEND_MAP_CHOICES);
    attend_put_text(p, "]");
}

static void put_weights(attend_writer *p, const attend_map *map)
{
    if (!map->weights) {
        attend_put_text(p, "null");
        return;
    }
    const size_t count =
        (size_t)map->layers * (size_t)map->heads * (size_t)map->target_count * (size_t)map->source_count;
    attend_put_text(p, "[");
    for (size_t i = 0; i < count && p->status == ATTEND_OK; i++) {
        if (i > 0) attend_put_text(p, ",");
        put_number(p, (double)map->weights[i]);
    }
    attend_put_text(p, "]");
}

static void put_map(attend_writer *p, const attend_map *map)
{
    attend_put_text(p, "{\"look\":"), put_string(p, attend_attention_kind_name(map->look)), attend_put_text(p, ",");
    put_side(p, "source", map->source_text, map->source, map->source_count, map->source_words, map->source_word_count);
    put_side(p, "target", map->target_text, map->target, map->target_count, map->target_words, map->target_word_count);
    attend_put_text(p, "\"layers\":"), put_whole(p, map->layers);
    attend_put_text(p, ",\"heads\":"), put_whole(p, map->heads);
    put_probabilities(p, map);
    attend_put_text(p, ",\"logProbability\":"), put_number(p, map->log_probability);
    attend_put_text(p, ",\"score\":"), put_number(p, map->score);
    attend_put_text(p, map->forced ? ",\"forced\":true" : ",\"forced\":false");
    attend_put_text(p, ",\"weights\":"), put_weights(p, map);
    attend_put_text(p, "}");
}

static void put_data(attend_writer *p, const attend_map_list *sentences, int count, const attend_view_options *options)
{
    attend_put_text(p, "{\"title\":"), put_string(p, options->title);
    attend_put_text(p, ",\"layer\":"), put_whole(p, options->layer);
    attend_put_text(p, ",\"head\":"), put_whole(p, options->head);
    attend_put_text(p, options->pieces ? ",\"pieces\":true" : ",\"pieces\":false");
    attend_put_text(p, ",\"sentences\":[");
    for (int i = 0; i < count && p->status == ATTEND_OK; i++) {
        comma(p, i), attend_put_text(p, "\n[");
        for (int k = 0; k < sentences[i].count; k++) comma(p, k), put_map(p, sentences[i].maps[k]);
        attend_put_text(p, "]");
    }
    attend_put_text(p, "]}");
}

/* ---- the page ---- */

static int check(const attend_map_list *sentences, int count, const attend_view_options *options)
{
    if (count < 0 || (count > 0 && !sentences)) return attend_fail(ATTEND_BAD_USAGE, "a page of %d sentences", count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < sentences[i].count; k++) {
            const attend_map *map = sentences[i].maps[k];
            if (!map->weights || map->look != sentences[i].maps[0]->look) continue;
            if (options->layer < -1 || options->layer >= map->layers)
                return attend_fail(ATTEND_BAD_USAGE, "layer %d: sentence %d has %d, counted from 0", options->layer,
                                   i + 1, map->layers);
            if (options->head < -1 || options->head >= map->heads)
                return attend_fail(ATTEND_BAD_USAGE, "head %d: sentence %d has %d, counted from 0", options->head,
                                   i + 1, map->heads);
        }
    return ATTEND_OK;
}

/* The next "{{" .. "}}" at or behind `at`; NULL: there is none. */
static const char *next_hole(const char *at, const char *end)
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
    const attend_view_options usual = ATTEND_VIEW_OPTIONS_INIT;
    if (!options) options = &usual;
    out->size = 0;
    attend_writer p = { out, check(sentences, count, options) };
    const char *at = (const char *)attend_page_frame.bytes, *end = at + attend_page_frame.size;
    for (const char *hole; p.status == ATTEND_OK && (hole = next_hole(at, end)) != NULL;) {
        attend_put_bytes(&p, at, (size_t)(hole - at));
        at = hole + 2;
        const char *const name = at;
        while (*at != '}') at++;
        const size_t size = (size_t)(at - name);
        if (is(name, size, "title"))
            put_escaped(&p, options->title ? options->title : "Where it looked", html_escape);
        else if (is(name, size, "style"))
            attend_put_bytes(&p, (const char *)attend_page_style.bytes, attend_page_style.size);
        else if (is(name, size, "style-hash"))
            attend_put_text(&p, attend_page_style_hash);
        else if (is(name, size, "script"))
            attend_put_bytes(&p, (const char *)attend_page_script.bytes, attend_page_script.size);
        else if (is(name, size, "script-hash"))
            attend_put_text(&p, attend_page_script_hash);
        else
            put_data(&p, sentences, count, options);
        at += 2;
    }
    attend_put_bytes(&p, at, (size_t)(end - at));
    return p.status;
}
