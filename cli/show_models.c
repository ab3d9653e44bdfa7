/* show_models.c: a page with the attention maps of given pairs by several models. */
#include "memory_option.h"
#include "show.h"

#include <attend/status.h>

/* A pair that cannot be shown is left out. */
static int add_pair(show_job *j, const char *source, const char *target)
{
    sentence_maps x = { NULL, 0 };
    j->lines++;
    int status = show_make_maps(j, source, target, &x);
    if (status == ATTEND_OK) status = show_write_maps(j, &x);
    if (status == ATTEND_OK) j->shown++;
    sentence_maps_free(&x);
    return status == ATTEND_BAD_DATA || status == ATTEND_FAILED ? ATTEND_OK : status;
}

static int write_page(show_job *j, const char *output)
{
    int status = output_open(&j->to, output);
    if (status == ATTEND_OK) status = show_write_page(j);
    const int closed = output_close(j->to, status == ATTEND_OK);
    return status == ATTEND_OK ? closed : status;
}

int show_models_page(const show_models_spec *spec, const char *output)
{
    const show_settings s = { .models = { .items = (const char **)spec->paths, .count = spec->model_count },
                              .format = SHOW_HTML,
                              .kind = ATTEND_ATTENTION_CROSS,
                              .layer = -1,
                              .head = -1,
                              .hypothesis = 1,
                              .beam = 1,
                              .threads = 1,
                              .unit = spec->unit,
                              .memory = MEMORY_DEFAULT,
                              .quiet = true };
    show_job j = { .s = &s, .view = ATTEND_VIEW_OPTIONS_INIT };
    int status = show_load(&j);
    for (int i = 0; status == ATTEND_OK && i < spec->model_count; i++) j.maps[i].name = spec->names[i];
    if (status == ATTEND_OK) status = show_prepare(&j);
    for (int i = 0; status == ATTEND_OK && i < spec->pair_count; i++)
        status = add_pair(&j, spec->sources[i], spec->targets[i]);
    j.view.title = spec->title;
    if (status == ATTEND_OK && j.shown > 0) status = write_page(&j, output);
    show_job_free(&j);
    return status;
}
