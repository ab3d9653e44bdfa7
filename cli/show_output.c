/* show_output.c: writes attention maps in the requested format. */
#include "show.h"

#include "array.h"

#include <attend/status.h>
#include <attend/picture.h>
#include <attend/json.h>
#include <stdlib.h>
#include <string.h>

/* A page takes about four bytes per weight. Beyond this number, sentences have maps of one kind only. */
enum { MAX_PAGE_WEIGHTS = 4000000 };

static int write_text(show_job *j, const char *text, size_t size)
{
    return output_write(j->to, text, size);
}

/* ---- pictures ---- */

/* `name` with %d replaced by the number. NULL: out of memory. */
static char *numbered(const char *name, unsigned long long number)
{
    const char *at = strstr(name, "%d");
    const size_t size = strlen(name) + 32;
    char *path = malloc(size);
    if (path && at)
        snprintf(path, size, "%.*s%llu%s", (int)(at - name), name, number, at + 2);
    else if (path)
        snprintf(path, size, "%s", name);
    return path;
}

/* Writes j->text to a file of its own. */
static int write_file(show_job *j)
{
    const char *name = j->s->output;
    char *path = name ? numbered(name, j->lines) : NULL;
    output_file *to = NULL;
    int status =
        name && !path ? attend_fail(ATTEND_NO_MEMORY, "out of memory for a file name") : output_open(&to, path);
    if (status == ATTEND_OK) status = output_write(to, j->text.text, j->text.size);
    const int closed = output_close(to, status == ATTEND_OK);
    free(path);
    return status == ATTEND_OK ? closed : status;
}

/* The first map of each model. */
static const attend_map *map_of_model(const sentence_maps *x, int model)
{
    int i = 0;
    while (x->items[i]->model != model) i++;
    return x->items[i];
}

/* The options for the map of one model. */
static attend_view_options view_of(const show_job *j, const attend_map *map)
{
    attend_view_options view = j->view;
    view.layer = j->maps[map->model].layer, view.head = j->maps[map->model].head;
    return view;
}

/* All layers and heads of a model in a grid, or the maps of all models side by side. */
static int write_picture(show_job *j, const sentence_maps *x)
{
    static const attend_picture_format formats[] = {
        [SHOW_SVG] = ATTEND_PICTURE_SVG, [SHOW_PDF] = ATTEND_PICTURE_PDF, [SHOW_PNG] = ATTEND_PICTURE_PNG
    };
    const bool all_heads = j->s->all_heads;
    const attend_map *first = x->items[0];
    const int count = all_heads ? first->layers * first->heads : j->s->models.count;
    const int across = !all_heads ? count : first->heads > 1 ? first->heads : first->layers;
    attend_panel *panels = calloc((size_t)count, sizeof *panels);
    if (!panels) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d maps", count);
    for (int i = 0; i < count; i++)
        panels[i] = all_heads ? (attend_panel){ first, i / first->heads, i % first->heads }
                              : (attend_panel){ map_of_model(x, i), j->maps[i].layer, j->maps[i].head };
    const int status = attend_view_panels(panels, count, across, &j->view, formats[j->s->format], &j->text);
    free(panels);
    return status == ATTEND_OK ? write_file(j) : status;
}

static int write_archive(show_job *j, const sentence_maps *x)
{
    const int count = j->s->models.count;
    const attend_map **maps = calloc((size_t)count, sizeof *maps);
    if (!maps) return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d maps", count);
    for (int i = 0; i < count; i++) maps[i] = map_of_model(x, i);
    const int status = attend_view_npz(&(attend_map_list){ maps, count }, &j->view, &j->text);
    free(maps);
    return status == ATTEND_OK ? write_file(j) : status;
}

/* ---- JSON and terminal ---- */

/* Begins an object; for input from a file, the number of the line is its first member. */
static attend_json_writer begin_json(show_job *j)
{
    j->text.size = 0;
    attend_json_writer w = attend_json_to_string(&j->text);
    attend_json_begin_object(&w);
    if (j->file) attend_json_put_key(&w, "line"), attend_json_put_unsigned(&w, j->lines);
    return w;
}

static int end_json(show_job *j, attend_json_writer *w)
{
    attend_json_end_object(w);
    attend_json_put_space(w, "\n");
    return w->status == ATTEND_OK ? write_text(j, j->text.text, j->text.size) : w->status;
}

static int write_json(show_job *j, const attend_map *map)
{
    const attend_view_options view = view_of(j, map);
    attend_json_writer w = begin_json(j);
    const int status = attend_view_json_members(map, &view, &w);
    return status == ATTEND_OK ? end_json(j, &w) : status;
}

static int write_map(show_job *j, const attend_map *map, const attend_view_options *view)
{
    int status = attend_view_terminal(map, view, &j->text);
    if (status == ATTEND_OK && j->maps_written++ > 0) status = write_text(j, "\n", 1);
    return status == ATTEND_OK ? output_write_fit(j->to, j->text.text, j->text.size) : status;
}

/* For input from a file, the title is the number of the line and the source. */
static int write_terminal(show_job *j, const attend_map *map)
{
    attend_view_options view = view_of(j, map);
    const size_t size = j->texts[0].size + 32;
    char *title = j->file ? malloc(size) : NULL;
    if (j->file && !title) return attend_fail(ATTEND_NO_MEMORY, "out of memory for a title");
    if (title) snprintf(title, size, "%llu: %s", j->lines, j->texts[0].text);
    view.title = title;
    int status = j->s->all_heads ? ATTEND_OK : write_map(j, map, &view);
    for (int i = 0; j->s->all_heads && status == ATTEND_OK && i < map->layers * map->heads; i++) {
        view.layer = i / map->heads, view.head = i % map->heads;
        status = write_map(j, map, &view);
    }
    free(title);
    return status;
}

