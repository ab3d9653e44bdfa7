/* decode(encode(x)) is x for thousands of lines of every corpus in the directory ATTEND_DATA, if it is set. */
#include "unit/unit.h"

#include "support/lines.h"
#include "support/round_trip.h"
#include "support/skipped.h"
#include <dirent.h>
#include <unistd.h>

enum { LINES = 2000, FILES = 64 };

static lines read_lines(const char *path)
{
    static char line[1 << 16];
    char command[4096];
    lines l = { 0 };
    snprintf(command, sizeof command, "gzip -dc '%s' 2>/dev/null | head -n %d", path, LINES);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) lines_add(&l, line, strcspn(line, "\n"));
    pclose(f);
    return l;
}

static void check(const char *path)
{
    static const attend_token_kind kinds[] = { ATTEND_TOKENS_CHAR, ATTEND_TOKENS_BPE };
    lines l = read_lines(path);
    for (int k = 0; k < 2; k++) {
        attend_tokenizer *t = NULL;
        if (lines_learn(&t, &l, kinds[k], k ? 2000 : 0, 2) != ATTEND_OK) fail_msg("%s: %s", path, attend_message());
        for (size_t i = 0; i < l.count; i++)
            for (int dropped = 0; dropped < 1 + k; dropped++) {
                const char *wrong = round_trip(t, l.lines[i], l.sizes[i], 0.1 * dropped, i);
                if (wrong) fail_msg("%s:%zu: %s", path, i + 1, wrong);
            }
        attend_tokenizer_free(t);
    }
    lines_free(&l);
}

static void every_corpus_is_restored(void **state)
{
    (void)state;
    int files = 0;
    DIR *top = opendir(ATTEND_DATA);
    if (!top) skip_part("%s does not exist", ATTEND_DATA);
    for (struct dirent *d; (d = readdir(top));) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", ATTEND_DATA, d->d_name);
        DIR *folder = d->d_name[0] == '.' ? NULL : opendir(path);
        for (struct dirent *e; folder && (e = readdir(folder));) {
            const size_t length = strlen(e->d_name);
            if (length < 3 || strcmp(e->d_name + length - 3, ".gz") != 0 || files == FILES) continue;
            snprintf(path, sizeof path, "%s/%s/%s", ATTEND_DATA, d->d_name, e->d_name);
            check(path);
            files++;
        }
        if (folder) closedir(folder);
    }
    closedir(top);
    print_message("%d corpora, %d lines each\n", files, LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_corpus_is_restored) };
    return test_status(cmocka_run_group_tests(tests, NULL, NULL));
}
