#include "data_files.h"

#include "array.h"

#include <attend/parse.h>
#include <attend/words.h>
#include <stdlib.h>
#include <string.h>

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

/* The default of --valid. With fewer than MIN_DEFAULT pairs, validation says too little to end training. */
static const held_out standard = { .fraction = 0.1, .max_pairs = 2000, .is_default = true };
enum { MIN_DEFAULT = 5 };

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

int data_files_resolve_valid(const verb *v, const parsed *p, pairs_list *list, attend_task task, held_out *h)
{
    double percentage;
    *h = options_given(v, p, "valid") ? (held_out){ 0 } : standard;
    for (int i = 0; i < list->name_count; i++) {
        const char *const name = list->names[i].name;
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

/* Counts the pairs of a part that have words on both sides, up to `max`. */
static int count_pairs(const pairs_list *list, int max, int *count)
{
    attend_pairs_file *file = NULL;
    attend_text_pair p = { .source = "" };
    *count = 0;
    int status = attend_pairs_file_open(&file, list->items, list->count);
    while (status == ATTEND_OK && p.source && *count < max) {
        status = attend_pairs_file_next(file, &p);
        const bool is_line = !list->items[0].source;
        if (status == ATTEND_OK && p.source && attend_word_count(p.target, p.target_size) > 0 &&
            (is_line || attend_word_count(p.source, p.source_size) > 0))
            ++*count;
        /* a faulty line is reported when the data is checked */
        if (status != ATTEND_OK && attend_pairs_file_fault(file) <= ATTEND_PAIR_TOO_LONG)
            status = ATTEND_OK, p.source = "";
    }
    attend_pairs_file_close(file);
    return status;
}

/* Reads all pairs as training data again. */
static void unite(pairs_list *train, pairs_list *valid)
{
    for (int i = 0; i < train->count; i++) train->items[i].part = ATTEND_PART_ALL;
    valid->count = 0;
}

int data_files_hold_out(const verb *v, pairs_list *train, pairs_list *valid, const held_out *h, bool quiet)
{
    int held = 0, rest = 0;
    if (h->fraction == 0) return 0;
    if (!array_reserve(&valid->items, &valid->capacity, (size_t)train->count, sizeof *valid->items))
        return usage_error(v, "--valid: out of memory");
    int status = attend_pairs_hold_out(train->items, valid->items, train->count, h->fraction, h->max_pairs);
    valid->count = train->count;
    if (status == ATTEND_OK) status = count_pairs(valid, MIN_DEFAULT, &held);
    if (status == ATTEND_OK) status = count_pairs(train, 1, &rest);
    if (status != ATTEND_OK) { /* the check of the data, or training, says what is wrong with it */
        unite(train, valid);
        return 0;
    }
    if (held > 0 && rest > 0 && (held == MIN_DEFAULT || !h->is_default)) return 0;
    if (!h->is_default)
        return usage_error(
            v, "--valid: holding out %g %% of the pairs leaves none for %s; use another percentage, or files",
            100 * h->fraction, held ? "training" : "validation");
    unite(train, valid);
    if (!quiet)
        attend_print(stderr,
                     "validation  none: a tenth of the pairs is fewer than %d; give validation data with --valid\n",
                     MIN_DEFAULT);
    return 0;
}
