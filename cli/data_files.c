#include "data_files.h"

#include "array.h"

#include <stdlib.h>

/* The names of one occurrence of the option. */
static int resolve_group(attend_pairs_spec *specs, int *count, const char **names, int name_count, attend_task task)
{
    *count = name_count;
    return task == ATTEND_TASK_LANGUAGE_MODEL ? attend_monolingual_specs(specs, names, name_count)
                                              : attend_pairs_specs(specs, count, names, name_count);
}

int data_files_resolve(const verb *v, const char *name, pairs_list *list, attend_task task)
{
    const size_t max_count = (size_t)list->name_count + 1;
    const char **names = calloc(max_count, sizeof *names);
    list->count = 0;
    int status = 0;
    if (!names || !array_reserve(&list->items, &list->capacity, max_count, sizeof *list->items))
        status = usage_error(v, "--%s: out of memory", name);
    for (int first = 0, end; status == 0 && first < list->name_count; first = end) {
        int count = 0;
        for (end = first; end < list->name_count && (end == first || !list->names[end].starts_group); end++)
            names[end - first] = list->names[end].name;
        if (resolve_group(list->items + list->count, &count, names, end - first, task) == ATTEND_OK)
            list->count += count;
        else
            status = usage_error(v, "--%s: %s", name, attend_message());
    }
    free(names);
    return status;
}
