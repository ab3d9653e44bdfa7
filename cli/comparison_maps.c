/* comparison_maps.c: the attention maps of some test pairs by all variants that attend to the source, side by side. */
#include "comparison.h"
#include "show.h"

#include <attend/file.h>
#include <attend/status.h>
#include <stdlib.h>

enum { MAX_PAIRS = 8, MAX_MODELS = 12 }; /* a page of more is hard to read, and all its models are in memory */

/* Whether a variant has maps to show. */
static bool has_maps(const variant *x)
{
    return x->state == VARIANT_DONE && attend_config_attention_layers(&x->t.config, ATTEND_ATTENTION_CROSS) > 0;
}

bool comparison_has_maps(const comparison *c)
{
    for (int i = 0; i < c->count; i++)
        if (has_maps(&c->variants[i])) return true;
    return false;
}

int comparison_maps(const comparison *c)
{
    const test_set *test = &c->e.test_set;
    const char *names[MAX_MODELS], *targets[MAX_PAIRS];
    char *paths[MAX_MODELS];
    int models = 0, status = ATTEND_OK;
    const int pairs = test->count < MAX_PAIRS ? test->count : MAX_PAIRS;
    for (int i = 0; status == ATTEND_OK && i < c->count && models < MAX_MODELS; i++) {
        if (!has_maps(&c->variants[i])) continue;
        names[models] = c->variants[i].name;
        paths[models] = comparison_path(c, &c->variants[i], "model");
        status = paths[models++] ? ATTEND_OK : ATTEND_NO_MEMORY;
    }
    for (int i = 0; i < pairs; i++) targets[i] = test->references[test->begin[i]];
    const show_models_spec spec = { .names = names,
                                    .paths = (const char *const *)paths,
                                    .model_count = models,
                                    .sources = (const char *const *)test->sources.items,
                                    .targets = targets,
                                    .pair_count = pairs,
                                    .unit = c->s->unit,
                                    .title = "attend compare" };
    char *page = status == ATTEND_OK ? comparison_path(c, NULL, "comparison.html") : NULL;
    if (status == ATTEND_OK && !page) status = ATTEND_NO_MEMORY;
    if (status == ATTEND_OK) attend_atomic_file_remove_stale(page, false);
    if (status == ATTEND_OK && models > 0) status = show_models_page(&spec, page);
    for (int i = 0; i < models; i++) free(paths[i]);
    free(page);
    return status;
}
