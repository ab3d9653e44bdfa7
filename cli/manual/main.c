/* main.c: attend_manual DIRECTORY writes DIRECTORY/man/attend.1, one page per verb beside it, and
 * DIRECTORY/attend.bash, _attend, attend.fish. The directories exist. */
#include "manual.h"

#include <errno.h>
#include <string.h>

static const char *directory;

static FILE *begin(const char *name, const char *verb_name, const char *end)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s%s%s", directory, name, verb_name, end);
    FILE *file = length < (int)sizeof path ? fopen(path, "w") : NULL;
    if (!file) fprintf(stderr, "attend_manual: cannot write %s: %s\n", path, attend_errno_text(errno));
    return file;
}

static bool end(FILE *file)
{
    const bool failed = ferror(file) != 0;
    if (fclose(file) == 0 && !failed) return true;
    fprintf(stderr, "attend_manual: cannot write into %s: %s\n", directory, attend_errno_text(errno));
    return false;
}

static bool write_all(const char *name, void (*write)(FILE *to))
{
    FILE *file = begin(name, "", "");
    if (!file) return false;
    write(file);
    return end(file);
}

static bool write_verb(const verb *v)
{
    FILE *file = begin("man/attend-", v->name, ".1");
    if (!file) return false;
    manual_verb_page(file, v);
    return end(file);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: attend_manual DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    for (const verb *const *v = verbs; *v; v++)
        if (!manual_files_are_declared(*v)) return 1;
    bool done = write_all("man/attend.1", manual_page) && write_all("attend.bash", manual_bash) &&
                write_all("_attend", manual_zsh) && write_all("attend.fish", manual_fish);
    for (const verb *const *v = verbs; done && *v; v++) done = write_verb(*v);
    return done ? 0 : 1;
}
