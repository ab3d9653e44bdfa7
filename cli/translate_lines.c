#include "translate_lines.h"

#include <attend/status.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1024 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take_results(const verb *v, const attend_translator *t, int count, text_lines *to, translate_cost *cost)
{
    int status = ATTEND_OK;
    for (int i = 0; status == ATTEND_OK && i < count; i++) {
        const attend_line_result *r = attend_translator_result(t, i);
        if (r->fault && v)
            attend_print(stderr, "attend %s: source %d is not translated: %s; its translation is an empty line\n",
                         v->name, to->count + 1, r->fault);
        cost->tokens += (unsigned long long)r->hypotheses[0].count + 1;
        status = text_lines_add(to, r->hypotheses[0].text, strlen(r->hypotheses[0].text));
    }
    return status;
}

int translate_lines(const verb *v, const attend_model *m, const attend_translator_options *o, const text_lines *sources,
                    bool (*stop)(void *), text_lines *to, translate_cost *cost)
{
    attend_translator *t = NULL;
    size_t *sizes = calloc(BATCH, sizeof *sizes);
    *cost = (translate_cost){ 0 };
    int status = sizes ? attend_translator_new(&t, m, o) : attend_fail(ATTEND_NO_MEMORY, "out of memory translating");
    const double began = now();
    for (int first = 0, done = 0; status == ATTEND_OK && first < sources->count; first += done) {
        const int left = sources->count - first, count = left < BATCH ? left : BATCH;
        cost->stopped = stop && stop(NULL);
        if (cost->stopped) break;
        for (int i = 0; i < count; i++) sizes[i] = strlen(sources->items[first + i]);
        status =
            attend_translator_run_some(t, count, (const char *const *)sources->items + first, sizes, NULL, NULL, &done);
        if (status == ATTEND_OK) status = take_results(v, t, done, to, cost);
    }
    cost->seconds = now() - began;
    attend_translator_free(t);
    free(sizes);
    return status;
}
