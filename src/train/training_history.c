/* training_history.c: reads the log that training_log.c writes. */
#include <attend/trainer.h>

#include "core/memory.h"
#include "core/status.h"
#include "core/string.h"
#include <attend/json_reader.h>
#include <attend/lines.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 }; /* of a log */

/* Reads one line. False if it is not an object with an update, such as the rest of a line that was being written when
 * the system failed. pool: as many bytes as the line has. */
static bool read_record(const char *line, size_t size, char *pool, attend_training_record *record)
{
    attend_json_reader j = { .start = line, .at = line, .end = line + size, .pool = pool };
    const struct {
        const char *name;
        double *number;
    } numbers[] = { { "update", &record->update },
                    { "loss", &record->loss },
                    { "rows", &record->rows },
                    { "valid_loss", &record->valid_loss },
                    { "valid_score", &record->valid_score } };
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    record->better = false;
    for (int i = 0; i < NUMBERS; i++) *numbers[i].number = NAN;
    bool ok = attend_json_expect(&j, '{');
    while (ok) {
        const char *name, *at;
        int i = 0;
        ok = attend_json_read_string(&j, &name, &at) && attend_json_expect(&j, ':');
        while (ok && i < NUMBERS && strcmp(name, numbers[i].name) != 0) i++;
        if (ok && i < NUMBERS)
            ok = attend_json_read_number(&j, numbers[i].number);
        else if (ok)
            ok = strcmp(name, "better") == 0 ? attend_json_read_bool(&j, &record->better) : attend_json_skip_scalar(&j);
        if (!ok || !attend_json_accept(&j, ',')) break;
    }
    return ok && attend_json_expect(&j, '}') && attend_json_expect_end(&j) && isfinite(record->update);
}

static bool add(attend_training_history *h, const attend_training_record *record)
{
    attend_training_record *records = h->records;
    if (h->count == h->capacity)
        records = attend_grow_array(h->records, h->count, h->count + 1, sizeof *records, &h->capacity);
    if (!records) return false;
    h->records = records;
    h->records[h->count++] = *record;
    return true;
}

int attend_training_history_read(attend_training_history *history, const char *path)
{
    ATTEND_REQUIRE(ATTEND_BAD_USAGE, history && path);
    attend_lines *from = NULL;
    attend_string pool = { 0 };
    int status = attend_lines_open(&from, path);
    if (status == ATTEND_OK) attend_lines_set_limit(from, MAX_BYTES);
    for (const char *line = ""; status == ATTEND_OK && line;) {
        size_t size;
        attend_training_record record;
        status = attend_lines_next(from, &line, &size);
        if (status != ATTEND_OK || !line) break;
        status = attend_string_reserve(&pool, size + 1);
        if (status == ATTEND_OK && read_record(line, size, pool.text, &record) && !add(history, &record))
            status = attend_fail(ATTEND_NO_MEMORY, "%s: no memory for the training log", path);
    }
    attend_string_free(&pool);
    attend_lines_close(from);
    return status;
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
