/* npz.c: the attention maps of a sentence as a NumPy archive: a ZIP file of arrays in the format NPY 1.0. */
#include <attend/view.h>

#include "core/memory.h"
#include "core/status.h"
#include "core/utf8.h"
#include "format/zip_writer.h"
#include <stdio.h>
#include <string.h>

enum { MAX_RANK = 4, NAME = 64, HEADER_UNIT = 64, HEADER_BEGIN = 10 };

typedef struct npz_writer {
    attend_zip_writer zip;
    const attend_map *map;
    int number; /* of the map, from 1; 0: it is the only one */
    char file[NAME];
} npz_writer;

/* ---- arrays ---- */

/* "(2, 3)"; with one dimension "(2,)". */
static void describe_shape(char *text, size_t size, const int *shape, int rank)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%d%s", shape[i], i + 1 < rank || rank == 1 ? ", " : "");
}

static void begin_array(npz_writer *w, const char *name, const char *type, const int *shape, int rank)
{
    char dimensions[64], header[4 * HEADER_UNIT];
    if (w->number > 0)
        snprintf(w->file, sizeof w->file, "%d/%s.npy", w->number, name);
    else
        snprintf(w->file, sizeof w->file, "%s.npy", name);
    attend_zip_begin_file(&w->zip, w->file);
    describe_shape(dimensions, sizeof dimensions, shape, rank);
    int size =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, dimensions);
    while ((HEADER_BEGIN + size + 1) % HEADER_UNIT != 0) header[size++] = ' '; /* the data is aligned */
    header[size++] = '\n';
    attend_zip_put_bytes(&w->zip, "\x93NUMPY\1\0", 8);
    attend_zip_put_number(&w->zip, (uint64_t)size, 2);
    attend_zip_put_bytes(&w->zip, header, (size_t)size);
}

static void end_array(npz_writer *w)
{
    attend_zip_end_file(&w->zip, w->file);
}

static void put_float(npz_writer *w, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    attend_zip_put_number(&w->zip, bits, 4);
}

static void put_doubles(npz_writer *w, const char *name, const double *numbers, const int *shape, int rank)
{
    begin_array(w, name, "<f8", shape, rank);
    for (int i = 0; i < (rank ? shape[0] : 1); i++) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        attend_zip_put_number(&w->zip, bits, 8);
    }
    end_array(w);
}

/* ---- texts: UTF-32, each as long as the longest ---- */

static int character_count(const char *text)
{
    int count = 0;
    int32_t c;
    for (size_t i = 0, n, size = strlen(text); i < size; i += n ? n : 1, count++)
        n = attend_utf8_next(text + i, size - i, &c);
    return count;
}

static void put_text(npz_writer *w, const char *text, int width)
{
    int32_t c;
    int count = 0;
    for (size_t i = 0, n, size = strlen(text); i < size; i += n ? n : 1, count++) {
        n = attend_utf8_next(text + i, size - i, &c);
        attend_zip_put_number(&w->zip, n ? (uint32_t)c : 0xfffd, 4);
    }
    for (; count < width; count++) attend_zip_put_number(&w->zip, 0, 4);
}

/* `count` tokens or, if that is NULL, texts. rank 0: a single text. */
static void put_texts(npz_writer *w, const char *name, const attend_map_token *tokens, const char *const *texts,
                      int count, int rank)
{
    char type[32];
    int width = 1;
    for (int i = 0; i < count; i++) {
        const int size = character_count(tokens ? tokens[i].text : texts[i]);
        if (size > width) width = size;
    }
    snprintf(type, sizeof type, "<U%d", width);
    begin_array(w, name, type, &count, rank);
    for (int i = 0; i < count; i++) put_text(w, tokens ? tokens[i].text : texts[i], width);
    end_array(w);
}

static void put_words_of_tokens(npz_writer *w, const char *name, const attend_map_token *tokens, int count)
{
    begin_array(w, name, "<i4", &count, 1);
    for (int i = 0; i < count; i++) attend_zip_put_number(&w->zip, (uint32_t)tokens[i].word, 4);
    end_array(w);
}

