/* json_lines.c: checks that every line of standard input is a JSON object (RFC 8259) with the given members.
 * json_lines NAME.. < FILE     prints the number of objects; exits with 1 at the first invalid line. */
#include "../support/json_check.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    long count = 0;
    for (ssize_t size; (size = getline(&line, &capacity, stdin)) > 0;) {
        reader r = { .at = line, .names = argv + 1, .name_count = argc - 1 < NAMES ? argc - 1 : NAMES };
        bool ok = line[size - 1] == '\n' && strlen(line) == (size_t)size && *line == '{' && value(&r) &&
                  strcmp(r.at, "\n") == 0;
        count++;
        for (int i = 0; ok && i < r.name_count; i++) ok = r.seen[i];
        if (ok) continue;
        printf("line %ld is not an object with all members, from byte %ld on: %s", count, (long)(r.at - line), line);
        return 1;
    }
    free(line);
    printf("%ld\n", count);
    return 0;
}
