/* caption.c: says which map is shown: "en-de: cross-attention, layer 1, mean of 4 heads". */
#include <attend/grid.h>
#include <attend/view.h>

#include "core/status.h"
#include <stdio.h>
#include <string.h>

const char *attend_view_model_name(const attend_map *map, const attend_view_options *o)
{
    ATTEND_REQUIRE(NULL, map && o);
    return o->models && map->model >= 0 && map->model < o->model_count ? o->models[map->model].name : NULL;
}

/* Layers and heads are named only where there are several. */
static void describe_heads(char *text, size_t size, const attend_map *map, const attend_view_options *o)
{
    char layers[48] = "", heads[48] = "";
    const bool all_layers = o->layer < 0 && map->layers > 1, all_heads = o->head < 0 && map->heads > 1;
    if (o->layer >= 0 && map->layers > 1) snprintf(layers, sizeof layers, ", layer %d", o->layer);
    if (o->head >= 0 && map->heads > 1) snprintf(heads, sizeof heads, ", head %d", o->head);
    if (all_layers) snprintf(layers, sizeof layers, ", mean of %d layers", map->layers);
    if (all_heads) snprintf(heads, sizeof heads, all_layers ? " and %d heads" : ", mean of %d heads", map->heads);
    snprintf(text, size, "%s%s", layers, heads);
}

static bool has_unknown(const attend_map *map)
{
    for (int i = 0; i < map->source_count; i++)
        if (map->source[i].unknown) return true;
    for (int i = 0; i < map->target_count; i++)
        if (map->target[i].unknown) return true;
    return false;
}

int attend_view_caption(const attend_map *map, const attend_view_options *o, attend_string *out)
{
    static const char *const kinds[] = { "cross-attention", "encoder self-attention", "decoder self-attention" };
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, map && o && out && (unsigned)map->kind <= ATTEND_ATTENTION_DECODER);
    const char *name = attend_view_model_name(map, o);
    char heads[128];
    describe_heads(heads, sizeof heads, map, o);
    out->size = 0;
    int status = ATTEND_OK;
    if (name) {
        status = attend_string_add(out, name, strlen(name));
        if (status == ATTEND_OK) status = attend_string_add(out, ": ", 2);
    }
    if (status == ATTEND_OK) status = attend_string_add(out, kinds[map->kind], strlen(kinds[map->kind]));
    if (status == ATTEND_OK) status = attend_string_add(out, heads, strlen(heads));
    static const char unknown[] = "; " ATTEND_UNKNOWN_MARK " not in the training data";
    return status == ATTEND_OK && has_unknown(map) ? attend_string_add(out, unknown, sizeof unknown - 1) : status;
}