/* ---- HTML ---- */

size_t show_weight_count(const attend_map *map)
{
    return (size_t)map->layers * (size_t)map->heads * (size_t)map->target_count * (size_t)map->source_count;
}

/* Removes maps of other kinds if the page would become too large. */
static void limit_size(show_job *j, sentence_maps *x)
{
    size_t all = 0;
    int count = 0;
    for (int i = 0; i < x->count; i++) all += show_weight_count(x->items[i]);
    if (j->page_weights + all > MAX_PAGE_WEIGHTS) {
        for (int i = 0; i < x->count; i++) {
            if (x->items[i]->kind == j->kind)
                x->items[count++] = x->items[i];
            else
                attend_map_free(x->items[i]);
        }
        j->reduced += count < x->count;
        x->count = count;
    }
    for (int i = 0; i < x->count; i++) j->page_weights += show_weight_count(x->items[i]);
    j->page_maps += (size_t)x->count;
}

/* Takes over the maps of a sentence. */
static int add_to_page(show_job *j, sentence_maps *x)
{
    if (!array_reserve(&j->page, &j->page_capacity, (size_t)j->page_count + 1, sizeof *j->page))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d sentences", j->page_count + 1);
    limit_size(j, x);
    j->page[j->page_count++] = *x;
    *x = (sentence_maps){ NULL, 0 };
    return ATTEND_OK;
}

int show_write_page(show_job *j)
{
    attend_map_list *lists = calloc((size_t)j->page_count + 1, sizeof *lists);
    if (!lists) return attend_fail(ATTEND_NO_MEMORY, "out of memory for the page");
    for (int i = 0; i < j->page_count; i++)
        lists[i] = (attend_map_list){ (const attend_map *const *)j->page[i].items, j->page[i].count };
    j->text.size = 0;
    int status = attend_view_html(lists, j->page_count, &j->view, &j->text);
    if (status == ATTEND_OK) status = write_text(j, j->text.text, j->text.size);
    if (status == ATTEND_OK && j->reduced > 0 && !j->s->quiet)
        attend_print(stderr,
                     "attend show: to limit the size of the page, %d of %d sentences have %s attention only; use "
                     "--attention-kind for a page of another kind\n",
                     j->reduced, j->page_count, attend_attention_kind_names[j->kind]);
    free(lists);
    return status;
}

/* ---- all formats ---- */

/* A map needs rows. Without words, the translation still has its end, which is a token. */
static bool is_empty(const show_job *j, const attend_map *map)
{
    return j->models[map->model].translator && !map->forced && !j->view.by_token && map->target_word_count == 0;
}

bool show_is_file_per_sentence(const show_settings *s)
{
    return s->format == SHOW_SVG || s->format == SHOW_PDF || s->format == SHOW_PNG || s->format == SHOW_NPZ;
}

static int write_each(show_job *j, const sentence_maps *x, int (*write)(show_job *, const attend_map *))
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < j->s->models.count; i++) status = write(j, map_of_model(x, i));
    return status;
}

int show_write_maps(show_job *j, sentence_maps *x)
{
    for (int i = 0; i < j->s->models.count; i++) {
        if (!is_empty(j, map_of_model(x, i))) continue;
        j->empty++, j->empty_model = i;
        if (show_is_file_per_sentence(j->s) && j->s->format != SHOW_NPZ)
            return attend_fail(ATTEND_BAD_DATA, "its translation has no words to draw");
        break;
    }
    switch (j->s->format) {
    case SHOW_SVG:
    case SHOW_PDF:
    case SHOW_PNG:
        return write_picture(j, x);
    case SHOW_NPZ:
        return write_archive(j, x);
    case SHOW_HTML:
        return add_to_page(j, x);
    case SHOW_JSON:
        return write_each(j, x, write_json);
    default:
        return write_each(j, x, write_terminal);
    }
}

void show_explain_empty(const show_job *j)
{
    if (j->s->quiet || j->empty == 0 || j->s->format == SHOW_JSON) return;
    attend_print(stderr, "attend show: ");
    if (j->lines == 1)
        attend_print(stderr, "the translation has no words");
    else
        attend_print(stderr, "%llu of %llu translations have no words", j->empty, j->lines);
    attend_print(stderr,
                 ", as before a model has learned enough: train %s longer, show given targets (--target, or pairs "
                 "with --input), or show tokens, which include the end (--tokens)\n",
                 j->maps[j->empty_model].name);
}

int show_skip_line(show_job *j)
{
    char where[256], reason[256];
    const char *message = attend_message();
    snprintf(where, sizeof where, "%s:%llu: ", j->file, j->line);
    if (strncmp(message, where, strlen(where)) == 0) message += strlen(where); /* do not repeat the location */
    snprintf(reason, sizeof reason, "%s", message);
    if (!j->s->quiet) attend_print(stderr, "attend show: %s:%llu is not shown: %s\n", j->file, j->line, reason);
    if (j->s->format != SHOW_JSON) return ATTEND_OK;
    attend_json_writer w = begin_json(j);
    attend_json_put_key(&w, "fault"), attend_json_put_text(&w, reason);
    return end_json(j, &w);
}
