#include "data_files.h"

#include "core/status.h"
#include <stdlib.h>

/* The names behind one option. */
static int settle_group(attend_pairs_spec *specs, int *made, const char **names, int count, attend_task task)
{
    *made = count;
    return task == ATTEND_TASK_LANGUAGE_MODEL ? attend_monolingual_specs(specs, names, count)
                                              : attend_pairs_specs(specs, made, names, count);
}

int data_settle(const verb *v, const char *name, pairs_list *list, attend_task task)
{
    const size_t room = (size_t)list->name_count + 1;
    attend_pairs_spec *specs = calloc(room, sizeof *specs);
    const char **names = calloc(room, sizeof *names);
    free(list->items);
    list->items = calloc(room, sizeof *list->items);
    list->count = 0;
    int status = specs && names && list->items ? ATTEND_OK : attend_fail(ATTEND_BAD_USAGE, "no memory");
    for (int first = 0, last; status == ATTEND_OK && first < list->name_count; first = last) {
        int made = 0;
        for (last = first; last < list->name_count && (last == first || !list->names[last].first); last++)
            names[last - first] = list->names[last].name;
        status = settle_group(specs, &made, names, last - first, task);
        for (int i = 0; status == ATTEND_OK && i < made; i++)
            list->items[list->count++] = (pairs_given){ specs[i].source, specs[i].target };
    }
    free(specs);
    free(names);
    return status == ATTEND_OK ? 0 : options_wrong(v, "--%s: %s", name, attend_message());
}
