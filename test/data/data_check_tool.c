/* data_check_tool.c: the data check on real data.
 *
 *     data_check_tool [--json | --quick] [--lines] --if-present FILE... [--valid FILE...]
 *
 * --lines: the files hold lines, not pairs. --if-present: exits with 77 if the first file is missing. Exits with 1 if
 * the data prevents training. */
#include <attend/data_check.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16 };

typedef struct names {
    const char *files[MOST];
    int count;
} names;

static int specs_of(attend_pairs_spec *specs, int *count, const names *n, bool lines)
{
    *count = lines ? n->count : 0;
    if (lines) return attend_monolingual_specs(specs, n->files, n->count);
    return n->count > 0 ? attend_pairs_specs(specs, count, n->files, n->count) : ATTEND_OK;
}

int main(int argc, char **argv)
{
    names lists[2] = { { .count = 0 }, { .count = 0 } };
    attend_pairs_spec train[MOST], valid[MOST];
    int train_count, valid_count, to = 0;
    bool json = false, quick = false, lines = false, if_present = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--lines") == 0)
            lines = true;
        else if (strcmp(argv[i], "--if-present") == 0)
            if_present = true;
        else if (strcmp(argv[i], "--valid") == 0)
            to = 1;
        else if (lists[to].count < MOST)
            lists[to].files[lists[to].count++] = argv[i];
    }
    if (if_present && lists[0].count > 0 && access(lists[0].files[0], R_OK) != 0) {
        printf("skipped: %s is not here\n", lists[0].files[0]);
        return 77; /* the exit code of a skipped test */
    }
    attend_data_check_report *r = NULL;
    int status = specs_of(train, &train_count, &lists[0], lines);
    if (status == ATTEND_OK) status = specs_of(valid, &valid_count, &lists[1], lines);
    if (status == ATTEND_OK) status = attend_data_check(&r, train, train_count, valid, valid_count, quick, 0);
    if (status == ATTEND_OK) status = json ? attend_data_check_json(r, stdout) : attend_data_check_print(r, stdout);
    if (status != ATTEND_OK) fprintf(stderr, "data_check_tool: %s\n", attend_message());
    const bool stops = status == ATTEND_OK && attend_data_check_stops(r);
    attend_data_check_free(r);
    return status != ATTEND_OK || stops;
}
