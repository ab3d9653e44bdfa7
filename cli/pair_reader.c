#include "pair_reader.h"

#include <attend/status.h>
#include "array.h"
#include "nul_bytes.h"
#include "ready_input.h"
#include <stdlib.h>
#include <string.h>

static void clear(pair_reader *r)
{
    for (int i = 0; i < r->count; i++) free(r->sources[i]), free(r->targets[i]);
    r->first += (unsigned long long)r->count;
    r->count = 0;
}

int pair_reader_open(pair_reader **out, const pairs_list *list)
{
    pair_reader *r = calloc(1, sizeof *r);
    if (!r) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
    r->batches = 1;
    const int status = attend_pairs_file_open(&r->file, list->items, list->count);
    if (status == ATTEND_OK)
        *out = r;
    else
        free(r);
    return status;
}

void pair_reader_close(pair_reader *r)
{
    if (!r) return;
    clear(r);
    attend_pairs_file_close(r->file);
    free(r->sources), free(r->targets), free(r->too_long);
    free(r);
}

static char *copy_of(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static bool is_ready(void *input, int milliseconds)
{
    return attend_pairs_file_wait(((pair_reader *)input)->file, milliseconds);
}

/* Makes room for another pair. */
static bool reserve(pair_reader *r)
{
    const size_t count = (size_t)r->count + 1;
    int room[3] = { r->room, r->room, r->room };
    if (!array_reserve(&r->sources, &room[0], count, sizeof *r->sources) ||
        !array_reserve(&r->targets, &room[1], count, sizeof *r->targets) ||
        !array_reserve(&r->too_long, &room[2], count, sizeof *r->too_long))
        return false;
    r->room = room[0];
    return true;
}

int pair_reader_next(pair_reader *r)
{
    size_t bytes = 0;
    int waits = 0;
    clear(r);
    if (r->answers && !is_ready(r, 0)) fflush(stdout); /* a failure is reported at the end */
    while (r->count < PAIR_READER_BATCH * r->batches && bytes < (size_t)PAIR_READER_BYTES * (size_t)r->batches) {
        attend_text_pair p;
        if (!reserve(r)) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
        if (r->answers && !ready_input_goes_on(is_ready, r, r->count, &waits)) break;
        int status = attend_pairs_file_next(r->file, &p);
        const bool too_long = status != ATTEND_OK && attend_pairs_file_fault(r->file) == ATTEND_PAIR_TOO_LONG;
        if (too_long) {
            p = (attend_text_pair){ .source = "", .target = "" };
            status = ATTEND_OK;
        }
        if (status == ATTEND_OK && !p.source) break;
        if (status == ATTEND_OK) status = nul_bytes_check_pair(&p);
        if (status != ATTEND_OK) return status;
        const int i = r->count++;
        bytes += p.source_size + p.target_size;
        r->too_long[i] = too_long;
        r->sources[i] = copy_of(p.source, p.source_size);
        r->targets[i] = copy_of(p.target, p.target_size);
        if (!r->sources[i] || !r->targets[i]) return attend_fail(ATTEND_NO_MEMORY, "out of memory reading pairs");
    }
    return ATTEND_OK;
}

const attend_scored_pair *pair_reader_result(const pair_reader *r, int i, const attend_scored_pair *scored)
{
    static const attend_scored_pair too_long = { .source_text = "",
                                                 .target_text = "",
                                                 .fault = "a line has more than 16 MiB" };
    return r->too_long[i] ? &too_long : scored;
}