/* ---- weights ---- */

/* What is computed for each layer and head: weights, or the rest of each row. */
typedef enum npz_part { WEIGHTS, REST } npz_part;

static void put_heads(npz_writer *w, const char *name, bool by_token, npz_part part, float *scratch)
{
    const attend_map *map = w->map;
    const int shape[MAX_RANK] = { map->layers, map->heads, by_token ? map->target_count : map->target_word_count,
                                  by_token ? map->source_count : map->source_word_count };
    const size_t count = (size_t)shape[2] * (part == WEIGHTS ? (size_t)shape[3] : 1);
    begin_array(w, name, "<f4", shape, part == WEIGHTS ? 4 : 3);
    for (int layer = 0; layer < map->layers; layer++)
        for (int head = 0; head < map->heads && w->zip.status == ATTEND_OK; head++) {
            if (part == REST)
                attend_map_rest(map, layer, head, by_token, scratch);
            else
                (by_token ? attend_map_weights : attend_map_word_weights)(map, layer, head, scratch);
            for (size_t i = 0; i < count; i++) put_float(w, scratch[i]);
        }
    end_array(w);
}

static void put_map(npz_writer *w, const char *model, float *scratch)
{
    const attend_map *map = w->map;
    const char *const kind = attend_attention_kind_name(map->kind);
    put_heads(w, "weights", true, WEIGHTS, scratch);
    put_heads(w, "rest", true, REST, scratch);
    put_heads(w, "word_weights", false, WEIGHTS, scratch);
    put_heads(w, "word_rest", false, REST, scratch);
    put_texts(w, "source_tokens", map->source, NULL, map->source_count, 1);
    put_texts(w, "target_tokens", map->target, NULL, map->target_count, 1);
    put_words_of_tokens(w, "source_word_of_token", map->source, map->source_count);
    put_words_of_tokens(w, "target_word_of_token", map->target, map->target_count);
    put_texts(w, "source_words", NULL, map->source_words, map->source_word_count, 1);
    put_texts(w, "target_words", NULL, map->target_words, map->target_word_count, 1);
    if (map->probability) put_doubles(w, "probability", map->probability, &map->target_count, 1);
    if (map->probability) put_doubles(w, "log_probability", &map->log_probability, NULL, 0);
    put_texts(w, "source", NULL, &map->source_text, 1, 0);
    put_texts(w, "target", NULL, &map->target_text, 1, 0);
    put_texts(w, "attention", NULL, &kind, 1, 0);
    if (model) put_texts(w, "model", NULL, &model, 1, 0);
}

static int add_map(npz_writer *w, const attend_view_options *o)
{
    const attend_map *map = w->map;
    if (!map || !map->weights) return attend_fail(ATTEND_BAD_USAGE, "a map of the archive has no attention");
    const size_t rows = (size_t)map->target_count + (size_t)map->target_word_count,
                 columns = (size_t)map->source_count + (size_t)map->source_word_count;
    float *scratch = attend_memory_zeroed(rows * columns + 1, sizeof *scratch);
    if (!scratch) return attend_fail(ATTEND_NO_MEMORY, "no memory for the weights of %d tokens", map->source_count);
    put_map(w, attend_view_model_name(map, o), scratch);
    attend_memory_free(scratch);
    return w->zip.status;
}

int attend_view_npz(const attend_map_list *maps, const attend_view_options *o, attend_string *out)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, maps && o && out && maps->maps && maps->count > 0);
    npz_writer w = { .zip = attend_zip_begin(out) };
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < maps->count; i++) {
        w.map = maps->maps[i], w.number = maps->count > 1 ? i + 1 : 0;
        status = add_map(&w, o);
    }
    const int ended = attend_zip_end(&w.zip);
    return status == ATTEND_OK ? ended : status;
}
