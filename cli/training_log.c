#include "training_log.h"

#include "core/status.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void training_log_free(training_log *l)
{
    free(l->points);
    *l = (training_log){ 0 };
}

/* The number behind "name": in a line; NAN: there is none. */
static double number_of(const char *line, const char *name)
{
    char key[64], *end;
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(line, key);
    if (!at) return NAN;
    const double x = strtod(at += strlen(key), &end);
    return end > at ? x : NAN; /* null */
}

static bool add(training_log *l, log_point point)
{
    if (l->count == l->room) {
        log_point *larger = realloc(l->points, (size_t)(2 * l->room + 64) * sizeof *larger);
        if (!larger) return false;
        l->points = larger, l->room = 2 * l->room + 64;
    }
    l->points[l->count++] = point;
    return true;
}

int training_log_read(training_log *l, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return attend_fail(ATTEND_IO, "cannot read the log %s: %s", path, attend_errno_text(errno));
    char *line = NULL;
    size_t room = 0;
    bool ok = true;
    while (ok && getline(&line, &room, f) > 0) {
        const double update = number_of(line, "update"), loss = number_of(line, "valid_loss");
        const double rows = number_of(line, "rows");
        if (isfinite(update)) l->last_update = update;
        if (isfinite(rows) && update > 0) l->rows_an_update = rows / update;
        if (isfinite(update) && isfinite(loss))
            ok = add(l, (log_point){ update, loss, strstr(line, "\"better\": true") != NULL });
    }
    free(line);
    fclose(f);
    return ok ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "no memory for the log %s", path);
}

double training_log_best(const training_log *l)
{
    for (int i = l->count - 1; i >= 0; i--)
        if (l->points[i].better) return l->points[i].update;
    return l->last_update;
}
