/* training_history.c: reads the log that training_log.c writes. */
#include <attend/trainer.h>

#include "core/memory.h"
#include "core/status.h"
#include <attend/parse.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after "name": in a line; NAN if the name is missing or its value is null. */
static double number_of(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(line, key);
    if (!at) return NAN;
    const char *end;
    double x;
    return attend_parse_real(at + strlen(key), &end, &x) ? x : NAN;
}

static bool add(attend_training_history *h, const attend_training_record *record)
{
    if (h->count == h->room) {
        const size_t room = 2 * h->room + 64;
        attend_training_record *larger = attend_memory_zeroed(room, sizeof *larger);
        if (!larger) return false;
        if (h->count) memcpy(larger, h->records, h->count * sizeof *larger);
        attend_memory_free(h->records);
        h->records = larger, h->room = room;
    }
    h->records[h->count++] = *record;
    return true;
}

int attend_training_history_read(attend_training_history *history, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, history && path);
    FILE *f = fopen(path, "rb");
    if (!f) return attend_fail(ATTEND_IO, "%s: cannot read the training log: %s", path, attend_errno_text(errno));
    char *line = NULL;
    size_t room = 0;
    bool ok = true;
    while (ok && getline(&line, &room, f) > 0) {
        const attend_training_record record = { .update = number_of(line, "update"),
                                                .loss = number_of(line, "loss"),
                                                .rows = number_of(line, "rows"),
                                                .valid_loss = number_of(line, "valid_loss"),
                                                .valid_score = number_of(line, "valid_score"),
                                                .better = strstr(line, "\"better\": true") != NULL };
        if (isfinite(record.update)) ok = add(history, &record);
    }
    free(line);
    fclose(f);
    return ok ? ATTEND_OK : attend_fail(ATTEND_NO_MEMORY, "%s: no memory for the training log", path);
}

void attend_training_history_free(attend_training_history *history)
{
    if (!history) return;
    attend_memory_free(history->records);
    *history = (attend_training_history){ 0 };
}

double attend_training_history_best(const attend_training_history *history)
{
    ATTEND_REQUIRE(0, history);
    for (size_t i = history->count; i-- > 0;)
        if (history->records[i].better) return history->records[i].update;
    return history->count ? history->records[history->count - 1].update : 0;
}
