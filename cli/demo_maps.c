#include "demo_maps.h"

#include <attend/status.h>
#include "array.h"
#include "output_file.h"
#include "options.h"
#include "terminal.h"
#include "result_text.h"
#include <stdio.h>
#include <stdlib.h>

int demo_maps_new(demo_maps *d, const attend_model *m, const char *name)
{
    const attend_alignment by = attend_model_alignment(m);
    *d = (demo_maps){ .m = m, .model = { .name = name, .layer = by.layer, .head = by.head } };
    return attend_ctx_new(&d->c);
}

void demo_maps_free(demo_maps *d)
{
    for (int i = 0; i < d->map_count; i++) attend_map_free(d->maps[i]);
    free(d->maps);
    attend_ctx_free(d->c);
    *d = (demo_maps){ 0 };
}

/* The map the model aligns by. */
static attend_view_options view_of(const demo_maps *d)
{
    attend_view_options view = ATTEND_VIEW_OPTIONS_INIT;
    view.layer = d->model.layer, view.head = d->model.head;
    view.models = &d->model, view.model_count = 1;
    return view;
}

static int print_map(const demo_maps *d, const attend_map *map)
{
    attend_view_options view = view_of(d);
    attend_string text = { 0 };
    view.width = terminal_width(), view.colours = terminal_colours();
    const int status = attend_view_terminal(map, &view, &text);
    if (status == ATTEND_OK) write_unchanged(stdout, text.text);
    attend_string_free(&text);
    return status;
}

static int add_map(demo_maps *d, const char *source, const attend_hypothesis *h)
{
    if (!array_reserve(&d->maps, &d->map_capacity, (size_t)d->map_count + 1, sizeof *d->maps))
        return attend_fail(ATTEND_NO_MEMORY, "out of memory for %d maps", d->map_count + 1);
    const int status = attend_map_new(&d->maps[d->map_count], d->c, d->m, ATTEND_ATTENTION_CROSS, ATTEND_UNIT_AUTO,
                                      source, NULL, h->tokens, h->count, h->score);
    if (status == ATTEND_OK) d->map_count++;
    return status;
}

int demo_maps_add(demo_maps *d, const char *source, const attend_line_result *r, bool print)
{
    int status = ATTEND_OK;
    if (d->sentences == DEMO_PAGE_SENTENCES || r->fault || !r->source) return ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < r->count; i++) {
        status = add_map(d, source, &r->hypotheses[i]);
        if (status == ATTEND_OK) d->counts[d->sentences]++;
        if (status == ATTEND_OK && i == 0 && print) status = print_map(d, d->maps[d->map_count - 1]);
    }
    d->sentences++;
    return status;
}

int demo_maps_write_page(const demo_maps *d, const char *path)
{
    attend_view_options view = view_of(d);
    attend_map_list lists[DEMO_PAGE_SENTENCES];
    attend_string page = { 0 };
    output_file *to = NULL;
    view.title = "attend demo: English to French";
    for (int i = 0, first = 0; i < d->sentences; first += d->counts[i++])
        lists[i] = (attend_map_list){ (const attend_map *const *)d->maps + first, d->counts[i] };
    int status = attend_view_html(lists, d->sentences, &view, &page);
    if (status == ATTEND_OK) status = output_open(&to, path);
    if (status == ATTEND_OK) status = output_write(to, page.text, page.size);
    const int closed = output_close(to, status == ATTEND_OK);
    attend_string_free(&page);
    return status == ATTEND_OK ? closed : status;
}
