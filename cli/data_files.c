#include "data_files.h"

#include "array.h"

#include <attend/parse.h>
#include <attend/training_choice.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- validation data that is held out ---- */

/* The default of --valid. With fewer than ATTEND_HELD_OUT_MIN_PAIRS, validation says too little to end training. */
static const held_out standard = { .fraction = ATTEND_HELD_OUT_FRACTION,
                                   .max_pairs = ATTEND_HELD_OUT_MAX_PAIRS,
                                   .is_default = true };

static bool is_percentage(const char *name, double *percentage)
{
    const char *end;
    return attend_parse_real(name, &end, percentage) && strcmp(end, "%") == 0;
}

bool data_name_is_part(const char *name)
{
    double percentage;
    return strcmp(name, "none") == 0 || is_percentage(name, &percentage);
}

/* A number without %, of which there is no file: a percentage was meant. */
static bool lacks_percent(const char *name)
{
    const char *end;
    double number;
    return attend_parse_real(name, &end, &number) && *end == '\0' && access(name, F_OK) != 0;
}

int data_files_resolve_valid(const verb *v, const parsed *p, pairs_list *list, attend_task task, held_out *h)
{
    double percentage;
    *h = options_given(v, p, "valid") ? (held_out){ 0 } : standard;
    for (int i = 0; i < list->name_count; i++) {
        const char *const name = list->names[i].name;
        if (lacks_percent(name))
            return usage_error(v, "--valid %s: no such file; for %s %% of the training pairs write %s%%", name, name,
                               name);
        if (!data_name_is_part(name)) continue;
        if (list->name_count > 1)
            return usage_error(v, "--valid %s cannot be combined with files (a file of that name is ./%s)", name, name);
        list->name_count = 0;
        if (!is_percentage(name, &percentage)) return 0;
        h->fraction = percentage / 100;
        if (h->fraction > 0 && h->fraction < 1) return 0;
        return usage_error(v, "--valid %s is not between 0%% and 100%%; --valid none trains without validation", name);
    }
    return data_files_resolve(v, "valid", list, task);
}

int data_files_hold_out(const verb *v, pairs_list *train, pairs_list *valid, const held_out *h, bool quiet)
{
    int held = 0, left = 0;
    if (h->fraction == 0) return 0;
    if (!array_reserve(&valid->items, &valid->capacity, (size_t)train->count, sizeof *valid->items))
        return usage_error(v, "--valid: out of memory");
    const int min = h->is_default ? ATTEND_HELD_OUT_MIN_PAIRS : 1;
    if (attend_pairs_try_hold_out(train->items, valid->items, train->count, h->fraction, h->max_pairs, min, &held,
                                  &left) != ATTEND_OK)
        return 0; /* the check of the data, or training, says what is wrong with it */
    if (held == min && left > 0) {
        valid->count = train->count;
        return 0;
    }
    if (!h->is_default)
        return usage_error(
            v, "--valid: holding out %g %% of the pairs leaves none for %s; use another percentage, or files",
            100 * h->fraction, held ? "training" : "validation");
    if (!quiet)
        attend_print(stderr,
                     "validation  none: a tenth of the pairs is fewer than %d; give validation data with --valid\n",
                     ATTEND_HELD_OUT_MIN_PAIRS);
    return 0;
}
